//! The connections of a session for messages that belong to no request. There may be several; each message goes to one,
//! the newest, because the older ones may be dead without the server having noticed.

use crate::sync::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// Connections of one session that may be open; when there are more, the oldest ends.
const MOST: usize = 8;

/// The connections of one session, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<Connections>);

#[derive(Debug, Default)]
struct Connections {
    last: u64,
    /// Each with what wakes it, once it has waited.
    open: BTreeMap<u64, Option<Waker>>,
}

/// The place of one connection; when it is dropped, the one before it gets the messages again.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Arc<Turns>,
    number: u64,
}

impl Turns {
    fn connections(&self) -> MutexGuard<'_, Connections> {
        lock(&self.0)
    }

    /// A connection joins, and is the newest.
    pub(crate) fn join(self: &Arc<Self>) -> Turn {
        let mut connections = self.connections();
        connections.last += 1;
        let number = connections.last;
        connections.open.insert(number, None);
        if connections.open.len() > MOST
            && let Some((_, Some(oldest))) = connections.open.pop_first()
        {
            oldest.wake();
        }
        Turn { turns: Arc::clone(self), number }
    }

    /// Wakes all that wait for their turn, because the session ends.
    pub(crate) fn wake_all(&self) {
        self.connections().open.values_mut().filter_map(Option::take).for_each(Waker::wake);
    }
}

impl Turn {
    /// Whether messages go to this connection.
    pub(crate) fn is_newest(&self) -> bool {
        self.turns.connections().is_newest(self.number)
    }

    /// Whether it has to end because there are too many.
    pub(crate) fn is_over(&self) -> bool {
        !self.turns.connections().open.contains_key(&self.number)
    }

    /// Waits for messages with `poll_messages`, which has one waiter, if they go here; otherwise for its turn.
    pub(crate) fn poll(
        &self,
        cx: &mut Context<'_>,
        poll_messages: impl FnOnce(&mut Context<'_>) -> Poll<()>,
    ) -> Poll<()> {
        let mut connections = self.turns.connections();
        let Some(waker) = connections.open.get_mut(&self.number) else { return Poll::Ready(()) };
        // The newest, too, may have to be woken for its turn: a newer one replaces it as the waiter, and ends.
        if waker.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
        if connections.is_newest(self.number) { poll_messages(cx) } else { Poll::Pending }
    }
}

impl Connections {
    fn is_newest(&self, number: u64) -> bool {
        self.open.last_key_value().is_some_and(|(newest, _)| *newest == number)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut connections = self.turns.connections();
        connections.open.remove(&self.number);
        if let Some(waker) = connections.open.values_mut().next_back().and_then(Option::take) {
            waker.wake();
        }
    }
}
