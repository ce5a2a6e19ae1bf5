//! Tasks: calls that go on after they have been answered, for clients that can wait (an extension of 2026-07-28).
//!
//! A tool says that it may take long ([`Tool::long_running`](crate::Tool::long_running)); a client says with its call that
//! it can wait for a task; then the call is answered at once with a task, and the function runs on without it.

mod memory;

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::around;
use super::ask::Asked;
use super::begin::Asking;
use super::call::{Begun, Output, Run, drop_guarded, panicked};
use super::context::{Call, Cx, Target};
use super::dispatch::Service;
use super::error::{Failure, ToolError};
use super::limits::Limits;
use super::principal::Principal;
use super::tool::Registered;
use crate::protocol::capabilities::TASKS;
use crate::protocol::tools::CallToolResult;
use crate::protocol::{RawJson, method};
use crate::wire::RpcError;
use crate::wire::error::excerpt;
use crate::wire::message;

pub use memory::MemoryTasks;

/// How often a client should ask how a task is.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A task as it is kept and told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// Names it; nobody can guess it.
    pub task_id: String,
    /// How it is.
    pub status: TaskStatus,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// When it last changed (RFC 3339).
    pub last_updated_at: String,
    /// Time to live since its creation: then it is ended, if it still runs, and forgotten. `None` is for ever.
    pub ttl_ms: Option<u64>,
    /// How often to ask.
    pub poll_interval_ms: u64,
    /// What is to be answered before it can go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<Value>,
    /// What came of it: the result of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why nothing came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RpcError>,
}

/// How a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// It runs.
    Working,
    /// It waits for answers.
    InputRequired,
    /// It has a result, be it that the tool failed.
    Completed,
    /// It came to an error.
    Failed,
    /// It was taken back.
    Cancelled,
}

impl TaskStatus {
    /// Whether nothing will change any more.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled)
    }
}

/// What a store gives back, in its own time.
pub type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, ToolError>> + Send + 'a>>;

/// Where tasks are kept. A store on a disk or in a database lets others tell how a task is, and outlives the process.
pub trait TaskStore: Send + Sync + 'static {
    /// Keeps a task, in place of what was kept under its id. When this is done, it is safe.
    fn put<'a>(&'a self, task: &'a Task) -> Stored<'a, ()>;

    /// The task with that id.
    fn get<'a>(&'a self, id: &'a str) -> Stored<'a, Option<Task>>;

    /// Forgets a task whose time to live is over. A store that keeps it all the same does no harm: clients are no longer
    /// told of it.
    fn remove<'a>(&'a self, id: &'a str) -> Stored<'a, ()> {
        let _ = id;
        Box::pin(async { Ok(()) })
    }
}

/// The tasks of a server.
pub(crate) struct Tasks {
    store: Arc<dyn TaskStore>,
    running: Mutex<HashMap<String, Arc<Running>>>,
}

/// A task that runs in this process.
struct Running {
    call: Arc<Call>,
    /// As it is now. Whatever changes it holds this until the change is kept, and nothing changes once it is over.
    task: tokio::sync::Mutex<Task>,
    abort: Mutex<Option<AbortHandle>>,
    /// Told when all answers have come.
    answered: Notify,
    /// The questions that have no answer yet.
    asked: Mutex<Vec<String>>,
}

impl Tasks {
    pub(super) fn new(store: Arc<dyn TaskStore>) -> Self {
        Self { store, running: Mutex::default() }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Arc<Running>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for a task among those that run, if there is one.
    fn admit<'a>(
        &'a self,
        id: &'a str,
        task: &Arc<Running>,
        limits: &Limits,
    ) -> Result<Place<'a>, ToolError> {
        let mut running = self.running();
        if running.len() >= limits.tasks {
            return Err(ToolError::failed("there are too many tasks already; try again later"));
        }
        let owner = owner_of(id);
        let own = running.keys().filter(|other| owner_of(other) == owner).count();
        if !owner.is_empty() && own >= limits.tasks_per_principal {
            let message = format!("you have {own} tasks running, the limit: wait for one, or cancel one");
            return Err(ToolError::failed(message));
        }
        running.insert(id.to_owned(), Arc::clone(task));
        Ok(Place { tasks: self, id, begun: false })
    }
}

/// The place of a task among those that run, given back unless the task begins.
struct Place<'a> {
    tasks: &'a Tasks,
    id: &'a str,
    begun: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.begun {
            self.tasks.running().remove(self.id);
        }
    }
}

