//! Heads of requests and responses, as they stand on a tape.

use http::{HeaderMap, Method, StatusCode};

/// The request line and the headers, and the empty line.
pub(crate) fn of_request(method: &Method, target: &str, headers: &HeaderMap) -> Vec<u8> {
    with_headers(format!("{method} {target} HTTP/1.1\r\n"), headers)
}

/// The status line and the headers, and the empty line.
pub(crate) fn of_response(status: StatusCode, headers: &HeaderMap) -> Vec<u8> {
    let reason = status.canonical_reason().map(|reason| format!(" {reason}")).unwrap_or_default();
    with_headers(format!("HTTP/1.1 {}{reason}\r\n", status.as_str()), headers)
}

fn with_headers(line: String, headers: &HeaderMap) -> Vec<u8> {
    let mut head = line.into_bytes();
    for (name, value) in headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    head.extend_from_slice(b"\r\n");
    head
}
