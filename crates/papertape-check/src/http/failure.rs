//! Why a request has no response.

use std::error::Error;
use std::io;

/// Why a request has no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    /// The innermost error.
    pub(crate) cause: String,
}

/// How far a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The name of the host was not resolved.
    Name,
    /// The host refused the connection.
    Refused,
    /// There was no connection, for another reason.
    Unreachable,
    /// There was no TLS on the connection.
    Tls,
    /// The response did not come in time.
    Timeout,
    /// The response is not HTTP.
    Invalid,
    /// The connection ended before the response.
    Closed,
}

impl Failure {
    pub(crate) fn timeout() -> Self {
        Self { kind: FailureKind::Timeout, cause: "timed out".to_owned() }
    }

    pub(crate) fn of(error: &reqwest::Error) -> Self {
        let mut chain: Vec<&(dyn Error + 'static)> = vec![error];
        let mut source = error.source();
        while let Some(error) = source {
            chain.push(error);
            source = error.source();
        }
        let cause = chain.last().map(ToString::to_string).unwrap_or_default();
        let says = |text: &str| chain.iter().any(|error| error.to_string().contains(text));
        let refused = chain
            .iter()
            .filter_map(|error| error.downcast_ref::<io::Error>())
            .any(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        let kind = if refused {
            FailureKind::Refused
        } else if says("dns error") {
            FailureKind::Name
        } else if error.is_connect() && (error.is_timeout() || says("tcp connect error") || says("tunnel")) {
            FailureKind::Unreachable
        } else if error.is_connect() {
            FailureKind::Tls
        } else if error.is_timeout() {
            FailureKind::Timeout
        } else if says("parsed") {
            FailureKind::Invalid
        } else {
            FailureKind::Closed
        };
        Self { kind, cause }
    }
}
