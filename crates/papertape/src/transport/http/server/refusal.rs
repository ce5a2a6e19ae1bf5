//! Why a request is refused before its message is served: an HTTP status and a reason.

use http::header::{CONNECTION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use papertape_oauth::server::Challenge;

/// A request that is refused with an HTTP status.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), headers: Vec::new() }
    }

    /// The client may try again after so many seconds.
    pub(crate) fn retry_after(self, seconds: u32) -> Self {
        self.header(RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// Nothing more is read from the connection.
    pub(crate) fn closing(self) -> Self {
        self.header(CONNECTION, HeaderValue::from_static("close"))
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl From<Challenge> for Refusal {
    fn from(challenge: Challenge) -> Self {
        // A verifier of the application may have given any status.
        let refuses = challenge.status.is_client_error() || challenge.status.is_server_error();
        let status = if refuses { challenge.status } else { StatusCode::UNAUTHORIZED };
        let refusal = Refusal::new(status, challenge.message);
        match HeaderValue::from_str(&challenge.authenticate) {
            Ok(value) if !value.is_empty() => refusal.header(WWW_AUTHENTICATE, value),
            // RFC 9110, section 15.5.2: a 401 has a challenge.
            _ if status == StatusCode::UNAUTHORIZED => {
                refusal.header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"mcp\""))
            }
            _ => refusal,
        }
    }
}
