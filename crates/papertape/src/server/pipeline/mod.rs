//! One request from its message to its response: the same steps, in the same order, for every transport.
//!
//! ```text
//! decode -> resolve -> authorize -> prepare -> run -> respond
//! ```
//!
//! [`serve`] is the line up to the handler, [`run`] the rest of it. Scopes belong to what a request addresses, so that is
//! resolved first, once, and handed on. A handler that is ready at its first poll is answered by the thread that has read
//! the request, without a task or a channel in between.

pub(crate) mod arguments;
mod authorize;
mod batch;
mod builtin;
pub(crate) mod exact;
mod opening;
pub(crate) mod prepare;
pub(crate) mod request;
pub(crate) mod resolve;
pub(crate) mod respond;
pub(crate) mod run;
pub(crate) mod subscribe;

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::protocol::method;
use crate::server::service::Service;
use crate::server::session::{ReplyTo, Session};
use crate::wire::error::{PARSE_ERROR, excerpt};
use crate::wire::message::{self, Message, Notification, Payload, Request, Response};
use crate::wire::{Id, RpcError};

pub(crate) use authorize::Refused;
pub(crate) use batch::serve_batch;
pub(crate) use prepare::Prepared;
#[cfg(feature = "http-server")]
pub(crate) use request::HeaderCheck;
pub(crate) use request::{Envelope, Params};
pub(crate) use run::PreparedCall;

/// Calls that are ready to run, in the order in which they came.
pub(crate) type Calls = VecDeque<PreparedCall>;

/// Serves one request up to its handler, which the caller then [`run`]s. `None` if the response has been written already.
///
/// A refusal has been written to the session when it is returned; a transport may add to it.
pub(crate) fn serve(
    service: &Arc<Service>,
    request: Request<'_>,
    session: &Arc<Session>,
    envelope: Envelope<'_>,
) -> Result<Option<PreparedCall>, Refused> {
    let span = request::span(&request);
    let _entered = span.enter();
    let to = ReplyTo { id: request.id, batch: envelope.batch };
    let serve = || {
        let request =
            request::decode(service, &request.method, request.params, &to, session, &span, envelope.headers)?;
        let target = resolve::resolve(service, &request)?;
        request::check_arguments(service, &request, &target, envelope.headers)?;
        authorize::authorize(session.principal().map(|principal| &**principal), &target)?;
        Ok(match prepare::prepare(service, &request, target)? {
            Prepared::Call(call) => Some(call),
            Prepared::Output(call, output) => {
                respond::output(&call, output, |reply| session.reply(&to, reply));
                None
            }
            Prepared::Answered => None,
        })
    };
    serve().inspect_err(|refused| respond::refuse(refused, &to, session))
}

/// Runs a handler as far as it gets at once and responds; what is left of it runs on the runtime, which must be entered.
pub(crate) fn run(mut call: PreparedCall) {
    if call.is_slow() {
        return call.spawn_slow();
    }
    let outcome = call.first_poll();
    call.conclude(outcome);
}

/// Takes the body of one frame. False if it was not even JSON.
pub(crate) fn receive(
    service: &Arc<Service>,
    body: &[u8],
    session: &Arc<Session>,
    calls: &mut Calls,
) -> bool {
    match message::parse(body, service.limits.bounds()) {
        Ok(Payload::Single(Message::Request(request))) => {
            // A refusal is part of the session's output by now.
            calls.extend(serve(service, request, session, Envelope::default()).unwrap_or_default());
        }
        Ok(Payload::Single(message)) => accept(message, session),
        Ok(Payload::Batch(members)) => drop(serve_batch(service, &members, session)),
        Err(rejected) => {
            tracing::info!(code = rejected.error.code, "refused a frame: {}", rejected.error.message);
            let is_json = rejected.error.code != PARSE_ERROR;
            session.reject(rejected.id, None, &rejected.error);
            return is_json;
        }
    }
    true
}

/// Takes what came after the last line end when the input ended: a message, or an unfinished one, which is dropped.
pub(crate) fn receive_unfinished(
    service: &Arc<Service>,
    body: &[u8],
    session: &Arc<Session>,
    calls: &mut Calls,
) {
    match message::parse(body, service.limits.bounds()) {
        Err(rejected) if rejected.error.code == PARSE_ERROR => {
            tracing::info!(bytes = body.len(), "the input ended inside a message");
        }
        _ => _ = receive(service, body, session, calls),
    }
}

/// Takes a message that has no response: a notification, or the response to a request of the server's own.
pub(crate) fn accept(message: Message<'_>, session: &Session) {
    match message {
        Message::Notification(notification) => accept_notification(&notification, session),
        Message::Response(response) => accept_response(&response, session),
        Message::Request(_) => {}
    }
}

fn accept_notification(notification: &Notification<'_>, session: &Session) {
    match &*notification.method {
        method::INITIALIZED => session.set_initialized(),
        method::CANCELLED => {
            let params = Params::read(notification.params).unwrap_or_default();
            if let Some(id) = params.request_id.and_then(|raw| Id::parse(raw.get()).ok()) {
                session.cancel(&id);
            }
        }
        other => tracing::debug!(method = excerpt(other), "ignored a notification"),
    }
}

fn accept_response(response: &Response<'_>, session: &Session) {
    let result = match (response.result, response.error) {
        (Some(result), None) => Ok(RawValue::to_owned(result)),
        (_, error) => Err(error
            .and_then(|error| serde_json::from_str(error.get()).ok())
            .unwrap_or_else(|| RpcError::internal("the response has neither a result nor a valid error"))),
    };
    if !response.id.as_ref().is_some_and(|id| session.take_response(id, result)) {
        tracing::info!(id = ?response.id, "ignored a response to no request");
    }
}
