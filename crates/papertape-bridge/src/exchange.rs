//! What a server sends by itself, and the calls of the host that can carry it: requests for input, progress, log messages and
//! notifications.
//!
//! Servers of stateless revisions need input for a call. Those of session-based revisions do not say which call a request belongs to. Behind a bridge for one host it goes with any
//! call that is running. Where several hosts share a server, it is refused unless one call alone is running, so that no
//! host sees what was meant for another.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape::Cx;
use papertape::client::{LogMessage, Progress};
use papertape::protocol::RawJson;
use papertape::server::{Notifier, RawInputRequest};
use papertape::wire::RpcError;
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use tokio::time::sleep;

use crate::lock;
use crate::waiting::Waiting;

tokio::task_local! {
    /// The call that the current task makes to the server: what a server of a stateless revision needs is handled in it.
    pub(crate) static CALL: u64;
}

/// How long a request of the server waits for a call that can carry it.
const HOLD: Duration = Duration::from_secs(10);

const ROOTS: &str = "roots/list";

const GONE: &str = "the host no longer waits for the call that needed this";

/// How many requests of the server wait.
const MOST_WAITING: usize = 100;

/// A request of the server, until it has its response.
pub(crate) struct Question {
    pub(crate) request: RawInputRequest,
    /// The call that it belongs to, if that is known.
    only: Option<u64>,
    answer: oneshot::Sender<Result<Value, RpcError>>,
}

impl Question {
    pub(crate) fn answer(self, answer: Result<Value, RpcError>) {
        // A server that has cancelled its request has dropped the other end.
        drop(self.answer.send(answer));
    }

    /// Passes the response of the host on, unless the server cancels its request before.
    pub(crate) async fn answer_with(mut self, response: impl Future<Output = Result<Value, RpcError>>) {
        tokio::select! {
            response = response => self.answer(response),
            () = self.answer.closed() => {}
        }
    }

    /// Refuses what the host does not support.
    pub(crate) fn refuse(self) {
        let needs = self.request.needs();
        self.answer(Err(RpcError::invalid_params(format!("the host does not support {needs}"))));
    }
}

pub(crate) struct Exchange {
    questions: Mutex<VecDeque<Question>>,
    /// Notified when there is one more.
    asked: Notify,
    /// The calls of the host that are running, by number.
    running: Mutex<BTreeMap<u64, Cx>>,
    /// Reaches hosts of session-based revisions while no call is running.
    notifier: Mutex<Option<Notifier>>,
    /// The host, while no call is running, if it is the only one and its revision has sessions.
    host: Mutex<Option<Cx>>,
    /// Notified when the host has opened its session, and when a call begins.
    arrived: Notify,
    hosts: Hosts,
    last_number: AtomicU64,
    /// Those of the running calls whose hosts have been asked for input, and have to make them again.
    pub(crate) waiting: Arc<Waiting>,
}

/// Who uses a session with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hosts {
    /// The only host of the bridge.
    One,
    /// One session of a host, which may end before the bridge does.
    OneSession,
    Several,
}

impl Exchange {
    pub(crate) fn new(hosts: Hosts) -> Arc<Self> {
        let (questions, asked, running, notifier, host, arrived, last_number, waiting) = Default::default();
        Arc::new(Self { questions, asked, running, notifier, host, arrived, hosts, last_number, waiting })
    }

    /// The number of another call.
    pub(crate) fn next_number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn set_notifier(&self, notifier: Notifier) {
        *lock(&self.notifier) = Some(notifier);
    }

    /// The host has opened its session. That of one of several is not kept, because it would not end.
    pub(crate) fn set_host(&self, cx: &Cx) {
        if self.hosts == Hosts::One {
            *lock(&self.host) = Some(cx.clone());
            self.arrived.notify_waiters();
        }
    }

    pub(crate) fn forget_host(&self) {
        *lock(&self.host) = None;
    }

    fn is_shared(&self) -> bool {
        self.hosts == Hosts::Several
    }

    // The server's side.

    /// Passes a request of the server on to the host.
    pub(crate) async fn ask(&self, method: String, params: RawJson) -> Result<Value, RpcError> {
        let params = params.to_value().map_err(|inexact| RpcError::invalid_params(inexact.to_string()))?;
        let request =
            RawInputRequest::new(&method, params).ok_or_else(|| RpcError::method_not_found(&method))?;
        let only = match CALL.try_with(|number| *number) {
            Ok(number) => Some(number),
            // Servers request roots as soon as their sessions are open. Those of any one host would be wrong for the others.
            Err(_) if self.is_shared() && method == ROOTS && lock(&self.running).is_empty() => {
                return Ok(json!({"roots": []}));
            }
            Err(_) if self.is_shared() => match self.only_call(&method) {
                Ok(number) => Some(number),
                Err(refused) => {
                    // It may be one of these that the request is for, so that it is refused all the same.
                    self.waiting.cancel_abandoned();
                    return Err(refused);
                }
            },
            Err(_) => None,
        };
        if only.is_none()
            && let Some(response) = self.host_or_call(&request).await?
        {
            return response.await;
        }
        let (answer, answered) = oneshot::channel();
        self.push(Question { request, only, answer })?;
        answered.await.unwrap_or_else(|_| Err(RpcError::internal(GONE)))
    }

