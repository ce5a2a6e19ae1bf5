//! A task as the server describes it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::LONGEST_ID;
use crate::client::session::Failure;
use crate::client::session::result_type::InputRequest;
use crate::protocol::TaskStatus;
use crate::wire::RpcError;
use crate::wire::error::excerpt;

/// The state of a task.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TaskState {
    /// The id of the task.
    pub id: String,
    /// The status.
    pub status: TaskStatus,
    /// What the server says about it (`statusMessage`).
    pub message: Option<String>,
    /// Creation time (RFC 3339), as the server sent it.
    pub created_at: Option<String>,
    /// When it last changed (RFC 3339), as the server sent it.
    pub last_updated_at: Option<String>,
    /// How long the server keeps it, from its creation; `None` if for ever.
    pub ttl: Option<Duration>,
    /// How often the server wants to be polled.
    pub poll_interval: Option<Duration>,
}

/// A task, with what only its handling needs.
pub(super) struct FetchedTask<'a> {
    pub(super) state: TaskState,
    pub(super) input_requests: BTreeMap<String, InputRequest<'a>>,
    pub(super) result: Option<Box<RawValue>>,
    pub(super) error: Option<RpcError>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireTask<'a> {
    task_id: String,
    status: String,
    status_message: Option<String>,
    created_at: Option<String>,
    last_updated_at: Option<String>,
    ttl_ms: Option<f64>,
    poll_interval_ms: Option<f64>,
    #[serde(borrow, default)]
    input_requests: Option<BTreeMap<String, InputRequest<'a>>>,
    result: Option<Box<RawValue>>,
    error: Option<RpcError>,
}

impl<'a> FetchedTask<'a> {
    /// Reads a task from a result. `id` is the one that was asked for, if it was.
    pub(super) fn read(raw: &'a RawValue, id: Option<&str>) -> Result<Self, Box<Failure>> {
        let invalid = |problem: String| Box::new(Failure::protocol(problem, raw.get().as_bytes()));
        let task: WireTask<'_> = serde_json::from_str(raw.get())
            .map_err(|error| invalid(format!("the task is invalid: {error}")))?;
        if task.task_id.is_empty() || task.task_id.len() > LONGEST_ID {
            let length = task.task_id.len();
            return Err(invalid(format!(
                "the id of the task has {length} bytes, and must have 1 to {LONGEST_ID}"
            )));
        }
        if id.is_some_and(|id| id != task.task_id) {
            let other = excerpt(&task.task_id);
            return Err(invalid(format!("the response is about another task: {other}")));
        }
        let Some(status) = TaskStatus::parse(&task.status) else {
            let status = excerpt(&task.status);
            return Err(invalid(format!("the status of the task is {status}, which is unknown")));
        };
        if status == TaskStatus::Completed && id.is_some() && task.result.is_none() {
            return Err(invalid("the task is completed and has no `result`".to_owned()));
        }
        let state = TaskState {
            id: task.task_id,
            status,
            message: task.status_message,
            created_at: task.created_at,
            last_updated_at: task.last_updated_at,
            ttl: task.ttl_ms.and_then(milliseconds),
            poll_interval: task.poll_interval_ms.and_then(milliseconds),
        };
        let input_requests = task.input_requests.unwrap_or_default();
        Ok(Self { state, input_requests, result: task.result, error: task.error })
    }
}

/// A duration; `None` if it is negative, or longer than any.
fn milliseconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number / 1000.0).ok()
}
