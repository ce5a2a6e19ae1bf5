//! Requests to the server: sent, awaited within their timeouts, and cancelled when they are dropped.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{Failure, Params, Session, State, result_type};
use crate::client::error::{ErrorKind, NOT_SENT};
use crate::client::options::{OnProgress, Timeouts};
use crate::client::subscriptions::ChangeQueue;
use crate::protocol::{Revision, method};
use crate::telemetry::{ObservedRequest, Outcome};
use crate::wire::frame::OUTBOX;
use crate::wire::message::{write_notification, write_request};
use crate::wire::{Id, RpcError};

const NOT_READ: &str = "the request could not be sent: the server does not read its input";

/// A request to be sent.
pub(crate) struct OutgoingRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Params,
    pub(crate) timeouts: Timeouts,
    /// The request fails at this time regardless of its timeouts: it may be a part of a larger operation.
    pub(crate) deadline: Instant,
    pub(crate) on_progress: Option<OnProgress>,
}

/// A request without a response yet.
pub(in crate::client) enum Pending {
    Call(PendingCall),
    Listen(Arc<ChangeQueue>),
}

pub(in crate::client) struct PendingCall {
    pub(super) outcome: oneshot::Sender<RequestOutcome>,
    pub(super) on_progress: Option<OnProgress>,
    /// Notified by progress notifications.
    pub(super) progressed: Arc<Notify>,
    /// It is `server/discover`.
    is_probe: bool,
    /// The number of its frame among those of this session.
    frame: u64,
    /// When it times out without progress.
    #[cfg_attr(
        not(feature = "http-client"),
        expect(dead_code, reason = "only HTTP servers send `Retry-After`")
    )]
    pub(super) deadline: Instant,
}

/// How a request ended.
#[derive(Debug)]
pub(in crate::client) enum RequestOutcome {
    Result(Box<RawValue>),
    Error(RpcError),
    /// With an invalid response, or without one.
    Failed(Failure),
}

impl Session {
    /// Sends a request and waits for its result, within its timeouts.
    ///
    /// Dropping the future cancels the request.
    pub(crate) async fn request(
        self: &Arc<Self>,
        mut request: OutgoingRequest<'_>,
    ) -> Result<Box<RawValue>, Failure> {
        let method = request.method;
        // Before the negotiation, only `server/discover` is sure to be read by the rules of its revision.
        let revision = || request.params.revision().or_else(|| self.state().revision);
        let observed = ObservedRequest::send(method, self.network(), self.server_address(), || {
            (request.params.text("name"), request.params.text("uri"), revision())
        });
        observed.trace(|| request.params.meta());
        let result = self.request_unobserved(request, &observed).await;
        let is_error =
            |result| method == method::TOOLS_CALL && observed.is_observed() && result_type::is_error(result);
        let outcome = match &result {
            Ok(result) if is_error(result) => Outcome::ToolError,
            Ok(_) => Outcome::Success,
            Err(failure) => Outcome::failure(&failure.kind),
        };
        observed.end(&outcome);
        result
    }

    async fn request_unobserved(
        self: &Arc<Self>,
        request: OutgoingRequest<'_>,
        observed: &ObservedRequest<'_>,
    ) -> Result<Box<RawValue>, Failure> {
        let mut deadline = request.deadline;
        let mut paused = self.paused();
        let (outcome, mut ended) = oneshot::channel();
        let progressed = Arc::new(Notify::new());
        let call = PendingCall {
            outcome,
            on_progress: request.on_progress,
            progressed: Arc::clone(&progressed),
            is_probe: request.method == method::DISCOVER,
            frame: 0,
            deadline: deadline.min(Instant::now() + request.timeouts.idle),
        };
        let send = self.send(request.method, request.params, Pending::Call(call));
        let Ok(sent) = timeout_at(deadline, send).await else {
            return Err(Failure::new(ErrorKind::TimedOut(request.timeouts.total), NOT_READ));
        };
        // `initialize` must not be cancelled, and servers that do not respond to `server/discover` do not know it.
        let cancel = ![method::INITIALIZE, method::DISCOVER].contains(&request.method);
        let guard = PendingGuard { session: self, id: sent?, cancel };
        observed.record_id(guard.id);
        loop {
            let idle = Instant::now() + request.timeouts.idle;
            tokio::select! {
                biased;
                outcome = &mut ended => {
                    return match outcome {
                        Ok(RequestOutcome::Result(result)) => Ok(result),
                        Ok(RequestOutcome::Error(error)) => Err(Failure::new(ErrorKind::Rpc(error), "the response arrived")),
                        Ok(RequestOutcome::Failed(failure)) => Err(failure),
                        Err(_) => Err(Failure::new(ErrorKind::Closed, "the request was sent; no response arrived")),
                    };
                }
                () = progressed.notified() => {}
                () = sleep_until(idle.min(deadline)) => {
                    // The time that this client takes to handle requests of the server does not count.
                    let paused_now = self.paused();
                    if paused_now > paused {
                        deadline += paused_now.saturating_sub(paused);
                        paused = paused_now;
                        continue;
                    }
                    let limit = if idle < deadline { request.timeouts.idle } else { request.timeouts.total };
                    return Err(Failure::new(ErrorKind::TimedOut(limit), guard.stage()));
                }
            }
        }
    }

