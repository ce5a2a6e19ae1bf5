//! Heads of requests and responses: as they stand on a tape, and as they are passed on.

use ::http::header::{CONNECTION, CONTENT_TYPE, EXPECT, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use ::http::{HeaderMap, HeaderName, HeaderValue, request, response};

/// The request line and the headers, and the empty line.
pub(super) fn of_request(head: &request::Parts) -> Vec<u8> {
    with_headers(format!("{} {} {:?}\r\n", head.method, head.uri, head.version), &head.headers)
}

/// The status line and the headers, and the empty line.
pub(super) fn of_response(head: &response::Parts) -> Vec<u8> {
    let reason = head.status.canonical_reason().map(|reason| format!(" {reason}")).unwrap_or_default();
    with_headers(format!("{:?} {}{reason}\r\n", head.version, head.status.as_str()), &head.headers)
}

fn with_headers(line: String, headers: &HeaderMap) -> Vec<u8> {
    let mut head = line.into_bytes();
    for (name, value) in headers {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// Removes what concerns one connection, and not the exchange. hyper has handled `Expect` already.
pub(super) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let known = [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, EXPECT];
    for name in known.iter().chain(&named) {
        headers.remove(name);
    }
    for name in ["keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization"] {
        headers.remove(name);
    }
}

pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let kind = kind.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    kind.eq_ignore_ascii_case(b"text/event-stream")
}
