//! Messages that get no response: notifications, and responses to requests of the server's own.

use std::sync::Arc;

use serde_json::value::RawValue;
use tracing::Instrument;

use super::method_call::method_call;
use super::prepare::new_call;
use super::run::{self, Call, Feature, Run};
use super::{DecodedRequest, Envelope, Mode, Params, RequestMeta, respond};
use crate::protocol::{Revision, method};
use crate::server::features::method::RegisteredMethod;
use crate::server::service::ServiceCore;
#[cfg(feature = "http-server")]
use crate::server::session::Held;
use crate::server::session::{ReplyTo, Session};
use crate::telemetry::{Observed, Operation, Outcome, Subject};
use crate::wire::error::excerpt;
use crate::wire::message::{Message, Notification, Response};
use crate::wire::{Id, RpcError};

/// Takes a message that has no response: a notification, or the response to a request of the server's own.
pub(crate) fn accept(
    service: &Arc<ServiceCore>,
    message: Message<'_>,
    session: &Arc<Session>,
    envelope: Envelope<'_>,
) {
    match message {
        Message::Notification(notification) => accept_notification(service, &notification, session, envelope),
        Message::Response(response) => accept_response(&response, session),
        Message::Request(_) => {}
    }
}

fn accept_notification(
    service: &Arc<ServiceCore>,
    notification: &Notification<'_>,
    session: &Arc<Session>,
    envelope: Envelope<'_>,
) {
    if notification.method == method::INITIALIZED {
        session.set_initialized();
    }
    match &*notification.method {
        method::CANCELLED => {
            let params = Params::read(notification.params).unwrap_or_default();
            if let Some(id) = params.request_id.and_then(|raw| Id::parse(raw.get()).ok()) {
                session.cancel(&id);
            }
        }
        _ => {
            if let Some(prepared) = prepare_notification(service, notification, session, envelope) {
                session.enqueue(prepared, &service.limits);
            }
        }
    }
}

/// A notification whose handler has been started, but not polled.
pub(crate) struct PreparedNotification {
    pub(crate) call: Arc<Call>,
    run: Run,
    #[cfg(feature = "http-server")]
    held: Option<Held>,
}

impl PreparedNotification {
    /// Runs its handler to its end. Dropped before that, it counts as cancelled.
    pub(crate) async fn run(self) {
        struct Ending {
            call: Arc<Call>,
            handled: bool,
        }
        impl Drop for Ending {
            fn drop(&mut self) {
                if !self.handled {
                    self.call.observe_cancelled(None);
                }
                self.call.set_cancelled();
            }
        }
        #[cfg(feature = "http-server")]
        let _held = self.held;
        let PreparedNotification { call, run, .. } = self;
        let mut ending = Ending { call: Arc::clone(&call), handled: false };
        let span = call.observed.span.clone();
        let outcome = run::to_end(&call, run).instrument(span.clone()).await;
        ending.handled = true;
        let _entered = span.enter();
        // There is no response; what has failed is logged.
        respond::outcome(&call, outcome, |reply| {
            if let crate::wire::message::Reply::Error(error) = reply {
                let method = call.feature.name();
                tracing::warn!(
                    method,
                    code = error.code,
                    "a notification was not handled: {}",
                    error.message
                );
            }
        });
    }
}

/// Starts the handler of a notification that is not MCP's; `None` if it has none, or it may not be run.
pub(crate) fn prepare_notification(
    service: &Arc<ServiceCore>,
    notification: &Notification<'_>,
    session: &Arc<Session>,
    envelope: Envelope<'_>,
) -> Option<PreparedNotification> {
    let name = &*notification.method;
    let fallback = || {
        let is_passed =
            [method::INITIALIZED, method::ROOTS_CHANGED].contains(&name) || !method::is_standard(name);
        service.custom.fallbacks.notification(name).filter(|_| is_passed)
    };
    let Some(handler) = service.custom.notifications.find(name).or_else(fallback) else {
        tracing::debug!(method = excerpt(name), "ignored a notification");
        return None;
    };
    match prepare(service, notification, session, envelope, &handler) {
        Ok(prepared) => Some(prepared),
        Err(error) => {
            tracing::info!(method = excerpt(name), "ignored a notification: {}", error.message);
            None
        }
    }
}

fn prepare(
    service: &Arc<ServiceCore>,
    notification: &Notification<'_>,
    session: &Arc<Session>,
    envelope: Envelope<'_>,
    handler: &Arc<RegisteredMethod>,
) -> Result<PreparedNotification, RpcError> {
    if session.principal().is_some_and(|principal| !principal.has_scopes(&handler.scopes)) {
        return Err(RpcError::invalid_request(format!(
            "this needs the scopes: {}",
            handler.scopes.join(" ")
        )));
    }
    let params = Params::read(notification.params)?;
    let (mode, revision) = mode(&params, session)?;
    // Nothing responds to it.
    let to = ReplyTo { id: Id::Integer(0), batch: None };
    let trace = || params.trace();
    let observed = Observed::serve(&notification.method, None, envelope.origin(session), trace, || None);
    let request = DecodedRequest {
        method: &notification.method,
        params,
        raw: notification.params,
        to: &to,
        bytes: notification.params.map_or(0, |raw| raw.get().len()),
        mode,
        revision,
        session,
        observed: &observed,
        #[cfg(feature = "http-server")]
        http: envelope.http,
    };
    #[cfg(not(feature = "http-server"))]
    let _ = envelope;
    let operation = Operation { method: handler.name(), subject: Subject::None, revision: Some(revision) };
    observed.describe(&operation);
    let call = new_call(service, &request, handler.name(), Feature::Method(Arc::clone(handler)));
    let run = call.and_then(|call| method_call(&call, &request, handler).map(|run| (call, run)));
    let (call, run) = run.inspect_err(|error| observed.end(&operation, &Outcome::Rpc(error)))?;
    Ok(PreparedNotification {
        call,
        run,
        #[cfg(feature = "http-server")]
        held: envelope.held.cloned(),
    })
}

/// By which revision a notification is handled: that of the session, or the one that it or a request before it has named.
fn mode(params: &Params<'_>, session: &Session) -> Result<(Mode, Revision), RpcError> {
    if let Some(revision) = session.legacy() {
        return Ok((Mode::Session, revision));
    }
    let named = params.meta.as_ref().map_or(Ok(None), RequestMeta::protocol_version)?;
    match named.as_deref().and_then(Revision::parse).or(session.modern()) {
        Some(revision) if !revision.opens_with_handshake() => Ok((Mode::Stateless, revision)),
        _ => Err(RpcError::invalid_request("the session has not been opened")),
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
