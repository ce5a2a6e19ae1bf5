//! Child sessions: the HTTP exchanges of one session, each with an outbox of its own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Held, Negotiated, Session, State};
use crate::telemetry::Network;
use crate::wire::RpcError;
use papertape_oauth::Principal;

impl Session {
    /// One exchange within a session. Its principal may have other scopes each time.
    pub(crate) fn within(parent: &Arc<Session>, principal: Option<Arc<Principal>>) -> Arc<Self> {
        let omits_unreadable_id = parent.state().negotiated.omits_unreadable_id;
        let negotiated = Negotiated { omits_unreadable_id, ..Negotiated::default() };
        let state = Mutex::new(State { negotiated, ..State::default() });
        let child = Arc::new(Self {
            state,
            parent: Some(Arc::clone(parent)),
            principal,
            network: Network::Http,
            id: None,
        });
        let mut state = parent.state();
        state.children.retain(|child| child.strong_count() > 0);
        state.children.push(Arc::downgrade(&child));
        drop(state);
        child
    }

    /// Stops everything, because there is no connection left for a response.
    pub(crate) fn cancel_all(&self) {
        let _ = self.stop_notifications();
        let mut state = self.state();
        let all = state.running.take_all();
        if let Some(subscriptions) = &mut state.subscriptions {
            subscriptions.close_all();
        }
        for running in &all {
            running.call.set_cancelled();
        }
        // The writer may wait for responses, which will not come.
        state.wakeup.wake();
        drop(state);
        all.into_iter().for_each(|running| running.abort(None));
    }

    /// Responds with an error to what still runs, because the server ends.
    pub(crate) fn give_up(&self, error: &RpcError) {
        if self.abort_all(error) {
            self.wake();
        }
    }

    /// What has just begun to run holds this until it is over.
    pub(crate) fn hold(&self, held: &Held) {
        self.state().running.hold(held);
    }

    /// Every request has its response, and no subscription is open: nothing more will come by itself.
    pub(crate) fn is_over(&self) -> bool {
        let state = self.state();
        state.running.is_empty() && state.subscriptions.as_ref().is_none_or(|open| open.is_empty())
    }

    /// The code of the last error response.
    pub(crate) fn last_error(&self) -> Option<i64> {
        self.state().last_error
    }

    /// When the client is to reconnect, if a handler closes its stream now.
    pub(crate) fn take_close_stream(&self) -> Option<Duration> {
        self.state().close_stream.take()
    }

    /// Connections that read what belongs to no request are counted from now on.
    pub(crate) fn count_readers(&self) {
        self.state().readers = Some(0);
    }

    /// A connection begins to read what belongs to no request.
    pub(crate) fn reader_joins(&self) {
        let mut state = self.state();
        state.readers = state.readers.map(|readers| readers + 1);
    }

    /// And ends.
    pub(crate) fn reader_leaves(&self) {
        let mut state = self.state();
        state.readers = state.readers.map(|readers| readers.saturating_sub(1));
    }

    /// Wakes the writer.
    pub(crate) fn wake(&self) {
        self.state().wakeup.wake();
    }

    /// Streams that would go on for ever are to end.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closing = true;
        state.wakeup.wake();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.state().closing
    }
}
