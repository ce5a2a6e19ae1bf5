//! A listening socket to connections, until it is told to stop.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until, timeout};

use super::clock::Clock;
use super::connection::{Shared, draining, serve};
use super::crowd::Crowd;
use super::descriptors::Room;
use super::limits::ConnectionLimits;
use super::pulse::Pulse;
use super::scan::Fault;
use super::{farewell, wire};

/// The shortest and the longest pause after `accept` has failed.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// Connections that may wait in the kernel to be accepted.
const QUEUE: usize = 4096;
/// How long a connection that waits for a request may go on waiting at the end: one that is busy sends its next request within
/// that time, and is told that it is the last.
const GENTLY: Duration = Duration::from_millis(500);

const CROWDED: Fault = Fault::crowded("too many connections; try again in a moment");

/// Serves HTTP/1.1 on all connections that come in, until `stop`; then lets what is running finish for as long as `grace`.
/// When it returns, or is dropped, no connection is left.
pub(crate) async fn run<H, F, B>(
    listener: TcpListener,
    handle: H,
    limits: ConnectionLimits,
    grace: Duration,
    stop: impl Future<Output = ()>,
) -> io::Result<()>
where
    H: Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut server = Listen::new(handle, limits);
    let result = server.accept_until(&listener, stop).await;
    server.accept_the_last(listener);
    server.drain(grace).await;
    result
}

struct Listen<H> {
    shared: Arc<Shared<H>>,
    room: Room,
    crowd: Crowd,
    served: JoinSet<()>,
    refused: JoinSet<()>,
    /// A connection that waits until one of those has ended that make room for it.
    waiting: Option<(TcpStream, SocketAddr)>,
    /// How long to wait after the next failure of `accept`, and until when it is waited now.
    pause: Duration,
    paused: Option<Instant>,
}

