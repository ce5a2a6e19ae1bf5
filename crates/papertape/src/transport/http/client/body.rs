//! Bodies: one that tells when it crosses, and responses to bytes that have a bound.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http_body::{Body, Frame, SizeHint};
use reqwest::Response;

use super::fault;

/// What is told when a body crosses.
type Crossed = Box<dyn FnOnce(&[u8]) + Send + Sync>;

/// A body that tells when it is written to a connection.
pub(super) struct Told {
    bytes: Option<Bytes>,
    crossed: Option<Crossed>,
}

impl Told {
    pub(super) fn new(bytes: Bytes, crossed: impl FnOnce(&[u8]) + Send + Sync + 'static) -> Self {
        Self { bytes: Some(bytes), crossed: Some(Box::new(crossed)) }
    }
}

impl Body for Told {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(bytes) = self.bytes.take() else { return Poll::Ready(None) };
        if let Some(crossed) = self.crossed.take() {
            crossed(&bytes);
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

/// What a response says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Media {
    Json,
    Events,
    /// It does not say.
    Unsaid,
    Other(String),
}

pub(super) fn media(response: &Response) -> Media {
    let Some(value) = response.headers().get(CONTENT_TYPE) else { return Media::Unsaid };
    let text = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
    match text.split(';').next().unwrap_or_default().trim() {
        "application/json" => Media::Json,
        "text/event-stream" => Media::Events,
        "" => Media::Unsaid,
        other => Media::Other(other.to_owned()),
    }
}

/// Why a body was not read.
pub(super) enum Unread {
    TooLong,
    BrokeOff(String),
}

/// The whole body, if it is not longer than the limit.
pub(super) async fn read(mut response: Response, limit: usize) -> Result<Vec<u8>, Unread> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > limit => return Err(Unread::TooLong),
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return Ok(body),
            Err(error) => return Err(Unread::BrokeOff(fault::broke_off(&error))),
        }
    }
}

/// The beginning of a body that is only there to be read by people.
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