impl Task {
    fn begun(owner: Option<&Principal>, ttl: Duration) -> Option<Self> {
        let mut id = [0; 16];
        getrandom::fill(&mut id).ok()?;
        let now = now();
        Some(Self {
            task_id: data_encoding::HEXLOWER.encode(&id) + &owner.map(mark).unwrap_or_default(),
            status: TaskStatus::Working,
            created_at: now.clone(),
            last_updated_at: now,
            ttl_ms: u64::try_from(ttl.as_millis()).ok(),
            poll_interval_ms: u64::try_from(POLL_INTERVAL.as_millis()).unwrap_or(1_000),
            input_requests: None,
            result: None,
            error: None,
        })
    }

    /// When its time to live is over.
    fn expires(&self) -> Option<SystemTime> {
        let created = humantime::parse_rfc3339(&self.created_at).ok()?;
        created.checked_add(Duration::from_millis(self.ttl_ms?))
    }

    fn is_expired(&self) -> bool {
        self.expires().is_some_and(|expires| expires <= SystemTime::now())
    }

    fn fail(&mut self, error: RpcError) {
        self.status = TaskStatus::Failed;
        self.input_requests = None;
        self.error = Some(error);
    }

    fn to_object(&self, kind: &str) -> Map<String, Value> {
        let mut object = match serde_json::to_value(self) {
            Ok(Value::Object(object)) => object,
            _ => Map::new(),
        };
        object.insert("resultType".to_owned(), kind.into());
        object
    }
}

/// What the id of a task ends with, so that it is worth nothing in the hands of anybody but its owner.
fn mark(owner: &Principal) -> String {
    let digest = Sha256::digest(owner.name.as_bytes());
    data_encoding::HEXLOWER.encode(digest.first_chunk::<16>().map_or(&[], |half| &half[..]))
}

/// The mark of a task's owner; empty if it belongs to nobody in particular.
fn owner_of(id: &str) -> &str {
    id.get(32..).unwrap_or_default()
}

/// Whether a task can be one of this principal's. Where nobody is asked who they are, everything is everybody's.
pub(super) fn belongs_to(id: &str, asking: Option<&Principal>) -> bool {
    asking.is_none_or(|who| owner_of(id) == mark(who))
}

fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

impl Service {
    /// A call that is answered with a task; the function runs on by itself.
    pub(super) fn begin_task<F>(self: &Arc<Self>, call: &Arc<Call>, run: Run, again: F) -> Begun
    where
        F: Fn(Cx) -> Result<Run, String> + Send + Sync + 'static,
    {
        let (service, calling) = (Arc::clone(self), Arc::clone(call));
        let create: Run = Box::pin(async move {
            let owner = calling.link.principal().map(|owner| &**owner);
            let task = Task::begun(owner, service.limits.task_ttl)
                .ok_or_else(|| ToolError::internal("the system gives no randomness"))?;
            let (id, kept, answer) = (task.task_id.clone(), task.clone(), task.to_object("task"));
            let running = Arc::new(Running {
                call: calling,
                task: tokio::sync::Mutex::new(task),
                abort: Mutex::default(),
                answered: Notify::new(),
                asked: Mutex::default(),
            });
            let mut place = service.tasks.admit(&id, &running, &service.limits)?;
            // It is safe before the client hears of it.
            service.tasks.store.put(&kept).await?;
            place.begun = true;
            // Nothing is told of a task but how it is: neither its progress nor its logs.
            running.call.set_answered();
            // Hooks are around the work, and not around the promise of it.
            let run = around::wrapped(&running.call, run);
            let work = tokio::spawn(Arc::clone(&service).work_guarded(Arc::clone(&running), run, again));
            *running.abort.lock().unwrap_or_else(PoisonError::into_inner) = Some(work.abort_handle());
            Ok(Output::Object(answer))
        });
        Begun::bare(Arc::clone(call), create)
    }

