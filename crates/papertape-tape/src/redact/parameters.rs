//! Secrets in `name=value`, as in forms, queries and environments, and in `Name: value`, as in headers and logs.

use std::ops::Range;

use super::names;

/// Where the values of secret names are in a text.
pub(super) fn find(text: &str, found: &mut Vec<(Range<usize>, &'static str)>) {
    let bytes = text.as_bytes();
    let has_code = is_authorization(text);
    for at in memchr::memchr2_iter(b'=', b':', bytes) {
        let before = bytes.get(..at).unwrap_or_default();
        let start = before.iter().rposition(|byte| !is_name(*byte)).map_or(0, |at| at + 1);
        let name = text.get(start..at).unwrap_or_default();
        if name.is_empty() {
            continue;
        }
        if bytes.get(at) == Some(&b':') {
            if names::HEADERS.iter().any(|header| name.eq_ignore_ascii_case(header)) {
                let line = text.get(at + 1..).unwrap_or_default();
                let line = line.split(['\r', '\n', '"', '\'']).next().unwrap_or_default();
                let value = header_value(line, name);
                found.extend(value.map(|(range, kind)| (range.start + at + 1..range.end + at + 1, kind)));
            }
            continue;
        }
        let value = bytes.get(at + 1..).unwrap_or_default();
        let end = value.iter().position(|byte| !is_value(*byte)).unwrap_or(value.len());
        let range = at + 1..at + 1 + end;
        let value = text.get(range.clone()).unwrap_or_default();
        let kind = match name.to_ascii_lowercase().as_str() {
            _ if value.is_empty() => continue,
            "code" if has_code => "authorization code",
            // The endpoint of HTTP+SSE.
            "sessionid" | "session_id" => "session id",
            _ if names::is_secret(name, value) => "secret",
            _ => continue,
        };
        found.push((range, kind));
    }
}

/// What is secret in the value of a header of this name: all of it but the scheme.
pub(super) fn header_value(text: &str, name: &str) -> Option<(Range<usize>, &'static str)> {
    let value = text.trim();
    let start = text.len() - text.trim_start().len();
    let (kind, scheme) = match name.to_ascii_lowercase().as_str() {
        "authorization" | "proxy-authorization" => {
            let scheme = value.split_once(' ').filter(|(_, rest)| !rest.trim().is_empty());
            ("authorization", scheme.map_or(0, |(scheme, _)| scheme.len() + 1))
        }
        "cookie" | "set-cookie" => ("cookie", 0),
        "mcp-session-id" => ("session id", 0),
        _ => ("API key", 0),
    };
    (value.len() > scheme).then_some((start + scheme..start + value.len(), kind))
}

/// Whether `code=` in it is an authorization code of OAuth.
fn is_authorization(text: &str) -> bool {
    text.contains("code=") && (text.contains("grant_type=") || text.contains("state="))
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_value(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'&' | b';' | b'"' | b'\'' | b'<' | b'>' | b'#' | b'\\' | b',')
}
