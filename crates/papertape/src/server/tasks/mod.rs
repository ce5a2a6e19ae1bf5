//! Tasks: calls that go on after their response, for clients that support it (an extension of 2026-07-28).
//!
//! A tool declares that it may take long ([`Tool::long_running`](crate::server::Tool::long_running)) and a client declares
//! tasks with its call: then the response is a task, and the handler runs on without the request.

mod memory;
pub(crate) mod requests;
mod task;

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{Notify, OwnedMutexGuard};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tracing::Instrument;

use crate::protocol::RawJson;
use crate::protocol::capabilities::TASKS;
use crate::protocol::error_code::MISSING_CLIENT_CAPABILITY;
use crate::server::elicitation::ask::ClientRequest;
use crate::server::elicitation::request_state;
use crate::server::features::tool::RegisteredTool;
use crate::server::handler::error::{Failure, ToolError};
use crate::server::handler::progress::StatusMessages;
use crate::server::limits::Limits;
use crate::server::pipeline::respond;
use crate::server::pipeline::run::{
    self, Call, HandlerOutcome, Output, PreparedCall, Run, drop_guarded, panicked,
};
use crate::server::session::subscribers::Subscribers;
use crate::sync::lock;
use crate::wire::RpcError;
use crate::wire::error::excerpt;
use papertape_oauth::Principal;

pub use memory::MemoryTasks;
pub(crate) use task::belongs_to;
pub use task::{StoreFuture, Task, TaskStatus, TaskStore};
use task::{is_task_id, now, owner_of};

/// The status message of a task is stored at most this often.
const BETWEEN_MESSAGES: Duration = Duration::from_millis(500);

/// The tasks of a server.
pub(crate) struct Tasks {
    store: Arc<dyn TaskStore>,
    limits: Limits,
    subscribers: Arc<Subscribers>,
    running: Mutex<HashMap<String, Arc<RunningTask>>>,
    /// Held while a task that does not run in this process is read and changed.
    elsewhere: Arc<tokio::sync::Mutex<()>>,
}

/// A task that runs in this process.
struct RunningTask {
    call: Arc<Call>,
    /// As it is now. The lock is held until a change is stored, and nothing changes once it is over.
    task: tokio::sync::Mutex<Task>,
    abort: Mutex<Option<AbortHandle>>,
    /// It has been cancelled, which is being stored.
    cancelling: AtomicBool,
    /// Notified when all input has come.
    answered: Notify,
    /// The input requests that have no response yet.
    asked: Mutex<Vec<String>>,
}

/// Whether a call of a tool is answered with a task; an error if the tool needs a client that supports tasks.
pub(crate) fn becomes_task(call: &Call, tool: &RegisteredTool) -> Result<bool, RpcError> {
    if tool.is_task_only() && !call.abilities.tasks {
        let message = format!("tool \"{}\" needs a client that supports tasks", tool.definition.name);
        // Session-based revisions have neither that code nor these tasks.
        let stateless = !call.revision.opens_with_handshake();
        return Err(if stateless { needs_tasks(message) } else { RpcError::invalid_params(message) });
    }
    if !(call.abilities.tasks && tool.is_long_running()) {
        return Ok(false);
    }
    let request_state = lock(&call.request_state);
    Ok(tool.asked_first().iter().all(|name| request_state.answers.contains_key(name)))
}

/// A call that is answered with a task; its handler runs on by itself, with the middleware around it.
pub(crate) fn create<F>(call: Arc<Call>, run: Run, again: F) -> PreparedCall
where
    F: Fn() -> Run + Send + Sync + 'static,
{
    let tasks = Arc::clone(&call.service.tasks);
    let creating = Arc::clone(&call);
    PreparedCall::new(call, Box::pin(async move { tasks.create(creating, run, again).await }))
}

/// A call whose handler may turn it into a task while it runs.
pub(crate) fn create_late<F>(call: Arc<Call>, run: Run, again: F) -> PreparedCall
where
    F: Fn() -> Run + Send + Sync + 'static,
{
    let tasks = Arc::clone(&call.service.tasks);
    let creating = Arc::clone(&call);
    let run = async move {
        match run.await {
            Err(ToolError(Failure::Task(rest))) => {
                let rest = rest.into_inner().unwrap_or_else(PoisonError::into_inner);
                tasks.create(creating, rest, again).await
            }
            outcome => outcome,
        }
    };
    PreparedCall::new(call, Box::pin(run))
}

