//! A server's connection over a pair of streams: bytes in, frames through the tap, responses out.
//!
//! One task or thread reads, serves and writes. Responses of handlers that are ready at their first poll go to the output
//! buffer, which is written once per batch of input; while the peer does not read, nothing more is read from it.
//!
//! On stdio it is a thread ([`IoThread`]), and a handler that blocks it (it does blocking I/O, or computes for long) would
//! delay every other request. So, while a handler runs, the connection is parked in a [`Handoff`]; a second thread that sees
//! it parked for too long takes the connection and continues. The first thread finishes the handler and ends.

#![cfg_attr(not(unix), allow(dead_code, reason = "only stdio has a thread of its own"))]

use std::fmt;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, Thread};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::runtime::{Handle, Runtime, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

use crate::server::pipeline::{self, Calls, PreparedCall, subscribe};
use crate::server::session::{Session, Ticket};
use crate::server::{Call, IntoService, Principal, Service, ServiceCore};
use crate::sync::lock;
use crate::telemetry::{Network, Outcome, SessionTimer, Side};
use crate::transport::tap::Tap;
use crate::transport::thread::spawn;
use crate::wire::RpcError;
use crate::wire::frame::{Decoder, FrameError, Framing, OUTBOX, Outgoing, PieceKind, WriteBuffer};
use crate::wire::tape::Direction;

/// Serves one client over any pair of streams: a socket, a pair of pipes, a test.
///
/// Returns when the input has ended and every response has been sent.
///
/// # Errors
/// If a tool has an invalid schema, or responses could not be delivered ([`Undelivered`] inside): see
/// [`Limits::grace`](crate::server::Limits::grace).
pub async fn serve<R, W>(server: impl IntoService, reader: R, writer: W) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    serve_until(server, reader, writer, std::future::pending()).await
}

/// [`serve`] until `stop` is ready, which counts as the end of the input, also while the client does not read.
///
/// # Errors
/// As with [`serve`].
pub async fn serve_until<R, W>(
    server: impl IntoService,
    reader: R,
    writer: W,
    stop: impl Future<Output = ()>,
) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    match run(server.into_service()?, reader, writer, Network::Unknown, stop).await.lost {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Serves one client over a pair of streams. When `stop` is ready, the input counts as ended.
pub(in crate::transport) async fn run<R, W>(
    service: Service,
    reader: R,
    writer: W,
    network: Network,
    stop: impl Future<Output = ()>,
) -> Ended
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    run_as(None, service, reader, writer, network, stop).await
}

/// The same with a principal at the other end.
pub(in crate::transport) async fn run_as<R, W>(
    principal: Option<Arc<Principal>>,
    service: Service,
    mut reader: R,
    mut writer: W,
    network: Network,
    stop: impl Future<Output = ()>,
) -> Ended
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let _serving = service.core().background.serve();
    let session = Session::over(network, principal);
    let mut connection = Connection { session, ..Connection::new(&service, Tap::default(), network) };
    let mut stop = pin!(stop);
    loop {
        while let Some(call) = connection.next_call() {
            pipeline::run(call);
        }
        if !connection.exchange(&mut reader, &mut writer, stop.as_mut()).await {
            break;
        }
    }
    connection.close(&mut writer).await
}

/// One connection.
///
/// Its driver runs each [`Connection::next_call`], then waits in [`Connection::exchange`], and so on; when that returns
/// false, it calls [`Connection::close`].
pub(crate) struct Connection {
    service: Arc<ServiceCore>,
    session: Arc<Session>,
    timer: SessionTimer,
    tap: Tap,
    decoder: Decoder,
    /// The framing of responses: that of the peer.
    framing: Framing,
    /// The last frame was not JSON, so the decoder may be out of step with the stream.
    doubtful: bool,
    input: Input,
    /// The input was ended by this side, not by the peer.
    interrupted: bool,
    /// Calls that have not been run yet.
    calls: Calls,
    output: WriteBuffer,
    /// When running requests are aborted, once everything that was read is served.
    give_up_requests: Option<Instant>,
    /// When undelivered responses are given up after the end of the input, unless the peer reads some of them before.
    give_up_answers: Option<Instant>,
    /// A call did not finish in time.
    gave_up: bool,
    /// Why nothing more can be written, other than that the peer has closed the stream.
    broken: Option<io::Error>,
}

