//! The state of a connection that its listener reads: stage and deadlines, by one clock; and what the listener requests: a check,
//! an eviction.
//!
//! Everything but the requests is written by the task of the connection, which is also what acts on it after a wake, so relaxed
//! ordering is enough.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::limits::ConnectionLimits;
use super::sync::lock;

/// A deadline that never passes. Deadlines are in milliseconds since the listener started.
pub(super) const NEVER: u64 = u64::MAX;

/// The clock of all connections of a listener.
#[derive(Debug)]
pub(super) struct Clock {
    started: Instant,
    /// How often the connections are checked.
    pub(super) period: Duration,
}

impl Clock {
    pub(super) fn new(limits: &ConnectionLimits) -> Self {
        let shortest =
            limits.header_time.min(limits.body_idle).min(limits.reader_stall).min(limits.keep_alive);
        let period = (shortest / 8).clamp(Duration::from_millis(5), Duration::from_millis(500));
        Self { started: Instant::now(), period }
    }

    pub(super) fn now(&self) -> u64 {
        millis(self.started.elapsed())
    }

    /// The deadline for a limit that starts now, less one period, so that the check is in time.
    pub(super) fn deadline(&self, limit: Duration) -> u64 {
        self.now().saturating_add(millis(limit.saturating_sub(self.period)))
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(NEVER)
}

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    /// The first byte of its first request.
    Fresh,
    /// The rest of a head.
    Head,
    /// The rest of a body.
    Body,
    /// The handler.
    Busy,
    /// The first byte of the next request.
    Idle,
}

#[derive(Debug)]
pub(super) struct ConnectionState {
    stage: AtomicU8,
    /// When the stage started.
    since: AtomicU64,
    /// The deadlines for the next bytes from the peer, and for the peer to read what is written.
    pub(super) read_by: AtomicU64,
    pub(super) write_by: AtomicU64,
    /// Heads that were received, responses that were started, responses that were finished.
    heads: AtomicU64,
    started: AtomicU64,
    finished: AtomicU64,
    /// Whether a response is finished but perhaps not written.
    unflushed: AtomicBool,
    /// Whether hyper has tried to read since this was last cleared.
    pub(super) read_requested: AtomicBool,
    /// Whether there is a fault, and all earlier requests have their responses; and how many heads may stay without one.
    faulty: AtomicBool,
    forgiven: AtomicU64,
    /// Whether hyper has to read again, because held bytes can be passed on.
    resumed: AtomicBool,
    /// Requests of the listener: to check the deadlines, to close for a new connection.
    woken: AtomicBool,
    evicted: AtomicBool,
    closed: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl ConnectionState {
    pub(super) fn new(now: u64, read_by: u64) -> Self {
        Self {
            stage: AtomicU8::new(Stage::Fresh as u8),
            since: AtomicU64::new(now),
            read_by: AtomicU64::new(read_by),
            write_by: AtomicU64::new(NEVER),
            heads: AtomicU64::new(0),
            started: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            unflushed: AtomicBool::new(false),
            read_requested: AtomicBool::new(false),
            faulty: AtomicBool::new(false),
            forgiven: AtomicU64::new(0),
            resumed: AtomicBool::new(false),
            woken: AtomicBool::new(false),
            evicted: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            waker: Mutex::new(None),
        }
    }

    pub(super) fn stage(&self) -> Stage {
        match self.stage.load(Relaxed) {
            stage if stage == Stage::Fresh as u8 => Stage::Fresh,
            stage if stage == Stage::Head as u8 => Stage::Head,
            stage if stage == Stage::Body as u8 => Stage::Body,
            stage if stage == Stage::Idle as u8 => Stage::Idle,
            _ => Stage::Busy,
        }
    }

    pub(super) fn since(&self) -> u64 {
        self.since.load(Relaxed)
    }

    /// Enters a stage with a deadline.
    pub(super) fn enter(&self, stage: Stage, now: u64, read_by: u64) {
        self.stage.store(stage as u8, Relaxed);
        self.since.store(now, Relaxed);
        self.read_by.store(read_by, Relaxed);
    }

    pub(super) fn head_received(&self) {
        add(&self.heads);
    }

    pub(super) fn response_started(&self) {
        add(&self.started);
    }

    pub(super) fn response_finished(&self) {
        add(&self.finished);
        self.unflushed.store(true, Relaxed);
    }

    pub(super) fn flushed(&self) {
        if self.unflushed.load(Relaxed) {
            self.unflushed.store(false, Relaxed);
        }
    }

    pub(super) fn is_flushed(&self) -> bool {
        !self.unflushed.load(Relaxed)
    }

    /// Whether no head was received yet.
    pub(super) fn is_unused(&self) -> bool {
        self.heads.load(Relaxed) == 0
    }

    /// Heads without a finished response.
    pub(super) fn pending_responses(&self) -> u64 {
        self.heads.load(Relaxed).saturating_sub(self.finished.load(Relaxed))
    }

    /// There are bytes for hyper, whose last read was pending.
    pub(super) fn resume(&self) {
        self.resumed.store(true, Relaxed);
    }

    pub(super) fn take_resume(&self) -> bool {
        self.resumed.load(Relaxed) && self.resumed.swap(false, Relaxed)
    }

    /// There is a fault, and the connection has to close.
    pub(super) fn fail(&self, forgiven: u64) {
        self.forgiven.store(forgiven, Relaxed);
        self.faulty.store(true, Relaxed);
    }

    pub(super) fn is_faulty(&self) -> bool {
        self.faulty.load(Relaxed)
    }

    /// Whether the error response would be the next response that the peer expects.
    pub(super) fn can_report_fault(&self) -> bool {
        self.between_responses() && self.pending_responses() == self.forgiven.load(Relaxed)
    }

    /// Whether bytes written now would be between responses, not within one.
    pub(super) fn between_responses(&self) -> bool {
        self.started.load(Relaxed) == self.finished.load(Relaxed) && !self.unflushed.load(Relaxed)
    }

    pub(super) fn is_late(&self, now: u64) -> bool {
        self.read_by.load(Relaxed) <= now || self.write_by.load(Relaxed) <= now
    }

    /// Wakes the connection to check its deadlines.
    pub(super) fn wake(&self) {
        self.woken.store(true, Relaxed);
        let waker = lock(&self.waker).clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn take_wake(&self) -> bool {
        self.woken.load(Relaxed) && self.woken.swap(false, Relaxed)
    }

    pub(super) fn evict(&self) {
        self.evicted.store(true, Relaxed);
        self.wake();
    }

    pub(super) fn is_evicted(&self) -> bool {
        self.evicted.load(Relaxed)
    }

    pub(super) fn take_eviction(&self) -> bool {
        self.evicted.swap(false, Relaxed)
    }

    pub(super) fn set_waker(&self, waker: &Waker) {
        *lock(&self.waker) = Some(waker.clone());
    }

    /// The connection has closed.
    pub(super) fn close(&self) {
        self.closed.store(true, Relaxed);
        // The waker keeps the memory of the task.
        *lock(&self.waker) = None;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }
}

/// There is one writer, so this need not be atomic.
fn add(count: &AtomicU64) {
    count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
}
