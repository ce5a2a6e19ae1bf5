//! Secrets in `name=value`, as in forms, queries and environments, and in `Name: value`, as in headers and logs.

use std::ops::Range;

use super::names;

/// Where the values of secret names are in a text.
pub(super) fn find(text: &str, found: &mut Vec<(Range<usize>, &'static str)>) {
    let bytes = text.as_bytes();
    let has_code = is_authorization(text);
    let is_form = text.contains("grant_type=");
    // Where the last secret and the last word end: none is read twice, in a text of nothing but names either.
    let (mut secret_end, mut word_end) = (0, 0);
    for at in memchr::memchr2_iter(b'=', b':', bytes) {
        if at < secret_end {
            continue;
        }
        let is_label = bytes.get(at) == Some(&b':');
        let before = bytes.get(..at).unwrap_or_default();
        // `Name : value`, and `'name': 'value'` of Python.
        let before = if is_label { before.trim_ascii_end() } else { before };
        let before = before.strip_suffix(b"'").filter(|_| is_label).unwrap_or(before);
        let start = before.iter().rposition(|byte| !is_name(*byte)).map_or(0, |at| at + 1);
        let name = text.get(start..before.len()).unwrap_or_default();
        if name.is_empty() {
            continue;
        }
        let preceding = start.checked_sub(1).and_then(|at| bytes.get(at));
        if is_label {
            if names::HEADERS.iter().any(|header| name.eq_ignore_ascii_case(header)) {
                let from = value_start(text, at + 1);
                let line = text.get(from..).unwrap_or_default();
                let line = line.split(['\r', '\n', '"', '\'']).next().unwrap_or_default();
                let value = header_value(line, name);
                found.extend(value.map(|(range, kind)| (range.start + from..range.end + from, kind)));
                secret_end = from + line.len();
            } else if !matches!(preceding, Some(b'/' | b'.')) {
                // `/etc/passwd: No such file` is a path.
                let range = value_range(text, value_start(text, at + 1), &mut word_end);
                let value = text.get(range.clone()).unwrap_or_default();
                if names::is_secret_label(name, value) {
                    secret_end = range.end;
                    found.push((range, "secret"));
                }
            }
            continue;
        }
        let range = value_range(text, at + 1, &mut word_end);
        let value = text.get(range.clone()).unwrap_or_default();
        let in_query = matches!(preceding, Some(b'?' | b'&'));
        let kind = match name.to_ascii_lowercase().as_str() {
            // `==` compares.
            _ if value.is_empty() || value.starts_with('=') => continue,
            "code" if has_code || in_query && !is_short_number(value) => "authorization code",
            "assertion" if is_form => "secret",
            // The endpoint of HTTP+SSE.
            "sessionid" | "session_id" => "session id",
            _ if names::is_secret(name, value) => "secret",
            _ => continue,
        };
        secret_end = range.end;
        found.push((range, kind));
    }
}

/// Where the value of `name: value` or `'name': 'value'` begins.
fn value_start(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let value = rest.trim_start_matches([' ', '\t']);
    let quote = usize::from(value.starts_with('\''));
    from + rest.len() - value.len() + quote
}

/// The word that begins there. A `)` after it belongs to the text around it.
fn value_range(text: &str, from: usize, word_end: &mut usize) -> Range<usize> {
    if from >= *word_end {
        let rest = text.as_bytes().get(from..).unwrap_or_default();
        *word_end = from + rest.iter().position(|byte| !is_value(*byte)).unwrap_or(rest.len());
    }
    let word = text.as_bytes().get(from..*word_end).unwrap_or_default();
    from..from + word.strip_suffix(b")").unwrap_or(word).len()
}

/// A status or an error, and no authorization code.
fn is_short_number(value: &str) -> bool {
    const LONGEST: usize = 5;
    value.len() <= LONGEST && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
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
