//! Requests on HTTP, where each is an exchange of its own with its own outcome.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::{Failure, HeaderParams, HttpExchange, Pending, RequestOutcome, Session};
use crate::wire::frame::OUTBOX;
use crate::wire::{Id, RpcError};

impl Session {
    /// From now on each request is an HTTP exchange of its own.
    pub(crate) fn use_http(&self) {
        self.state().is_http = true;
    }

    /// Begins the exchange of a request. Returns what is notified when the request has its response; `None` if it is not
    /// pending any more.
    pub(crate) fn begin_exchange(&self, id: i64) -> Option<Arc<Notify>> {
        let mut state = self.state();
        if !state.pending.contains_key(&id) {
            return None;
        }
        let responded = Arc::new(Notify::new());
        let exchange = HttpExchange {
            task: None,
            responded: Arc::clone(&responded),
            stage: "there was no connection yet",
        };
        state.exchanges.insert(id, exchange);
        Some(responded)
    }

    /// Sets the task of an exchange, which is aborted when the request is given up.
    pub(crate) fn set_exchange_task(&self, id: i64, task: AbortHandle) {
        match self.state().exchanges.get_mut(&id) {
            Some(exchange) => exchange.task = Some(task),
            None => task.abort(),
        }
    }

    /// Records how far an exchange got, for errors.
    pub(crate) fn set_stage(&self, id: i64, stage: &'static str) {
        if let Some(exchange) = self.state().exchanges.get_mut(&id) {
            exchange.stage = stage;
        }
    }

    /// When a request times out, if it does.
    pub(crate) fn deadline(&self, id: i64) -> Option<Instant> {
        match self.state().pending.get(&id) {
            Some(Pending::Call(call)) => Some(call.deadline),
            _ => None,
        }
    }

    pub(crate) fn is_pending(&self, id: i64) -> bool {
        self.state().pending.contains_key(&id)
    }

    /// Ends the session because no more responses can arrive; `problem` is the protocol violation, if it was one.
    pub(crate) fn lose(&self, problem: Option<String>) {
        if let Some(problem) = problem {
            self.state().fatal.get_or_insert((problem, Vec::new()));
        }
        self.end();
    }

    pub(crate) fn fail_request(&self, id: i64, failure: Failure) {
        self.resolve_pending(id, RequestOutcome::Failed(failure));
    }

    /// Fails a request with an error object that has no id.
    pub(crate) fn reject_request(&self, id: i64, error: RpcError) {
        self.resolve_pending(id, RequestOutcome::Error(error));
    }

    /// Sets the outcome of a request, unless it has one.
    fn resolve_pending(&self, id: i64, outcome: RequestOutcome) {
        if self.state().pending.contains_key(&id) {
            self.resolve(Some(&Id::Integer(id)), outcome);
        }
    }

    /// Waits until there is room in the outbox.
    pub(crate) async fn has_room(&self) {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            if self.queued_bytes() < OUTBOX {
                return;
            }
            room.await;
        }
    }

    /// The arguments of a tool that are repeated in HTTP headers.
    pub(crate) fn header_params(&self, tool: &str) -> Option<HeaderParams> {
        self.state().header_params.get(tool).cloned()
    }

    /// Pauses the timeouts of requests while credentials are obtained.
    pub(crate) fn pause_timeouts(self: &Arc<Self>) -> TimeoutPause {
        let mut state = self.state();
        state.obtaining_credentials += 1;
        state.update_pause();
        drop(state);
        TimeoutPause(Arc::clone(self))
    }
}

/// Timeouts of requests are paused until this is dropped.
pub(crate) struct TimeoutPause(Arc<Session>);

impl Drop for TimeoutPause {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.obtaining_credentials = state.obtaining_credentials.saturating_sub(1);
        state.update_pause();
    }
}
