//! The socket as hyper sees it: only bytes that the scanner accepts, one request at a time, and bodies that are not too slow.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use super::connection_state::{Clock, ConnectionState, NEVER, Stage};
use super::limits::ConnectionLimits;
use super::scan::{Bounds, Event, Fault, Part, Scanner};

/// Bytes of one read.
const SCRATCH: usize = 64 * 1024;

thread_local! {
    /// The read buffer of a thread, so that a waiting connection needs none.
    static READ: RefCell<Box<[u8]>> = RefCell::new(vec![0; SCRATCH].into_boxed_slice());
}

/// Bytes of pipelined requests that are held until the current one has its response.
const HELD: usize = SCRATCH;
/// How often to check whether the peer has closed, when there is no room to read on.
const LOOK: Duration = Duration::from_secs(1);
/// The time at the beginning of a body without a minimum rate.
const GRACE: Duration = Duration::from_secs(10);

/// Limits and clock of all connections of a listener.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) limits: ConnectionLimits,
    pub(super) clock: Clock,
}

#[derive(Debug)]
pub(super) struct StrictStream {
    stream: TcpStream,
    rules: Arc<Rules>,
    state: Arc<ConnectionState>,
    scanner: Scanner,
    stage: Stage,
    rate: MinimumRate,
    /// Bytes after the current request. hyper does not see them, so that it keeps reading and notices when the peer closes.
    held: BytesMut,
    fault: Option<Fault>,
    ended: bool,
}

impl StrictStream {
    pub(super) fn new(stream: TcpStream, rules: Arc<Rules>, state: Arc<ConnectionState>) -> Self {
        let limits = &rules.limits;
        let bounds = Bounds { block: limits.header_block, headers: limits.headers, url: limits.url };
        let (scanner, rate) = (Scanner::new(bounds), MinimumRate::new(limits));
        let held = BytesMut::new();
        Self { stream, rules, state, scanner, stage: Stage::Fresh, rate, held, fault: None, ended: false }
    }

    /// The socket, and the fault.
    pub(super) fn into_parts(self) -> (TcpStream, Option<Fault>) {
        (self.stream, self.fault)
    }

    /// Whether the peer may still be sending bytes that will not be read.
    pub(super) fn is_owed_bytes(&self) -> bool {
        !self.ended && (self.fault.is_some() || !self.held.is_empty() || self.scanner.part() != Part::Start)
    }

    /// Whether a complete request has no response yet: further bytes belong to the next one.
    fn is_at_work(&self) -> bool {
        self.scanner.part() == Part::Start && self.state.pending_responses() > 0
    }

    /// Scans bytes and passes on those that are valid, up to the end of one request; returns how many were scanned, and whether any
    /// were passed on.
    fn pass(&mut self, bytes: &[u8], buf: &mut ReadBufCursor<'_>) -> (usize, bool) {
        let (mut scanned, mut passed) = (0, false);
        if self.stage == Stage::Body {
            self.rate.received(bytes.len(), &self.rules.limits);
            self.state.read_by.store(NEVER, Relaxed);
        }
        while self.fault.is_none() && scanned < bytes.len() && !self.is_at_work() {
            let rest = bytes.get(scanned..).unwrap_or_default();
            let step = self.scanner.step(rest);
            scanned += step.taken;
            match step.event {
                Event::Blank => continue,
                Event::Head => {
                    self.state.head_received();
                    self.rate = MinimumRate::new(&self.rules.limits);
                }
                Event::Fault(fault) => self.fault = Some(fault),
                Event::More | Event::Body => {}
            }
            let good = rest.get(..step.taken).unwrap_or_default();
            buf.put_slice(good);
            passed |= !good.is_empty();
        }
        self.settle();
        (scanned, passed)
    }

    /// Passes on held bytes; whether there were any.
    fn pass_held(&mut self, buf: &mut ReadBufCursor<'_>) -> bool {
        let mut held = std::mem::take(&mut self.held);
        let some = held.get(..held.len().min(buf.remaining())).unwrap_or_default();
        let (scanned, passed) = self.pass(some, buf);
        held.advance(scanned);
        if !held.is_empty() {
            self.held = held;
        }
        passed
    }

    /// Passes on bytes of the socket; whether there were any.
    fn pass_read(&mut self, bytes: &[u8], buf: &mut ReadBufCursor<'_>) -> bool {
        let (scanned, passed) = self.pass(bytes, buf);
        if self.fault.is_none() {
            self.held.extend_from_slice(bytes.get(scanned..).unwrap_or_default());
        }
        passed
    }

