//! How often, and after which delay, a stream is reopened.

use std::time::Duration;

use http::StatusCode;

/// How many attempts may fail in a row.
const MAX_FAILURES: u32 = 5;
/// The first delay, if the server does not send one.
pub(super) const DEFAULT_DELAY: Duration = Duration::from_secs(1);
/// The shortest delay, even if the server sends 0.
const MIN_DELAY: Duration = Duration::from_millis(100);
/// The longest delay, unless the server sends a longer one.
const MAX_DELAY: Duration = Duration::from_secs(30);
/// The longest delay that a server can send.
const MAX_REQUESTED_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The delays between attempts to reopen a stream.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    /// How many attempts have failed in a row.
    failed: u32,
    /// How many delays there were since the last message.
    delays: u32,
}

/// Whether an error status may be temporary. A server responds with 409 while it believes that an earlier connection is
/// alive.
pub(super) fn is_transient(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(
            status,
            StatusCode::CONFLICT | StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
        )
}

impl Backoff {
    /// The delay before the next attempt; `None` after too many failures. `requested` is the delay that the server sent.
    pub(super) fn next_delay(&mut self, requested: Option<Duration>) -> Option<Duration> {
        if self.failed >= MAX_FAILURES {
            return None;
        }
        let first = requested.unwrap_or(DEFAULT_DELAY).clamp(MIN_DELAY, MAX_REQUESTED_DELAY);
        let wait = first.saturating_mul(1 << self.delays.min(16)).min(MAX_DELAY.max(first));
        self.failed += 1;
        self.delays += 1;
        // The jitter keeps clients of the same server from reconnecting at once; none reconnects too early.
        Some(wait + wait.mul_f64(fraction() / 5.0))
    }

    /// A message has arrived: starts over.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// An attempt was accepted and is not a failure; but until a message arrives, the delays still grow.
    pub(super) fn accepted(&mut self) {
        self.failed = 0;
    }
}

/// A random number between 0 and 1.
fn fraction() -> f64 {
    let mut byte = [0; 1];
    // Without randomness there is only no jitter.
    let _ = getrandom::fill(&mut byte);
    f64::from(byte[0]) / 255.0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Backoff;

    #[test]
    fn delays_of_accepted_attempts_grow_without_end() {
        let mut backoff = Backoff::default();
        for number in 0..100_u32 {
            let wait = backoff.next_delay(None).unwrap().as_millis();
            let least = 1_000_u128.checked_shl(number.min(10)).unwrap().min(30_000);
            assert!((least..=least + least / 5).contains(&wait), "{number}: {wait}");
            backoff.accepted();
        }
        backoff.reset();
        assert!(backoff.next_delay(None).unwrap() < Duration::from_secs(2));
    }

    #[test]
    fn delays_grow_and_end_after_five_failures() {
        let waits = |asked: Option<u64>| {
            let mut backoff = Backoff::default();
            std::iter::from_fn(|| backoff.next_delay(asked.map(Duration::from_millis)))
                .map(|wait| wait.as_millis())
                .collect::<Vec<_>>()
        };
        for (asked, at_least) in [
            (None, [1_000, 2_000, 4_000, 8_000, 16_000]),
            (Some(500), [500, 1_000, 2_000, 4_000, 8_000]),
            (Some(0), [100, 200, 400, 800, 1_600]),
            (Some(10_000), [10_000, 20_000, 30_000, 30_000, 30_000]),
            (Some(60_000), [60_000; 5]),
            (Some(u64::MAX), [86_400_000; 5]),
        ] {
            let waits = waits(asked);
            assert_eq!(waits.len(), 5);
            for (wait, least) in waits.into_iter().zip(at_least) {
                assert!((least..=least + least / 5).contains(&wait), "{asked:?}: {wait}");
            }
        }
    }
}