/// What was not delivered when a connection ended, and why.
#[derive(thiserror::Error)]
#[error("{cause}; responses not delivered: {responses}; requests not served: {requests}")]
#[non_exhaustive]
pub struct Undelivered {
    /// Responses and notifications that the client has not received in full.
    pub responses: usize,
    /// Requests of the client that were received and not served.
    pub requests: usize,
    /// Why.
    pub cause: io::Error,
}

/// The same text as `Display`: `fn main() -> io::Result<()>` prints errors with `Debug`.
impl fmt::Debug for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How a connection has ended.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// A call did not finish in time.
    pub(crate) gave_up: bool,
    /// The [`Undelivered`] responses, if there are any.
    pub(crate) lost: Option<io::Error>,
}

/// The state of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    /// More may arrive.
    Open,
    /// Nothing more is read; what was read is still served.
    Ended,
    /// Everything that was read has been served.
    Served,
}

impl Connection {
    pub(crate) fn new(service: &Service, tap: Tap, network: Network) -> Self {
        let service = Arc::clone(service.core());
        Self {
            session: Session::over(network, None),
            timer: SessionTimer::begin(),
            decoder: Decoder::new(service.limits().frame),
            service,
            tap,
            framing: Framing::default(),
            doubtful: false,
            input: Input::Open,
            interrupted: false,
            calls: Calls::new(),
            output: WriteBuffer::default(),
            give_up_requests: None,
            give_up_answers: None,
            gave_up: false,
            broken: None,
        }
    }

