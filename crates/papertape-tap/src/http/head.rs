//! Heads of requests and responses: as they stand on a tape, and as they are passed on.

use ::http::header::{CONNECTION, CONTENT_TYPE, EXPECT, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use ::http::{HeaderMap, HeaderName, HeaderValue, request, response};
use hyper::ext::ReasonPhrase;

/// The request line and the headers, and the empty line.
pub(super) fn of_request(head: &request::Parts) -> Vec<u8> {
    let line = format!("{} {} {:?}\r\n", head.method, head.uri, head.version);
    with_headers(line.into_bytes(), &head.headers)
}

/// The status line and the headers, and the empty line.
pub(super) fn of_response(head: &response::Parts) -> Vec<u8> {
    let mut line = format!("{:?} {}", head.version, head.status.as_str()).into_bytes();
    // hyper keeps a reason that is not the usual one.
    let reason = match head.extensions.get::<ReasonPhrase>() {
        Some(reason) => Some(reason.as_bytes()),
        None => head.status.canonical_reason().map(str::as_bytes),
    };
    if let Some(reason) = reason {
        line.push(b' ');
        line.extend_from_slice(reason);
    }
    line.extend_from_slice(b"\r\n");
    with_headers(line, &head.headers)
}

fn with_headers(line: Vec<u8>, headers: &HeaderMap) -> Vec<u8> {
    let mut head = line;
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

#[cfg(test)]
mod tests {
    use ::http::Response;

    use super::{ReasonPhrase, of_response};

    #[test]
    fn the_reason_is_that_of_the_server() {
        let (mut head, ()) = Response::builder().status(418).header("a", "1").body(()).unwrap().into_parts();
        assert_eq!(of_response(&head), b"HTTP/1.1 418 I'm a teapot\r\na: 1\r\n\r\n");
        head.extensions.insert(ReasonPhrase::from_static(b"Odd \xe9"));
        assert_eq!(of_response(&head), b"HTTP/1.1 418 Odd \xe9\r\na: 1\r\n\r\n");
    }
}