    /// Runs a task to its end, even if something of the author's panics on the way.
    async fn work_guarded<F>(self: Arc<Self>, running: Arc<Running>, run: Run, again: F)
    where
        F: Fn(Cx) -> Result<Run, String> + Send + Sync + 'static,
    {
        let mut work = Box::pin(self.work(&running, run, again));
        let ended = poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panicked(&running.call.target, panic))),
        });
        let id = running.task.lock().await.task_id.clone();
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
        self.tasks.running().remove(&id);
    }

    /// Ends a task whose time to live is over, and forgets it.
    async fn expire(&self, running: &Running, id: &str) {
        let message = "the task did not end within its time to live (`ttlMs`)";
        self.change(running, |task| task.fail(RpcError::internal(message))).await;
        if let Err(error) = self.tasks.store.remove(id).await {
            tracing::error!(?error, task = id, "an expired task cannot be removed from the store");
        }
    }

    async fn work<F>(&self, running: &Running, run: Run, again: F)
    where
        F: Fn(Cx) -> Result<Run, String> + Send + Sync + 'static,
    {
        let call = &running.call;
        let mut outcome = call.guarded(run).await;
        while let Ok(Err(ToolError(Failure::Ask(questions)))) = &outcome {
            if let Err(error) = call.check_abilities(questions) {
                self.change(running, |task| task.fail(error)).await;
                return;
            }
            self.ask_in_task(running, &call.still_unanswered(questions)).await;
            if timeout(self.limits.answer, running.answered.notified()).await.is_err() {
                outcome = Ok(Err(ToolError::failed("nobody answered in time")));
                break;
            }
            let go_on = |task: &mut Task| {
                task.status = TaskStatus::Working;
                task.input_requests = None;
            };
            self.change(running, go_on).await;
            outcome = match again(Cx::new(call)) {
                Ok(run) => call.guarded(around::wrapped(call, run)).await,
                Err(problem) => Ok(Err(ToolError::failed(problem))),
            };
        }
        let settled = call.settle(outcome);
        self.change(running, |task| match settled {
            Ok(result) => {
                let result = call.shaped(result);
                // Tasks are kept as trees of values.
                match result.structured_content.as_ref().and_then(RawJson::inexact) {
                    Some(inexact) => {
                        task.fail(RpcError::internal(format!("the result of the task: {inexact}")))
                    }
                    None => {
                        task.status = TaskStatus::Completed;
                        task.result = serde_json::to_value(&result).ok();
                    }
                }
            }
            Err(error) => task.fail(error),
        })
        .await;
    }

    async fn ask_in_task(&self, running: &Running, questions: &[(String, Asked)]) {
        *running.asked.lock().unwrap_or_else(PoisonError::into_inner) =
            questions.iter().map(|(name, _)| name.clone()).collect();
        let requests: Map<String, Value> = questions
            .iter()
            .map(|(name, asked)| (name.clone(), json!({"method": asked.method, "params": asked.params})))
            .collect();
        let ask = |task: &mut Task| {
            task.status = TaskStatus::InputRequired;
            task.input_requests = Some(requests.into());
        };
        self.change(running, ask).await;
    }

    /// Changes a task that is not over, keeps the change, and tells those who listen.
    async fn change(&self, running: &Running, change: impl FnOnce(&mut Task)) {
        let mut task = running.task.lock().await;
        if task.status.is_over() {
            return;
        }
        change(&mut task);
        task.last_updated_at = now();
        self.keep_task(&task).await;
    }

    async fn keep_task(&self, task: &Task) {
        if let Err(error) = self.tasks.store.put(task).await {
            tracing::error!(?error, task = task.task_id, "failed to persist task state");
        }
        let Ok(json) = serde_json::to_string(task) else { return };
        self.tools.tell(|link| link.task_changed(&task.task_id, &json));
    }

    /// `tasks/get`, `tasks/update` and `tasks/cancel`
    pub(super) fn begin_task_request(
        self: &Arc<Self>,
        name: &str,
        asking: &Asking<'_>,
    ) -> Result<Option<Begun>, RpcError> {
        let call = self.call(asking, method::TASKS_GET, "", Target::Tasks)?;
        if !call.abilities.tasks {
            return Err(needs_tasks("tasks are for clients that declare them with each request"));
        }
        let Some(id) = asking.params.task_id.and_then(message::string) else {
            return Err(RpcError::invalid_params(format!("`{name}` needs `params.taskId`, a string")));
        };
        let id = id.into_owned();
        let service = Arc::clone(self);
        let who = asking.link.principal().cloned();
        let run: Run = match name {
            method::TASKS_GET => Box::pin(async move {
                let task = service.task(&id, who.as_deref()).await?;
                Ok(Output::Object(task.to_object("complete")))
            }),
            method::TASKS_UPDATE => {
                if asking.params.input_responses.is_none() {
                    let message = "`tasks/update` needs `params.inputResponses`, an object";
                    return Err(RpcError::invalid_params(message));
                }
                let answers = self.input_responses(asking.params)?;
                Box::pin(async move {
                    service.task(&id, who.as_deref()).await?;
                    service.answer_task(&id, answers).await;
                    Ok(Output::Object(acknowledged()))
                })
            }
            _ => Box::pin(async move {
                service.task(&id, who.as_deref()).await?;
                service.cancel_task(&id, who.as_deref()).await?;
                Ok(Output::Object(acknowledged()))
            }),
        };
        Ok(Some(Begun::bare(call, run)))
    }

    /// The task of that id, if it is one of this principal's.
    async fn task(&self, id: &str, asking: Option<&Principal>) -> Result<Task, ToolError> {
        let task = if belongs_to(id, asking) { self.tasks.store.get(id).await? } else { None };
        task.filter(|task| !task.is_expired())
            .ok_or_else(|| ToolError::refused(format!("unknown task: {}", excerpt(id))))
    }

    /// Answers to questions that were asked; others are ignored, and so is a task that asks nothing.
    async fn answer_task(&self, id: &str, answers: Map<String, Value>) {
        let Some(running) = self.tasks.running().get(id).cloned() else { return };
        let (answered, complete) = running.take_answers(answers);
        if complete {
            running.answered.notify_one();
        } else if !answered.is_empty() {
            let no_longer_ask = |task: &mut Task| {
                if let Some(requests) = task.input_requests.as_mut().and_then(Value::as_object_mut) {
                    requests.retain(|name, _| !answered.contains(name));
                }
            };
            self.change(&running, no_longer_ask).await;
        }
    }

    async fn cancel_task(&self, id: &str, who: Option<&Principal>) -> Result<(), ToolError> {
        let cancel = |task: &mut Task| {
            task.status = TaskStatus::Cancelled;
            task.input_requests = None;
        };
        let running = self.tasks.running().get(id).cloned();
        let Some(running) = running else {
            // It is over, or was begun by a process that is gone.
            let mut task = self.task(id, who).await?;
            if !task.status.is_over() {
                cancel(&mut task);
                task.last_updated_at = now();
                self.keep_task(&task).await;
            }
            return Ok(());
        };
        self.change(&running, cancel).await;
        running.call.set_cancelled();
        if let Some(abort) = &*running.abort.lock().unwrap_or_else(PoisonError::into_inner) {
            abort.abort();
        }
        self.tasks.running().remove(id);
        Ok(())
    }
}

