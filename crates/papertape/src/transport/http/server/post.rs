//! A POST: its message, and whether that is of a session-based revision, or of a stateless one (2026-07-28). A stateless request is
//! served on its own, in a session that ends with it.

use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;
use serde_json::json;
use serde_json::value::RawValue;

use super::legacy;
use super::mirror_headers::MirrorHeaders;
use super::refusal::Refusal;
use super::request::{self, Exchange, Held, NamedRevision, Readable};
use super::response::{self, HttpResponse};
use super::site::Site;
use crate::protocol::error_code::{
    HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION,
};
use crate::protocol::{Revision, method};
use crate::server::Principal;
use crate::server::pipeline::{self, Envelope, Params, Refused};
use crate::server::session::Session;
use crate::wire::error::shortened;
use crate::wire::message::{self, Message, Payload, Rejected, Request};
use crate::wire::{Id, RpcError};

/// The media types that a client must accept, because it is not known beforehand which it will get.
const KINDS: [&str; 2] = ["application/json", "text/event-stream"];

/// Serves a POST.
pub(crate) async fn serve<B>(
    site: &Arc<Site>,
    parts: &Arc<Parts>,
    body: B,
    principal: Option<Arc<Principal>>,
) -> Result<HttpResponse, Refusal>
where
    B: Readable,
{
    request::check_content(&parts.headers)?;
    request::check_accept(&parts.headers, &KINDS)?;
    let taken = request::read(&parts.headers, body, site.options.body, &site.budget).await?;
    site.record_body(parts, &taken.bytes);
    let named = NamedRevision::read(&parts.headers);
    match message::parse(&taken.bytes, site.service.limits().bounds()) {
        Err(rejected) => Ok(response::rejected(rejected, named)),
        Ok(payload) if is_modern(named, &payload) => {
            serve_stateless(site, parts, payload, named, principal, taken.held.as_ref()).await
        }
        Ok(Payload::Single(Message::Request(request)))
            if !site.options.legacy && request.method == method::INITIALIZE =>
        {
            let asked = Params::read(request.params).ok().and_then(|params| params.protocol_version);
            let asked = asked.and_then(message::string).unwrap_or_default();
            Ok(response::rejected(unopenable(request.id, &asked), named))
        }
        // It lacks what every stateless request has, which is the error that it gets.
        Ok(payload) if !site.options.legacy => {
            serve_stateless(site, parts, payload, named, principal, taken.held.as_ref()).await
        }
        Ok(payload) => legacy::serve(site, parts, payload, named, principal, taken.held.as_ref()).await,
    }
}

/// Serves a message of a stateless revision.
async fn serve_stateless(
    site: &Arc<Site>,
    parts: &Arc<Parts>,
    payload: Payload<'_>,
    named: NamedRevision,
    principal: Option<Arc<Principal>>,
    held: Option<&Arc<Held>>,
) -> Result<HttpResponse, Refusal> {
    let reject = |id: Option<Id>, message: &str| {
        let error = RpcError::invalid_request(message);
        Ok(response::rejected(Rejected { id, error, is_response: false }, named))
    };
    match payload {
        Payload::Single(Message::Request(request)) => {
            serve_request(site, parts, request, principal, held).await
        }
        Payload::Single(Message::Notification(_)) if named == NamedRevision::Unknown => {
            reject(None, "`MCP-Protocol-Version` names no revision that is supported here")
        }
        // The response comes when its handler is done, so that a client has only so many of them running.
        Payload::Single(Message::Notification(notification)) => {
            let session = Session::new(principal);
            session.note_modern(Revision::MODERN);
            let envelope = Envelope { http: Some(parts), ..Envelope::default() };
            let prepared = pipeline::prepare_notification(&site.service, &notification, &session, envelope);
            if let Some(notification) = prepared {
                // It ends with the client, or when the server does.
                let exchange = Exchange(session);
                exchange.0.enqueue(notification, site.service.limits());
                site.note_waiting(&exchange.0);
                while !exchange.0.is_idle() {
                    exchange.0.woken().await;
                }
            }
            Ok(response::empty(StatusCode::ACCEPTED))
        }
        Payload::Single(Message::Response(sent)) => {
            reject(sent.id, "the server has sent no request, so that there is nothing to respond to")
        }
        Payload::Batch(_) => reject(None, "a message must be one JSON object, got an array"),
    }
}

async fn serve_request(
    site: &Arc<Site>,
    parts: &Arc<Parts>,
    request: Request<'_>,
    principal: Option<Arc<Principal>>,
    held: Option<&Arc<Held>>,
) -> Result<HttpResponse, Refusal> {
    let _timed = site.time(&request.method);
    let exchange = Exchange(Session::new(principal));
    let mirrored = MirrorHeaders(&parts.headers);
    let envelope = Envelope { headers: Some(&mirrored), http: Some(parts), ..Envelope::default() };
    let status = match pipeline::serve(&site.service, request, &exchange.0, envelope) {
        Ok(call) => {
            call.into_iter().for_each(pipeline::run);
            None
        }
        Err(Refused::Forbidden(scopes)) => return Err(site.forbidden(exchange.0.principal(), &scopes)),
        Err(Refused::Malformed(_)) => Some(StatusCode::BAD_REQUEST),
        Err(Refused::Failed(_)) => None,
    };
    if let Some(held) = held {
        exchange.0.hold(&(Arc::clone(held) as _));
    }
    let status = move |session: &Session| status.unwrap_or_else(|| status_of(session.last_error()));
    Ok(response::of_exchange(site, exchange, &parts.headers, status).await)
}

/// The HTTP status of a response by the code of its error.
fn status_of(code: Option<i64>) -> StatusCode {
    match code {
        Some(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(HEADER_MISMATCH | MISSING_CLIENT_CAPABILITY | UNSUPPORTED_PROTOCOL_VERSION) => {
            StatusCode::BAD_REQUEST
        }
        // Anything else would look like a server that does not support the revision.
        _ => StatusCode::OK,
    }
}

/// Whether a message is of a stateless revision. One that names such a revision itself is, whatever its headers say.
fn is_modern(named: NamedRevision, payload: &Payload<'_>) -> bool {
    match (named, payload) {
        (NamedRevision::Known(revision), _) if !revision.opens_with_handshake() => true,
        (_, Payload::Single(Message::Request(request))) if names_itself(request.params) => true,
        // The revision of a session is negotiated in the body of `initialize`, whatever the header names.
        (NamedRevision::Unknown, Payload::Single(Message::Request(request))) => {
            request.method != method::INITIALIZE
        }
        (NamedRevision::Unknown, _) => true,
        _ => false,
    }
}

/// Whether the parameters of a request name a revision, valid or not.
fn names_itself(params: Option<&RawValue>) -> bool {
    Params::read(params)
        .is_ok_and(|params| params.meta.is_some_and(|meta| !matches!(meta.protocol_version(), Ok(None))))
}

/// The error for `initialize` where only stateless revisions are served.
fn unopenable(id: Id, asked: &str) -> Rejected {
    let modern = Revision::MODERN;
    let message = format!("sessions are not served here: only {modern}, which every request names");
    let error = RpcError::new(UNSUPPORTED_PROTOCOL_VERSION, message).with_data(
        json!({"supported": Revision::STATELESS.map(Revision::as_str), "requested": shortened(asked)}),
    );
    Rejected { id: Some(id), error, is_response: false }
}
