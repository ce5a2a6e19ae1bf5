//! Limits to moments, in milliseconds since the listener began.

use std::time::{Duration, Instant};

use super::ConnectionLimits;

/// A moment that never comes.
pub(super) const NEVER: u64 = u64::MAX;

/// The time that all connections of a listener go by.
#[derive(Debug)]
pub(super) struct Clock {
    began: Instant,
    /// How often the connections are looked over.
    pub(super) period: Duration,
}

impl Clock {
    pub(super) fn new(limits: &ConnectionLimits) -> Self {
        let shortest =
            limits.header_time.min(limits.body_idle).min(limits.reader_stall).min(limits.keep_alive);
        let period = (shortest / 8).clamp(Duration::from_millis(5), Duration::from_millis(500));
        Self { began: Instant::now(), period }
    }

    pub(super) fn now(&self) -> u64 {
        millis(self.began.elapsed())
    }

    /// When to look whether a limit that begins to run now is over: early enough that it is seen in time.
    pub(super) fn in_time(&self, limit: Duration) -> u64 {
        self.now().saturating_add(millis(limit.saturating_sub(self.period)))
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(NEVER)
}
