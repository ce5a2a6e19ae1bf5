//! Requests of session-based revisions: `initialize`, and everything within the session that it opens.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::events::{Events, Source};
use super::refusal::Refusal;
use super::request::{self, Held, NamedRevision};
use super::response::{self, HttpResponse};
use super::sessions::{EventId, HttpSession};
use super::site::Site;
use super::stream::Lost;
use crate::protocol::{Revision, method};
use crate::server::pipeline::{self, Envelope, Refused};
use crate::server::session::Session;
use crate::server::{Principal, ServiceCore};
use crate::transport::http::headers::SESSION_ID;
use crate::wire::frame::Outgoing;
use crate::wire::message::{Message, Payload, Request};

/// Serves a message of a session, or one that opens it.
pub(crate) async fn serve(
    site: &Arc<Site>,
    parts: &Arc<Parts>,
    payload: Payload<'_>,
    named: NamedRevision,
    principal: Option<Arc<Principal>>,
    held: Option<&Arc<Held>>,
) -> Result<HttpResponse, Refusal> {
    let headers = &parts.headers;
    match payload {
        Payload::Single(Message::Request(request)) if request.method == method::INITIALIZE => {
            Ok(open(site, parts, request, principal))
        }
        // It needs no state of this process: that is made by the first request.
        Payload::Single(Message::Notification(note)) if note.method == method::INITIALIZED => {
            check_session(site, headers, named, principal.as_ref())?;
            Ok(response::empty(StatusCode::ACCEPTED))
        }
        Payload::Single(message) => {
            let http_session = find(site, headers, named, principal.as_ref())?;
            match message {
                Message::Request(_) => {
                    exchange(site, &http_session, parts, Payload::Single(message), principal, held)
                }
                _ => {
                    // The principal may have other scopes than the one that opened the session.
                    let session = Session::within(&http_session.session, principal);
                    let held = held.map(|held| Arc::clone(held) as _);
                    let envelope = Envelope { http: Some(parts), held: held.as_ref(), ..Envelope::default() };
                    pipeline::accept(&site.service, message, &session, envelope);
                    Ok(response::empty(StatusCode::ACCEPTED))
                }
            }
        }
        batch @ Payload::Batch(_) => {
            let http_session = find(site, headers, named, principal.as_ref())?;
            exchange(site, &http_session, parts, batch, principal, held)
        }
    }
}

/// Opens a session.
fn open(
    site: &Arc<Site>,
    parts: &Arc<Parts>,
    initialize: Request<'_>,
    principal: Option<Arc<Principal>>,
) -> HttpResponse {
    let _timed = site.time(method::INITIALIZE);
    let session = Session::new(principal);
    // A refusal is part of the session's output, which is the response. There is no handler to run.
    let envelope = Envelope { http: Some(parts), ..Envelope::default() };
    drop(pipeline::serve(&site.service, initialize, &session, envelope));
    let id = site.sessions.mint(&session);
    let mut response = response::whole(&session, StatusCode::OK);
    if let Some(id) = id.and_then(|id| HeaderValue::from_str(&id).ok()) {
        response.headers_mut().insert(HeaderName::from_static(SESSION_ID), id);
    }
    response
}

/// Serves one or several requests of a session.
fn exchange(
    site: &Arc<Site>,
    http_session: &Arc<HttpSession>,
    parts: &Arc<Parts>,
    payload: Payload<'_>,
    principal: Option<Arc<Principal>>,
    held: Option<&Arc<Held>>,
) -> Result<HttpResponse, Refusal> {
    if http_session.running() >= site.service.limits().in_flight {
        let message = "too many requests are running in this session: wait for one to end";
        return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, message).retry_after(1));
    }
    let session = Session::within(&http_session.session, principal);
    let _timed = match &payload {
        Payload::Single(Message::Request(request)) => site.time(&request.method),
        _ => None,
    };
    let is_batch = matches!(payload, Payload::Batch(_));
    let held = held.map(|held| Arc::clone(held) as _);
    let envelope = Envelope { http: Some(parts), held: held.as_ref(), ..Envelope::default() };
    let served = match payload {
        Payload::Single(Message::Request(request)) => {
            let call = pipeline::serve(&site.service, request, &session, envelope);
            call.map(|call| call.into_iter().for_each(pipeline::run))
        }
        Payload::Single(message) => {
            pipeline::accept(&site.service, message, &session, envelope);
            Ok(())
        }
        Payload::Batch(members) => pipeline::serve_batch(&site.service, &members, &session, envelope),
    };
    if let Err(Refused::Forbidden(scopes)) = served {
        // The rest of a batch, whose responses would go nowhere.
        session.cancel_all();
        return Err(site.forbidden(session.principal(), &scopes));
    }
    if let Some(held) = &held {
        session.hold(held);
    }
    let over = session.is_over();
    let mut frames = Outgoing::default();
    session.take(&mut frames);
    // A batch that was refused as a whole has one response, which is not a batch.
    if is_batch && over && frames.bytes.starts_with(b"{") {
        return Ok(response::message(frames, StatusCode::BAD_REQUEST));
    }
    match frames.ends.len() {
        0 if over => Ok(response::empty(StatusCode::ACCEPTED)),
        1 if over && !request::prefers_events(&parts.headers) => {
            Ok(response::message(frames, StatusCode::OK))
        }
        // It takes time, or has more messages: on a stream that the client can resume.
        _ => {
            let stream = http_session.open(&session).or_else(|_| {
                // Streams that have ended make room for what runs.
                site.sessions.forget_past();
                http_session.open(&session)
            });
            let stream = stream.inspect_err(|_| session.cancel_all())?;
            // The stream is known to the site now, which gives up all that it knows.
            if site.has_given_up() {
                session.give_up(&ServiceCore::shutting_down());
            }
            Ok(response::events(Events::new(site, Source::Stream(stream.read(None)), &frames)))
        }
    }
}

