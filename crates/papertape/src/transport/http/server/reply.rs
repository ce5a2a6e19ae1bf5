//! What is sent back: whole answers, streams of events, and refusals.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};

use super::clients::Place;
use super::events::Events;
use crate::outbox::write_anonymous_error;
use crate::transport::http::auth::Lease;
use crate::wire::RpcError;

/// The body of a response.
pub struct HttpBody {
    /// Counted for its client until the end. Let go before anything else is, so that who sees the end finds room.
    place: Option<Place>,
    kind: Kind,
}

enum Kind {
    /// All of it, or nothing.
    Whole(Option<Bytes>),
    Events(Box<Events>),
}

impl HttpBody {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Kind::Whole(Some(bytes.into()).filter(|bytes| !bytes.is_empty())).into()
    }

    /// If it is a stream, it ends when its principal may no longer ask.
    pub(crate) fn end_with(&mut self, lease: Lease) {
        if let Kind::Events(events) = &mut self.kind {
            events.end_with(lease);
        }
    }
}

impl From<Kind> for HttpBody {
    fn from(kind: Kind) -> Self {
        Self { place: None, kind }
    }
}

/// An answer that keeps its place until its body has been made.
pub(crate) fn in_place(mut answer: Answer, place: Option<Place>) -> Answer {
    answer.body_mut().place = place;
    answer
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.kind {
            Kind::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::Events(events) => {
                events.poll_next(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.kind, Kind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Whole(bytes) => f.debug_tuple("Whole").field(bytes).finish(),
            Kind::Events(_) => f.write_str("Events"),
        }
    }
}

/// A response.
pub(crate) type Answer = Response<HttpBody>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// One JSON message.
pub(crate) fn json(status: StatusCode, bytes: impl Into<Bytes>) -> Answer {
    with_type(status, JSON, HttpBody::whole(bytes))
}

/// A text for people or programs.
pub(crate) fn text(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer {
    with_type(status, HeaderValue::from_static(kind), HttpBody::whole(text))
}

/// Nothing more to say.
pub(crate) fn empty(status: StatusCode) -> Answer {
    let mut response = Response::new(HttpBody::whole(Bytes::new()));
    *response.status_mut() = status;
    response
}

/// A stream of events.
pub(crate) fn events(events: Events) -> Answer {
    let body = Kind::Events(Box::new(events)).into();
    let mut response = with_type(StatusCode::OK, HeaderValue::from_static("text/event-stream"), body);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // A proxy that collects before it passes on would keep the events to itself.
    response
        .headers_mut()
        .insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

fn with_type(status: StatusCode, kind: HeaderValue, body: HttpBody) -> Answer {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Why a request is not served.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    message: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), headers: Vec::new() }
    }

    /// The client may try again after so many seconds.
    pub(crate) fn retry_after(self, seconds: u32) -> Self {
        self.header(RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// Nothing more is read from the connection.
    pub(crate) fn closing(self) -> Self {
        self.header(CONNECTION, HeaderValue::from_static("close"))
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The response, with an error that MCP clients can show: without an `id`, or with `null`.
    pub(crate) fn into_answer(self, omit_id: bool) -> Answer {
        tracing::info!(status = self.status.as_u16(), "refused: {}", self.message);
        let mut body = Vec::new();
        write_anonymous_error(&mut body, omit_id, &RpcError::invalid_request(self.message));
        let mut response = json(self.status, body);
        response.headers_mut().extend(self.headers.into_iter().map(|(name, value)| (Some(name), value)));
        response
    }
}