/// The error for a client that does not declare tasks and would have to.
pub(crate) fn needs_tasks(message: impl Into<String>) -> RpcError {
    RpcError::new(MISSING_CLIENT_CAPABILITY, message)
        .with_data(json!({"requiredCapabilities": {"extensions": {TASKS: {}}}}))
}

impl Tasks {
    pub(crate) fn new(store: Arc<dyn TaskStore>, limits: Limits, subscribers: Arc<Subscribers>) -> Self {
        Self { store, limits, subscribers, running: Mutex::default(), elsewhere: Arc::default() }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Arc<RunningTask>>> {
        lock(&self.running)
    }

    /// Reserves a place for a task among those that run, if there is one.
    fn reserve<'a>(&'a self, id: &'a str, task: &Arc<RunningTask>) -> Result<Reservation<'a>, ToolError> {
        let mut running = self.running();
        if running.len() >= self.limits.tasks {
            return Err(ToolError::failed("there are too many tasks already; try again later"));
        }
        let owner = owner_of(id);
        let own = running.keys().filter(|other| owner_of(other) == owner).count();
        if !owner.is_empty() && own >= self.limits.tasks_per_principal {
            let message = format!("you have {own} tasks running, the limit: wait for one, or cancel one");
            return Err(ToolError::failed(message));
        }
        running.insert(id.to_owned(), Arc::clone(task));
        Ok(Reservation { tasks: self, id, used: false })
    }

    async fn create<F>(self: Arc<Self>, call: Arc<Call>, run: Run, again: F) -> Result<Output, ToolError>
    where
        F: Fn() -> Run + Send + Sync + 'static,
    {
        let owner = call.session.principal().map(|owner| &**owner);
        let task = Task::new(owner, self.limits.task_ttl)
            .ok_or_else(|| ToolError::internal("the system provides no randomness"))?;
        let (id, stored, result) = (task.task_id.clone(), task.clone(), task.to_result("task"));
        let running = Arc::new(RunningTask {
            call,
            task: tokio::sync::Mutex::new(task),
            abort: Mutex::default(),
            cancelling: AtomicBool::new(false),
            answered: Notify::new(),
            asked: Mutex::default(),
        });
        let mut reservation = self.reserve(&id, &running)?;
        // It is durable before the client knows of it.
        self.store.put(&stored).await?;
        reservation.used = true;
        // A task has no progress and no log messages, only its status.
        running.call.flags.status.get_or_init(StatusMessages::default);
        running.call.set_answered();
        let work = Arc::clone(&self).work_guarded(Arc::clone(&running), run, again);
        let work = tokio::spawn(work.instrument(running.call.observed.span.clone()));
        *lock(&running.abort) = Some(work.abort_handle());
        Ok(Output::Object(result))
    }

    /// Runs a task to its end, even if the author's code panics on the way.
    async fn work_guarded<F>(self: Arc<Self>, running: Arc<RunningTask>, run: Run, again: F)
    where
        F: Fn() -> Run + Send + Sync + 'static,
    {
        let mut work = Box::pin(self.work(&running, run, again));
        let ended = poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panicked(&running.call.feature, panic))),
        });
        let id = running.task.lock().await.task_id.clone();
        // Given back whatever becomes of it: the store may panic once more.
        let _place = Reservation { tasks: &self, id: &id, used: false };
        match timeout(self.limits.task_ttl, ended).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                std::mem::forget(work);
                self.change(&running, |task| task.fail(error)).await;
            }
            Err(_) => {
                running.call.set_cancelled();
                drop_guarded(work);
                self.expire(&running, &id).await;
            }
        }
    }

    /// Ends a task whose time to live is over, and removes it.
    async fn expire(&self, running: &RunningTask, id: &str) {
        let message = "the task did not end within its time to live (`ttlMs`)";
        self.change(running, |task| task.fail(RpcError::internal(message))).await;
        if let Err(error) = self.store.remove(id).await {
            tracing::error!(?error, task = id, "an expired task cannot be removed from the store");
        }
    }

    async fn work<F>(&self, running: &RunningTask, run: Run, again: F)
    where
        F: Fn() -> Run + Send + Sync + 'static,
    {
        let call = &running.call;
        let mut outcome = self.to_end(running, run).await;
        while let Ok(Err(ToolError(Failure::InputRequired(requests)))) = &outcome {
            if let Err(error) = request_state::check_capabilities(call, requests) {
                self.change(running, |task| task.fail(error)).await;
                return;
            }
            self.request_input(running, requests).await;
            if timeout(self.limits.answer, running.answered.notified()).await.is_err() {
                outcome = Ok(Err(ToolError::failed("the input did not come in time")));
                break;
            }
            self.change(running, Task::resume).await;
            outcome = self.to_end(running, again()).await;
        }
        // It may have come too soon after the one before to be stored.
        let last = call.flags.status.get().and_then(StatusMessages::last);
        let end = |task: &mut Task| {
            task.status_message = last.or(task.status_message.take());
            complete(task, call, outcome);
        };
        self.change(running, end).await;
    }

    /// Runs the handler to its end, and stores what it says of its progress.
    async fn to_end(&self, running: &RunningTask, run: Run) -> HandlerOutcome {
        let call = &running.call;
        let status = call.flags.status.get_or_init(StatusMessages::default);
        status.set_ended(false);
        let handler = async {
            let outcome = run::to_end(call, run).await;
            status.set_ended(true);
            outcome
        };
        // A change that is being stored is not interrupted: it could be stored after the end.
        tokio::join!(handler, self.report(running, status)).0
    }

    async fn report(&self, running: &RunningTask, status: &StatusMessages) {
        let mut status = status.watch();
        let mut last = None;
        loop {
            let (message, ended) = {
                let changed = status.wait_for(|now| now.ended || now.message != last).await;
                // Its sender is part of the call.
                let Ok(now) = changed else { return };
                (now.message.clone(), now.ended)
            };
            if ended {
                return;
            }
            last.clone_from(&message);
            self.change(running, |task| task.status_message = message).await;
            if timeout(BETWEEN_MESSAGES, status.wait_for(|now| now.ended)).await.is_ok() {
                return;
            }
        }
    }

    async fn request_input(&self, running: &RunningTask, requests: &[(String, ClientRequest)]) {
        let answers = lock(&running.call.request_state).answers.clone();
        let open = requests.iter().filter(|(name, _)| !answers.contains_key(name));
        let open: Vec<(String, ClientRequest)> = open.cloned().collect();
        *lock(&running.asked) = open.iter().map(|(name, _)| name.clone()).collect();
        let request = |task: &mut Task| {
            task.status = TaskStatus::InputRequired;
            task.input_requests = Some(request_state::as_json(&open).into());
        };
        self.change(running, request).await;
    }

    /// Changes a task that is not over, stores the change, and notifies subscribers.
    async fn change(&self, running: &RunningTask, change: impl FnOnce(&mut Task)) {
        let mut task = running.task.lock().await;
        if task.status.is_over() {
            return;
        }
        change(&mut task);
        task.last_updated_at = now();
        self.store_and_notify(&task).await;
    }

    async fn store_and_notify(&self, task: &Task) {
        if let Err(error) = self.store.put(task).await {
            tracing::error!(?error, task = task.task_id, "failed to persist task state");
        }
        let Ok(json) = serde_json::to_string(task) else { return };
        self.subscribers.task_changed(&task.task_id, &json);
    }

    /// The task with that id, if it is one of this principal's.
    async fn find(&self, id: &str, principal: Option<&Principal>) -> Result<Task, ToolError> {
        let possible = is_task_id(id) && belongs_to(id, principal);
        let task = if possible { self.store.get(id).await? } else { None };
        task.filter(|task| !task.is_expired())
            .ok_or_else(|| ToolError::refused(format!("unknown task: {}", excerpt(id))))
    }

    /// Takes responses to input requests; others are ignored, as are those to a task that requests none.
    async fn update(&self, id: &str, answers: Map<String, Value>) {
        let Some(running) = self.running().get(id).cloned() else { return };
        let (answered, complete) = running.take_answers(answers);
        if complete {
            running.answered.notify_one();
        } else if !answered.is_empty() {
            let remove_answered = |task: &mut Task| {
                if let Some(requests) = task.input_requests.as_mut().and_then(Value::as_object_mut) {
                    requests.retain(|name, _| !answered.contains(name));
                }
            };
            self.change(&running, remove_answered).await;
        }
    }

    /// Cancels the task with that id, unless it is over.
    async fn cancel(self: Arc<Self>, id: &str, principal: Option<&Principal>) -> Result<(), ToolError> {
        // Looked up before it is read: the end of a task that no longer runs here has been stored, so it is read as over.
        let running = self.running().get(id).cloned();
        let task = self.find(id, principal).await?;
        // The client may go while this is being stored.
        let cancelling = match running {
            Some(running) if running.cancelling.swap(true, Ordering::Relaxed) => return Ok(()),
            None if task.status.is_over() => return Ok(()),
            Some(running) => tokio::spawn(self.cancel_here(task, running).in_current_span()),
            None => {
                let one_at_a_time = Arc::clone(&self.elsewhere).lock_owned().await;
                tokio::spawn(self.cancel_elsewhere(task, one_at_a_time).in_current_span())
            }
        };
        match cancelling.await {
            Ok(cancelled) => cancelled,
            Err(error) => error.try_into_panic().map_or(Ok(()), |panic| resume_unwind(panic)),
        }
    }

    async fn cancel_here(self: Arc<Self>, task: Task, running: Arc<RunningTask>) -> Result<(), ToolError> {
        let _stop = StopOnDrop { tasks: &self, id: &task.task_id, running: &running };
        self.change(&running, Task::cancel).await;
        Ok(())
    }

    /// Cancels a task that does not run in this process: it runs in another, or the one that created it is gone.
    async fn cancel_elsewhere(
        self: Arc<Self>,
        task: Task,
        _until_stored: OwnedMutexGuard<()>,
    ) -> Result<(), ToolError> {
        // Another request may have cancelled it since it was read.
        let task = self.store.get(&task.task_id).await?;
        if let Some(mut task) = task.filter(|task| !task.status.is_over()) {
            task.cancel();
            task.last_updated_at = now();
            self.store_and_notify(&task).await;
        }
        Ok(())
    }
}

