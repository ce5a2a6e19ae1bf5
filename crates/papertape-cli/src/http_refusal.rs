//! An HTTP error status as a user reads it: the status, what the response says, and what to do.

use papertape::client::{ClientError, ErrorKind};
use serde_json::Value;

/// The most characters of a response that are shown.
const LONGEST_LINE: usize = 200;

/// What the library writes between the cause and the quoted body of a 401.
const QUOTED_BODY: &str = "; the server rejected the request with the body ";

/// The error in words; `None` if it is not an HTTP error status.
pub(crate) fn sentence(error: &ClientError) -> Option<String> {
    let operation = error.operation();
    let (mut text, line) = match error.kind() {
        // A redirect that is not followed: the message says where to.
        ErrorKind::Http { status: 300..400, message } if !message.is_empty() => return None,
        ErrorKind::Http { status, .. } => {
            let named = format!("{status} {}", reason(*status));
            let named = named.trim_end();
            let line = error.bytes().and_then(first_line).filter(|line| line != named);
            (format!("{operation} failed: the server responded with HTTP {named}"), line)
        }
        ErrorKind::Unauthorized(why) => {
            let why = why.split_once(QUOTED_BODY).map_or(why.as_str(), |(why, _)| why);
            (format!("{operation} failed: not authorized: {why}"), error.bytes().and_then(first_line))
        }
        _ => return None,
    };
    if let Some(line) = line {
        text += &format!("\n  its response: {line}");
    }
    Some(text)
}

/// What to do about the error of a server at `url`, on a line of its own.
pub(crate) fn advice(error: &ClientError, url: &str) -> String {
    let url = joined(url);
    let advice = match error.kind() {
        ErrorKind::Unauthorized(why) if why.contains("papertape login") => return String::new(),
        ErrorKind::Unauthorized(_) => {
            format!("sign in with `papertape login {url}`, or send a valid token with --bearer-file FILE")
        }
        ErrorKind::Http { status: 403, .. } => format!(
            "if it is about permissions, sign in with `papertape login {url} --scope SCOPE`, or send another token with \
             --bearer-file FILE; if it is about Host or Origin, allow them on the server"
        ),
        ErrorKind::Http { status: 404 | 405 | 410, .. } => check_the_path(&url),
        ErrorKind::Http { status: 408 | 429 | 503, .. } => "try again later".to_owned(),
        ErrorKind::Http { status: 502 | 504, .. } => {
            "a proxy in front of the server cannot reach it: check that the server is running".to_owned()
        }
        ErrorKind::Http { status: 500.., .. } => "the log of the server has the cause".to_owned(),
        ErrorKind::Http { status: 300..400, message } if !message.is_empty() => return String::new(),
        ErrorKind::Http { .. } => "check that it is an MCP server: --trace shows every frame".to_owned(),
        _ => return String::new(),
    };
    format!("\n  what to do: {advice}")
}

fn check_the_path(url: &str) -> String {
    let Ok(parsed) = url::Url::parse(url) else { return "check the URL".to_owned() };
    let mut other = parsed.clone();
    match parsed.path() {
        "/" => other.set_path("/mcp"),
        path => other.set_path(path.strip_suffix('/').unwrap_or(path)),
    }
    if other == parsed {
        format!("check the path of {url}: many servers are at /mcp")
    } else {
        format!("check the path of the URL: did you mean {other}?")
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        410 => "Gone",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "",
    }
}

/// The message of an error in JSON, the title of a page, or the first line of a text.
fn first_line(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let line = match serde_json::from_slice::<Value>(body) {
        Ok(json) => message(&json).unwrap_or_else(|| json.to_string()),
        Err(_) if text.trim_start().starts_with('<') => title(&text),
        Err(_) => text.lines().find(|line| !line.trim().is_empty())?.to_owned(),
    };
    let line: String =
        line.lines().find(|line| !line.trim().is_empty())?.chars().take(LONGEST_LINE).collect();
    Some(joined(&line))
}

/// A text on one line. It is escaped where it is printed.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where frameworks and OAuth (RFC 6750, RFC 9457) put the message.
fn message(json: &Value) -> Option<String> {
    let places = ["/error/message", "/error_description", "/message", "/detail", "/title", "/error"];
    places.iter().find_map(|place| json.pointer(place)?.as_str()).map(str::to_owned)
}

/// The title of a page, or its first text.
fn title(page: &str) -> String {
    let within = |start: &str, end: &str| {
        let from = page.to_ascii_lowercase().find(start)? + start.len();
        let rest = page.get(from..)?;
        rest.get(..rest.to_ascii_lowercase().find(end)?)
    };
    if let Some(title) = within("<title>", "</title>").map(str::trim).filter(|title| !title.is_empty()) {
        return title.to_owned();
    }
    let text = page.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text.trim());
    text.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{check_the_path, first_line};

    #[test]
    fn a_response_is_one_line() {
        for (body, line) in [
            ("", None),
            (" \n", None),
            ("\nno such page\nmore", Some("no such page")),
            (r#"{"error": {"code": 1, "message": "no\nroute"}}"#, Some("no")),
            (r#"{"error": "invalid_token", "error_description": "expired"}"#, Some("expired")),
            (r#"{"error": "who?"}"#, Some("who?")),
            (r#"{"detail": "Not authenticated"}"#, Some("Not authenticated")),
            (r#"{"x": 1}"#, Some(r#"{"x":1}"#)),
            ("<html><head><TITLE> Sign in </TITLE></head><p>x</p>", Some("Sign in")),
            ("<!doctype html><h1>Oh</h1>\n<p>no</p>", Some("Oh no")),
            ("a\u{1b}[31m\tb", Some("a\u{1b}[31m b")),
        ] {
            assert_eq!(first_line(body.as_bytes()).as_deref(), line, "{body}");
        }
    }

    #[test]
    fn a_path_that_may_be_meant_is_suggested() {
        assert!(check_the_path("http://h:1").ends_with("did you mean http://h:1/mcp?"));
        assert!(check_the_path("http://h/mcp/").ends_with("did you mean http://h/mcp?"));
        assert!(check_the_path("http://h/x").contains("http://h/x: many servers are at /mcp"));
    }
}