    /// Waits until bytes were read or written, a handler has finished, or a deadline has passed. False if the connection is
    /// to be closed.
    ///
    /// When `stop` is ready, the input counts as ended.
    pub(crate) async fn exchange<R, W>(
        &mut self,
        reader: &mut R,
        writer: &mut W,
        stop: Pin<&mut (impl Future<Output = ()> + ?Sized)>,
    ) -> bool
    where
        R: AsyncRead + Unpin + ?Sized,
        W: AsyncWrite + Unpin + ?Sized,
    {
        if self.output.is_empty() {
            self.output.refill(|frames| self.session.take(frames));
        }
        self.tap.flush();
        if self.input != Input::Open {
            self.set_deadlines();
        }
        let idle = self.session.is_idle();
        if self.input == Input::Served && idle && self.output.is_empty() && self.session.pending() == 0 {
            return false;
        }
        let read_more = self.input == Input::Open && self.session.pending() < OUTBOX;
        tokio::select! {
            biased;
            written = writer.write(self.output.rest()), if !self.output.is_empty() => match written {
                Ok(count) if count > 0 => {
                    self.output.advance(count, |frame| self.tap.frame(Direction::ToClient, frame));
                    self.give_up_answers = None;
                }
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    self.broken = Some(error);
                    return false;
                }
                _ => {
                    tracing::info!("the client has closed its end");
                    return false;
                }
            },
            read = reader.read_buf(self.decoder.space()), if read_more => match read {
                Ok(count) if count > 0 => {}
                Ok(_) => self.input = Input::Ended,
                Err(error) => {
                    tracing::warn!(%error, "reading the input failed");
                    self.input = Input::Ended;
                }
            },
            () = stop, if self.input == Input::Open => {
                self.input = Input::Ended;
                self.interrupted = true;
            }
            () = self.session.woken() => {}
            () = until(self.give_up_requests), if !idle => {
                self.gave_up |= self.session.abort_all(&ServiceCore::shutting_down());
            }
            () = until(self.give_up_answers), if !self.output.is_empty() => {
                let message = format!("the client has not read its input for {:?}", self.service.limits().grace);
                self.broken = Some(io::Error::new(io::ErrorKind::TimedOut, message));
                return false;
            }
        }
        true
    }

    /// The deadlines after the end of the input. That of requests counts from when the last one has begun, that of responses
    /// from when the peer last read some of them: a peer that reads slowly gets them all.
    fn set_deadlines(&mut self) {
        let (now, grace) = (Instant::now(), self.service.limits().grace);
        if self.input == Input::Served {
            self.give_up_requests.get_or_insert(now + grace.mul_f32(0.9));
        }
        if !self.output.is_empty() {
            self.give_up_answers.get_or_insert(now + grace);
        }
    }

    /// Aborts what is still running and flushes the output.
    pub(crate) async fn close<W: AsyncWrite + Unpin + ?Sized>(&mut self, writer: &mut W) -> Ended {
        self.gave_up |= self.session.abort_all(&RpcError::internal("the connection has ended"));
        self.output.abandon(|frame| self.tap.frame(Direction::ToClient, frame));
        self.tap.flush();
        let grace = match self.broken {
            None if self.input == Input::Served => self.service.limits().grace,
            _ => Duration::from_millis(100),
        };
        let flushed = timeout(grace, writer.flush()).await.unwrap_or_else(|late| Err(late.into()));
        if let Err(error) = flushed
            && error.kind() != io::ErrorKind::BrokenPipe
            && self.input == Input::Served
        {
            self.broken.get_or_insert(error);
        }
        let broken = self.broken.take();
        let outcome = if broken.is_some() { Outcome::Failed("closed".into()) } else { Outcome::Success };
        self.timer.end(Side::Server, self.session.network(), self.session.legacy(), &outcome);
        Ended { gave_up: self.gave_up, lost: broken.map(|why| self.count_lost(why)) }
    }

    /// The error for responses that were not delivered.
    fn count_lost(&mut self, cause: io::Error) -> io::Error {
        let mut waiting = Outgoing::default();
        self.session.take(&mut waiting);
        let responses = self.output.unfinished() + waiting.ends.len();
        let mut requests = self.calls.len();
        while let Some(piece) = self.decoder.next_piece() {
            requests += usize::from(matches!(piece.kind, PieceKind::Frame(body) if !body.is_empty()));
        }
        io::Error::new(cause.kind(), Undelivered { responses, requests, cause })
    }

    /// Serves the frames that have arrived, as long as there is room for responses, up to the next tool call.
    pub(crate) fn next_call(&mut self) -> Option<PreparedCall> {
        loop {
            if let Some(call) = self.calls.pop_front() {
                return Some(call);
            }
            if self.session.pending() >= OUTBOX {
                return None;
            }
            let Some(piece) = self.decoder.next_piece() else {
                if self.input != Input::Ended {
                    return None;
                }
                self.serve_the_end();
                continue;
            };
            self.tap.frame(Direction::ToServer, piece.raw);
            set_framing(piece.framing, &mut self.framing, &self.session);
            match piece.kind {
                // An empty frame is not a message, but the decoder is in step after it.
                PieceKind::Frame(body) => {
                    self.doubtful = !pipeline::receive(&self.service, body, &self.session, &mut self.calls)
                        && !body.is_empty();
                }
                PieceKind::Blank | PieceKind::Skipped | PieceKind::Unfinished(_) => {}
                PieceKind::Broken(error) => {
                    if error.is_fatal() {
                        self.input = Input::Ended;
                    }
                    refuse(&error, self.doubtful, &self.session);
                }
            }
        }
    }

    fn serve_the_end(&mut self) {
        self.input = Input::Served;
        self.session.end_client_requests();
        if let Some(piece) = self.decoder.finish() {
            self.tap.frame(Direction::ToServer, piece.raw);
            set_framing(piece.framing, &mut self.framing, &self.session);
            match piece.kind {
                PieceKind::Unfinished(body) => {
                    pipeline::receive_unfinished(&self.service, body, &self.session, &mut self.calls)
                }
                // A frame that this side stopped reading is not the peer's error.
                PieceKind::Broken(error) => refuse(&error, self.doubtful || self.interrupted, &self.session),
                PieceKind::Frame(_) | PieceKind::Blank | PieceKind::Skipped => {}
            }
        }
        subscribe::end_all(&self.service, &self.session);
    }
}

