//! A resumable SSE stream: what was sent on it is kept for a while, within bounds.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::turns::Turn;
use crate::server::session::Session;
use crate::sync::lock;
use crate::wire::frame::Outgoing;

/// Bytes of one stream that are kept.
const MOST_KEPT: usize = 256 * 1024;
/// Bytes of all streams that are kept.
const MOST_KEPT_IN_ALL: usize = 64 * 1024 * 1024;
/// Streams there may be in all.
const MOST_STREAMS_IN_ALL: usize = 20_000;
/// When a client whose connection broke is to reconnect.
const RETRY: Duration = Duration::from_secs(1);

/// A stream of one session.
pub(crate) struct Stream {
    /// Distinguishes it from all other streams of the session, also from those that another process has, or had: clients come
    /// back with it.
    pub(crate) name: String,
    /// It is the response to a request, and not what belongs to none.
    responds: bool,
    pub(crate) session: Arc<Session>,
    /// The client of this stream can come back on a connection that ended before its time.
    primed: bool,
    log: Mutex<Log>,
    kept: Arc<StreamUsage>,
}

/// What all streams of a server take together.
#[derive(Debug, Default)]
pub(crate) struct StreamUsage {
    bytes: AtomicUsize,
    streams: AtomicUsize,
}

impl StreamUsage {
    /// Whether there are as many streams as there may be.
    pub(crate) fn is_full(&self) -> bool {
        self.streams.load(Ordering::Relaxed) >= MOST_STREAMS_IN_ALL
    }
}

#[derive(Default)]
struct Log {
    /// The number of the last event.
    last: u64,
    /// The events that are kept: the last ones.
    events: VecDeque<Box<[u8]>>,
    bytes: usize,
    /// The number of the last reader, and whether it is there.
    reader: u64,
    is_read: bool,
    /// Wakes it.
    waker: Option<Waker>,
}

/// The connection on which a stream goes out. Another one takes its place when the client comes back: it knows better than
/// the server whether a connection is still of use.
pub(crate) struct Reader {
    stream: Arc<Stream>,
    number: u64,
    /// Its place among the connections that the messages of this stream could go to, if it is not the only one.
    turn: Option<Turn>,
    /// What is sent again.
    again: Vec<u8>,
    /// It has not been read before.
    fresh: bool,
}

/// What came after an event is not there any more, or never was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lost;

impl Stream {
    pub(crate) fn new(
        name: String,
        responds: bool,
        session: Arc<Session>,
        primed: bool,
        kept: &Arc<StreamUsage>,
    ) -> Arc<Self> {
        kept.streams.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self { name, responds, session, primed, log: Mutex::default(), kept: Arc::clone(kept) })
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        lock(&self.log)
    }

    /// Whether its request is still running.
    pub(crate) fn is_running(&self) -> bool {
        self.responds && !self.session.is_over()
    }

    /// Whether it has a reader.
    pub(crate) fn is_read(&self) -> bool {
        self.log().is_read
    }

    /// Whether it is kept only in case that its client comes back.
    pub(crate) fn is_past(&self) -> bool {
        !self.is_running() && !self.is_read()
    }

    /// Reads the stream from the beginning.
    pub(crate) fn read(self: &Arc<Self>, turn: Option<Turn>) -> Reader {
        let number = self.log().next_reader();
        Reader::new(self, number, turn, Vec::new(), true)
    }

    /// Reads it again after an event, in the place of the connection that read it until now.
    pub(crate) fn read_after(self: &Arc<Self>, event: u64, turn: Option<Turn>) -> Result<Reader, Lost> {
        // Under one lock: what the other connection has taken is in the log, and it takes no more.
        let mut log = self.log();
        let missing = log.last.checked_sub(event).and_then(|missing| usize::try_from(missing).ok());
        let missing = missing.filter(|&missing| missing <= log.events.len()).ok_or(Lost)?;
        let again = log.events.iter().skip(log.events.len() - missing);
        let again = again.flat_map(|event| event.iter().copied()).collect();
        let number = log.next_reader();
        drop(log);
        Ok(Reader::new(self, number, turn, again, false))
    }
}

