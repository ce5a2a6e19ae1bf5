//! What is wrong with the response to a request that must be served.

use serde_json::Value;

use crate::code::http::{PT0808, PT0809, PT0810, PT0811};
use crate::finding::{Finding, Severity};
use crate::http::client::{EVENTS, JSON};
use crate::http::exchange::{Cut, Exchange, MOST, Response};
use crate::http::inspect::finding;
use crate::inspect::{count, quote};

/// What is wrong with the response to a valid request. JSON-RPC errors are no matter of HTTP.
pub(crate) fn inspect(exchange: &Exchange) -> Option<Finding> {
    let what = &exchange.what;
    let response = match &exchange.outcome {
        Ok(response) => response,
        Err(failure) => {
            let message = format!("`{what}` has no response: {}", quote(&failure.cause));
            let remedy = "answer every request; if the connection is closed, look at the log of the server";
            return Some(exchange.proves(finding(PT0809, message).remedy(remedy)));
        }
    };
    if exchange.message().is_some() {
        return if response.is_success() {
            content_type(exchange, response).or_else(|| partly_refused(exchange, response))
        } else {
            None
        };
    }
    if !response.is_success() {
        // The id may be missing in errors about headers.
        return if response.error_code().is_some() { None } else { Some(refused(exchange, response)) };
    }
    Some(content_type(exchange, response).unwrap_or_else(|| missing(exchange, response)))
}

/// A message that some parsers refuse, though it is JSON.
fn partly_refused(exchange: &Exchange, response: &Response) -> Option<Finding> {
    let message = format!(
        "the response to `{}` has {}: some parsers refuse all of it",
        exchange.what,
        response.refused?.words()
    );
    Some(
        exchange.proves(
            Finding::new(PT0811, message).severity(Severity::Warning).remedy(
                "cut text between characters, not between UTF-16 units, and limit nesting and numbers",
            ),
        ),
    )
}

/// The finding that there is no response.
pub(crate) fn without(message: String) -> Finding {
    finding(PT0809, message)
}

/// An error status.
pub(crate) fn refused(exchange: &Exchange, response: &Response) -> Finding {
    let remedy = match response.status {
        401 | 403 => {
            "check the credentials; 403 may also come from a proxy, or from the check of `Host` in the server: allow its public name there"
        }
        406 => "accept `Accept: application/json, text/event-stream`: every client must send both",
        415 => "accept `Content-Type: application/json`",
        429 => "raise the limit: a host sends a few requests at once when it starts",
        502..=504 => {
            "the proxy in front of the server does not reach it: look at its log, and whether the server runs"
        }
        _ => {
            "look at the log of the server; a failure of a method belongs into a JSON-RPC error with status 200"
        }
    };
    let message = format!("`{}` is refused with HTTP {}{}", exchange.what, response.status, says(response));
    exchange.proves(finding(PT0808, message).remedy(remedy))
}

/// What the body of an error says.
pub(crate) fn says(response: &Response) -> String {
    let body = &response.shown.body;
    let json = serde_json::from_slice::<Value>(body).ok();
    let member = |path: &str| json.as_ref()?.pointer(path)?.as_str().map(str::to_owned);
    let text = ["/error/message", "/error_description", "/message", "/detail", "/error"]
        .iter()
        .find_map(|path| member(path));
    let is_text = response.media_type() == "text/plain" || response.media_type().is_empty();
    let text = text.or_else(|| is_text.then(|| String::from_utf8_lossy(body).into_owned()));
    match text {
        Some(text) if !text.trim().is_empty() => format!(": {}", quote(&text)),
        _ => String::new(),
    }
}

/// A content type that clients do not read.
fn content_type(exchange: &Exchange, response: &Response) -> Option<Finding> {
    let kind = response.media_type();
    let what = &exchange.what;
    if response.body.is_empty() && response.cut.is_none() && kind.is_empty() {
        return None;
    }
    if kind == JSON || kind == EVENTS {
        let full = response.header("content-type").unwrap_or_default().to_ascii_lowercase();
        let charset =
            full.split_once("charset=").map(|(_, charset)| charset.trim_matches(['"', ' ']).to_owned());
        let charset = charset.filter(|charset| charset != "utf-8" && charset != "utf8")?;
        let message = format!("the response to `{what}` is declared to be in {}", quote(&charset));
        return Some(
            exchange.proves(
                finding(PT0810, message)
                    .severity(Severity::Warning)
                    .remedy("JSON and event streams are UTF-8: leave `charset` out"),
            ),
        );
    }
    let (declared, remedy) = match kind.as_str() {
        "" => (
            "has no content type".to_owned(),
            "set `Content-Type: application/json`, or `text/event-stream` for a stream",
        ),
        "text/html" => (
            "is a page in HTML".to_owned(),
            "a login page, a proxy or a website answers in place of the server: check the URL, and what is in front of the server",
        ),
        other => (
            format!("is declared to be {}", quote(other)),
            "set `Content-Type: application/json`, or `text/event-stream` for a stream",
        ),
    };
    Some(exchange.proves(finding(PT0810, format!("the response to `{what}` {declared}")).remedy(remedy)))
}

