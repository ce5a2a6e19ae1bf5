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
        let refusal = Refusal::new(challenge.status, challenge.message);
        match HeaderValue::from_str(&challenge.authenticate) {
            Ok(value) => refusal.header(WWW_AUTHENTICATE, value),
            Err(_) => refusal,
        }
    }
}
