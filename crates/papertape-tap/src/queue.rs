//! Items on their way from the proxies to the writer: bounded in bytes, and never waited for by those who add to it.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::item::{Item, Source};

/// What an item takes besides its bytes.
const ITEM_SIZE: usize = 128;

/// What is left for events when the queue is full of bytes.
const ROOM_FOR_EVENTS: usize = 1024 * 1024;

/// The queue.
pub(crate) struct Queue {
    state: Mutex<State>,
    /// There are items, or the queue is closed.
    filled: Condvar,
    /// The writer has ended.
    ended: Condvar,
    /// The size of what was added and is not [released](Queue::release) yet.
    size: AtomicUsize,
    limit: usize,
    /// The writer waits for the disk.
    is_on_disk: AtomicBool,
    /// How many steps the writer has made: items and writes.
    steps: AtomicU64,
}

#[derive(Default)]
struct State {
    items: VecDeque<(Instant, Item)>,
    /// Bytes that were not added, by stream.
    lost: HashMap<Source, u64>,
    /// The writer is waiting.
    is_waiting: bool,
    is_closed: bool,
    has_ended: bool,
}

/// What the writer takes out.
pub(crate) enum Taken {
    /// Everything that was there; perhaps nothing, at the deadline.
    Items(VecDeque<(Instant, Item)>),
    /// Nothing will be added any more.
    Closed,
}

impl Queue {
    /// A queue for this many bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            state: Mutex::default(),
            filled: Condvar::new(),
            ended: Condvar::new(),
            size: AtomicUsize::new(0),
            limit,
            is_on_disk: AtomicBool::new(false),
            steps: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item, or counts its bytes as lost. The time is taken here, so that items are in the order of their times. The writer
    /// is not woken: that is for [`wake`](Self::wake), after the bytes have been passed on.
    pub(crate) fn add(&self, item: Item) {
        let size = item.length() + ITEM_SIZE;
        let limit = match &item {
            Item::Bytes(..) | Item::Head(..) => self.limit,
            _ => self.limit + ROOM_FOR_EVENTS,
        };
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        let fits = self.size.load(Ordering::Relaxed) + size <= limit;
        let now = Instant::now();
        if let Item::Bytes(source, _, _) | Item::Head(source, _) | Item::End(source) = &item {
            if !fits {
                *state.lost.entry(*source).or_default() += item.length() as u64;
                return;
            }
            if let Some(bytes) = state.lost.remove(source) {
                state.items.push_back((now, Item::Lost(*source, bytes)));
            }
        } else if !fits {
            return;
        }
        self.size.fetch_add(size, Ordering::Relaxed);
        state.items.push_back((now, item));
    }

    /// Wakes the writer, if it waits.
    pub(crate) fn wake(&self) {
        let was_waiting = std::mem::take(&mut self.lock().is_waiting);
        if was_waiting {
            self.filled.notify_one();
        }
    }

    /// Whether half of the queue is full, and that is not because of the disk: the writer lacks processor time.
    pub(crate) fn is_behind(&self) -> bool {
        self.size.load(Ordering::Relaxed) > self.limit / 2 && !self.is_on_disk.load(Ordering::Relaxed)
    }

    /// For the writer: whether it waits for the disk.
    pub(crate) fn set_on_disk(&self, is_on_disk: bool) {
        self.is_on_disk.store(is_on_disk, Ordering::Relaxed);
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// For the writer: everything that is in the queue, as soon as there is anything.
    pub(crate) fn take(&self, deadline: Option<Instant>) -> Taken {
        let mut state = self.lock();
        loop {
            if !state.items.is_empty() || !state.lost.is_empty() {
                let mut items = std::mem::take(&mut state.items);
                let now = Instant::now();
                items.extend(state.lost.drain().map(|(source, bytes)| (now, Item::Lost(source, bytes))));
                return Taken::Items(items);
            }
            if state.is_closed {
                return Taken::Closed;
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Taken::Items(VecDeque::new());
            }
            state.is_waiting = true;
            state = match left {
                Some(left) => self.filled.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.filled.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
            state.is_waiting = false;
        }
    }

    /// For the writer: an item that it has taken will not be in memory any more.
    pub(crate) fn release(&self, item: &Item) {
        self.steps.fetch_add(1, Ordering::Relaxed);
        if !matches!(item, Item::Lost(..)) {
            self.size.fetch_sub(item.length() + ITEM_SIZE, Ordering::Relaxed);
        }
    }

    /// Adds nothing any more.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.wake();
    }

    /// For the writer: nothing is taken any more.
    pub(crate) fn end(&self) {
        self.lock().has_ended = true;
        self.ended.notify_all();
    }

    /// Waits for the end of the writer, as long as it makes steps. Whether it has ended.
    pub(crate) fn wait_for_end(&self, for_a_step: Duration) -> bool {
        self.wait_in_steps(|state| {
            let waited = self.ended.wait_timeout_while(state, for_a_step, |state| !state.has_ended);
            waited.unwrap_or_else(PoisonError::into_inner).0
        })
    }

    fn wait_in_steps<'a>(
        &'a self,
        mut wait: impl FnMut(MutexGuard<'a, State>) -> MutexGuard<'a, State>,
    ) -> bool {
        let mut state = self.lock();
        loop {
            let before = self.steps.load(Ordering::Relaxed);
            state = wait(state);
            if state.has_ended || self.steps.load(Ordering::Relaxed) == before {
                return state.has_ended;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Queue;

    #[test]
    fn a_writer_that_advances_is_waited_for() {
        let queue = Queue::new(0);
        let mut waits = 0;
        let has_ended = queue.wait_in_steps(|state| {
            waits += 1;
            if waits < 4 {
                queue.set_on_disk(true);
            }
            state
        });
        assert!(!has_ended && waits == 4, "{waits}");
        let has_ended = queue.wait_in_steps(|mut state| {
            state.has_ended = true;
            state
        });
        assert!(has_ended);
    }
}