/// No response in a body with the right type.
fn missing(exchange: &Exchange, response: &Response) -> Finding {
    let what = &exchange.what;
    if response.media_type() == EVENTS {
        return missing_on_stream(exchange, response);
    }
    let remedy = "send one JSON-RPC response with the id of the request";
    let is_stream = ["data:", "event:", "id:"].iter().any(|line| response.body.starts_with(line.as_bytes()));
    let cause = match (&response.cut, response.messages.first()) {
        (Some(Cut::TooLong), _) => format!("is longer than {MOST} bytes"),
        (Some(Cut::Timeout), _) => "does not end".to_owned(),
        (Some(Cut::Broken(cause)), _) => format!("breaks off: {}", quote(cause)),
        _ if response.body.is_empty() => "is empty".to_owned(),
        _ if is_stream => "is an event stream, and is declared to be JSON".to_owned(),
        (_, Some(message)) if message.get("jsonrpc").is_some() => match message.get("id") {
            Some(id) => format!("has the id {}, not that of the request", quote(&id.to_string())),
            None => "has no id".to_owned(),
        },
        (_, Some(_)) => "is JSON, but not a JSON-RPC message".to_owned(),
        (_, None) if response.header("content-encoding").is_some() => {
            "is compressed although the request does not accept that".to_owned()
        }
        (_, None) if std::str::from_utf8(&response.body).is_err() => "is not valid UTF-8".to_owned(),
        (_, None) => "is not JSON".to_owned(),
    };
    exchange.proves(finding(PT0811, format!("the body for `{what}` {cause}")).remedy(remedy))
}

fn missing_on_stream(exchange: &Exchange, response: &Response) -> Finding {
    let what = &exchange.what;
    let named = response.events.iter().find(|event| !event.is_message() && event.data.is_some());
    let code = if response.cut.is_some() { PT0809 } else { PT0811 };
    let (cause, remedy) = match &response.cut {
        Some(Cut::Timeout) if response.body.is_empty() => (
            "stays empty".to_owned(),
            "send the response as an event, and flush it: a proxy may buffer the stream",
        ),
        _ if named.is_some_and(|event| {
            event.name.as_deref().is_some_and(|name| !matches!(name, "" | "message"))
        }) =>
        {
            let name = named.and_then(|event| event.name.as_deref()).unwrap_or_default();
            (
                format!("has an event named {}, which clients ignore", quote(name)),
                "leave the `event:` line out, or send `event: message`",
            )
        }
        _ if response.events.is_empty() && !response.body.iter().all(u8::is_ascii_whitespace) => (
            "has no events: its lines do not begin with `data:`, or no empty line follows them".to_owned(),
            "send `data: ` and the JSON on one line, and an empty line after it",
        ),
        Some(Cut::Timeout) => (
            format!(
                "stays open without the response, after {}",
                count(u64::try_from(response.events.len()).unwrap_or(u64::MAX), "event")
            ),
            "send the response with the id of the request",
        ),
        Some(Cut::TooLong) => (format!("is longer than {MOST} bytes"), "send the response earlier"),
        Some(Cut::Broken(cause)) => {
            (format!("breaks off: {}", quote(cause)), "look at the log of the server")
        }
        _ => {
            ("ends without the response".to_owned(), "send one JSON-RPC response with the id of the request")
        }
    };
    exchange.proves(finding(code, format!("the event stream for `{what}` {cause}")).remedy(remedy))
}

/// Whether a stream ended early, and the client is to come back for the rest: valid from 2025-11-25 on.
pub(crate) fn is_polled(exchange: &Exchange) -> bool {
    exchange.message().is_none()
        && exchange.response().is_some_and(|response| {
            response.cut.is_none()
                && response.events.iter().any(|event| event.id.as_deref().is_some_and(|id| !id.is_empty()))
        })
}
