//! The HTTP+SSE transport of 2024-11-05: one stream for all messages of the server, and another path for those of the client.

use std::sync::{Arc, Weak};

use data_encoding::BASE64URL_NOPAD;
use http::request::Parts;
use http::{Method, StatusCode};
use sha2::{Digest, Sha256};

use super::events::{Events, Source};
use super::refusal::Refusal;
use super::request::{self, Exchange, NamedRevision, Readable};
use super::response::{self, HttpResponse};
use super::site::Site;
use crate::protocol::Revision;
use crate::server::Principal;
use crate::server::pipeline::{self, Envelope, Refused};
use crate::server::session::Session;
use crate::wire::frame::{OUTBOX, Outgoing};
use crate::wire::message::{self, Message, Payload};

/// Where the stream is.
pub(crate) const STREAM: &str = "/sse";
/// Where messages go.
pub(crate) const MESSAGES: &str = "/messages";

pub(crate) async fn serve<B>(
    site: &Arc<Site>,
    parts: &Arc<Parts>,
    body: B,
    principal: Option<Arc<Principal>>,
) -> Result<HttpResponse, Refusal>
where
    B: Readable,
{
    match (parts.method.clone(), parts.uri.path()) {
        (Method::GET, STREAM) => listen(site, parts, principal),
        (Method::POST, MESSAGES) => take(site, parts, body, principal).await,
        (_, path) => {
            let allowed = if path == STREAM { "GET" } else { "POST" };
            Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, format!("only {allowed} can be done here"))
                .header(http::header::ALLOW, http::HeaderValue::from_static(allowed)))
        }
    }
}

/// Opens a stream; its first event says where messages go.
fn listen(
    site: &Arc<Site>,
    parts: &Parts,
    principal: Option<Arc<Principal>>,
) -> Result<HttpResponse, Refusal> {
    request::check_accept(&parts.headers, &["text/event-stream"])?;
    let mut name = [0; 24];
    getrandom::fill(&mut name)
        .map_err(|_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the system provides no randomness"))?;
    let name = BASE64URL_NOPAD.encode(&name);
    // The name is the client's secret.
    let digest = Sha256::digest(name.as_bytes());
    let id = data_encoding::HEXLOWER.encode(digest.first_chunk::<16>().map_or(&[], |half| &half[..]));
    let session = Session::with_id(principal, id);
    let mut open = site.http_sse.open();
    open.retain(|_, session| session.strong_count() > 0);
    open.insert(name.clone(), Arc::downgrade(&session));
    drop(open);
    let first = format!("event: endpoint\ndata: {MESSAGES}?session={name}\n\n");
    let events =
        Events::new(site, Source::Endless(Exchange(session)), &Outgoing::default()).beginning_with(first);
    Ok(response::events(events))
}

/// Takes a message; its response goes to the stream.
async fn take<B>(
    site: &Arc<Site>,
    parts: &Arc<Parts>,
    body: B,
    principal: Option<Arc<Principal>>,
) -> Result<HttpResponse, Refusal>
where
    B: Readable,
{
    request::check_content(&parts.headers)?;
    let name =
        parts.uri.query().and_then(|query| query.split('&').find_map(|part| part.strip_prefix("session=")));
    let session = name.and_then(|name| site.http_sse.open().get(name).and_then(Weak::upgrade));
    // The name of a stream does not authenticate its client.
    let session = session.filter(|session| {
        session.principal().map(|who| &who.name) == principal.as_ref().map(|who| &who.name)
    });
    let session = session.ok_or_else(|| {
        Refusal::new(
            StatusCode::NOT_FOUND,
            format!("no stream of that name is open: open one with GET {STREAM}"),
        )
    })?;
    // It is served with the scopes of the stream, which a token of the same principal need not have.
    if let (Some(of_stream), Some(principal)) = (session.principal(), &principal)
        && !principal.has_scopes(&of_stream.scopes)
    {
        return Err(site.forbidden(Some(principal), &of_stream.scopes));
    }
    if session.pending() > OUTBOX {
        let message = "the client does not read what it was sent: no more is taken from it";
        return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).retry_after(1));
    }
    let taken = request::read(&parts.headers, body, site.options.body, &site.budget).await?;
    site.record_body(parts, &taken.bytes);
    let held = taken.held.map(|held| held as _);
    let envelope = Envelope { http: Some(parts), held: held.as_ref(), ..Envelope::default() };
    let served = match message::parse(&taken.bytes, site.service.limits().bounds()) {
        Ok(Payload::Single(Message::Request(request))) => {
            let call = pipeline::serve(&site.service, request, &session, envelope);
            call.map(|call| call.into_iter().for_each(pipeline::run))
        }
        Ok(Payload::Single(message)) => {
            pipeline::accept(&site.service, message, &session, envelope);
            Ok(())
        }
        Ok(Payload::Batch(members)) => pipeline::serve_batch(&site.service, &members, &session, envelope),
        Err(rejected) => {
            return Ok(response::rejected(rejected, NamedRevision::Known(Revision::OLDEST)));
        }
    };
    if let Err(Refused::Forbidden(scopes)) = served {
        return Err(site.forbidden(principal.as_ref(), &scopes));
    }
    if let Some(held) = &held {
        session.hold(held);
    }
    session.wake();
    Ok(response::empty(StatusCode::ACCEPTED))
}
