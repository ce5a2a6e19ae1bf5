//! Bodies: a request body that reports when it is sent, and response bodies of bounded size.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http_body::{Body, Frame, SizeHint};
use reqwest::Response;

use super::errors;

/// Called with a body when it is sent.
type OnSent = Box<dyn FnOnce(&[u8]) + Send + Sync>;

/// A body that calls back when it is written to a connection.
pub(super) struct ObservedBody {
    bytes: Option<Bytes>,
    on_sent: Option<OnSent>,
}

impl ObservedBody {
    pub(super) fn new(bytes: Bytes, on_sent: impl FnOnce(&[u8]) + Send + Sync + 'static) -> Self {
        Self { bytes: Some(bytes), on_sent: Some(Box::new(on_sent)) }
    }
}

impl Body for ObservedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(bytes) = self.bytes.take() else { return Poll::Ready(None) };
        if let Some(on_sent) = self.on_sent.take() {
            on_sent(&bytes);
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, Bytes::len) as u64)
    }
}

/// The `Content-Type` of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MediaType {
    Json,
    EventStream,
    Missing,
    Other(String),
}

pub(super) fn media_type(response: &Response) -> MediaType {
    let Some(value) = response.headers().get(CONTENT_TYPE) else { return MediaType::Missing };
    let text = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
    match text.split(';').next().unwrap_or_default().trim() {
        "application/json" => MediaType::Json,
        "text/event-stream" => MediaType::EventStream,
        "" => MediaType::Missing,
        other => MediaType::Other(other.to_owned()),
    }
}

/// Why a body could not be read.
pub(super) enum BodyError {
    TooLong,
    Interrupted(String),
}

/// Reads a body up to the size limit.
pub(super) async fn read(mut response: Response, limit: usize) -> Result<Vec<u8>, BodyError> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > limit => return Err(BodyError::TooLong),
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return Ok(body),
            Err(error) => return Err(BodyError::Interrupted(errors::interrupted(&error))),
        }
    }
}

/// Reads the beginning of a body that is only shown to users.
pub(super) async fn beginning(mut response: Response, limit: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = limit.saturating_sub(body.len()).min(chunk.len());
        body.extend_from_slice(chunk.get(..room).unwrap_or_default());
        if body.len() >= limit {
            break;
        }
    }
    body
}
