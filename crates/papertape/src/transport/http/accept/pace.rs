//! How a body comes in to how long it is waited for.

use std::time::{Duration, Instant};

use super::ConnectionLimits;

/// The time in which a body need not have any speed yet.
const FREE: Duration = Duration::from_secs(10);

/// A store of bytes that fills with what comes in and drains while we wait; when it is empty, the body is too slow.
/// Only waiting counts: a peer is not late because we do not read.
#[derive(Debug)]
pub(super) struct Pace {
    store: u64,
    waiting: Option<Instant>,
}

impl Pace {
    pub(super) fn new(limits: &ConnectionLimits) -> Self {
        Self { store: worth(FREE.min(limits.body_idle), limits), waiting: None }
    }

    /// Bytes have come.
    pub(super) fn got(&mut self, bytes: usize, limits: &ConnectionLimits) {
        if let Some(since) = self.waiting.take() {
            self.store = self.store.saturating_sub(worth(since.elapsed(), limits));
        }
        let most = worth(limits.body_idle, limits);
        self.store = self.store.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX)).min(most);
    }

    /// There are no bytes yet; gives how long to wait for some, if the wait begins now.
    pub(super) fn wait(&mut self, limits: &ConnectionLimits) -> Option<Duration> {
        if self.waiting.is_some() {
            return None;
        }
        self.waiting = Some(Instant::now());
        let store = self.store.saturating_mul(1000).checked_div(limits.body_rate);
        Some(store.map_or(limits.body_idle, |millis| limits.body_idle.min(Duration::from_millis(millis))))
    }
}

/// The bytes that have to come in a time.
fn worth(time: Duration, limits: &ConnectionLimits) -> u64 {
    let bytes = time.as_millis().saturating_mul(u128::from(limits.body_rate)) / 1000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
