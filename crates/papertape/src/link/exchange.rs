//! A conversation that consists of exchanges, each with a connection of its own, as on HTTP.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Held, Link, Running, State};
use crate::server::Principal;
use crate::wire::RpcError;

impl Link {
    /// One exchange within a conversation, with an outbox of its own. Who asks may have other scopes each time.
    pub(crate) fn within(whole: &Arc<Link>, principal: Option<Arc<Principal>>) -> Arc<Self> {
        let omits_unreadable_id = whole.state().omits_unreadable_id;
        let state = Mutex::new(State { omits_unreadable_id, ..State::default() });
        let part = Arc::new(Self { state, whole: Some(Arc::clone(whole)), principal });
        let mut state = whole.state();
        state.parts.retain(|part| part.strong_count() > 0);
        state.parts.push(Arc::downgrade(&part));
        drop(state);
        part
    }

    /// Stops everything, because nobody is there to be answered.
    pub(crate) fn cancel_all(&self) {
        let mut state = self.state();
        let running: Vec<Running> = std::mem::take(&mut state.running).into_values().collect();
        state.bytes_in_flight = 0;
        drop(state.audience.end());
        for running in &running {
            running.call.set_cancelled();
        }
        // Whoever waits for answers learns that none will come.
        state.bell.ring();
        drop(state);
        for abort in running.into_iter().filter_map(|running| running.abort) {
            abort.abort();
        }
    }

    /// Answers what still runs with an error, because the server cannot wait for it any longer.
    pub(crate) fn give_up(&self, error: &RpcError) {
        if self.abort_all(error) {
            self.ring();
        }
    }

    /// What has just begun to run holds this until it is over.
    pub(crate) fn hold(&self, held: &Held) {
        for running in self.state().running.values_mut() {
            running.held.get_or_insert_with(|| Arc::clone(held));
        }
    }

    /// Everything has been answered, and nobody listens: nothing more will come of this by itself.
    pub(crate) fn is_over(&self) -> bool {
        let state = self.state();
        state.running.is_empty() && state.audience.is_empty()
    }

    /// The code of the last answer that was an error.
    pub(crate) fn refused(&self) -> Option<i64> {
        self.state().refused
    }

    /// Whether that is wanted.
    pub(crate) fn take_let_go(&self) -> Option<Duration> {
        self.state().let_go.take()
    }

    /// There is something to write.
    pub(crate) fn ring(&self) {
        self.state().bell.ring();
    }

    /// Nobody is to wait for news any longer.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closing = true;
        state.bell.ring();
    }

    /// Whether that is so.
    pub(crate) fn is_closing(&self) -> bool {
        self.state().closing
    }
}
