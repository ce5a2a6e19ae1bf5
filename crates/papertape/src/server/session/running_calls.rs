//! The calls of a session that are running, within the limits of their number and size.

#[cfg(feature = "http-server")]
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use tokio::task::AbortHandle;

use crate::server::limits::Limits;
use crate::server::pipeline::run::Call;
use crate::wire::{Id, RpcError};

/// Distinguishes a running call from a later one with the same id, which a client may reuse.
pub(crate) type Ticket = u64;

/// What calls hold while they run, such as a part of a budget.
#[cfg(feature = "http-server")]
pub(crate) type Held = Arc<dyn Any + Send + Sync>;

/// The calls of a session that have outlived their first poll, by their ids.
#[derive(Default)]
pub(super) struct RunningCalls {
    calls: HashMap<Id, RunningCall>,
    /// The bytes of their requests.
    bytes: usize,
}

pub(super) struct RunningCall {
    ticket: Ticket,
    pub(super) call: Arc<Call>,
    abort: Option<AbortHandle>,
    /// Dropped when the call is over.
    #[cfg(feature = "http-server")]
    held: Option<Held>,
}

impl RunningCall {
    /// Stops the handler of a call that its client has cancelled, or that is responded to with an error.
    pub(super) fn abort(self, error: Option<&RpcError>) {
        self.call.observe_cancelled(error);
        if let Some(abort) = self.abort {
            abort.abort();
        }
    }
}

impl RunningCalls {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(super) fn has(&self, id: &Id) -> bool {
        self.calls.contains_key(id)
    }

    pub(super) fn has_progress_token(&self, token: &Id) -> bool {
        self.calls.values().any(|running| running.call.progress_token.as_ref() == Some(token))
    }

    /// Whether another call may begin.
    pub(super) fn check(&self, limits: &Limits) -> Result<(), RpcError> {
        if self.calls.len() >= limits.in_flight {
            let message = format!(
                "too many requests at once: {} are running, the limit; wait for one",
                limits.in_flight
            );
            return Err(RpcError::invalid_request(message));
        }
        if self.bytes > limits.bytes_in_flight {
            let message =
                format!("the running requests hold over {} bytes; wait for one", limits.bytes_in_flight);
            return Err(RpcError::invalid_request(message));
        }
        Ok(())
    }

    pub(super) fn add(&mut self, call: &Arc<Call>, ticket: Ticket) {
        self.bytes += call.bytes;
        let running = RunningCall {
            ticket,
            call: Arc::clone(call),
            abort: None,
            #[cfg(feature = "http-server")]
            held: None,
        };
        self.calls.insert(call.to.id.clone(), running);
    }

    pub(super) fn set_abort(&mut self, id: &Id, ticket: Ticket, abort: AbortHandle) {
        match self.calls.get_mut(id).filter(|running| running.ticket == ticket) {
            Some(running) => running.abort = Some(abort),
            // It was cancelled, or has ended by itself, which an abort does not change.
            None => abort.abort(),
        }
    }

    pub(super) fn remove(&mut self, id: &Id) -> Option<RunningCall> {
        let running = self.calls.remove(id)?;
        self.bytes -= running.call.bytes;
        Some(running)
    }

    /// The same, unless another call has the id by now.
    pub(super) fn remove_ticket(&mut self, id: &Id, ticket: Ticket) -> Option<RunningCall> {
        self.calls.get(id).filter(|running| running.ticket == ticket)?;
        self.remove(id)
    }

    pub(super) fn take_all(&mut self) -> Vec<RunningCall> {
        self.bytes = 0;
        std::mem::take(&mut self.calls).into_values().collect()
    }

    /// Calls that have just begun to run hold this until they are over.
    #[cfg(feature = "http-server")]
    pub(super) fn hold(&mut self, held: &Held) {
        for running in self.calls.values_mut() {
            running.held.get_or_insert_with(|| Arc::clone(held));
        }
    }
}
