//! Accepting connections, until a graceful shutdown.

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

use super::connection::{Shared, draining, serve_connection};
use super::connection_state::{Clock, ConnectionState};
use super::connection_table::ConnectionTable;
use super::descriptors::Capacity;
use super::limits::ConnectionLimits;
use super::scan::Fault;
use super::{close, strict_stream};

/// The shortest and the longest pause after a failure of `accept`.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// The most connections in the backlog of the kernel.
const QUEUE: usize = 4096;
/// How long idle connections stay open in a shutdown: a busy client sends its next request in this time, and learns from the
/// response that the connection closes.
const KEEP_ALIVE: Duration = Duration::from_millis(500);

const TOO_MANY: Fault = Fault::overloaded("too many connections; try again in a moment");

/// Serves HTTP/1.1 on all connections of a listener with `handle`, until `stop`; then requests may finish within `grace`. When
/// it returns or is dropped, no connection is left.
///
/// # Errors
/// None today: a failure of `accept` is logged, and it is retried after a pause.
pub async fn serve<H, F, B>(
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
    let mut server = Listener::new(handle, limits);
    let result = server.accept_until(&listener, stop).await;
    server.accept_backlog(listener);
    server.drain(grace).await;
    result
}

struct Listener<H> {
    shared: Arc<Shared<H>>,
    room: Capacity,
    table: ConnectionTable,
    served: JoinSet<()>,
    refused: JoinSet<()>,
    /// A connection that waits until an evicted one has closed.
    waiting: Option<(TcpStream, SocketAddr)>,
    /// The pause after the next failure of `accept`, and the end of the current one.
    pause: Duration,
    paused: Option<Instant>,
}

impl<H, F, B> Listener<H>
where
    H: Fn(Request<Incoming>, SocketAddr) -> F + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    fn new(handle: H, limits: ConnectionLimits) -> Self {
        let http = http(&limits);
        let (clock, room) = (Clock::new(&limits), Capacity::new(&limits));
        let rules = Arc::new(strict_stream::Rules { limits, clock });
        Self {
            shared: Arc::new(Shared { handle, http, rules, draining: AtomicU8::new(draining::NOT) }),
            room,
            table: ConnectionTable::default(),
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
        let mut checks = checks(&self.shared.rules.clock);
        loop {
            let paused = self.paused;
            tokio::select! {
                biased;
                () = &mut stop => return Ok(()),
                _ = checks.tick(), if !self.table.is_empty() => {
                    self.table.check(self.shared.rules.clock.now());
                    // An evicted connection may have received a request just then.
                    self.admit_waiting();
                }
                Some(ended) = self.served.join_next() => {
                    log_panic(ended);
                    self.admit_waiting();
                }
                Some(_) = self.refused.join_next() => {}
                () = sleep_until(paused.unwrap_or_else(Instant::now)), if paused.is_some() => self.paused = None,
                accepted = listener.accept(), if paused.is_none() && self.waiting.is_none() => match accepted {
                    Ok((stream, peer)) => self.admit(stream, peer),
                    Err(error) => self.failed(&error),
                },
            }
        }
    }

    fn admit(&mut self, stream: TcpStream, peer: SocketAddr) {
        self.pause = PAUSE.0;
        let Capacity { connections, overlap, .. } = self.room;
        let now = self.shared.rules.clock.now();
        let has_room = self.served.len() < connections
            || (self.served.len() < connections.saturating_add(overlap) && self.table.evict_one(now));
        if has_room {
            self.serve(stream, peer);
        } else if self.table.is_evicting() || self.table.evict_one(now) {
            self.waiting = Some((stream, peer));
        } else {
            self.refuse(stream);
        }
    }

    fn admit_waiting(&mut self) {
        if let Some((stream, peer)) = self.waiting.take() {
            self.admit(stream, peer);
        }
    }

    fn refuse(&mut self, stream: TcpStream) {
        if self.refused.len() < self.room.refusals {
            self.refused.spawn(close::with_error(stream, TOO_MANY));
        }
    }

    fn serve(&mut self, stream: TcpStream, peer: SocketAddr) {
        let Shared { rules, .. } = &*self.shared;
        let now = rules.clock.now();
        let state = Arc::new(ConnectionState::new(now, rules.clock.deadline(rules.limits.header_time)));
        self.table.add(Arc::clone(&state));
        self.served.spawn(serve_connection(stream, peer, Arc::clone(&self.shared), state));
    }

    /// Most failures concern one connection that was aborted. Without descriptors or memory the socket stays ready, and an
    /// immediate retry would be a busy loop.
    fn failed(&mut self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted) {
            return;
        }
        tracing::warn!(%error, pause = ?self.pause, "cannot accept connections, will retry");
        self.table.evict_one(self.shared.rules.clock.now());
        self.paused = Some(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(PAUSE.1);
    }

    /// Accepts the connections in the backlog, which the kernel has established already, and closes the listener.
    ///
    /// The socket is used directly, because the runtime may not have seen them yet; and nothing else is done in between, so that
    /// hardly any connection is lost.
    fn accept_backlog(&mut self, listener: TcpListener) {
        let Ok(listener) = listener.into_std() else { return };
        let last: Vec<_> = std::iter::from_fn(|| listener.accept().ok()).take(QUEUE).collect();
        drop(listener);
        for (stream, peer) in last {
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                self.admit(stream, peer);
            }
            // A shutdown does not wait for room.
            if let Some((stream, _)) = self.waiting.take() {
                self.refuse(stream);
            }
        }
    }

    async fn drain(&mut self, grace: Duration) {
        self.refused.shutdown().await;
        let gently = KEEP_ALIVE.min(grace);
        for (how, time) in
            [(draining::KEEP_ALIVE, gently), (draining::CLOSE_IDLE, grace.saturating_sub(gently))]
        {
            self.shared.draining.store(how, Relaxed);
            self.table.wake_all();
            if timeout(time, self.finish()).await.is_ok() {
                return;
            }
        }
        tracing::debug!(
            connections = self.served.len(),
            "closing connections that have not finished in time"
        );
        self.served.shutdown().await;
    }

    /// Waits for all connections to close, and still checks their deadlines.
    async fn finish(&mut self) {
        let mut checks = checks(&self.shared.rules.clock);
        loop {
            tokio::select! {
                biased;
                ended = self.served.join_next() => match ended {
                    Some(ended) => log_panic(ended),
                    None => return,
                },
                _ = checks.tick() => self.table.check(self.shared.rules.clock.now()),
            }
        }
    }
}

fn checks(clock: &Clock) -> Interval {
    let mut checks = interval(clock.period);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    checks
}

/// A panic of a handler ends its connection only.
fn log_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection has panicked");
    }
}

/// hyper without its own timers. Its buffers have room for the largest head, and as much for a response, so that a slow reader
/// costs no more than that and one frame of a body.
fn http(limits: &ConnectionLimits) -> http1::Builder {
    /// hyper's smallest buffer, and its default number of headers, which needs no allocation.
    const LEAST: usize = 8 * 1024;
    const HEADERS: usize = 100;
    let mut http = http1::Builder::new();
    http.max_buf_size(limits.header_block.saturating_add(1).max(LEAST));
    if limits.headers > HEADERS {
        http.max_headers(limits.headers);
    }
    http
}
