//! What goes wrong on HTTP to errors that say why, and the way out.

use std::error::Error as StdError;

use http::StatusCode;
use serde_json::Value;
use url::Url;

use super::endpoint::shown;
use crate::client::{ErrorKind, Trouble};
use crate::wire::error::excerpt;

/// The innermost reason.
pub(super) fn cause(error: &(dyn StdError + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

fn chain<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// Why no response came.
pub(super) fn not_sent(url: &Url, error: &reqwest::Error) -> Trouble {
    let (cause, url) = (cause(error), shown(url));
    if error.is_connect() || error.is_timeout() {
        let advice = if cause.contains("certificate") {
            "; if it is a certificate of your own, name its CA"
        } else if cause.contains("InvalidContentType") {
            "; what listens there does not speak TLS: is it http:// rather than https://?"
        } else {
            ""
        };
        let cause = if error.is_timeout() { "no connection in time".to_owned() } else { cause };
        let kind = ErrorKind::Unreachable(format!("{url}: {cause}{advice}"));
        return Trouble::new(kind, "there was no connection");
    }
    let of_hyper = chain(error).find_map(|error| error.downcast_ref::<hyper::Error>());
    if of_hyper.is_some_and(hyper::Error::is_parse) {
        let problem = format!("what listens at {url} does not speak HTTP as we do: {cause}");
        return Trouble::new(ErrorKind::Protocol(problem), "the request was sent");
    }
    Trouble::new(ErrorKind::Closed, "the request was sent; the connection ended before a response came")
}

/// Why a response did not come whole.
pub(super) fn broke_off(error: &reqwest::Error) -> String {
    format!("the response broke off: {}", cause(error))
}

/// A response that says no, without an error of MCP's.
pub(super) fn refused(url: &Url, status: StatusCode, body: &[u8]) -> Trouble {
    let mut message = status.canonical_reason().unwrap_or_default().to_owned();
    if let Some(said) = said(body) {
        message = if message.is_empty() { said } else { format!("{message}, {said}") };
    }
    let advice = match status {
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
            format!("; is {} the whole address? Many servers are at /mcp", shown(url))
        }
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => {
            "; what stands before the server does not reach it".to_owned()
        }
        _ => String::new(),
    };
    let kind = ErrorKind::Http { status: status.as_u16(), message: message + &advice };
    let mut trouble = Trouble::new(kind, "the server answered");
    trouble.bytes = keep(body);
    trouble
}

/// A response that is no answer: what is wrong with it, and how it begins.
pub(super) fn broken(problem: String, body: &[u8]) -> Trouble {
    let mut trouble = Trouble::broken(problem, body);
    trouble.bytes = trouble.bytes.filter(|bytes| !bytes.is_empty());
    trouble
}

/// The beginning of a body, or the message of the error in it, as a part of a sentence; nothing if it has no words.
pub(super) fn said(body: &[u8]) -> Option<String> {
    let error = serde_json::from_slice::<Value>(body).ok();
    let message = error.as_ref().and_then(|error| error.pointer("/error/message")?.as_str());
    let body = message.map_or(body, str::as_bytes);
    let text = String::from_utf8_lossy(body.get(..1024).unwrap_or(body));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then(|| format!("and said {}", excerpt(&text)))
}

fn keep(body: &[u8]) -> Option<Vec<u8>> {
    (!body.is_empty()).then(|| body.get(..4096).unwrap_or(body).to_vec())
}
