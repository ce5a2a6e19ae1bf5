//! Tasks: calls that continue after their response (an extension of 2026-07-28).
//!
//! - `state`: a task as the server describes it
//! - `wait`: polling, or a subscription, until a task has ended
//! - `cancel_guard`: cancels the task of a call that nothing waits for any more

mod cancel_guard;
mod news;
mod state;
mod wait;

use std::collections::HashSet;
use std::fmt;

use serde_json::Map;
use serde_json::value::RawValue;
use tokio::time::Instant;

pub use state::TaskState;
pub(super) use wait::TaskWait;

use super::error::{ClientError, ErrorKind};
use super::input_rounds::RawOutcome;
use super::options::{CallOptions, Timeouts};
use super::requests::calling;
use super::session::{Failure, Params};
use super::{Client, Session};
use crate::callback::unless_it_panics;
use crate::protocol::{CallToolResult, RawJson, method};
use crate::wire::error::excerpt;
use state::FetchedTask;

/// The longest id of a task: it is sent with every request about it, on HTTP in a header.
const LONGEST_ID: usize = 1024;

/// Why a task may be unknown.
const RESTARTED: &str = "the server process was started again in the meantime, and does not have the tasks that the one before \
                         kept in memory";

/// What a call has led to.
#[derive(Debug)]
pub enum Called {
    /// A result.
    Result(CallToolResult),
    /// A task, which continues on the server.
    Task(TaskHandle),
}

/// A task on a server. It continues when this is dropped; [`TaskHandle::cancel`] ends it.
///
/// ```no_run
/// use papertape::client::Called;
/// use serde_json::json;
///
/// async fn report(client: papertape::Client) -> Result<(), papertape::client::ClientError> {
///     match client.call_task("report", json!({"year": 2026})).await? {
///         Called::Result(result) => println!("{:?}", result.content),
///         Called::Task(mut task) => {
///             println!("the task {} runs", task.id());
///             println!("{:?}", task.wait().await?.content);
///         }
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct TaskHandle {
    client: Client,
    id: String,
    /// The tool, if this client has called it.
    tool: Option<String>,
    state: Option<TaskState>,
    /// The input requests that have been responded to.
    responded: HashSet<String>,
    /// How many times the server process had been started again when this was made.
    restarts: u64,
}

impl Client {
    /// Calls a tool, and returns its result or the task that the call has become.
    ///
    /// The server decides which: only 2026-07-28 has tasks, and only with servers that support the extension.
    ///
    /// # Errors
    /// If neither arrived.
    pub async fn call_task(&self, tool: &str, arguments: impl Into<RawJson>) -> Result<Called, ClientError> {
        self.call_task_with(tool, arguments, CallOptions::new()).await
    }

    /// [`Client::call_task`] with options.
    ///
    /// # Errors
    /// If neither arrived.
    pub async fn call_task_with(
        &self,
        tool: &str,
        arguments: impl Into<RawJson>,
        options: CallOptions,
    ) -> Result<Called, ClientError> {
        let operation = calling(tool);
        match self.begin_call(&operation, tool, arguments.into(), options).await? {
            (RawOutcome::Complete(raw), _) => {
                self.read_tool_result(&operation, Some(tool), raw).map(|(result, _)| Called::Result(result))
            }
            (RawOutcome::Task(raw), on_status) => {
                let task = FetchedTask::read(&raw, None);
                let state = task.map_err(|failure| self.session().error(&operation, *failure))?.state;
                if let Some(mut on_status) = on_status {
                    unless_it_panics("on_status", || on_status(&state));
                }
                Ok(Called::Task(TaskHandle {
                    tool: Some(tool.to_owned()),
                    state: Some(state.clone()),
                    ..self.task(state.id)
                }))
            }
        }
    }

    /// The task with this id, to come back to one from before. Nothing is sent.
    #[must_use]
    pub fn task(&self, id: impl Into<String>) -> TaskHandle {
        TaskHandle {
            client: self.clone(),
            id: id.into(),
            tool: None,
            state: None,
            responded: HashSet::new(),
            restarts: self.session().restarts(),
        }
    }

    /// A request about a task that was known before the last restarts of the server process: `restarts` is their number then.
    async fn task_request(
        &self,
        method: &str,
        mut params: Params,
        timeouts: Timeouts,
        deadline: Instant,
        restarts: u64,
    ) -> Result<Box<RawValue>, Failure> {
        if self.revision().opens_with_handshake() {
            let revision = self.revision();
            let kind = ErrorKind::NotOffered(format!("tasks, which revision {revision} does not have"));
            return Err(Failure::new(kind, "the request was not sent"));
        }
        let deadline = deadline.min(Instant::now() + timeouts.total);
        params.push_meta(self.meta(false));
        let request =
            super::session::OutgoingRequest { method, params, timeouts, deadline, on_progress: None };
        self.session().request(request).await.map_err(|failure| {
            let is_restarted =
                matches!(failure.kind, ErrorKind::Rpc(_)) && self.session().restarts() > restarts;
            Failure { note: is_restarted.then_some(RESTARTED), ..failure }
        })
    }
}

