//! A request and its response.

use std::sync::Arc;
use std::time::Duration;

use papertape::protocol::method;
use papertape::wire::message::Response;
use papertape::wire::tape::Direction;
use papertape::wire::{Id, RpcError};

use super::members::ResultMembers;
use crate::message::Place;

/// A request, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its id. Ids are compared by value: 1.0 is 1.
    pub id: Id,
    /// Its method.
    pub method: Arc<str>,
    /// What it addresses: a tool, a prompt, a URI, a task.
    pub name: Option<Arc<str>>,
    /// The direction of the request.
    pub direction: Direction,
    /// The HTTP exchange in which it was sent.
    pub exchange: Option<u64>,
    /// Where the request is.
    pub request: Place,
    /// Where the response is.
    pub response: Option<Place>,
    /// The HTTP exchange in which the response was sent.
    pub response_exchange: Option<u64>,
    /// What came of it.
    pub outcome: Outcome,
    /// The `resultType` of the result, such as `input_required`, if it has one.
    pub result_type: Option<Arc<str>>,
    /// How many progress notifications there were.
    pub progress: u64,
}

/// What came of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// No response is on the tape.
    None,
    /// A result.
    Ok,
    /// A result with `isError`.
    ToolError,
    /// An error with this code.
    Error(i64),
    /// Both or neither of `result` and `error`, or an error that cannot be read.
    Invalid,
    /// It was cancelled, and no response came.
    Cancelled,
}

impl Call {
    /// The time between request and response, if both have one.
    #[must_use]
    pub fn latency(&self) -> Option<Duration> {
        self.response?.time?.checked_sub(self.request.time?)
    }
}

impl Outcome {
    /// Whether it is an error of any kind: a tool's, the server's, or an invalid response.
    #[must_use]
    pub fn is_error(self) -> bool {
        matches!(self, Outcome::ToolError | Outcome::Error(_) | Outcome::Invalid)
    }
}

/// The outcome of a request of this method.
pub(super) fn outcome(called: &str, response: &Response<'_>) -> Outcome {
    match (response.result, response.error) {
        (Some(result), None) => {
            let is_tool = matches!(called, method::TOOLS_CALL | TASKS_RESULT);
            match is_tool && ResultMembers::read(Some(result)).is_tool_error() {
                true => Outcome::ToolError,
                false => Outcome::Ok,
            }
        }
        (None, Some(error)) => match serde_json::from_str::<RpcError>(error.get()) {
            Ok(error) => Outcome::Error(error.code),
            Err(_) => Outcome::Invalid,
        },
        _ => Outcome::Invalid,
    }
}

/// The result of a task, in 2025-11-25.
const TASKS_RESULT: &str = "tasks/result";
