//! A stream that a client may come back to: what was sent on it is kept for a while, within bounds.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::link::Link;

/// Bytes of one stream that are kept.
const MOST_KEPT: usize = 256 * 1024;
/// Bytes of all streams that are kept.
const MOST_KEPT_IN_ALL: usize = 64 * 1024 * 1024;
/// Streams there may be in all.
const MOST_STREAMS_IN_ALL: usize = 20_000;
/// When a client whose connection broke is to come back.
const COME_BACK: Duration = Duration::from_secs(1);

/// A stream of one session.
pub(crate) struct Stream {
    /// Tells it from all other streams of the session, also from those that another process has, or had: clients come
    /// back with it.
    pub(crate) name: String,
    /// It is the answer to a request, and not what belongs to none.
    answers: bool,
    pub(crate) link: Arc<Link>,
    /// The client of this stream can come back on a connection that ended before its time.
    primed: bool,
    log: Mutex<Log>,
    /// Somebody reads it.
    read: AtomicBool,
    kept: Arc<Kept>,
}

/// What all streams of a server take together.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    bytes: AtomicUsize,
    streams: AtomicUsize,
}

impl Kept {
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
}

/// Who reads a stream.
pub(crate) struct Reader {
    stream: Arc<Stream>,
    /// What is sent again.
    again: Vec<u8>,
    /// It has not been read before.
    fresh: bool,
}

/// Why a stream cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// Somebody else reads it.
    Taken,
    /// What came after that event is not there any more, or never was.
    Lost,
}

impl Stream {
    pub(crate) fn new(
        name: String,
        answers: bool,
        link: Arc<Link>,
        primed: bool,
        kept: &Arc<Kept>,
    ) -> Arc<Self> {
        kept.streams.fetch_add(1, Ordering::Relaxed);
        let (log, read) = (Mutex::default(), AtomicBool::new(false));
        Arc::new(Self { name, answers, link, primed, log, read, kept: Arc::clone(kept) })
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its request is still running.
    pub(crate) fn is_running(&self) -> bool {
        self.answers && !self.link.is_over()
    }

    /// Whether somebody reads it.
    pub(crate) fn is_read(&self) -> bool {
        self.read.load(Ordering::Acquire)
    }

    /// Whether it is kept only in case that its client comes back.
    pub(crate) fn is_past(&self) -> bool {
        !self.is_running() && !self.is_read()
    }

    /// Reads the stream from the beginning.
    pub(crate) fn read(self: &Arc<Self>) -> Result<Reader, Unreadable> {
        self.take(true)
    }

    /// Reads it again after an event.
    pub(crate) fn read_after(self: &Arc<Self>, event: u64) -> Result<Reader, Unreadable> {
        // First of all it must be nobody else's, who could go on reading in the meantime.
        let mut reader = self.take(false)?;
        let log = self.log();
        let missing = log.last.checked_sub(event).and_then(|missing| usize::try_from(missing).ok());
        let missing = missing.filter(|&missing| missing <= log.events.len()).ok_or(Unreadable::Lost)?;
        reader.again = log
            .events
            .iter()
            .skip(log.events.len() - missing)
            .flat_map(|event| event.iter().copied())
            .collect();
        drop(log);
        Ok(reader)
    }

    fn take(self: &Arc<Self>, fresh: bool) -> Result<Reader, Unreadable> {
        if self.read.swap(true, Ordering::AcqRel) {
            return Err(Unreadable::Taken);
        }
        Ok(Reader { stream: Arc::clone(self), again: Vec::new(), fresh })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.kept.bytes.fetch_sub(self.log().bytes, Ordering::Relaxed);
        self.kept.streams.fetch_sub(1, Ordering::Relaxed);
        self.link.cancel_all();
    }
}

impl Reader {
    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.stream.link
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stream.link.is_closing() || (self.stream.answers && self.stream.link.is_over())
    }

    /// What goes out first: an event to come back to, or what the client has missed.
    pub(crate) fn beginning(&mut self) -> Vec<u8> {
        let mut out = std::mem::take(&mut self.again);
        if self.fresh && self.stream.primed {
            let id = format!("id: {}-{}\n", self.stream.name, self.stream.log().last);
            out.extend_from_slice(format!("{id}retry: {}\ndata: \n\n", COME_BACK.as_millis()).as_bytes());
        }
        out
    }

    /// The id of the next event.
    pub(crate) fn write_id(&mut self, out: &mut Vec<u8>) {
        let mut log = self.stream.log();
        log.last += 1;
        out.extend_from_slice(format!("id: {}-{}\n", self.stream.name, log.last).as_bytes());
    }

    /// Keeps the event that was written last, as long as there is room.
    pub(crate) fn keep(&mut self, event: &[u8]) {
        let in_all = &self.stream.kept.bytes;
        let mut log = self.stream.log();
        log.events.push_back(event.into());
        log.bytes += event.len();
        in_all.fetch_add(event.len(), Ordering::Relaxed);
        // The last event alone may be larger than that, and is kept if there is room in all.
        while log.events.len() > 1 && log.bytes > MOST_KEPT
            || in_all.load(Ordering::Relaxed) > MOST_KEPT_IN_ALL
        {
            let Some(oldest) = log.events.pop_front() else { break };
            log.bytes -= oldest.len();
            in_all.fetch_sub(oldest.len(), Ordering::Relaxed);
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stream.read.store(false, Ordering::Release);
    }
}
