//! Batches of messages, which only revision 2025-03-26 has.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::{Envelope, Refused, accept, serve};
use crate::protocol::{Revision, method};
use crate::server::service::ServiceCore;
use crate::server::session::{BatchPlace, Session};
use crate::wire::RpcError;
use crate::wire::message::{self, Message, Rejected};

/// Serves the members of a batch, whose responses are sent together. If the principal lacks scopes for one of them, that is
/// the error.
pub(crate) fn serve_batch(
    service: &Arc<ServiceCore>,
    members: &[&RawValue],
    session: &Arc<Session>,
    envelope: Envelope<'_>,
) -> Result<(), Refused> {
    let messages: Vec<_> = members.iter().map(|member| message::parse_member(member)).collect();
    if let Err(error) = check(&messages, session) {
        session.reject(None, None, &error);
        return Ok(());
    }
    let waits = |message: &Result<Message<'_>, _>| matches!(message, Ok(Message::Request(_)) | Err(_));
    let waiting = messages.iter().filter(|message| waits(message)).count();
    let batch = if waiting > 0 { session.open_batch(waiting) } else { 0 };
    let mut places = (0..waiting).map(|index| BatchPlace { batch, index });
    let mut served = Ok(());
    for message in messages {
        let place = if waits(&message) { places.next() } else { None };
        match message {
            Ok(Message::Request(request)) => {
                let envelope = Envelope { batch: place, ..envelope };
                match serve(service, request, session, envelope) {
                    // The rest of the batch may cancel a call, so that it must be running by then.
                    Ok(call) => call.into_iter().for_each(|call| call.spawn()),
                    Err(forbidden @ Refused::Forbidden(_)) => served = Err(forbidden),
                    Err(Refused::Malformed(_) | Refused::Failed(_)) => {}
                }
            }
            Ok(message) => accept(service, message, session, envelope),
            Err(rejected) => session.reject(rejected.id, place, &rejected.error),
        }
    }
    served
}

/// Whether a batch can be served at all.
fn check(messages: &[Result<Message<'_>, Rejected>], session: &Session) -> Result<(), RpcError> {
    if !session.legacy().is_some_and(Revision::allows_batches) {
        let known = Revision::ALL.into_iter().find(|revision| revision.allows_batches());
        let known =
            known.map_or_else(String::new, |revision| format!(": only revision {revision} has batches"));
        let message = format!("a message must be one JSON object, got an array{known}");
        return Err(RpcError::invalid_request(message));
    }
    let mut ids = HashSet::new();
    for message in messages {
        let Ok(Message::Request(request)) = message else { continue };
        if request.method == method::INITIALIZE {
            return Err(RpcError::invalid_request("`initialize` must not be in a batch"));
        }
        if !ids.insert(&request.id) {
            let message = format!("the id {} occurs twice in the batch", request.id);
            return Err(RpcError::invalid_request(message));
        }
    }
    Ok(())
}
