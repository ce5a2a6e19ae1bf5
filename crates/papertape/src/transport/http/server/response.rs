//! Responses: whole messages, SSE streams, and refusals.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};

use super::events::{Events, SILENCE, Source};
use super::refusal::Refusal;
use super::request::{Exchange, NamedRevision, RequestPermit, prefers_events};
use super::site::{ExchangeNumber, Site};
use crate::protocol::Revision;
use crate::server::session::Session;
use crate::wire::RpcError;
use crate::wire::frame::Outgoing;
use crate::wire::message::Rejected;
use crate::wire::message::write_anonymous_error;
use crate::wire::tape::Direction;
use papertape_oauth::server::Lease;

/// The body of a response.
pub struct HttpBody {
    /// Counted for its client until the end. Dropped before anything else is, so that a client that sees the end finds room.
    place: Option<RequestPermit>,
    kind: BodyKind,
    /// Where it is recorded, if it is.
    tape: Option<(Arc<Site>, ExchangeNumber)>,
}

enum BodyKind {
    /// All of it, or nothing.
    Whole(Option<Bytes>),
    Events(Box<Events>),
}

impl HttpBody {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        BodyKind::Whole(Some(bytes.into()).filter(|bytes| !bytes.is_empty())).into()
    }

    /// Records it as it is sent.
    pub(crate) fn record(&mut self, site: &Arc<Site>, exchange: ExchangeNumber) {
        self.tape = Some((Arc::clone(site), exchange));
    }

    /// A stream ends when its principal's key is revoked or its token has expired.
    pub(crate) fn end_with(&mut self, lease: Lease) {
        if let BodyKind::Events(events) = &mut self.kind {
            events.end_with(lease);
        }
    }
}

impl From<BodyKind> for HttpBody {
    fn from(kind: BodyKind) -> Self {
        Self { place: None, kind, tape: None }
    }
}

/// A response that keeps its place until its body has been written.
pub(crate) fn in_place(mut response: HttpResponse, place: Option<RequestPermit>) -> HttpResponse {
    response.body_mut().place = place;
    response
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match &mut self.kind {
            BodyKind::Whole(bytes) => bytes.take(),
            BodyKind::Events(events) => ready!(events.poll_next(cx)),
        };
        if let (Some((site, exchange)), Some(bytes)) = (&self.tape, &bytes) {
            let mut rest = &bytes[..];
            while let Some((event, after)) =
                memchr::memmem::find(rest, b"\n\n").and_then(|end| rest.split_at_checked(end + 2))
            {
                site.record(*exchange, Direction::ToClient, event);
                rest = after;
            }
            if !rest.is_empty() {
                site.record(*exchange, Direction::ToClient, rest);
            }
        }
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.kind, BodyKind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            BodyKind::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            BodyKind::Events(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            BodyKind::Whole(bytes) => f.debug_tuple("Whole").field(bytes).finish(),
            BodyKind::Events(_) => f.write_str("Events"),
        }
    }
}

/// A response.
pub(crate) type HttpResponse = Response<HttpBody>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// One JSON message.
pub(crate) fn json(status: StatusCode, bytes: impl Into<Bytes>) -> HttpResponse {
    with_type(status, JSON, HttpBody::whole(bytes))
}

/// A text for people or programs.
pub(crate) fn text(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> HttpResponse {
    with_type(status, HeaderValue::from_static(kind), HttpBody::whole(text))
}

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> HttpResponse {
    let mut response = Response::new(HttpBody::whole(Bytes::new()));
    *response.status_mut() = status;
    response
}

/// An SSE stream.
pub(crate) fn events(events: Events) -> HttpResponse {
    let body = BodyKind::Events(Box::new(events)).into();
    let mut response = with_type(StatusCode::OK, HeaderValue::from_static("text/event-stream"), body);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // nginx would buffer the events otherwise.
    response
        .headers_mut()
        .insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// The response to what is not a message.
pub(crate) fn rejected(rejected: Rejected, named: NamedRevision) -> HttpResponse {
    tracing::info!(code = rejected.error.code, "refused a request: {}", rejected.error.message);
    let session = Session::new(None);
    if named.omits_unreadable_id() {
        session.note_modern(Revision::MODERN);
    }
    session.reject(rejected.id, None, &rejected.error);
    whole(&session, StatusCode::BAD_REQUEST)
}

/// All that waits in a session, which is one message.
pub(crate) fn whole(session: &Session, status: StatusCode) -> HttpResponse {
    let mut frames = Outgoing::default();
    session.take(&mut frames);
    message(frames, status)
}

/// One message.
pub(crate) fn message(mut frames: Outgoing, status: StatusCode) -> HttpResponse {
    // Without the line end, which only frames have.
    frames.bytes.pop();
    json(status, frames.bytes)
}

/// Waits for what comes of an exchange that ends with its connection: one message, or an SSE stream if there are more.
///
/// Nothing is sent before that is known, because some responses have a status of their own.
pub(crate) async fn of_exchange(
    site: &Arc<Site>,
    exchange: Exchange,
    headers: &HeaderMap,
    status: impl Fn(&Session) -> StatusCode,
) -> HttpResponse {
    let mut frames = Outgoing::default();
    let mut noted = false;
    loop {
        let over = exchange.0.is_over();
        exchange.0.take(&mut frames);
        match frames.ends.len() {
            0 if over => return empty(StatusCode::ACCEPTED),
            1 if over => {
                let status = status(&exchange.0);
                if status == StatusCode::OK && prefers_events(headers) {
                    break;
                }
                return message(frames, status);
            }
            0 => {}
            _ => break,
        }
        if !std::mem::replace(&mut noted, true) {
            site.note_waiting(&exchange.0);
        }
        if tokio::time::timeout(SILENCE, exchange.0.woken()).await.is_err() {
            break;
        }
    }
    if !noted {
        site.note_waiting(&exchange.0);
    }
    events(Events::new(site, Source::Exchange(exchange), &frames))
}

fn with_type(status: StatusCode, kind: HeaderValue, body: HttpBody) -> HttpResponse {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// The response to a request that is refused, with an error that MCP clients can show: without an `id`, or with `null`.
pub(crate) fn refused(refusal: Refusal, omit_id: bool) -> HttpResponse {
    let Refusal { status, message, headers } = refusal;
    tracing::info!(status = status.as_u16(), "refused: {message}");
    let mut body = Vec::new();
    write_anonymous_error(&mut body, omit_id, &RpcError::invalid_request(message));
    let mut response = json(status, body);
    response.headers_mut().extend(headers.into_iter().map(|(name, value)| (Some(name), value)));
    response
}