    /// The only call that is running.
    fn only_call(&self, method: &str) -> Result<u64, RpcError> {
        let running = lock(&self.running);
        let first = running.first_key_value().filter(|_| running.len() == 1);
        first.map(|(number, _)| *number).ok_or_else(|| {
            RpcError::invalid_request(format!(
                "{method} cannot be passed on: several hosts share this server, and it does not say for which of their \
                 calls it needs input (`--per-session` starts a server for each)"
            ))
        })
    }

    fn push(&self, question: Question) -> Result<(), RpcError> {
        let mut questions = lock(&self.questions);
        // Those that the server has cancelled need no response.
        questions.retain(|question| !question.answer.is_closed());
        if questions.len() >= MOST_WAITING {
            return Err(RpcError::internal("too many requests wait for the host"));
        }
        questions.push_back(question);
        self.asked.notify_waiters();
        Ok(())
    }

    /// Waits until a call is running, which carries the request, or the host can be asked without one: then its response.
    async fn host_or_call(
        &self,
        request: &RawInputRequest,
    ) -> Result<Option<impl Future<Output = Result<Value, RpcError>> + Send + use<>>, RpcError> {
        let mut end = pin!(sleep(HOLD));
        loop {
            let arrived = self.arrived.notified();
            let mut arrived = pin!(arrived);
            // From here on no arrival is missed.
            arrived.as_mut().enable();
            if !lock(&self.running).is_empty() {
                return Ok(None);
            }
            if let Some(response) = self.ask_host(request) {
                return Ok(Some(response));
            }
            tokio::select! {
                () = arrived => {}
                () = &mut end => {
                    return Err(RpcError::invalid_request(format!(
                        "{} cannot be requested now: the host is asked only while it waits for a response",
                        request.needs()
                    )));
                }
            }
        }
    }

    /// Sends the host a request while none of its calls is running, if its revision allows that.
    fn ask_host(
        &self,
        request: &RawInputRequest,
    ) -> Option<impl Future<Output = Result<Value, RpcError>> + Send + use<>> {
        let host = lock(&self.host).clone()?;
        host.request(request.clone())
    }

    /// Passes a log message on.
    pub(crate) fn log(&self, message: LogMessage) {
        let logger = message.logger.as_deref();
        if let Some(cx) = self.one_running() {
            cx.log_as(message.level, logger, message.data);
        } else if self.is_shared() {
            tracing::info!(level = ?message.level, logger, "a log message of no single host: {message}");
        } else if let Some(notifier) = &*lock(&self.notifier)
            && let Err(error) = notifier.log(message.level, logger, message.data)
        {
            tracing::warn!("a log message was not passed on: {error}");
        }
    }

    /// Passes a notification on that is not MCP's.
    pub(crate) fn notify(&self, method: &str, params: RawJson) {
        let passed = match self.one_running() {
            Some(cx) => cx.notify(method, params),
            None if self.is_shared() => return tracing::info!(method, "a notification of no single host"),
            None => lock(&self.notifier).as_ref().map_or(Ok(()), |to| to.notify(method, params)),
        };
        if let Err(error) = passed {
            tracing::warn!(method, "a notification was not passed on: {error}");
        }
    }

    /// The call that what the server sends belongs to: with one host the latest, otherwise the only one.
    fn one_running(&self) -> Option<Cx> {
        let running = lock(&self.running);
        running.last_key_value().filter(|_| !self.is_shared() || running.len() == 1).map(|(_, cx)| cx.clone())
    }

    // The host's side.

    /// A call begins, or runs again with the input that it has requested.
    pub(crate) fn runs(&self, number: u64, cx: &Cx) {
        lock(&self.running).insert(number, cx.clone());
        self.arrived.notify_waiters();
    }

    /// The server has responded to a call.
    pub(crate) fn responded(&self, number: u64) {
        lock(&self.running).remove(&number);
    }

    pub(crate) fn ended(&self, number: u64) {
        self.responded(number);
        // Nothing else may carry these; the server gets an error.
        lock(&self.questions).retain(|question| question.only != Some(number));
    }

    pub(crate) fn progress(&self, number: u64, step: &Progress) {
        let cx = lock(&self.running).get(&number).cloned();
        if let Some(cx) = cx {
            cx.progress(step.progress, step.total, step.message.as_deref());
        }
    }

    /// The status of a task that the call has become on the server: tasks have no progress.
    pub(crate) fn status(&self, number: u64, changes: u64, message: Option<&str>) {
        let cx = lock(&self.running).get(&number).cloned();
        if let Some(cx) = cx {
            cx.progress(changes, None, message);
        }
    }

    /// The next request of the server that a call may carry.
    pub(crate) async fn next(&self, number: u64) -> Question {
        loop {
            let mut asked = pin!(self.asked.notified());
            // From here on no question is missed.
            asked.as_mut().enable();
            if let Some(question) = self.take(number) {
                return question;
            }
            asked.await;
        }
    }

    fn take(&self, number: u64) -> Option<Question> {
        let mut questions = lock(&self.questions);
        questions.retain(|question| !question.answer.is_closed());
        let at = questions.iter().position(|question| question.only.is_none_or(|only| only == number))?;
        questions.remove(at)
    }
}