    /// There is no room to read on, but readiness shows whether the peer has closed.
    fn look_for_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match pin!(self.stream.ready(Interest::READABLE)).poll(cx) {
            Poll::Ready(Ok(ready)) if ready.is_read_closed() => {
                self.ended = true;
                return Poll::Ready(Ok(()));
            }
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Ready(Ok(_)) | Poll::Pending => {}
        }
        self.state.read_by.store(self.rules.clock.deadline(LOOK), Relaxed);
        Poll::Pending
    }

    /// Updates the stage and its deadline.
    fn settle(&mut self) {
        if self.fault.is_some() {
            self.settle_fault();
            return;
        }
        let finished = self.state.pending_responses() == 0 && self.state.between_responses();
        let stage = match self.scanner.part() {
            Part::Body => Stage::Body,
            Part::Start if self.state.is_unused() => Stage::Fresh,
            _ if !finished => Stage::Busy,
            Part::Start if !self.held.is_empty() => {
                self.state.resume();
                Stage::Busy
            }
            Part::Start => Stage::Idle,
            Part::Head => Stage::Head,
        };
        if stage == self.stage {
            return;
        }
        let Rules { limits, clock } = &*self.rules;
        match stage {
            Stage::Idle => self.state.enter(stage, clock.now(), clock.deadline(limits.keep_alive)),
            // The time for the first head runs from the start of the connection.
            Stage::Head if self.stage == Stage::Fresh => {
                self.state.enter(stage, self.state.since(), self.state.read_by.load(Relaxed));
            }
            Stage::Head => self.state.enter(stage, clock.now(), clock.deadline(limits.header_time)),
            Stage::Fresh | Stage::Body | Stage::Busy => self.state.enter(stage, 0, NEVER),
        }
        self.stage = stage;
    }

    /// After a fault nothing more is read. Earlier requests get their responses first, then the error response is sent.
    fn settle_fault(&mut self) {
        self.stage = Stage::Busy;
        self.state.enter(Stage::Busy, 0, NEVER);
        // The error response is the response to a request with a faulty body, unless that has started: then it is cut.
        let forgiven = u64::from(self.scanner.part() == Part::Body);
        if self.state.pending_responses() <= forgiven && self.state.is_flushed() {
            self.state.fail(forgiven);
        }
    }

    fn wait_for_bytes(&mut self) {
        self.settle();
        if self.stage == Stage::Body
            && let Some(limit) = self.rate.wait(&self.rules.limits)
        {
            self.state.read_by.store(self.rules.clock.deadline(limit), Relaxed);
        }
    }

    fn written(&self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let by = &self.state.write_by;
        match &result {
            Poll::Pending if by.load(Relaxed) == NEVER => {
                by.store(self.rules.clock.deadline(self.rules.limits.reader_stall), Relaxed);
            }
            Poll::Ready(Ok(some)) if *some > 0 && by.load(Relaxed) != NEVER => by.store(NEVER, Relaxed),
            Poll::Pending | Poll::Ready(_) => {}
        }
        result
    }
}

impl hyper::rt::Read for StrictStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.state.read_requested.store(true, Relaxed);
        READ.with_borrow_mut(|scratch| {
            // A turn without bytes for hyper has read an empty line, of which there is at most one, or held bytes.
            while this.fault.is_none() {
                let at_work = this.is_at_work();
                let room = if at_work { HELD.saturating_sub(this.held.len()) } else { buf.remaining() };
                if !at_work && !this.held.is_empty() && room > 0 {
                    if this.pass_held(&mut buf) {
                        return Poll::Ready(Ok(()));
                    }
                    continue;
                }
                if room == 0 {
                    return if at_work { this.look_for_end(cx) } else { Poll::Ready(Ok(())) };
                }
                let room = room.min(scratch.len());
                let mut read = ReadBuf::new(scratch.get_mut(..room).unwrap_or_default());
                match Pin::new(&mut this.stream).poll_read(cx, &mut read) {
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => {
                        this.wait_for_bytes();
                        return Poll::Pending;
                    }
                }
                if read.filled().is_empty() {
                    this.ended = true;
                    return Poll::Ready(Ok(()));
                }
                if this.pass_read(read.filled(), &mut buf) {
                    return Poll::Ready(Ok(()));
                }
            }
            // hyper waits for bytes that never arrive; the task of the connection sees the fault and closes it.
            Poll::Pending
        })
    }
}

impl hyper::rt::Write for StrictStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.written(result)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.written(result)
    }

    /// hyper flushes when it has nothing left to write, which is when the stage may change.
    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.state.flushed();
        self.settle();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The minimum rate of a request body, as a leaky bucket: it fills with the bytes that arrive and drains while the server waits; when it is empty, the body is too
/// slow. Only waiting counts: a peer is not slow because the handler does not read.
#[derive(Debug)]
struct MinimumRate {
    bucket: u64,
    waiting: Option<Instant>,
}

impl MinimumRate {
    fn new(limits: &ConnectionLimits) -> Self {
        Self { bucket: bytes_in(GRACE.min(limits.body_idle), limits), waiting: None }
    }

    /// Bytes have arrived.
    fn received(&mut self, bytes: usize, limits: &ConnectionLimits) {
        if let Some(since) = self.waiting.take() {
            self.bucket = self.bucket.saturating_sub(bytes_in(since.elapsed(), limits));
        }
        let most = bytes_in(limits.body_idle, limits);
        self.bucket = self.bucket.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX)).min(most);
    }

    /// No bytes have arrived yet: how long to wait, if the wait begins now.
    fn wait(&mut self, limits: &ConnectionLimits) -> Option<Duration> {
        if self.waiting.is_some() {
            return None;
        }
        self.waiting = Some(Instant::now());
        let bucket = self.bucket.saturating_mul(1000).checked_div(limits.body_rate);
        Some(bucket.map_or(limits.body_idle, |millis| limits.body_idle.min(Duration::from_millis(millis))))
    }
}

/// The bytes that have to arrive in a time.
fn bytes_in(time: Duration, limits: &ConnectionLimits) -> u64 {
    let bytes = time.as_millis().saturating_mul(u128::from(limits.body_rate)) / 1000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