/// Ends a task with what became of its call.
fn complete(task: &mut Task, call: &Call, outcome: HandlerOutcome) {
    let result = match respond::complete(call, outcome) {
        Ok(Output::Tool(result)) => respond::tool_result(call, result),
        Ok(_) => return task.fail(RpcError::internal("internal error")),
        Err(error) => return task.fail(error),
    };
    // Tasks are stored as trees of values.
    match result.structured_content.as_ref().and_then(RawJson::inexact) {
        Some(inexact) => task.fail(RpcError::internal(format!("the result of the task: {inexact}"))),
        None => {
            task.status = TaskStatus::Completed;
            task.result = serde_json::to_value(&result).ok();
        }
    }
}

impl RunningTask {
    /// Takes the responses to what was requested: their names, and whether no request is left open.
    fn take_answers(&self, answers: Map<String, Value>) -> (Vec<String>, bool) {
        let mut asked = lock(&self.asked);
        let mut request_state = lock(&self.call.request_state);
        let mut answered = Vec::new();
        for (name, answer) in answers {
            if let Some(at) = asked.iter().position(|waiting| *waiting == name) {
                asked.swap_remove(at);
                request_state.answers.insert(name.clone(), answer);
                answered.push(name);
            }
        }
        let complete = asked.is_empty() && !answered.is_empty();
        (answered, complete)
    }
}

/// The place of a task among those that run, given back when this is dropped, unless it is in use.
struct Reservation<'a> {
    tasks: &'a Tasks,
    id: &'a str,
    used: bool,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if !self.used {
            self.tasks.running().remove(self.id);
        }
    }
}

/// Stops the handler of a cancelled task, once that has been stored or could not be.
struct StopOnDrop<'a> {
    tasks: &'a Tasks,
    id: &'a str,
    running: &'a RunningTask,
}

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.running.call.set_cancelled();
        if let Some(abort) = &*lock(&self.running.abort) {
            abort.abort();
        }
        self.tasks.running().remove(self.id);
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks").field("running", &self.running().len()).finish_non_exhaustive()
    }
}
