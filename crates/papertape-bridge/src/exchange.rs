//! What a server sends by itself, and the calls of the host that can carry it: requests for input, progress, log messages and
//! notifications.
//!
//! Servers of session-based revisions do not say which call a request belongs to. Behind a bridge for one host it goes with the
//! call that has waited longest. Where several hosts share a server, it is refused unless one call alone is running, so that no
//! host sees what was meant for another.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape::Cx;
use papertape::client::{LogMessage, Progress};
use papertape::protocol::RawJson;
use papertape::server::{Notifier, RawInputRequest};
use papertape::wire::RpcError;
use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::sleep;

use crate::lock;

/// How long a request of the server waits for a call that can carry it.
const HOLD: Duration = Duration::from_secs(10);

/// How many requests of the server wait.
const MOST_WAITING: usize = 100;

/// A request of the server, until it has its response.
pub(crate) struct Question {
    pub(crate) request: RawInputRequest,
    answer: oneshot::Sender<Result<Value, RpcError>>,
}

impl Question {
    pub(crate) fn answer(self, answer: Result<Value, RpcError>) {
        // A server that has cancelled its request has dropped the other end.
        drop(self.answer.send(answer));
    }

    /// Refuses what the host does not support.
    pub(crate) fn refuse(self) {
        let needs = self.request.needs();
        self.answer(Err(RpcError::invalid_params(format!("the host does not support {needs}"))));
    }
}

pub(crate) struct Exchange {
    asked: mpsc::Sender<Question>,
    questions: tokio::sync::Mutex<mpsc::Receiver<Question>>,
    /// The calls of the host that are running, by number.
    running: Mutex<BTreeMap<u64, Cx>>,
    /// Reaches hosts of session-based revisions while no call is running.
    notifier: Mutex<Option<Notifier>>,
    /// The host, while no call is running, if it is the only one and its revision has sessions.
    host: Mutex<Option<Cx>>,
    /// Notified when the host has opened its session, and when a call begins.
    arrived: Notify,
    hosts: Hosts,
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
        let (asked, questions) = mpsc::channel(MOST_WAITING);
        let (running, notifier, host, arrived) = Default::default();
        Arc::new(Self { asked, questions: questions.into(), running, notifier, host, arrived, hosts })
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
        if self.is_shared() && lock(&self.running).len() != 1 {
            return Err(RpcError::invalid_request(format!(
                "{method} cannot be passed on: several hosts share this server, and it does not say for which of their \
                 calls it needs input (`--per-session` starts a server for each)"
            )));
        }
        if let Some(response) = self.host_or_call(&request).await? {
            return response.await;
        }
        let (answer, answered) = oneshot::channel();
        let question = Question { request, answer };
        self.asked
            .try_send(question)
            .map_err(|_| RpcError::internal("too many requests wait for the host"))?;
        let gone = || RpcError::internal("the host no longer waits for the call that needed this");
        answered.await.unwrap_or_else(|_| Err(gone()))
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

    /// Asks the host while none of its calls is running, if its revision allows that.
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

    pub(crate) fn ended(&self, number: u64) {
        lock(&self.running).remove(&number);
    }

    pub(crate) fn progress(&self, number: u64, step: &Progress) {
        let cx = lock(&self.running).get(&number).cloned();
        if let Some(cx) = cx {
            cx.progress(step.progress, step.total, step.message.as_deref());
        }
    }

    /// The next request of the server.
    pub(crate) async fn next(&self) -> Question {
        loop {
            let next = self.questions.lock().await.recv().await;
            match next {
                // One that the server has cancelled needs no response.
                Some(question) if question.answer.is_closed() => {}
                Some(question) => return question,
                // This holds a sender itself.
                None => std::future::pending().await,
            }
        }
    }
}
