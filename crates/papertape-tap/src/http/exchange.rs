//! One request and its response: the bodies, recorded as they pass, and what is recorded if they do not come to their end.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::http::header::CONTENT_TYPE;
use ::http::{HeaderValue, Response, StatusCode};
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use serde_json::json;

use super::Body;
use crate::item::{Parts, Source};
use crate::recorder::Recorder;

/// Records that an exchange has failed, unless it has come to its end.
pub(super) struct Exchange {
    recorder: Recorder,
    number: u64,
    is_over: bool,
}

impl Exchange {
    pub(super) fn new(recorder: Recorder, number: u64) -> Self {
        Self { recorder, number, is_over: false }
    }

    /// A response of the proxy's own.
    pub(super) fn refuse(mut self, status: StatusCode, message: &str) -> Response<Body> {
        self.fail(message);
        let error = json!({"jsonrpc": "2.0", "error": {"code": -32603, "message": format!("papertape tap: {message}")}});
        let mut response = Response::new(Either::Right(Full::new(Bytes::from(error.to_string()))));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }

    fn fail(&mut self, error: &str) {
        if !std::mem::replace(&mut self.is_over, true) {
            self.recorder.failed(self.number, error);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.fail("the client has closed the connection before the end of the response");
    }
}

/// A body that is recorded while it passes.
pub(super) struct RecordedBody {
    body: Incoming,
    recorder: Recorder,
    source: Source,
    parts: Parts,
    /// It ends with this body.
    exchange: Option<Exchange>,
}

impl RecordedBody {
    pub(super) fn new(body: Incoming, recorder: Recorder, source: Source, parts: Parts) -> Self {
        Self { body, recorder, source, parts, exchange: None }
    }

    /// The body of the response.
    pub(super) fn ending(self, exchange: Exchange) -> RecordedBody {
        let mut body = self;
        body.exchange = Some(exchange);
        body
    }

    fn end(&mut self) {
        self.recorder.end_of_stream(self.source);
        self.recorder.wake();
        if let Some(exchange) = &mut self.exchange {
            exchange.is_over = true;
        }
    }
}

impl http_body::Body for RecordedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let frame = ready!(Pin::new(&mut this.body).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => {
                if let Some(bytes) = frame.data_ref() {
                    this.recorder.bytes(this.source, this.parts, bytes);
                    this.recorder.wake();
                }
            }
            Some(Err(error)) => {
                if let Some(exchange) = &mut this.exchange {
                    exchange.fail(&format!("the response has broken off: {}", super::upstream::chain(error)));
                }
            }
            None => this.end(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RecordedBody {
    fn drop(&mut self) {
        // A body of known length is not read beyond its last byte.
        if self.body.is_end_stream() {
            self.end();
        } else {
            self.recorder.end_of_stream(self.source);
        }
    }
}
