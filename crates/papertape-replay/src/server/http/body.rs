//! The body of a response: one message, or messages as server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::session::Messages;

#[derive(Default)]
pub(super) struct Body {
    first: Option<Bytes>,
    messages: Option<Messages>,
}

impl Body {
    pub(super) fn empty() -> Self {
        Self::default()
    }

    pub(super) fn whole(text: String) -> Self {
        Self { first: Some(text.into()), messages: None }
    }

    /// Until the response has been sent, or the session ends.
    pub(super) fn events(messages: Messages, first: Option<String>) -> Self {
        Self { first: first.map(|text| event(&text)), messages: Some(messages) }
    }
}

/// In an event, line ends between values become spaces.
fn event(text: &str) -> Bytes {
    format!("data: {}\n\n", text.replace(['\n', '\r'], " ")).into()
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        let Some(messages) = &mut self.messages else { return Poll::Ready(None) };
        match messages.poll_recv(cx) {
            Poll::Ready(Some(sent)) => {
                if sent.is_response {
                    self.messages = None;
                }
                Poll::Ready(Some(Ok(Frame::data(event(&sent.text)))))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.messages.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let first = self.first.as_ref().map_or(0, |first| first.len() as u64);
        if self.messages.is_none() { SizeHint::with_exact(first) } else { SizeHint::default() }
    }
}