    /// Sends a request once there is room for it, and returns its id.
    pub(in crate::client) async fn send(
        self: &Arc<Self>,
        method: &str,
        mut params: Params,
        mut pending: Pending,
    ) -> Result<i64, Failure> {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            // From here on no notification is missed.
            room.as_mut().enable();
            {
                let mut state = self.state();
                if state.ended {
                    return Err(Failure::new(ErrorKind::Closed, NOT_SENT));
                }
                // While the server is started again, only the negotiation is sent.
                let is_opening = [method::INITIALIZE, method::DISCOVER].contains(&method);
                if let Some(at) = state.restart_at.filter(|_| state.suspended && !is_opening) {
                    let wait = at.saturating_duration_since(Instant::now());
                    return Err(Failure::new(ErrorKind::Restarting(wait), NOT_SENT));
                }
                if state.out.pending() < OUTBOX && (!state.suspended || is_opening) {
                    state.last_id += 1;
                    let id = state.last_id;
                    params.set_id(id);
                    let params = (!params.0.is_empty()).then_some(&params);
                    state.out.push(|out| write_request(out, &Id::Integer(id), method, params));
                    if let Pending::Call(call) = &mut pending {
                        call.frame = state.out.pushed();
                    }
                    state.pending.insert(id, pending);
                    drop(state);
                    self.wake.notify_one();
                    return Ok(id);
                }
            }
            room.await;
        }
    }

    /// Sends a request whose response is ignored.
    pub(in crate::client) fn send_and_forget(&self, method: &str, params: &Params) {
        let mut state = self.state();
        if state.ended || state.suspended {
            return;
        }
        state.last_id += 1;
        let id = Id::Integer(state.last_id);
        state.out.push(|out| write_request(out, &id, method, Some(params)));
        drop(state);
        self.wake.notify_one();
    }

    /// Stops waiting for a response, and with `cancel` sends `notifications/cancelled`.
    pub(in crate::client) fn give_up(&self, id: i64, cancel: bool) {
        let mut state = self.state();
        if state.pending.remove(&id).is_none() {
            return;
        }
        if let Some(task) = state.exchanges.remove(&id).and_then(|exchange| exchange.task) {
            task.abort();
        }
        // In stateless revisions on HTTP, closing the connection of a request cancels it.
        let has_session = state.revision.is_some_and(Revision::opens_with_handshake);
        if cancel && !state.ended && (has_session || !state.is_http) {
            let params = json!({"requestId": id, "reason": "no longer wanted"});
            state.out.push(|out| write_notification(out, method::CANCELLED, Some(&params)));
        }
        drop(state);
        self.wake.notify_one();
    }

    /// How long timeouts were paused, in total.
    fn paused(&self) -> Duration {
        let state = self.state();
        let now = state.paused_since.map_or(Duration::ZERO, |since| since.elapsed());
        state.paused_for + now
    }
}

/// The id of the pending request, if there is exactly one.
pub(super) fn only_pending(state: &State) -> Option<i64> {
    let counts = |call: &PendingCall| !(call.is_probe && state.probe_abandoned);
    let mut calls =
        state.pending.iter().filter(|(_, pending)| matches!(pending, Pending::Call(call) if counts(call)));
    let only = calls.next().map(|(id, _)| *id);
    if calls.next().is_some() { None } else { only }
}

/// Cancels a request when dropped, unless it has its response.
struct PendingGuard<'a> {
    session: &'a Arc<Session>,
    id: i64,
    cancel: bool,
}

impl PendingGuard<'_> {
    fn stage(&self) -> &'static str {
        let state = self.session.state();
        if let Some(exchange) = state.exchanges.get(&self.id) {
            return exchange.stage;
        }
        if state.is_http {
            return "the request was not sent: too many others are in flight";
        }
        match state.pending.get(&self.id) {
            Some(Pending::Call(call)) if call.frame > state.frames_written => NOT_READ,
            _ => "the request was sent; no response arrived",
        }
    }
}

impl Drop for PendingGuard<'_> {
    fn drop(&mut self) {
        self.session.give_up(self.id, self.cancel);
    }
}
