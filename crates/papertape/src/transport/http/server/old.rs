//! The transport of 2024-11-05: a stream for all that the server says, and another address for all that the client says.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use data_encoding::BASE64URL_NOPAD;
use http::request::Parts;
use http::{Method, StatusCode};

use super::events::{Events, Exchange, Source};
use super::post::{self, Named};
use super::reply::{self, Answer, Refusal};
use super::request::Readable;
use super::site::Site;
use super::{request, scopes};
use crate::link::Link;
use crate::outbox::{OUTBOX, Outgoing};
use crate::protocol::Revision;
use crate::server::{Calls, Params, Principal, Service};
use crate::wire::message::{self, Payload, Rejected};
use crate::wire::tape::Direction;

/// Where the stream is.
pub(crate) const STREAM: &str = "/sse";
/// Where messages go.
pub(crate) const MESSAGES: &str = "/messages";

/// The streams that are open, by the name in the address that their clients were given.
#[derive(Debug, Default)]
pub(crate) struct OldStreams(Mutex<HashMap<String, Weak<Link>>>);

impl OldStreams {
    fn open(&self) -> MutexGuard<'_, HashMap<String, Weak<Link>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No more is read from anybody; what runs may finish.
    pub(crate) fn drain(&self, service: &Service) {
        for link in self.open().values().filter_map(Weak::upgrade) {
            service.end_subscriptions(&link);
            link.close();
        }
    }

    /// The links of all that are open.
    pub(crate) fn links(&self) -> Vec<Arc<Link>> {
        self.open().values().filter_map(Weak::upgrade).collect()
    }
}

pub(crate) async fn serve<B>(
    site: &Arc<Site>,
    parts: &Parts,
    body: B,
    principal: Option<Arc<Principal>>,
) -> Result<Answer, Refusal>
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
fn listen(site: &Arc<Site>, parts: &Parts, principal: Option<Arc<Principal>>) -> Result<Answer, Refusal> {
    request::check_accept(&parts.headers, &["text/event-stream"])?;
    let mut name = [0; 24];
    getrandom::fill(&mut name).map_err(|_| {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the system has no randomness to give")
    })?;
    let name = BASE64URL_NOPAD.encode(&name);
    let link = Link::new(principal);
    let mut open = site.old.open();
    open.retain(|_, link| link.strong_count() > 0);
    open.insert(name.clone(), Arc::downgrade(&link));
    drop(open);
    let first = format!("event: endpoint\ndata: {MESSAGES}?session={name}\n\n");
    let events =
        Events::new(site, Source::Endless(Exchange(link)), &Outgoing::default()).beginning_with(first);
    Ok(reply::events(events))
}

/// Takes a message; what answers it goes to the stream.
async fn take<B>(
    site: &Arc<Site>,
    parts: &Parts,
    body: B,
    principal: Option<Arc<Principal>>,
) -> Result<Answer, Refusal>
where
    B: Readable,
{
    request::check_content(&parts.headers)?;
    let name =
        parts.uri.query().and_then(|query| query.split('&').find_map(|part| part.strip_prefix("session=")));
    let link = name.and_then(|name| site.old.open().get(name).and_then(Weak::upgrade));
    // A name is no proof of who asks.
    let link =
        link.filter(|link| link.principal().map(|who| &who.name) == principal.as_ref().map(|who| &who.name));
    let link = link.ok_or_else(|| {
        Refusal::new(
            StatusCode::NOT_FOUND,
            format!("no stream of that name is open: open one with GET {STREAM}"),
        )
    })?;
    if link.pending() > OUTBOX {
        let message = "the client does not read what it was sent: no more is taken from it";
        return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).retry_after(1));
    }
    let taken = request::read(&parts.headers, body, site.options.body, &site.budget).await?;
    site.tape(Direction::ToServer, &taken.bytes);
    let served = serve_message(site, &taken.bytes, &link)?;
    if let Some(held) = &taken.held {
        link.hold(&(Arc::clone(held) as _));
    }
    if let Err(rejected) = served {
        return Ok(post::refuse(site, rejected, Named::Known(Revision::OLDEST)));
    }
    link.ring();
    Ok(reply::empty(StatusCode::ACCEPTED))
}

fn serve_message(site: &Site, bytes: &[u8], link: &Arc<Link>) -> Result<Result<(), Rejected>, Refusal> {
    let forbidden = RefCell::new(None);
    let gate = |method: &str, params: &Params<'_>| scopes::check(site, method, params, link, &forbidden);
    let mut calls = Calls::new();
    match message::parse(bytes, site.service.limits().bounds()) {
        Ok(Payload::Single(message)) => site.service.handle(message, link, None, &gate, &mut calls),
        Ok(Payload::Batch(members)) => site.service.handle_batch(&members, link, &gate),
        Err(rejected) => return Ok(Err(rejected)),
    }
    while let Some(call) = calls.pop_front() {
        call.run_here();
    }
    forbidden.take().map_or(Ok(Ok(())), |challenge| Err(challenge.into()))
}