/// The stream for what belongs to no request, or the rest of one that broke.
pub(crate) fn listen(
    site: &Arc<Site>,
    parts: &Parts,
    principal: Option<&Arc<Principal>>,
) -> Result<HttpResponse, Refusal> {
    request::check_accept(&parts.headers, &["text/event-stream"])?;
    let http_session = find(site, &parts.headers, NamedRevision::read(&parts.headers), principal)?;
    let reader = match parts.headers.get("last-event-id") {
        None => http_session.listen()?,
        Some(id) => {
            let event = id.to_str().ok().and_then(EventId::read).ok_or_else(lost)?;
            match http_session.resume(&event) {
                Ok(reader) => reader,
                // It was a stream of an earlier process or another replica, or too much was missed. Another one does as
                // well, but what has changed in between is not known.
                Err(Lost) if event.is_of_no_request() => {
                    let reader = http_session.listen()?;
                    site.service.announce_all_lists(&http_session.session);
                    reader
                }
                Err(Lost) => return Err(lost()),
            }
        }
    };
    Ok(response::events(Events::new(site, Source::Stream(reader), &Outgoing::default())))
}

fn lost() -> Refusal {
    let message = "`Last-Event-ID` names no event that is still known here: repeat the requests whose responses are missing";
    Refusal::new(StatusCode::BAD_REQUEST, message)
}

/// Ends a session.
pub(crate) fn end(
    site: &Arc<Site>,
    parts: &Parts,
    principal: Option<&Arc<Principal>>,
) -> Result<HttpResponse, Refusal> {
    let http_session = find(site, &parts.headers, NamedRevision::read(&parts.headers), principal)?;
    site.sessions.end(&http_session);
    Ok(response::empty(StatusCode::NO_CONTENT))
}

/// The session that a request belongs to.
fn find(
    site: &Site,
    headers: &HeaderMap,
    named: NamedRevision,
    principal: Option<&Arc<Principal>>,
) -> Result<Arc<HttpSession>, Refusal> {
    let http_session = site.sessions.find(id(headers)?, principal, &site.service)?;
    check_revision(http_session.revision, named)?;
    Ok(http_session)
}

/// Whether there is such a session, without making anything of it.
fn check_session(
    site: &Site,
    headers: &HeaderMap,
    named: NamedRevision,
    principal: Option<&Arc<Principal>>,
) -> Result<(), Refusal> {
    check_revision(site.sessions.check(id(headers)?, principal)?, named)
}

/// A request that names a revision must name the one that was agreed.
fn check_revision(agreed: Revision, named: NamedRevision) -> Result<(), Refusal> {
    match named {
        NamedRevision::Absent => Ok(()),
        NamedRevision::Known(said) if said == agreed => Ok(()),
        NamedRevision::Known(_) | NamedRevision::Unknown => {
            let message =
                format!("this session speaks {agreed}, and `MCP-Protocol-Version` says something else");
            Err(Refusal::new(StatusCode::BAD_REQUEST, message))
        }
    }
}

fn id(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut ids = headers.get_all(SESSION_ID).iter();
    let id = ids.next().and_then(|id| id.to_str().ok()).filter(|_| ids.next().is_none());
    id.ok_or_else(|| {
        let message = "there is no session: open one with `initialize` and send its `Mcp-Session-Id` along, or \
             put the protocol version into `params._meta` and the headers";
        Refusal::new(StatusCode::BAD_REQUEST, message)
    })
}
