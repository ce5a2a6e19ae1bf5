//! Requests of stateless revisions (2026-07-28): each is served on its own, in a session that ends with it.

use std::sync::Arc;

use http::{HeaderMap, StatusCode};

use super::mirror_headers::MirrorHeaders;
use super::refusal::Refusal;
use super::request::{Exchange, Held, NamedRevision};
use super::response::{self, HttpResponse};
use super::site::Site;
use crate::protocol::error_code::{
    HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION,
};
use crate::server::Principal;
use crate::server::pipeline::{self, Envelope, Refused};
use crate::server::session::Session;
use crate::wire::message::{Message, Payload, Rejected, Request};
use crate::wire::{Id, RpcError};

/// Serves a message of a stateless revision.
pub(crate) async fn serve(
    site: &Arc<Site>,
    headers: &HeaderMap,
    payload: Payload<'_>,
    named: NamedRevision,
    principal: Option<Arc<Principal>>,
    held: Option<&Arc<Held>>,
) -> Result<HttpResponse, Refusal> {
    let reject = |id: Option<Id>, message: &str| {
        let error = RpcError::invalid_request(message);
        Ok(response::rejected(site, Rejected { id, error, is_response: false }, named))
    };
    match payload {
        Payload::Single(Message::Request(request)) => {
            serve_request(site, headers, request, principal, held).await
        }
        Payload::Single(Message::Notification(_)) if named == NamedRevision::Unknown => {
            reject(None, "`MCP-Protocol-Version` names no revision that is supported here")
        }
        // There is no notification that a client has to send on HTTP; one that comes is accepted.
        Payload::Single(Message::Notification(_)) => Ok(response::empty(StatusCode::ACCEPTED)),
        Payload::Single(Message::Response(sent)) => {
            reject(sent.id, "the server has sent no request, so that there is nothing to respond to")
        }
        Payload::Batch(_) => reject(None, "a message must be one JSON object, got an array"),
    }
}

async fn serve_request(
    site: &Arc<Site>,
    headers: &HeaderMap,
    request: Request<'_>,
    principal: Option<Arc<Principal>>,
    held: Option<&Arc<Held>>,
) -> Result<HttpResponse, Refusal> {
    let _timed = site.metrics.began(&request.method);
    let exchange = Exchange(Session::new(principal));
    let mirrored = MirrorHeaders(headers);
    let envelope = Envelope { headers: Some(&mirrored), ..Envelope::default() };
    let status = match pipeline::serve(&site.service, request, &exchange.0, envelope) {
        Ok(call) => {
            call.into_iter().for_each(pipeline::run);
            None
        }
        Err(Refused::Forbidden(scopes)) => return Err(site.forbidden(&scopes)),
        Err(Refused::Malformed(_)) => Some(StatusCode::BAD_REQUEST),
        Err(Refused::Failed(_)) => None,
    };
    if let Some(held) = held {
        exchange.0.hold(&(Arc::clone(held) as _));
    }
    let status = move |session: &Session| status.unwrap_or_else(|| status_of(session.last_error()));
    Ok(response::of_exchange(site, exchange, headers, status).await)
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
