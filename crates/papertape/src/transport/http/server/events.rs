//! SSE streams of what waits to be written in a session.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep};

use super::request::Exchange;
use super::site::Site;
use super::stream::{Reader, write_data};
use crate::server::session::Session;
use crate::wire::frame::Outgoing;
use papertape_oauth::server::Lease;

/// How long a stream may be silent: proxies may take a longer silence for the end.
pub(crate) const SILENCE: Duration = Duration::from_secs(15);

/// A stream of events.
pub(crate) struct Events {
    site: Arc<Site>,
    source: Source,
    /// What goes out before all else.
    first: Option<Bytes>,
    frames: Outgoing,
    alive: Pin<Box<Sleep>>,
    /// Ready when the principal's key is revoked or its token has expired.
    revoked: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
    ended: bool,
}

/// Where events come from.
pub(crate) enum Source {
    /// One exchange, which ends with its connection.
    Exchange(Exchange),
    /// The same, but it goes on until the server ends it.
    Endless(Exchange),
    /// A stream that the client may come back to.
    Stream(Reader),
}

impl Source {
    fn session(&self) -> &Arc<Session> {
        match self {
            Source::Exchange(exchange) | Source::Endless(exchange) => &exchange.0,
            Source::Stream(reader) => reader.session(),
        }
    }

    /// Nothing more will come than what waits already.
    fn is_over(&self) -> bool {
        match self {
            Source::Exchange(exchange) => exchange.0.is_over(),
            Source::Endless(exchange) => exchange.0.is_closing() && exchange.0.is_over(),
            Source::Stream(reader) => reader.is_over(),
        }
    }

    /// Waits until there may be something to write.
    fn poll_woken(&self, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Source::Exchange(exchange) | Source::Endless(exchange) => exchange.0.poll_woken(cx),
            Source::Stream(reader) => reader.poll_woken(cx),
        }
    }

    /// Takes what waits to be written, as events.
    fn take(&mut self, frames: &mut Outgoing, out: &mut Vec<u8>) {
        match self {
            Source::Exchange(exchange) | Source::Endless(exchange) => {
                exchange.0.take(frames);
                self.write(frames, out);
            }
            Source::Stream(reader) => reader.take(frames, out),
        }
    }

    /// Writes frames as events.
    fn write(&mut self, frames: &Outgoing, out: &mut Vec<u8>) {
        match self {
            Source::Exchange(_) | Source::Endless(_) => {
                for frame in frames.frames() {
                    write_data(out, frame);
                }
            }
            Source::Stream(reader) => reader.write(frames, out),
        }
    }
}

impl Events {
    /// The events of a source, after those that are there already.
    pub(crate) fn new(site: &Arc<Site>, mut source: Source, frames: &Outgoing) -> Self {
        let mut first = match &mut source {
            Source::Stream(reader) => reader.beginning(),
            Source::Exchange(_) | Source::Endless(_) => Vec::new(),
        };
        source.write(frames, &mut first);
        if first.is_empty() {
            first.extend_from_slice(COMMENT);
        }
        if let Some(metrics) = &site.metrics {
            metrics.stream_opened();
        }
        Self {
            site: Arc::clone(site),
            source,
            first: Some(Bytes::from(first)),
            frames: Outgoing::default(),
            alive: Box::pin(sleep(SILENCE)),
            revoked: None,
            ended: false,
        }
    }

    /// The same events after something else.
    pub(crate) fn beginning_with(mut self, first: String) -> Self {
        self.first = Some(first.into());
        self
    }

    /// The stream ends when this does.
    pub(crate) fn end_with(&mut self, lease: Lease) {
        self.revoked = Some(Box::pin(lease.over()));
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        if let Some(revoked) = &mut self.revoked
            && revoked.as_mut().poll(cx).is_ready()
        {
            (self.revoked, self.ended) = (None, true);
            tracing::info!("a stream ends: its key was revoked, or its token has expired");
            return Poll::Ready(None);
        }
        loop {
            // In this order: what is over has put all its messages into the outbox.
            let over = self.source.is_over();
            self.frames.clear();
            let mut bytes = Vec::new();
            self.source.take(&mut self.frames, &mut bytes);
            if !bytes.is_empty() {
                self.alive.as_mut().reset(Instant::now() + SILENCE);
                self.frames.give_back_room();
                return Poll::Ready(Some(bytes.into()));
            }
            if over {
                self.ended = true;
                return Poll::Ready(None);
            }
            if let Some(come_back) = self.source.session().take_close_stream() {
                self.ended = true;
                return Poll::Ready(Some(format!("retry: {}\n\n", come_back.as_millis()).into()));
            }
            if self.source.poll_woken(cx).is_pending() {
                break;
            }
        }
        if self.alive.as_mut().poll(cx).is_ready() {
            self.alive.as_mut().reset(Instant::now() + SILENCE);
            // Polled once more, so that the next silence is noticed too.
            cx.waker().wake_by_ref();
            return Poll::Ready(Some(Bytes::from_static(COMMENT)));
        }
        Poll::Pending
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if let Some(metrics) = &self.site.metrics {
            metrics.stream_closed();
        }
    }
}

/// A comment that keeps the connection alive.
const COMMENT: &[u8] = b":\n\n";