impl<H, F, B> Listen<H>
where
    H: Fn(Request<Incoming>, SocketAddr) -> F + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    fn new(handle: H, limits: ConnectionLimits) -> Self {
        let http = http(&limits);
        let (clock, room) = (Clock::new(&limits), Room::new(&limits));
        let rules = Arc::new(wire::Rules { limits, clock });
        Self {
            shared: Arc::new(Shared { handle, http, rules, draining: AtomicU8::new(draining::NOT) }),
            room,
            crowd: Crowd::default(),
            served: JoinSet::new(),
            refused: JoinSet::new(),
            waiting: None,
            pause: PAUSE.0,
            paused: None,
        }
    }

    async fn accept_until(
        &mut self,
        listener: &TcpListener,
        stop: impl Future<Output = ()>,
    ) -> io::Result<()> {
        tokio::pin!(stop);
        let mut rounds = rounds(&self.shared.rules.clock);
        loop {
            let paused = self.paused;
            tokio::select! {
                biased;
                () = &mut stop => return Ok(()),
                _ = rounds.tick(), if !self.crowd.is_empty() => {
                    self.crowd.round(self.shared.rules.clock.now());
                    // Those that were to make room may have got a request just then.
                    self.welcome_waiting();
                }
                Some(ended) = self.served.join_next() => {
                    tell_panic(ended);
                    self.welcome_waiting();
                }
                Some(_) = self.refused.join_next() => {}
                () = sleep_until(paused.unwrap_or_else(Instant::now)), if paused.is_some() => self.paused = None,
                accepted = listener.accept(), if paused.is_none() && self.waiting.is_none() => match accepted {
                    Ok((stream, peer)) => self.welcome(stream, peer),
                    Err(error) => self.failed(&error),
                },
            }
        }
    }

    fn welcome(&mut self, stream: TcpStream, peer: SocketAddr) {
        self.pause = PAUSE.0;
        let Room { connections, overlap, .. } = self.room;
        let now = self.shared.rules.clock.now();
        let has_room = self.served.len() < connections
            || (self.served.len() < connections.saturating_add(overlap) && self.crowd.make_room(now));
        if has_room {
            self.serve(stream, peer);
        } else if self.crowd.is_making_room() || self.crowd.make_room(now) {
            self.waiting = Some((stream, peer));
        } else {
            self.refuse(stream);
        }
    }

    fn welcome_waiting(&mut self) {
        if let Some((stream, peer)) = self.waiting.take() {
            self.welcome(stream, peer);
        }
    }

    fn refuse(&mut self, stream: TcpStream) {
        if self.refused.len() < self.room.refusals {
            self.refused.spawn(farewell::say(stream, CROWDED));
        }
    }

    fn serve(&mut self, stream: TcpStream, peer: SocketAddr) {
        let Shared { rules, .. } = &*self.shared;
        let now = rules.clock.now();
        let pulse = Arc::new(Pulse::new(now, rules.clock.in_time(rules.limits.header_time)));
        self.crowd.join(Arc::clone(&pulse));
        self.served.spawn(serve(stream, peer, Arc::clone(&self.shared), pulse));
    }

    /// Most failures concern one connection that went away too early. When descriptors or memory ran out, the socket stays
    /// ready, and to try again at once would be a busy loop.
    fn failed(&mut self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted) {
            return;
        }
        tracing::warn!(%error, pause = ?self.pause, "cannot accept connections for now");
        self.crowd.make_room(self.shared.rules.clock.now());
        self.paused = Some(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(PAUSE.1);
    }

    /// Takes those who are at the door already, for the kernel has told them that they are in, and closes it.
    ///
    /// The kernel is asked itself, because the runtime may not have heard of them yet; and nothing else is done in between, so
    /// that hardly anybody can come after the last look.
    fn accept_the_last(&mut self, listener: TcpListener) {
        let Ok(listener) = listener.into_std() else { return };
        let last: Vec<_> = std::iter::from_fn(|| listener.accept().ok()).take(QUEUE).collect();
        drop(listener);
        for (stream, peer) in last {
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                self.welcome(stream, peer);
            }
            // There is no time left to wait for room.
            if let Some((stream, _)) = self.waiting.take() {
                self.refuse(stream);
            }
        }
    }

    async fn drain(&mut self, grace: Duration) {
        self.refused.shutdown().await;
        let gently = GENTLY.min(grace);
        for (how, time) in [(draining::GENTLY, gently), (draining::FIRMLY, grace.saturating_sub(gently))] {
            self.shared.draining.store(how, Relaxed);
            self.crowd.poke();
            if timeout(time, self.finish()).await.is_ok() {
                return;
            }
        }
        tracing::debug!(connections = self.served.len(), "cutting what has not finished in time");
        self.served.shutdown().await;
    }

    /// Waits for all connections to end, and still wakes who is late.
    async fn finish(&mut self) {
        let mut rounds = rounds(&self.shared.rules.clock);
        loop {
            tokio::select! {
                biased;
                ended = self.served.join_next() => match ended {
                    Some(ended) => tell_panic(ended),
                    None => return,
                },
                _ = rounds.tick() => self.crowd.round(self.shared.rules.clock.now()),
            }
        }
    }
}

fn rounds(clock: &Clock) -> Interval {
    let mut rounds = interval(clock.period);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    rounds
}

/// A handler that panics ends its connection and nothing else.
fn tell_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection has ended in a panic");
    }
}

/// hyper without its own timers. Its buffers hold a head of the greatest size; as much may wait to be written, so that a slow
/// reader costs no more than that and one frame of a body.
fn http(limits: &ConnectionLimits) -> http1::Builder {
    /// hyper's least size, and its own number of headers, for which it needs no allocation.
    const LEAST: usize = 8 * 1024;
    const HEADERS: usize = 100;
    let mut http = http1::Builder::new();
    http.max_buf_size(limits.header_block.saturating_add(1).max(LEAST));
    if limits.headers > HEADERS {
        http.max_headers(limits.headers);
    }
    http
}