impl Log {
    /// The number of another reader; the one before it is woken to end.
    fn next_reader(&mut self) -> u64 {
        self.reader += 1;
        self.is_read = true;
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
        self.reader
    }

    /// Keeps the event that was written last, as long as there is room.
    fn keep(&mut self, event: &[u8], in_all: &AtomicUsize) {
        self.events.push_back(event.into());
        self.bytes += event.len();
        in_all.fetch_add(event.len(), Ordering::Relaxed);
        // The last event alone may be larger than that, and is kept if there is room in all.
        while self.events.len() > 1 && self.bytes > MOST_KEPT
            || in_all.load(Ordering::Relaxed) > MOST_KEPT_IN_ALL
        {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.len();
            in_all.fetch_sub(oldest.len(), Ordering::Relaxed);
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.kept.bytes.fetch_sub(self.log().bytes, Ordering::Relaxed);
        self.kept.streams.fetch_sub(1, Ordering::Relaxed);
        if self.responds {
            self.session.cancel_all();
        }
    }
}

impl Reader {
    fn new(stream: &Arc<Stream>, number: u64, turn: Option<Turn>, again: Vec<u8>, fresh: bool) -> Self {
        if turn.is_some() {
            stream.session.reader_joins();
        }
        Self { stream: Arc::clone(stream), number, turn, again, fresh }
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.stream.session
    }

    /// Nothing more will come on this connection than what waits already.
    pub(crate) fn is_over(&self) -> bool {
        let Stream { session, responds, .. } = &*self.stream;
        session.is_closing()
            || (*responds && session.is_over())
            || self.turn.as_ref().is_some_and(Turn::is_over)
            || self.stream.log().reader != self.number
    }

    /// Waits until there may be something to write, or another connection has taken this one's place.
    pub(crate) fn poll_woken(&self, cx: &mut Context<'_>) -> Poll<()> {
        // Under the lock, so that an old reader does not wait in place of the current one.
        let mut log = self.stream.log();
        if log.reader != self.number {
            return Poll::Ready(());
        }
        if log.waker.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
            log.waker = Some(cx.waker().clone());
        }
        let session = &self.stream.session;
        match &self.turn {
            Some(turn) => turn.poll(cx, |cx| session.poll_woken(cx)),
            None => session.poll_woken(cx),
        }
    }

    /// Writes what waits on the session as events, if it goes to this connection.
    pub(crate) fn take(&mut self, frames: &mut Outgoing, out: &mut Vec<u8>) {
        let mut log = self.stream.log();
        if log.reader == self.number && self.turn.as_ref().is_none_or(Turn::is_newest) {
            self.stream.session.take(frames);
            self.write_events(&mut log, frames, out);
        }
    }

    /// Writes frames as events.
    pub(crate) fn write(&mut self, frames: &Outgoing, out: &mut Vec<u8>) {
        self.write_events(&mut self.stream.log(), frames, out);
    }

    fn write_events(&self, log: &mut Log, frames: &Outgoing, out: &mut Vec<u8>) {
        for frame in frames.frames() {
            let begin = out.len();
            log.last += 1;
            out.extend_from_slice(format!("id: {}-{}\n", self.stream.name, log.last).as_bytes());
            write_data(out, frame);
            let event = out.get(begin..).unwrap_or_default();
            log.keep(event, &self.stream.kept.bytes);
        }
    }

    /// What goes out first: an event to come back to, or what the client has missed.
    pub(crate) fn beginning(&mut self) -> Vec<u8> {
        let mut out = std::mem::take(&mut self.again);
        if self.fresh && self.stream.primed {
            let id = format!("id: {}-{}\n", self.stream.name, self.stream.log().last);
            out.extend_from_slice(format!("{id}retry: {}\ndata: \n\n", RETRY.as_millis()).as_bytes());
        }
        out
    }
}

/// A frame, which ends with its line end, as the data of an event.
pub(crate) fn write_data(out: &mut Vec<u8>, frame: &[u8]) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(frame);
    out.push(b'\n');
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.turn.is_some() {
            self.stream.session.reader_leaves();
        }
        let mut log = self.stream.log();
        if log.reader == self.number {
            log.is_read = false;
            log.waker = None;
        }
    }
}
