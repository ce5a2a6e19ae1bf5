//! Why a request failed, before the operation that it belongs to is known.

use crate::client::error::{ErrorKind, MOST_BYTES};

/// Why a request failed. [`Session::error`](super::Session::error) makes a `ClientError` of it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: ErrorKind,
    /// How far the request got.
    pub(crate) stage: String,
    /// The beginning of the invalid message, if it was one.
    pub(crate) bytes: Option<Vec<u8>>,
    /// What may have caused it, if that is not in its kind.
    pub(crate) note: Option<&'static str>,
}

impl Failure {
    pub(crate) fn new(kind: ErrorKind, stage: impl Into<String>) -> Self {
        Self { kind, stage: stage.into(), bytes: None, note: None }
    }

    /// The server violated the protocol with these bytes.
    pub(crate) fn protocol(problem: String, bytes: &[u8]) -> Self {
        let bytes = bytes.get(..MOST_BYTES).unwrap_or(bytes).to_vec();
        Self {
            kind: ErrorKind::Protocol(problem),
            stage: "the response arrived".to_owned(),
            bytes: Some(bytes),
            note: None,
        }
    }
}
