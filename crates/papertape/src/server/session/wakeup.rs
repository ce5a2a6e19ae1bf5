//! How the writer of a session waits.

use std::task::{Context, Poll, Waker};

/// Wakes the writer of a session when there is something to write. One writer waits at a time.
#[derive(Default)]
pub(super) struct Wakeup {
    woken: bool,
    waker: Option<Waker>,
}

impl Wakeup {
    pub(super) fn wake(&mut self) {
        self.woken = true;
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Ready once after each [`Wakeup::wake`].
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::take(&mut self.woken) {
            self.waker = None;
            return Poll::Ready(());
        }
        if self.waker.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
            self.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}
