//! Waiting for the end of a task, within a deadline, whatever the server sends.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::{Instant, sleep_until};

use super::about;
use super::cancel_guard::CancelGuard;
use super::news::News;
use super::state::{FetchedTask, TaskState};
use crate::callback::unless_it_panics;
use crate::client::Client;
use crate::client::error::ErrorKind;
use crate::client::options::{CallOptions, OnStatus, Timeouts};
use crate::client::session::Failure;
use crate::protocol::{TaskStatus, method};
use crate::wire::RpcError;

/// How often a task is polled if the server does not say.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// However often a server wants to be polled, it is not more often than this, nor more rarely than that.
const POLL_INTERVALS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5 * 60));
/// How often at least a task is polled whose server sends notifications, as they may be lost; or at the server's interval,
/// if that is longer.
const POLL_WITH_NEWS: Duration = Duration::from_secs(30);
/// The time between two polls, however many notifications arrive.
const BETWEEN_POLLS: Duration = Duration::from_millis(20);
/// How many polls in a row may fail for reasons that may pass.
const MOST_FAILURES: usize = 5;
/// How many input requests a task may have in its life.
const MOST_INPUT_REQUESTS: usize = 100;

/// How long to wait for a task.
#[derive(Debug, Clone, Copy)]
pub(in crate::client) struct TaskWait {
    limit: Duration,
    /// Set if the options limit the whole call. Otherwise the wait is limited, so that ordinary calls read no clock.
    deadline: Option<Instant>,
    /// The timeouts of each request.
    timeouts: Timeouts,
}

impl TaskWait {
    /// The limits of a call that begins now.
    pub(in crate::client) fn new(client: &Client, options: &CallOptions) -> Self {
        let timeouts = options.timeouts(client.timeouts());
        let total = options.total_timeout.map(|_| timeouts.total);
        let given = options.task_timeout.or(total);
        let limit = given.unwrap_or(client.shared.task_timeout);
        Self { limit, deadline: given.map(|limit| Instant::now() + limit), timeouts }
    }

    /// Waits for the result of a call that has become a task. If the future is dropped or fails, the task is cancelled.
    pub(in crate::client) async fn for_created(
        self,
        client: &Client,
        created: &RawValue,
        on_status: Option<OnStatus>,
    ) -> Result<Box<RawValue>, Failure> {
        let task = FetchedTask::read(created, None).map_err(|failure| *failure)?;
        let id = task.state.id.clone();
        let guard = CancelGuard::new(client, &id);
        let (mut state, mut responded) = (Some(task.state), HashSet::new());
        let (known, restarts) = ((&mut state, &mut responded), client.session().restarts());
        let waited = self.for_task(client, &id, known, restarts, on_status).await;
        if state.is_some_and(|state| state.status.is_over()) {
            guard.disarm();
        }
        waited
    }

    /// Waits for the end of a task: its result, or why there is none.
    pub(super) async fn for_task(
        self,
        client: &Client,
        id: &str,
        (state, responded): (&mut Option<TaskState>, &mut HashSet<String>),
        restarts: u64,
        on_status: Option<OnStatus>,
    ) -> Result<Box<RawValue>, Failure> {
        let deadline = self.deadline.unwrap_or_else(|| Instant::now() + self.limit);
        let news = News::subscribe(client, id);
        let mut waiting = Waiting { wait: self, deadline, client, id, responded, restarts, on_status, news };
        if let Some(state) = &*state {
            waiting.tell(None, state);
            // A task that has ended, or waits for us, has something to be read at once.
            if !state.status.is_over() && state.status != TaskStatus::InputRequired {
                waiting.pause(Some(state)).await?;
            }
        }
        let mut failures = 0;
        loop {
            match waiting.poll(state).await {
                Ok(Some(result)) => return Ok(result),
                Ok(None) => failures = 0,
                Err(failure) if Instant::now() >= waiting.deadline && may_pass(&failure) => {
                    return Err(waiting.timed_out());
                }
                Err(failure) if may_pass(&failure) && failures < MOST_FAILURES => failures += 1,
                Err(failure) => return Err(failure),
            }
            waiting.pause(state.as_ref()).await?;
        }
    }
}

