//! A message within a session to its answer, for clients that open with `initialize`.

use std::cell::RefCell;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::events::{Events, Source};
use super::post::{self, Named};
use super::reply::{self, Answer, Refusal};
use super::request::Held;
use super::session::{EventId, Session};
use super::site::Site;
use super::stream::Lost;
use super::{request, scopes};
use crate::link::Link;
use crate::outbox::Outgoing;
use crate::protocol::{Revision, method};
use crate::server::{Calls, Params, Principal};
use crate::transport::http::headers;
use crate::wire::message::{Message, Payload};

/// Serves a message of a session, or one that opens it.
pub(crate) async fn serve(
    site: &Arc<Site>,
    headers: &HeaderMap,
    payload: Payload<'_>,
    named: Named,
    principal: Option<Arc<Principal>>,
    held: Option<&Arc<Held>>,
) -> Result<Answer, Refusal> {
    match payload {
        Payload::Single(Message::Request(request)) if request.method == method::INITIALIZE => {
            Ok(open(site, Message::Request(request), principal))
        }
        // It is said by those who will say more, and that is when it will matter.
        Payload::Single(Message::Notification(note)) if note.method == method::INITIALIZED => {
            check_session(site, headers, named, principal.as_ref())?;
            Ok(reply::empty(StatusCode::ACCEPTED))
        }
        Payload::Single(message) => {
            let session = find(site, headers, named, principal.as_ref())?;
            match message {
                Message::Request(_) => {
                    exchange(site, &session, headers, Payload::Single(message), principal, held)
                }
                _ => {
                    site.service.handle(message, &session.link, None, &|_, _| Ok(()), &mut Calls::new());
                    Ok(reply::empty(StatusCode::ACCEPTED))
                }
            }
        }
        batch @ Payload::Batch(_) => {
            let session = find(site, headers, named, principal.as_ref())?;
            exchange(site, &session, headers, batch, principal, held)
        }
    }
}

/// Opens a session.
fn open(site: &Arc<Site>, initialize: Message<'_>, principal: Option<Arc<Principal>>) -> Answer {
    let _timed = site.metrics.began(method::INITIALIZE);
    let link = Link::new(principal);
    site.service.handle(initialize, &link, None, &|_, _| Ok(()), &mut Calls::new());
    let id = site.sessions.mint(&link);
    let mut answer = post::whole(site, &link, StatusCode::OK);
    if let Some(id) = id.and_then(|id| HeaderValue::from_str(&id).ok()) {
        answer.headers_mut().insert(HeaderName::from_static(headers::SESSION_ID), id);
    }
    answer
}

/// Serves one or several requests of a session.
fn exchange(
    site: &Arc<Site>,
    session: &Arc<Session>,
    headers: &HeaderMap,
    payload: Payload<'_>,
    principal: Option<Arc<Principal>>,
    held: Option<&Arc<Held>>,
) -> Result<Answer, Refusal> {
    if session.running() >= site.service.limits().in_flight {
        let message = "too many requests run in this session: wait for one";
        return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, message).retry_after(1));
    }
    let link = Link::within(&session.link, principal);
    let forbidden = RefCell::new(None);
    let gate = |name: &str, params: &Params<'_>| scopes::check(site, name, params, &link, &forbidden);
    let mut calls = Calls::new();
    let _timed = match &payload {
        Payload::Single(Message::Request(request)) => Some(site.metrics.began(&request.method)),
        _ => None,
    };
    let is_batch = matches!(payload, Payload::Batch(_));
    match payload {
        Payload::Single(message) => site.service.handle(message, &link, None, &gate, &mut calls),
        Payload::Batch(members) => site.service.handle_batch(&members, &link, &gate),
    }
    while let Some(call) = calls.pop_front() {
        call.run_here();
    }
    if let Some(challenge) = forbidden.take() {
        return Err(challenge.into());
    }
    if let Some(held) = held {
        link.hold(&(Arc::clone(held) as _));
    }
    let over = link.is_over();
    let mut frames = Outgoing::default();
    link.take(&mut frames);
    // A batch that was refused as a whole has one answer, which is no batch.
    if is_batch && over && frames.bytes.starts_with(b"{") {
        return Ok(post::message_answer(site, frames, StatusCode::BAD_REQUEST));
    }
    match frames.ends.len() {
        0 if over => Ok(reply::empty(StatusCode::ACCEPTED)),
        1 if over && !request::prefers_events(headers) => {
            Ok(post::message_answer(site, frames, StatusCode::OK))
        }
        // It takes its time, or has more to say: on a stream that the client can come back to.
        _ => {
            let stream = session.open(&link).or_else(|_| {
                // What others have left behind makes room for what runs.
                site.sessions.forget_past();
                session.open(&link)
            });
            let stream = stream.inspect_err(|_| link.cancel_all())?;
            Ok(reply::events(Events::new(site, Source::Stream(stream.read(None)), &frames)))
        }
    }
}