/// Responses use the framing of the requests.
fn set_framing(framing: Framing, current: &mut Framing, session: &Session) {
    if framing != *current {
        *current = framing;
        session.set_framing(framing);
    }
}

/// Responds to bytes that are not a frame. Invalid headers after a body that was not JSON are one error, not two.
fn refuse(error: &FrameError, doubtful: bool, session: &Session) {
    let error = match error {
        FrameError::TooLong { .. } => RpcError::invalid_request(error.to_string()),
        FrameError::Header(_) | FrameError::Truncated if doubtful => return,
        FrameError::Header(_) | FrameError::Truncated => RpcError::parse(error.to_string()),
    };
    tracing::info!(code = error.code, "refused a frame: {}", error.message);
    session.reject(None, None, &error);
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// A handler that has blocked the I/O thread for once to twice this time loses the connection to another thread.
const MAX_BLOCKING: Duration = Duration::from_millis(5);

/// A connection and everything that a thread needs to continue it.
pub(in crate::transport) struct IoThread {
    pub(in crate::transport) connection: Connection,
    /// Waits for bytes, timers and signals. Handlers are polled outside of it: only then may they do all that they may do on
    /// their own runtime, such as `tokio::task::block_in_place`.
    pub(in crate::transport) runtime: Runtime,
    pub(in crate::transport) reader: Box<dyn AsyncRead + Send + Unpin>,
    pub(in crate::transport) writer: Box<dyn AsyncWrite + Send + Unpin>,
    pub(in crate::transport) stop: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// The runtime of the handlers.
    pub(in crate::transport) handlers: Handle,
    /// Receives how the connection ended.
    pub(in crate::transport) done: oneshot::Sender<Ended>,
}

impl IoThread {
    /// Runs the connection on a thread of its own.
    pub(in crate::transport) fn start(self) -> io::Result<()> {
        spawn("io", move || Box::new(self).drive()).map(drop)
    }

    /// Runs the connection until it ends, or another thread takes it over.
    fn drive(mut self: Box<Self>) {
        let handlers = self.handlers.clone();
        // Timers, sockets and tasks that handlers start belong to the runtime of the handlers.
        let _entered = handlers.enter();
        let handoff = Handoff::watched();
        // The only thread of a single-threaded runtime must not be blocked either: this thread, at least, can be replaced.
        let multi_threaded = handlers.runtime_flavor() == RuntimeFlavor::MultiThread;
        loop {
            while let Some(mut call) = self.connection.next_call() {
                if multi_threaded && call.is_slow() {
                    call.spawn_slow();
                    continue;
                }
                handoff.park(self, &call.call);
                let outcome = call.first_poll();
                self = match handoff.reclaim() {
                    Ok(io) => {
                        call.conclude(outcome);
                        io
                    }
                    Err(ticket) => return call.conclude_tracked(ticket, outcome),
                };
            }
            let IoThread { connection, runtime, reader, writer, stop, .. } = &mut *self;
            if !runtime.block_on(connection.exchange(reader, writer, stop.as_mut())) {
                break;
            }
        }
        handoff.end();
        let IoThread { mut connection, runtime, mut writer, done, .. } = *self;
        let ended = runtime.block_on(connection.close(&mut writer));
        // A blocking read of a terminal or a file may be pending; it must not keep the process alive.
        runtime.shutdown_background();
        // The receiver may have been dropped.
        drop(done.send(ended));
    }
}

/// Where the connection is while a handler runs.
struct Handoff {
    slot: Mutex<Slot>,
    /// How many times it was parked.
    count: AtomicU64,
    /// The watcher sleeps until the next time.
    idle: AtomicBool,
    ended: AtomicBool,
    watcher: Mutex<Option<Thread>>,
}

enum Slot {
    Empty,
    Parked(Box<IoThread>, Arc<Call>),
    /// Another thread continues the connection; the call that was running has been registered.
    Taken(Ticket),
}

impl Handoff {
    /// A handoff with a thread that watches it; without one, if no more threads can be started.
    fn watched() -> Arc<Self> {
        let handoff = Arc::new(Self {
            slot: Mutex::new(Slot::Empty),
            count: AtomicU64::new(0),
            idle: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            watcher: Mutex::new(None),
        });
        let watched = Arc::clone(&handoff);
        if let Err(error) = spawn("io-watch", move || watched.watch()) {
            tracing::warn!(%error, "a handler that blocks will delay other requests");
        }
        handoff
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        lock(&self.slot)
    }

    fn park(&self, io: Box<IoThread>, call: &Arc<Call>) {
        *self.slot() = Slot::Parked(io, Arc::clone(call));
        self.count.fetch_add(1, Ordering::SeqCst);
        if self.idle.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    /// The connection, or, if it was taken over, the ticket of the call that was running.
    fn reclaim(&self) -> Result<Box<IoThread>, Ticket> {
        match std::mem::replace(&mut *self.slot(), Slot::Empty) {
            Slot::Parked(io, _) => Ok(io),
            Slot::Taken(ticket) => Err(ticket),
            // It was parked by the thread that reclaims it.
            Slot::Empty => Err(Ticket::MAX),
        }
    }

    fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        self.idle.store(false, Ordering::SeqCst);
        if let Some(watcher) = &*lock(&self.watcher) {
            watcher.unpark();
        }
    }

    /// Watches until the connection ends, or is parked for too long: then takes it over.
    fn watch(&self) {
        *lock(&self.watcher) = Some(thread::current());
        while !self.ended.load(Ordering::SeqCst) {
            let (count, began) = (self.count.load(Ordering::SeqCst), std::time::Instant::now());
            // A late wake-up may end the wait at once.
            while let Some(left) = MAX_BLOCKING.checked_sub(began.elapsed()) {
                thread::park_timeout(left);
            }
            if self.count.load(Ordering::SeqCst) != count {
                continue;
            }
            if let Some(io) = self.take_over() {
                return io.drive();
            }
            self.rest(count);
        }
    }

    /// Sleeps until the connection is parked again.
    fn rest(&self, count: u64) {
        self.idle.store(true, Ordering::SeqCst);
        // `park` counts first and then checks for a sleeper; this does it the other way round, so that one sees the other.
        let unchanged = || self.count.load(Ordering::SeqCst) == count && !self.ended.load(Ordering::SeqCst);
        while self.idle.load(Ordering::SeqCst) && unchanged() {
            thread::park();
        }
        self.idle.store(false, Ordering::SeqCst);
    }

    fn take_over(&self) -> Option<Box<IoThread>> {
        let mut slot = self.slot();
        let (io, call) = match std::mem::replace(&mut *slot, Slot::Empty) {
            Slot::Parked(io, call) => (io, call),
            other => {
                *slot = other;
                return None;
            }
        };
        // From here on the call is like any that runs on the handlers' runtime, and later calls of its tool begin there.
        call.feature.pace().set_slow();
        *slot = Slot::Taken(call.session.track(&call));
        drop(slot);
        tracing::info!(
            name = call.feature.name(),
            "a handler blocks the I/O thread: another thread continues the connection"
        );
        Some(io)
    }
}