/// A wait that has begun.
struct Waiting<'a> {
    wait: TaskWait,
    deadline: Instant,
    client: &'a Client,
    id: &'a str,
    responded: &'a mut HashSet<String>,
    restarts: u64,
    on_status: Option<OnStatus>,
    news: News,
}

impl Waiting<'_> {
    /// Reads the state of the task once, and provides the input that it requests. Returns the result, if it has one.
    async fn poll(&mut self, state: &mut Option<TaskState>) -> Result<Option<Box<RawValue>>, Failure> {
        let raw = self.request(method::TASKS_GET, super::Params::default()).await?;
        let task = FetchedTask::read(&raw, Some(self.id)).map_err(|failure| *failure)?;
        self.tell(state.as_ref(), &task.state);
        *state = Some(task.state);
        match state.as_ref().map(|state| state.status) {
            Some(TaskStatus::Completed) => return Ok(task.result),
            Some(TaskStatus::Cancelled) => {
                return Err(Failure::new(ErrorKind::TaskCancelled, "the task was cancelled"));
            }
            Some(TaskStatus::Failed) => {
                let error = task
                    .error
                    .unwrap_or_else(|| RpcError::internal("the task has failed without an `error`"));
                return Err(Failure::new(ErrorKind::Rpc(error), "the task has failed"));
            }
            Some(TaskStatus::InputRequired) => {}
            _ => return Ok(None),
        }
        // A request that was responded to is listed until the server has taken the response.
        let mut requests = task.input_requests;
        requests.retain(|name, _| !self.responded.contains(name));
        if requests.is_empty() {
            return Ok(None);
        }
        if self.responded.len() + requests.len() > MOST_INPUT_REQUESTS {
            let problem = format!("the task requested input more than {MOST_INPUT_REQUESTS} times");
            return Err(Failure::protocol(problem, raw.get().as_bytes()));
        }
        let names: Vec<String> = requests.keys().cloned().collect();
        let began = Instant::now();
        let responses = self.client.handle_all(requests).await?;
        // The time that our handlers take does not count against the server.
        self.deadline += began.elapsed();
        let responses = super::Params::new([("inputResponses", responses.into())]);
        self.request(method::TASKS_UPDATE, responses).await?;
        self.responded.extend(names);
        Ok(None)
    }

    async fn request(&mut self, method: &str, more: super::Params) -> Result<Box<RawValue>, Failure> {
        let mut params = about(self.id, serde_json::Map::new());
        params.0.extend(more.0);
        let TaskWait { timeouts, .. } = self.wait;
        self.client.task_request(method, params, timeouts, self.deadline, self.restarts).await
    }

    /// Calls the callback if the status or its message is another.
    fn tell(&mut self, before: Option<&TaskState>, now: &TaskState) {
        let is_new =
            before.is_none_or(|before| (before.status, &before.message) != (now.status, &now.message));
        if let Some(on_status) = self.on_status.as_mut().filter(|_| is_new) {
            unless_it_panics("on_status", || on_status(now));
        }
    }

    /// Waits until it is time to poll again: after the server's interval, or when it has notified us.
    async fn pause(&mut self, state: Option<&TaskState>) -> Result<(), Failure> {
        let (least, most) = POLL_INTERVALS;
        let interval =
            state.and_then(|state| state.poll_interval).unwrap_or(POLL_INTERVAL).clamp(least, most);
        let now = Instant::now();
        let earliest = (now + BETWEEN_POLLS).min(self.deadline);
        loop {
            let interval = if self.news.is_open() { interval.max(POLL_WITH_NEWS) } else { interval };
            let next = (now + interval).min(self.deadline);
            let is_news = tokio::select! {
                biased;
                () = sleep_until(next) => break,
                is_news = self.news.next() => is_news,
            };
            if is_news {
                sleep_until(earliest).await;
                break;
            }
        }
        if Instant::now() >= self.deadline { Err(self.timed_out()) } else { Ok(()) }
    }

    fn timed_out(&self) -> Failure {
        Failure::new(ErrorKind::TaskTimedOut(self.wait.limit), "the task had not ended")
    }
}

/// Whether a later poll may succeed.
fn may_pass(failure: &Failure) -> bool {
    match &failure.kind {
        ErrorKind::TimedOut(_) | ErrorKind::Unreachable(_) => true,
        ErrorKind::Http { status, .. } => matches!(status, 408 | 429 | 500..=599),
        _ => false,
    }
}
