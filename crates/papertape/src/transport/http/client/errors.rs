//! HTTP failures to errors that name the cause and the remedy.

use std::error::Error as StdError;

use http::StatusCode;
use serde_json::Value;
use url::Url;

use super::endpoint::shown;
use crate::client::{ErrorKind, Failure};
use crate::wire::error::excerpt;

/// The innermost error of a chain.
pub(super) fn cause(error: &(dyn StdError + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

fn chain<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// Why no response arrived.
pub(super) fn not_sent(url: &Url, error: &reqwest::Error) -> Failure {
    let (cause, url) = (cause(error), shown(url));
    if error.is_connect() || error.is_timeout() {
        let advice = if cause.contains("certificate") {
            "; if it is a private certificate, name its CA (`Endpoint::ca`, `--ca`)"
        } else if cause.contains("InvalidContentType") {
            "; the server at this address does not use TLS: is it http:// rather than https://?"
        } else {
            ""
        };
        let cause = if error.is_timeout() { "connecting timed out".to_owned() } else { cause };
        let kind = ErrorKind::Unreachable(format!("{url}: {cause}{advice}"));
        return Failure::new(kind, "there was no connection");
    }
    let of_hyper = chain(error).find_map(|error| error.downcast_ref::<hyper::Error>());
    if of_hyper.is_some_and(hyper::Error::is_parse) {
        let problem = format!("the response of {url} is not valid HTTP: {cause}");
        return Failure::new(ErrorKind::Protocol(problem), "the request was sent");
    }
    Failure::new(
        ErrorKind::Closed,
        "the request was sent; the connection was closed before a response arrived",
    )
}

/// Why a response is incomplete.
pub(super) fn interrupted(error: &reqwest::Error) -> String {
    format!("the response was interrupted: {}", cause(error))
}

/// A response with an error status and without a JSON-RPC error.
pub(super) fn http_status(url: &Url, status: StatusCode, body: &[u8]) -> Failure {
    let reason = status.canonical_reason().unwrap_or_default();
    let mut message = format!("{reason} at {}", shown(url)).trim_start().to_owned();
    if let Some(body) = quoted_body(body) {
        message = format!("{message}, {body}");
    }
    let advice = match status {
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
            "; is that the complete URL? Many servers are at /mcp"
        }
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => {
            "; a proxy in front of the server cannot reach it"
        }
        _ => "",
    };
    let kind = ErrorKind::Http { status: status.as_u16(), message: message + advice };
    let mut failure = Failure::new(kind, "the response arrived");
    failure.bytes = keep(body);
    failure
}

/// A response that violates the protocol: what is wrong with it, and its beginning.
pub(super) fn protocol(problem: String, body: &[u8]) -> Failure {
    let mut failure = Failure::protocol(problem, body);
    failure.bytes = failure.bytes.filter(|bytes| !bytes.is_empty());
    failure
}

/// The beginning of a body, or the message of the error in it, for an error message; `None` if it has no text.
pub(super) fn quoted_body(body: &[u8]) -> Option<String> {
    let error = serde_json::from_slice::<Value>(body).ok();
    let body = error.as_ref().and_then(message).map_or(body, str::as_bytes);
    let text = String::from_utf8_lossy(body.get(..1024).unwrap_or(body));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then(|| format!("with the body {}", excerpt(&text)))
}

/// Where frameworks and OAuth (RFC 6750, RFC 9457) put the message: as it is, and not as JSON in a string.
fn message(json: &Value) -> Option<&str> {
    let places = ["/error/message", "/error_description", "/message", "/detail", "/title", "/error"];
    places.iter().find_map(|place| json.pointer(place)?.as_str())
}

pub(super) fn keep(body: &[u8]) -> Option<Vec<u8>> {
    (!body.is_empty()).then(|| body.get(..4096).unwrap_or(body).to_vec())
}