/// The stream for what belongs to no request, or the rest of one that broke.
pub(crate) fn listen(
    site: &Arc<Site>,
    parts: &Parts,
    principal: Option<&Arc<Principal>>,
) -> Result<Answer, Refusal> {
    request::check_accept(&parts.headers, &["text/event-stream"])?;
    let session = find(site, &parts.headers, Named::read(&parts.headers), principal)?;
    let reader = match parts.headers.get("last-event-id") {
        None => session.listen()?,
        Some(id) => {
            let event = id.to_str().ok().and_then(EventId::read).ok_or_else(lost)?;
            match session.resume(&event) {
                Ok(reader) => reader,
                // It was a stream of an earlier process or another replica, or too much was missed. Another one does as
                // well, but what has changed in between is not known.
                Err(Lost) if event.is_of_no_request() => {
                    let reader = session.listen()?;
                    site.service.note_missed(&session.link);
                    reader
                }
                Err(Lost) => return Err(lost()),
            }
        }
    };
    Ok(reply::events(Events::new(site, Source::Stream(reader), &Outgoing::default())))
}

fn lost() -> Refusal {
    let message = "`Last-Event-ID` names no event that is still known here: ask again for what you need";
    Refusal::new(StatusCode::BAD_REQUEST, message)
}

/// Ends a session.
pub(crate) fn end(
    site: &Arc<Site>,
    parts: &Parts,
    principal: Option<&Arc<Principal>>,
) -> Result<Answer, Refusal> {
    let session = find(site, &parts.headers, Named::read(&parts.headers), principal)?;
    site.sessions.end(&session);
    Ok(reply::empty(StatusCode::NO_CONTENT))
}

/// The session that a request belongs to.
fn find(
    site: &Site,
    headers: &HeaderMap,
    named: Named,
    principal: Option<&Arc<Principal>>,
) -> Result<Arc<Session>, Refusal> {
    let session = site.sessions.find(id(headers)?, principal, &site.service)?;
    check_revision(session.revision, named)?;
    Ok(session)
}

/// Whether there is such a session, without making anything of it.
fn check_session(
    site: &Site,
    headers: &HeaderMap,
    named: Named,
    principal: Option<&Arc<Principal>>,
) -> Result<(), Refusal> {
    check_revision(site.sessions.check(id(headers)?, principal)?, named)
}

/// A request that names a revision must name the one that was agreed.
fn check_revision(agreed: Revision, named: Named) -> Result<(), Refusal> {
    match named {
        Named::Nothing => Ok(()),
        Named::Known(said) if said == agreed => Ok(()),
        Named::Known(_) | Named::Unknown => {
            let message =
                format!("this session speaks {agreed}, and `MCP-Protocol-Version` says something else");
            Err(Refusal::new(StatusCode::BAD_REQUEST, message))
        }
    }
}

fn id(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut ids = headers.get_all(headers::SESSION_ID).iter();
    let id = ids.next().and_then(|id| id.to_str().ok()).filter(|_| ids.next().is_none());
    id.ok_or_else(|| {
        let message = "there is no session: open one with `initialize` and send its `Mcp-Session-Id` along, or \
             put the protocol version into `params._meta` and the headers";
        Refusal::new(StatusCode::BAD_REQUEST, message)
    })
}
