//! A POST: its message, and whether that is of a stateless or a session-based revision.

use std::sync::Arc;

use http::request::Parts;
use serde_json::json;
use serde_json::value::RawValue;

use super::refusal::Refusal;
use super::request::{self, NamedRevision, Readable};
use super::response::{self, HttpResponse};
use super::site::Site;
use super::{legacy, modern};
use crate::protocol::error_code::UNSUPPORTED_PROTOCOL_VERSION;
use crate::protocol::{Revision, method};
use crate::server::Principal;
use crate::server::pipeline::Params;
use crate::wire::error::shortened;
use crate::wire::message::{self, Message, Payload, Rejected};
use crate::wire::tape::Direction;
use crate::wire::{Id, RpcError};

/// The media types that a client must accept, because it is not known beforehand which it will get.
const KINDS: [&str; 2] = ["application/json", "text/event-stream"];

/// Serves a POST.
pub(crate) async fn serve<B>(
    site: &Arc<Site>,
    parts: &Parts,
    body: B,
    principal: Option<Arc<Principal>>,
) -> Result<HttpResponse, Refusal>
where
    B: Readable,
{
    request::check_content(&parts.headers)?;
    request::check_accept(&parts.headers, &KINDS)?;
    let taken = request::read(&parts.headers, body, site.options.body, &site.budget).await?;
    site.tape(Direction::ToServer, &taken.bytes);
    let named = NamedRevision::read(&parts.headers);
    match message::parse(&taken.bytes, site.service.limits().bounds()) {
        Err(rejected) => Ok(response::rejected(site, rejected, named)),
        Ok(payload) if is_modern(named, &payload) => {
            modern::serve(site, &parts.headers, payload, named, principal, taken.held.as_ref()).await
        }
        Ok(Payload::Single(Message::Request(request)))
            if !site.options.legacy && request.method == method::INITIALIZE =>
        {
            let asked = Params::read(request.params).ok().and_then(|params| params.protocol_version);
            let asked = asked.and_then(message::string).unwrap_or_default();
            Ok(response::rejected(site, unopenable(request.id, &asked), named))
        }
        // It lacks what every stateless request has, which is the error that it gets.
        Ok(payload) if !site.options.legacy => {
            modern::serve(site, &parts.headers, payload, named, principal, taken.held.as_ref()).await
        }
        Ok(payload) => {
            legacy::serve(site, &parts.headers, payload, named, principal, taken.held.as_ref()).await
        }
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