impl Running {
    /// Takes the answers to what was asked: their names, and whether nothing is left to ask.
    fn take_answers(&self, answers: Map<String, Value>) -> (Vec<String>, bool) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let mut dialogue = self.call.dialogue.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answered = Vec::new();
        for (name, answer) in answers {
            if let Some(at) = asked.iter().position(|waiting| *waiting == name) {
                asked.swap_remove(at);
                dialogue.answers.insert(name.clone(), answer);
                answered.push(name);
            }
        }
        let complete = asked.is_empty() && !answered.is_empty();
        (answered, complete)
    }
}

impl Call {
    /// Whether a call of a tool is answered with a task; the error is for a client that must be able to wait, and cannot.
    pub(super) fn becomes_task(&self, tool: &Registered) -> Result<bool, RpcError> {
        if tool.is_task_only() && !self.abilities.tasks {
            let message = format!("tool \"{}\" needs a client that can wait for tasks", tool.definition.name);
            // Legacy clients do not know that code, nor these tasks.
            let legacy = self.revision.opens_with_handshake();
            return Err(if legacy { RpcError::invalid_params(message) } else { needs_tasks(message) });
        }
        if !(self.abilities.tasks && tool.is_long_running()) {
            return Ok(false);
        }
        let dialogue = self.dialogue.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(tool.asked_first().iter().all(|question| dialogue.answers.contains_key(question)))
    }

    /// The questions that the answers so far leave open.
    fn still_unanswered(&self, questions: &[(String, Asked)]) -> Vec<(String, Asked)> {
        let dialogue = self.dialogue.lock().unwrap_or_else(PoisonError::into_inner);
        questions.iter().filter(|(name, _)| !dialogue.answers.contains_key(name)).cloned().collect()
    }

    /// What became of a task's call.
    fn settle(&self, outcome: super::call::Outcome) -> Result<CallToolResult, RpcError> {
        match self.judge_complete(outcome)? {
            Output::Tool(result) => Ok(result),
            _ => Err(RpcError::internal("internal error")),
        }
    }
}

/// What a client is told that cannot wait for tasks, and would have to.
pub(super) fn needs_tasks(message: impl Into<String>) -> RpcError {
    RpcError::new(super::dialogue::MISSING_CAPABILITY, message)
        .with_data(json!({"requiredCapabilities": {"extensions": {TASKS: {}}}}))
}

fn acknowledged() -> Map<String, Value> {
    Map::from_iter([("resultType".to_owned(), "complete".into())])
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks").field("running", &self.running().len()).finish_non_exhaustive()
    }
}
