//! A POST to a message, and the message to the era it belongs to.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, StatusCode};
use serde_json::json;
use serde_json::value::RawValue;

use super::events::{Events, Exchange, SILENCE, Source};
use super::reply::{self, Answer, Refusal};
use super::request::Readable;
use super::site::Site;
use super::{legacy, modern, request};
use crate::link::Link;
use crate::outbox::Outgoing;
use crate::protocol::{Revision, method};
use crate::server::{Params, Principal, UNSUPPORTED_PROTOCOL_VERSION};
use crate::transport::http::headers;
use crate::wire::error::{METHOD_NOT_FOUND, shortened};
use crate::wire::message::{self, Message, Payload, Rejected};
use crate::wire::tape::Direction;
use crate::wire::{Id, RpcError};

/// What the client has to take, because it cannot be known beforehand which of them it will get.
const KINDS: [&str; 2] = ["application/json", "text/event-stream"];

/// The revision that a request's header names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    Nothing,
    Known(Revision),
    /// None that is spoken here, or several.
    Unknown,
}

impl Named {
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(headers::PROTOCOL_VERSION).iter();
        let Some(value) = values.next() else { return Named::Nothing };
        let revision = value.to_str().ok().and_then(|name| Revision::parse(name.trim()));
        revision.filter(|_| values.next().is_none()).map_or(Named::Unknown, Named::Known)
    }

    /// Whether an error about something without a readable id has no `id` member. Older revisions get `null`; a request that
    /// names none, or one that is unknown here, is taken for a new one.
    pub(crate) fn omits_unreadable_id(self) -> bool {
        match self {
            Named::Known(revision) => revision.omits_unreadable_id(),
            Named::Nothing | Named::Unknown => true,
        }
    }
}

/// Serves a POST.
pub(crate) async fn serve<B>(
    site: &Arc<Site>,
    parts: &Parts,
    body: B,
    principal: Option<Arc<Principal>>,
) -> Result<Answer, Refusal>
where
    B: Readable,
{
    request::check_content(&parts.headers)?;
    request::check_accept(&parts.headers, &KINDS)?;
    let taken = request::read(&parts.headers, body, site.options.body, &site.budget).await?;
    site.tape(Direction::ToServer, &taken.bytes);
    let named = Named::read(&parts.headers);
    match message::parse(&taken.bytes, site.service.limits().bounds()) {
        Err(rejected) => Ok(refuse(site, rejected, named)),
        Ok(payload) if is_modern(named, &payload) => {
            modern::serve(site, &parts.headers, payload, named, principal, taken.held.as_ref()).await
        }
        Ok(Payload::Single(Message::Request(request)))
            if !site.options.legacy && request.method == method::INITIALIZE =>
        {
            let asked = Params::read(request.params).ok().and_then(|params| params.protocol_version);
            let asked = asked.and_then(message::string).unwrap_or_default();
            Ok(refuse(site, unopenable(request.id, &asked), named))
        }
        // It lacks what every request must have, and is told so.
        Ok(payload) if !site.options.legacy => {
            modern::serve(site, &parts.headers, payload, named, principal, taken.held.as_ref()).await
        }
        Ok(payload) => {
            legacy::serve(site, &parts.headers, payload, named, principal, taken.held.as_ref()).await
        }
    }
}

/// Whether a message stands alone. One that says so itself does, whatever its headers say.
fn is_modern(named: Named, payload: &Payload<'_>) -> bool {
    match (named, payload) {
        (Named::Known(revision), _) if !revision.opens_with_handshake() => true,
        (_, Payload::Single(Message::Request(request))) if names_itself(request.params) => true,
        // What is agreed is negotiated in the body; a header that names what is not known here changes nothing about that.
        (Named::Unknown, Payload::Single(Message::Request(request))) => request.method != method::INITIALIZE,
        (Named::Unknown, _) => true,
        _ => false,
    }
}

/// Whether the parameters of a request name a revision, be it in a wrong way.
fn names_itself(params: Option<&RawValue>) -> bool {
    Params::read(params)
        .is_ok_and(|params| params.meta.is_some_and(|meta| !matches!(meta.protocol_version(), Ok(None))))
}

/// Why nothing can be opened where every request stands alone.
fn unopenable(id: Id, asked: &str) -> Rejected {
    let modern = Revision::MODERN;
    let message =
        format!("there is nothing to open: only {modern} is spoken here, which every request names");
    let error = RpcError::new(UNSUPPORTED_PROTOCOL_VERSION, message).with_data(
        json!({"supported": Revision::STATELESS.map(Revision::as_str), "requested": shortened(asked)}),
    );
    Rejected { id: Some(id), error, answers: false }
}

/// Answers what is no message.
pub(crate) fn refuse(site: &Site, rejected: Rejected, named: Named) -> Answer {
    tracing::info!(code = rejected.error.code, "refused a request: {}", rejected.error.message);
    let link = Link::new(None);
    if named.omits_unreadable_id() {
        link.note_modern(Revision::MODERN);
    }
    link.reject(rejected.id, None, &rejected.error);
    whole(site, &link, StatusCode::BAD_REQUEST)
}

/// All that waits on a link, which is one message, as a response.
pub(crate) fn whole(site: &Site, link: &Link, status: StatusCode) -> Answer {
    let mut frames = Outgoing::default();
    link.take(&mut frames);
    message_answer(site, frames, status)
}

pub(crate) fn message_answer(site: &Site, mut frames: Outgoing, status: StatusCode) -> Answer {
    // Without the line end, which only frames have.
    frames.bytes.pop();
    site.tape(Direction::ToClient, &frames.bytes);
    reply::json(status, frames.bytes)
}

/// Waits for what comes of an exchange that ends with its connection: one message, or a stream if there is more to say.
///
/// Nothing is promised before that is known, because some answers have a status of their own.
pub(crate) async fn respond(
    site: &Arc<Site>,
    exchange: Exchange,
    headers: &HeaderMap,
    status: impl Fn(&Link) -> StatusCode,
) -> Answer {
    let mut frames = Outgoing::default();
    let mut noted = false;
    loop {
        let over = exchange.0.is_over();
        exchange.0.take(&mut frames);
        match frames.ends.len() {
            0 if over => return reply::empty(StatusCode::ACCEPTED),
            1 if over => {
                let status = status(&exchange.0);
                if status == StatusCode::OK && request::prefers_events(headers) {
                    break;
                }
                return message_answer(site, frames, status);
            }
            0 => {}
            _ => break,
        }
        if !std::mem::replace(&mut noted, true) {
            site.note_waiting(&exchange.0);
        }
        if tokio::time::timeout(SILENCE, exchange.0.bell()).await.is_err() {
            break;
        }
    }
    if !noted {
        site.note_waiting(&exchange.0);
    }
    reply::events(Events::new(site, Source::Exchange(exchange), &frames))
}

/// The status that an answer has by its code, for requests that stand alone.
pub(crate) fn status_of(code: Option<i64>) -> StatusCode {
    match code {
        Some(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(-32022..=-32020) => StatusCode::BAD_REQUEST,
        // Anything else would look like a server that does not know the revision.
        _ => StatusCode::OK,
    }
}
