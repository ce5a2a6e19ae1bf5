//! How a connection is, for whoever watches it from outside, and what it is told from there.
//!
//! All but the notes from outside are written by the connection's own task, so nothing here needs an order among threads: who
//! acts on what it reads here is that task again, after it was woken.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

use super::clock::NEVER;

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    /// For the first byte of its first request.
    Fresh,
    /// For the rest of a head.
    Head,
    /// For the rest of a body.
    Body,
    /// For us.
    Busy,
    /// For the first byte of another request.
    Idle,
}

#[derive(Debug)]
pub(super) struct Pulse {
    stage: AtomicU8,
    /// When the stage began.
    since: AtomicU64,
    /// When the peer has to have sent what is waited for, and when it has to have taken what waits to be written.
    pub(super) read_by: AtomicU64,
    pub(super) write_by: AtomicU64,
    /// Heads that have come, answers that have begun, answers that are made.
    seen: AtomicU64,
    begun: AtomicU64,
    made: AtomicU64,
    /// Whether an answer is made but perhaps not written.
    unflushed: AtomicBool,
    /// Whether hyper has asked for bytes since somebody wanted to know.
    pub(super) asked: AtomicBool,
    /// Whether there is a fault, and all that had to be answered before it is; and how many heads may stay unanswered.
    faulty: AtomicBool,
    forgiven: AtomicU64,
    /// Whether hyper has to ask again for bytes that were held back.
    resumed: AtomicBool,
    /// Notes from outside: to look at the clock, to make room.
    poked: AtomicBool,
    evicted: AtomicBool,
    gone: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Pulse {
    pub(super) fn new(now: u64, read_by: u64) -> Self {
        Self {
            stage: AtomicU8::new(Stage::Fresh as u8),
            since: AtomicU64::new(now),
            read_by: AtomicU64::new(read_by),
            write_by: AtomicU64::new(NEVER),
            seen: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            made: AtomicU64::new(0),
            unflushed: AtomicBool::new(false),
            asked: AtomicBool::new(false),
            faulty: AtomicBool::new(false),
            forgiven: AtomicU64::new(0),
            resumed: AtomicBool::new(false),
            poked: AtomicBool::new(false),
            evicted: AtomicBool::new(false),
            gone: AtomicBool::new(false),
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

    /// Another stage begins, which has to end by a moment.
    pub(super) fn enter(&self, stage: Stage, now: u64, read_by: u64) {
        self.stage.store(stage as u8, Relaxed);
        self.since.store(now, Relaxed);
        self.read_by.store(read_by, Relaxed);
    }

    pub(super) fn head_seen(&self) {
        add(&self.seen);
    }

    pub(super) fn answer_begins(&self) {
        add(&self.begun);
    }

    pub(super) fn answer_made(&self) {
        add(&self.made);
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

    /// Whether no head has come yet.
    pub(super) fn is_unused(&self) -> bool {
        self.seen.load(Relaxed) == 0
    }

    /// Heads that have come and are not answered.
    pub(super) fn unanswered(&self) -> u64 {
        self.seen.load(Relaxed).saturating_sub(self.made.load(Relaxed))
    }

    /// There are bytes for hyper, which believes that there are none.
    pub(super) fn resume(&self) {
        self.resumed.store(true, Relaxed);
    }

    pub(super) fn take_resume(&self) -> bool {
        self.resumed.load(Relaxed) && self.resumed.swap(false, Relaxed)
    }

    /// There is a fault, and it is time to end.
    pub(super) fn fail(&self, forgiven: u64) {
        self.forgiven.store(forgiven, Relaxed);
        self.faulty.store(true, Relaxed);
    }

    pub(super) fn is_faulty(&self) -> bool {
        self.faulty.load(Relaxed)
    }

    /// Whether the peer waits for an answer that the fault can be, and for no part of another.
    pub(super) fn can_tell_fault(&self) -> bool {
        self.between_answers() && self.unanswered() == self.forgiven.load(Relaxed)
    }

    /// Whether what is written now would stand between answers and not within one.
    pub(super) fn between_answers(&self) -> bool {
        self.begun.load(Relaxed) == self.made.load(Relaxed) && !self.unflushed.load(Relaxed)
    }

    pub(super) fn is_late(&self, now: u64) -> bool {
        self.read_by.load(Relaxed) <= now || self.write_by.load(Relaxed) <= now
    }

    /// Wakes the connection to look at the clock, and whether it should end.
    pub(super) fn poke(&self) {
        self.poked.store(true, Relaxed);
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn take_poke(&self) -> bool {
        self.poked.load(Relaxed) && self.poked.swap(false, Relaxed)
    }

    pub(super) fn evict(&self) {
        self.evicted.store(true, Relaxed);
        self.poke();
    }

    pub(super) fn is_evicted(&self) -> bool {
        self.evicted.load(Relaxed)
    }

    pub(super) fn take_eviction(&self) -> bool {
        self.evicted.swap(false, Relaxed)
    }

    pub(super) fn wake_by(&self, waker: &Waker) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
    }

    /// The connection is no more.
    pub(super) fn leave(&self) {
        self.gone.store(true, Relaxed);
        // The waker holds the task's memory.
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Relaxed)
    }
}

/// There is one writer, so this need not be one atomic step.
fn add(count: &AtomicU64) {
    count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
}
