//! Requests of the server (elicitation, sampling, roots, ping) in session-based revisions, and their responses.

use std::sync::Arc;

use serde_json::Value;
use tracing::Instrument;

use super::{Session, State};
use crate::client::handlers::{Unhandled, Within};
use crate::protocol::{Revision, method};
use crate::server::pipeline::Params;
use crate::telemetry::{Observed, ObservedRequest, Origin, Outcome};
use crate::wire::message::{Reply, Request, write_json, write_reply};
use crate::wire::{Id, RpcError};

/// How many requests of the server are handled at once.
const MOST_CONCURRENT: usize = 100;

impl Session {
    /// Handles a request of the server.
    pub(super) fn handle(self: &Arc<Self>, request: Request<'_>) {
        if self.is_closing() {
            return;
        }
        let mut state = self.state();
        // Before the negotiation ends, only servers of session-based revisions send requests.
        let revision = state.revision.unwrap_or(Revision::NEWEST_LEGACY);
        if !revision.opens_with_handshake() {
            tracing::warn!(
                method = %request.method,
                "ignored a request of the server: in revision {revision} servers do not send requests"
            );
            return;
        }
        if request.method == method::PING {
            let empty = Reply::Result(&|out| out.extend_from_slice(b"{}"));
            state.out.push(|out| write_reply(out, &request.id, &empty));
            drop(state);
            self.wake.notify_one();
            return;
        }
        if let Err(error) = admit(&state, &request.id) {
            state.out.push(|out| write_reply(out, &request.id, &Reply::Error(&error)));
            drop(state);
            self.wake.notify_one();
            return;
        }
        let session = Arc::clone(self);
        let (id, method, params) =
            (request.id.clone(), request.method.into_owned(), request.params.map(ToOwned::to_owned));
        let origin = Origin { network: self.network(), ..Origin::default() };
        let trace = || Params::read(params.as_deref()).ok()?.trace();
        let observed = Observed::serve(&method, Some(&id), origin, trace, || None);
        let span = observed.span.clone();
        let observed = ObservedRequest::serve(observed, method.clone(), revision);
        let handling = async move {
            let within = Within::new(session.handler_timeout);
            let handled = session.handlers.handle(&method, params.as_deref(), revision, within).await;
            let outcome = handled.map_err(Unhandled::into_rpc);
            session.respond(&id, outcome.as_ref());
            observed.end(&outcome.as_ref().map_or_else(Outcome::Rpc, |_| Outcome::Success));
        };
        let task = tokio::spawn(handling.instrument(span));
        // It cannot have finished: it needs the lock for that.
        state.handling.insert(request.id, task.abort_handle());
        state.update_pause();
    }

    /// Responds to a request of the server, unless the server has cancelled it.
    fn respond(&self, id: &Id, outcome: Result<&Value, &RpcError>) {
        let mut state = self.state();
        if state.handling.remove(id).is_none() {
            return;
        }
        state.update_pause();
        state.out.push(|out| match outcome {
            Ok(value) => write_reply(out, id, &Reply::Result(&|out| write_json(out, value))),
            Err(error) => write_reply(out, id, &Reply::Error(error)),
        });
        drop(state);
        self.wake.notify_one();
    }

    /// The server has cancelled a request of its own.
    pub(super) fn stop_handling(&self, id: &Id) {
        let mut state = self.state();
        if let Some(task) = state.handling.remove(id) {
            state.update_pause();
            task.abort();
        }
    }
}

fn admit(state: &State, id: &Id) -> Result<(), RpcError> {
    if state.handling.contains_key(id) {
        Err(RpcError::invalid_request(format!("the id {id} is in use")))
    } else if state.handling.len() >= MOST_CONCURRENT {
        Err(RpcError::invalid_request("too many concurrent requests; wait for a response"))
    } else {
        Ok(())
    }
}
