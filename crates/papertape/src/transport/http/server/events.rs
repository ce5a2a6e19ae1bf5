//! What waits to be written on a link to a stream of server-sent events.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep};

use super::site::Site;
use super::stream::Reader;
use crate::link::Link;
use crate::outbox::Outgoing;
use crate::transport::http::auth::Lease;
use crate::wire::tape::Direction;

/// How long a stream may be silent: whoever stands in between may take a longer silence for the end.
pub(crate) const SILENCE: Duration = Duration::from_secs(15);

/// A stream of events.
pub(crate) struct Events {
    site: Arc<Site>,
    source: Source,
    /// What goes out before all else.
    first: Option<Bytes>,
    frames: Outgoing,
    alive: Pin<Box<Sleep>>,
    /// Ready when the principal may no longer ask.
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

/// An exchange that is over when nobody waits for its end.
pub(crate) struct Exchange(pub(crate) Arc<Link>);

impl Drop for Exchange {
    fn drop(&mut self) {
        self.0.cancel_all();
    }
}

impl Source {
    fn link(&self) -> &Arc<Link> {
        match self {
            Source::Exchange(exchange) | Source::Endless(exchange) => &exchange.0,
            Source::Stream(reader) => reader.link(),
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
}

impl Events {
    /// The events of a source, after those that are there already.
    pub(crate) fn new(site: &Arc<Site>, mut source: Source, frames: &Outgoing) -> Self {
        let mut first = match &mut source {
            Source::Stream(reader) => reader.beginning(),
            Source::Exchange(_) | Source::Endless(_) => Vec::new(),
        };
        write_events(&mut first, frames, &mut source, site);
        if first.is_empty() {
            first.extend_from_slice(COMMENT);
        }
        site.metrics.streams.inc();
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
            // In this order: what is over has put all it had to say into the outbox.
            let over = self.source.is_over();
            self.frames.clear();
            self.source.link().take(&mut self.frames);
            if !self.frames.ends.is_empty() {
                self.alive.as_mut().reset(Instant::now() + SILENCE);
                let mut bytes = Vec::new();
                write_events(&mut bytes, &self.frames, &mut self.source, &self.site);
                self.frames.give_back_room();
                return Poll::Ready(Some(bytes.into()));
            }
            if over {
                self.ended = true;
                return Poll::Ready(None);
            }
            if let Some(come_back) = self.source.link().take_let_go() {
                self.ended = true;
                return Poll::Ready(Some(format!("retry: {}\n\n", come_back.as_millis()).into()));
            }
            if self.source.link().poll_bell(cx).is_pending() {
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
        self.site.metrics.streams.dec();
    }
}

/// An event that says nothing, but that somebody is there.
const COMMENT: &[u8] = b":\n\n";

/// Each frame, which ends with its line end, as an event.
fn write_events(out: &mut Vec<u8>, frames: &Outgoing, source: &mut Source, site: &Site) {
    let mut start = 0;
    for &end in &frames.ends {
        let frame = frames.bytes.get(start..end).unwrap_or_default();
        let begin = out.len();
        if let Source::Stream(reader) = source {
            reader.write_id(out);
        }
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(frame);
        out.push(b'\n');
        let event = out.get(begin..).unwrap_or_default();
        if let Source::Stream(reader) = source {
            reader.keep(event);
        }
        site.tape(Direction::ToClient, event);
        start = end;
    }
}
