//! A socket to what hyper may see of it.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use super::clock::{Clock, NEVER};
use super::limits::ConnectionLimits;
use super::pace::Pace;
use super::pulse::{Pulse, Stage};
use super::scan::{Bounds, Event, Fault, Part, Scanner};

/// Bytes read at once.
const SCRATCH: usize = 64 * 1024;

thread_local! {
    /// Where bytes are looked at on their way to hyper: one place per thread, so that a connection that waits has none.
    static READ: RefCell<Box<[u8]>> = RefCell::new(vec![0; SCRATCH].into_boxed_slice());
}

/// Bytes of later requests that wait until the one at work is answered.
const HELD: usize = SCRATCH;
/// How often to look whether the peer has gone, when there is no room to read to the end of what it sent.
const LOOK: Duration = Duration::from_secs(1);

/// Limits and clock, the same for all connections of a listener.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) limits: ConnectionLimits,
    pub(super) clock: Clock,
}

#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    rules: Arc<Rules>,
    pulse: Arc<Pulse>,
    scanner: Scanner,
    stage: Stage,
    pace: Pace,
    /// What came after the request that is at work. hyper sees none of it, so that it goes on to ask for bytes, and learns
    /// when the peer goes away.
    held: BytesMut,
    fault: Option<Fault>,
    ended: bool,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, rules: Arc<Rules>, pulse: Arc<Pulse>) -> Self {
        let limits = &rules.limits;
        let bounds = Bounds { block: limits.header_block, headers: limits.headers, url: limits.url };
        let (scanner, pace) = (Scanner::new(bounds), Pace::new(limits));
        let held = BytesMut::new();
        Self { stream, rules, pulse, scanner, stage: Stage::Fresh, pace, held, fault: None, ended: false }
    }

    /// The socket, and what was wrong with what came through it.
    pub(super) fn into_parts(self) -> (TcpStream, Option<Fault>) {
        (self.stream, self.fault)
    }

    /// Whether the peer may still be sending something that nobody will read.
    pub(super) fn is_owed_bytes(&self) -> bool {
        !self.ended && (self.fault.is_some() || !self.held.is_empty() || self.scanner.part() != Part::Start)
    }

    /// Whether a request is complete and not answered: what comes now belongs to another.
    fn is_at_work(&self) -> bool {
        self.scanner.part() == Part::Start && self.pulse.unanswered() > 0
    }

    /// Looks at bytes and hands on those that are good, up to the end of one request; gives how many it looked at, and
    /// whether there were any that hyper got.
    fn pass(&mut self, bytes: &[u8], buf: &mut ReadBufCursor<'_>) -> (usize, bool) {
        let (mut looked, mut passed) = (0, false);
        if self.stage == Stage::Body {
            self.pace.got(bytes.len(), &self.rules.limits);
            self.pulse.read_by.store(NEVER, Relaxed);
        }
        while self.fault.is_none() && looked < bytes.len() && !self.is_at_work() {
            let rest = bytes.get(looked..).unwrap_or_default();
            let step = self.scanner.step(rest);
            looked += step.taken;
            match step.event {
                Event::Blank => continue,
                Event::Head => {
                    self.pulse.head_seen();
                    self.pace = Pace::new(&self.rules.limits);
                }
                Event::Fault(fault) => self.fault = Some(fault),
                Event::More | Event::Body => {}
            }
            let good = rest.get(..step.taken).unwrap_or_default();
            buf.put_slice(good);
            passed |= !good.is_empty();
        }
        self.settle();
        (looked, passed)
    }

    /// Hands on what was held; whether there was something to hand on.
    fn pass_held(&mut self, buf: &mut ReadBufCursor<'_>) -> bool {
        let mut held = std::mem::take(&mut self.held);
        let some = held.get(..held.len().min(buf.remaining())).unwrap_or_default();
        let (looked, passed) = self.pass(some, buf);
        held.advance(looked);
        if !held.is_empty() {
            self.held = held;
        }
        passed
    }

    /// Hands on what was read; whether there was something to hand on.
    fn pass_read(&mut self, bytes: &[u8], buf: &mut ReadBufCursor<'_>) -> bool {
        let (looked, passed) = self.pass(bytes, buf);
        if self.fault.is_none() {
            self.held.extend_from_slice(bytes.get(looked..).unwrap_or_default());
        }
        passed
    }

    /// There is no room to read on, so the end cannot be reached; but it can be seen from here.
    fn look_for_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match pin!(self.stream.ready(Interest::READABLE)).poll(cx) {
            Poll::Ready(Ok(ready)) if ready.is_read_closed() => {
                self.ended = true;
                return Poll::Ready(Ok(()));
            }
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Ready(Ok(_)) | Poll::Pending => {}
        }
        self.pulse.read_by.store(self.rules.clock.in_time(LOOK), Relaxed);
        Poll::Pending
    }

    /// Finds out what is waited for now, and until when.
    fn settle(&mut self) {
        if self.fault.is_some() {
            self.settle_fault();
            return;
        }
        let answered = self.pulse.unanswered() == 0 && self.pulse.between_answers();
        let stage = match self.scanner.part() {
            Part::Body => Stage::Body,
            Part::Start if self.pulse.is_unused() => Stage::Fresh,
            _ if !answered => Stage::Busy,
            Part::Start if !self.held.is_empty() => {
                self.pulse.resume();
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
            Stage::Idle => self.pulse.enter(stage, clock.now(), clock.in_time(limits.keep_alive)),
            // The time for the first head runs from the beginning.
            Stage::Head if self.stage == Stage::Fresh => {
                self.pulse.enter(stage, self.pulse.since(), self.pulse.read_by.load(Relaxed));
            }
            Stage::Head => self.pulse.enter(stage, clock.now(), clock.in_time(limits.header_time)),
            Stage::Fresh | Stage::Body | Stage::Busy => self.pulse.enter(stage, 0, NEVER),
        }
        self.stage = stage;
    }

    /// After a fault nothing more is read. What came before it is answered first, then the fault is.
    fn settle_fault(&mut self) {
        self.stage = Stage::Busy;
        self.pulse.enter(Stage::Busy, 0, NEVER);
        // A request whose body is at fault is answered by that, unless its own answer has begun: that one is cut short.
        let forgiven = u64::from(self.scanner.part() == Part::Body);
        if self.pulse.unanswered() <= forgiven && self.pulse.is_flushed() {
            self.pulse.fail(forgiven);
        }
    }

    fn wait_for_bytes(&mut self) {
        self.settle();
        if self.stage == Stage::Body
            && let Some(patience) = self.pace.wait(&self.rules.limits)
        {
            self.pulse.read_by.store(self.rules.clock.in_time(patience), Relaxed);
        }
    }

    fn written(&self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let by = &self.pulse.write_by;
        match &result {
            Poll::Pending if by.load(Relaxed) == NEVER => {
                by.store(self.rules.clock.in_time(self.rules.limits.reader_stall), Relaxed);
            }
            Poll::Ready(Ok(some)) if *some > 0 && by.load(Relaxed) != NEVER => by.store(NEVER, Relaxed),
            Poll::Pending | Poll::Ready(_) => {}
        }
        result
    }
}

impl hyper::rt::Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.pulse.asked.store(true, Relaxed);
        READ.with_borrow_mut(|scratch| {
            // A turn without bytes for hyper has read an empty line, of which there is at most one, or bytes to hold.
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
            // hyper waits for bytes that never come; whoever owns the connection sees the fault and ends it.
            Poll::Pending
        })
    }
}

impl hyper::rt::Write for Wire {
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

    /// hyper flushes when it has nothing left to write: a good moment to see where the connection stands.
    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pulse.flushed();
        self.settle();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
