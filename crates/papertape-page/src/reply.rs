//! Responses, with the headers that all of them have.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};

/// A response of this server.
pub(crate) type Reply = Response<Full<Bytes>>;

/// The policy of the page: its own files and pictures in results, and nothing else. No script can be made from text.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src data:; \
     connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// The policy of a page of the server (MCP Apps): scripts of its own, in an origin of its own, without any request (WebRTC has no
/// policy). Its forms cannot be sent; without `allow-forms` their scripts would not see that they are submitted.
const APP_POLICY: &str = "sandbox allow-scripts allow-forms; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
     img-src data: blob:; media-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// What every response has.
const ALWAYS: [(&str, &str); 6] = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    // A name that is looked up is a message to its DNS server, and no policy of content is asked.
    ("x-dns-prefetch-control", "off"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=(), display-capture=(), usb=(), serial=()"),
];

/// How many bytes a message has of which a part is sent.
pub(crate) const SIZE: HeaderName = HeaderName::from_static("papertape-size");

/// Why a request is not served.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn reply(&self) -> Reply {
        let mut reply = json_reply(&json!({"error": self.message}));
        *reply.status_mut() = self.status;
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            reply.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST"));
        }
        reply
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, format!("cannot read the tape: {error}"))
    }
}

fn reply(kind: &'static str, policy: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(body.into()));
    let headers = reply.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    // Tapes have secrets, and the files of another version of this program must not stay.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}

/// A file of the page.
pub(crate) fn file(kind: &'static str, text: &'static str) -> Reply {
    let mut reply = reply(kind, PAGE_POLICY, text);
    reply.headers_mut().insert("x-frame-options", HeaderValue::from_static("DENY"));
    reply
}

/// A page of the server.
pub(crate) fn app(html: String) -> Reply {
    reply("text/html; charset=utf-8", APP_POLICY, html)
}

pub(crate) fn json_reply(value: &Value) -> Reply {
    json_text(value.to_string())
}

pub(crate) fn json_text(text: String) -> Reply {
    reply("application/json", PAGE_POLICY, text)
}

/// Bytes of a peer, which no browser takes for anything else.
pub(crate) fn octets(bytes: Vec<u8>, size: u64) -> Reply {
    let mut reply = reply("application/octet-stream", PAGE_POLICY, bytes);
    reply.headers_mut().insert(SIZE, HeaderValue::from(size));
    reply.headers_mut().insert("content-disposition", HeaderValue::from_static("attachment"));
    reply
}
