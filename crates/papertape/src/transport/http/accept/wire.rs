//! A socket to what hyper may see of it.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
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
    fault: Option<Fault>,
    ended: bool,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, rules: Arc<Rules>, pulse: Arc<Pulse>) -> Self {
        let limits = &rules.limits;
        let bounds = Bounds { block: limits.header_block, headers: limits.headers, url: limits.url };
        let (scanner, pace) = (Scanner::new(bounds), Pace::new(limits));
        Self { stream, rules, pulse, scanner, stage: Stage::Fresh, pace, fault: None, ended: false }
    }

    /// The socket, and what was wrong with what came through it.
    pub(super) fn into_parts(self) -> (TcpStream, Option<Fault>) {
        (self.stream, self.fault)
    }

    /// Whether the peer may still be sending something that nobody will read.
    pub(super) fn is_owed_bytes(&self) -> bool {
        !self.ended && (self.fault.is_some() || self.scanner.part() != Part::Start)
    }

    /// Looks at bytes and hands on those that are good; gives how many these were.
    fn pass(&mut self, mut bytes: &[u8], buf: &mut ReadBufCursor<'_>) -> usize {
        let mut passed = 0;
        if self.stage == Stage::Body {
            self.pace.got(bytes.len(), &self.rules.limits);
            self.pulse.read_by.store(NEVER, Relaxed);
        }
        while self.fault.is_none() && !bytes.is_empty() {
            let step = self.scanner.step(bytes);
            let (good, rest) = bytes.split_at_checked(step.taken).unwrap_or((bytes, &[]));
            bytes = rest;
            match step.event {
                Event::Blank => continue,
                Event::Head => {
                    self.pulse.head_seen();
                    self.pace = Pace::new(&self.rules.limits);
                }
                Event::Fault(fault) => self.fault = Some(fault),
                Event::More | Event::Body => {}
            }
            buf.put_slice(good);
            passed += good.len();
        }
        self.settle();
        passed
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
            let room = buf.remaining().min(scratch.len());
            // A turn without good bytes has read an empty line, of which there is at most one.
            while this.fault.is_none() && room > 0 {
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
                if this.pass(read.filled(), &mut buf) > 0 {
                    return Poll::Ready(Ok(()));
                }
            }
            // hyper waits for bytes that never come; whoever owns the connection sees the fault and ends it.
            if this.fault.is_some() { Poll::Pending } else { Poll::Ready(Ok(())) }
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
