//! Deadlines, in milliseconds since the listener started.

use std::time::{Duration, Instant};

use super::ConnectionLimits;

/// A deadline that never passes.
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