impl TaskHandle {
    /// The id, which [`Client::task`] takes, also in another process.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The state that was read last; `None` if none was.
    #[must_use]
    pub fn state(&self) -> Option<&TaskState> {
        self.state.as_ref()
    }

    /// Reads the state of the task.
    ///
    /// # Errors
    /// If the server does not return it: also if it does not know the task, or not any more ([`TaskState::ttl`]).
    pub async fn poll(&mut self) -> Result<&TaskState, ClientError> {
        self.poll_with(CallOptions::new()).await
    }

    /// [`TaskHandle::poll`] with options.
    ///
    /// # Errors
    /// If the server does not return the state.
    pub async fn poll_with(&mut self, options: CallOptions) -> Result<&TaskState, ClientError> {
        let timeouts = options.timeouts(self.client.timeouts());
        let params = about(&self.id, options.meta);
        let deadline = Instant::now() + timeouts.total;
        let polled =
            self.client.task_request(method::TASKS_GET, params, timeouts, deadline, self.restarts).await;
        let read = |raw: Box<RawValue>| Ok(FetchedTask::read(&raw, Some(&self.id))?.state);
        let state =
            polled.map_err(Box::new).and_then(read).map_err(|failure| self.error("reading", *failure))?;
        Ok(self.state.insert(state))
    }

    /// Waits for the result. Input that the task requests is provided by the handlers of the client.
    ///
    /// The server is polled as often as it wishes, or notifies the client if it supports that. If the future is dropped or
    /// times out, the task continues.
    ///
    /// # Errors
    /// If the task has failed or was cancelled, or no result arrived within [`ClientOptions::task_timeout`].
    ///
    /// [`ClientOptions::task_timeout`]: crate::client::ClientOptions::task_timeout
    pub async fn wait(&mut self) -> Result<CallToolResult, ClientError> {
        self.wait_with(CallOptions::new()).await
    }

    /// [`TaskHandle::wait`] with options: [`CallOptions::task_timeout`] limits the wait ([`CallOptions::total_timeout`] too, if
    /// that is not set), and [`CallOptions::on_status`] receives the states.
    ///
    /// # Errors
    /// If the task has failed or was cancelled, or no result arrived in time.
    pub async fn wait_with(&mut self, options: CallOptions) -> Result<CallToolResult, ClientError> {
        self.wait_raw(options).await.map(|(result, _)| result)
    }

    /// [`TaskHandle::wait_with`] that also returns the JSON of the result as it was received.
    ///
    /// # Errors
    /// If the task has failed or was cancelled, or no result arrived in time.
    pub async fn wait_raw(
        &mut self,
        mut options: CallOptions,
    ) -> Result<(CallToolResult, RawJson), ClientError> {
        let on_status = options.on_status.take();
        let wait = TaskWait::new(&self.client, &options);
        let known = (&mut self.state, &mut self.responded);
        let waited = wait.for_task(&self.client, &self.id, known, self.restarts, on_status);
        match waited.await {
            Ok(raw) => {
                self.client.read_tool_result(&self.operation("waiting for"), self.tool.as_deref(), raw)
            }
            Err(failure) => Err(self.error("waiting for", failure)),
        }
    }

    /// Requests that the task be cancelled. It may still complete; [`TaskHandle::poll`] tells.
    ///
    /// # Errors
    /// If the server does not acknowledge the request.
    pub async fn cancel(&self) -> Result<(), ClientError> {
        let timeouts = self.client.timeouts();
        let (params, deadline) = (about(&self.id, Map::new()), Instant::now() + timeouts.total);
        let cancelled =
            self.client.task_request(method::TASKS_CANCEL, params, timeouts, deadline, self.restarts).await;
        cancelled.map(drop).map_err(|failure| self.error("cancelling", failure))
    }

    fn operation(&self, doing: &str) -> String {
        format!("{doing} the task {}", excerpt(&self.id))
    }

    fn error(&self, doing: &str, failure: Failure) -> ClientError {
        self.client.session().error(self.operation(doing), failure)
    }
}

/// The params of a request about a task.
fn about(id: &str, meta: Map<String, serde_json::Value>) -> Params {
    let mut params = Params::new([("taskId", id.into())]);
    params.push_meta(meta);
    params
}

impl fmt::Debug for TaskHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskHandle").field("id", &self.id).field("state", &self.state).finish_non_exhaustive()
    }
}
