//! How an operation ended: `error.type`, the status of its span, and the code of its response.

use std::borrow::Cow;

use super::OTHER;
use crate::client::ErrorKind;
use crate::wire::RpcError;

/// The `error.type` of a request that was given up by the side that sent it.
pub(crate) const CANCELLED: Outcome<'_> = Outcome::Failed(Cow::Borrowed("cancelled"));

/// How an operation ended.
#[derive(Debug, Clone)]
pub(crate) enum Outcome<'a> {
    Success,
    /// A tool's result says that it failed (`isError`).
    ToolError,
    /// The response is an error.
    Rpc(&'a RpcError),
    /// There is no response; the class of what went wrong.
    Failed(Cow<'static, str>),
}

impl<'a> Outcome<'a> {
    /// A request of a client that failed.
    pub(crate) fn failure(kind: &'a ErrorKind) -> Self {
        Outcome::Failed(match kind {
            ErrorKind::Rpc(error) => return Outcome::Rpc(error),
            ErrorKind::Http { status, .. } => status.to_string().into(),
            ErrorKind::TimedOut(_) => "timeout".into(),
            ErrorKind::Closed | ErrorKind::Restarting(_) => "closed".into(),
            ErrorKind::Unreachable(_) => "unreachable".into(),
            ErrorKind::Unauthorized(_) => "unauthorized".into(),
            ErrorKind::Protocol(_) | ErrorKind::ResultType(_) => "protocol_violation".into(),
            _ => OTHER.into(),
        })
    }

    /// `error.type`, unless it was a success.
    pub(crate) fn error_type(&self) -> Option<Cow<'static, str>> {
        match self {
            Outcome::Success => None,
            Outcome::ToolError => Some("tool_error".into()),
            Outcome::Rpc(error) => Some(error.code.to_string().into()),
            Outcome::Failed(class) => Some(class.clone()),
        }
    }

    /// The message of the error response.
    pub(crate) fn message(&self) -> Option<&str> {
        match self {
            Outcome::Rpc(error) => Some(&error.message),
            _ => None,
        }
    }

    /// The code of the error response.
    pub(crate) fn code(&self) -> Option<i64> {
        match self {
            Outcome::Rpc(error) => Some(error.code),
            _ => None,
        }
    }
}
