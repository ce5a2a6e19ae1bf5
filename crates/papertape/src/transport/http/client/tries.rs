//! How often, and after how long, a stream that has ended is taken up again.

use std::time::Duration;

use http::StatusCode;

/// Attempts that fail in a row.
const MOST: u32 = 5;
/// If the server does not say how long to wait.
pub(super) const USUAL: Duration = Duration::from_secs(1);
/// A server that says not to wait at all is not believed.
const SHORTEST: Duration = Duration::from_millis(100);
/// Unless the server itself asks for more.
const LONGEST: Duration = Duration::from_secs(30);
/// Longer than this nobody waits.
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Attempts to take up a stream.
#[derive(Debug, Default)]
pub(super) struct Tries {
    /// Attempts that have failed in a row.
    failed: u32,
    /// Waits since something came.
    waits: u32,
}

/// Whether a refusal may be over in a moment. A server says 409 while it believes that an earlier connection is alive.
pub(super) fn is_passing(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(
            status,
            StatusCode::CONFLICT | StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
        )
}

impl Tries {
    /// How long to wait before the next attempt; nothing if there have been enough.
    pub(super) fn next(&mut self, asked: Option<Duration>) -> Option<Duration> {
        if self.failed >= MOST {
            return None;
        }
        let first = asked.unwrap_or(USUAL).clamp(SHORTEST, A_DAY);
        let wait = first.saturating_mul(1 << self.waits.min(16)).min(LONGEST.max(first));
        self.failed += 1;
        self.waits += 1;
        // Clients that lost the same server do not all come back at once; but none comes too early.
        Some(wait + wait.mul_f64(fraction() / 5.0))
    }

    /// Something came: the next end is the first one again.
    pub(super) fn begin_anew(&mut self) {
        *self = Self::default();
    }

    /// The server has taken an attempt, which is then no failure; but if it comes to nothing, the next one waits longer.
    pub(super) fn accepted(&mut self) {
        self.failed = 0;
    }
}

/// Something between 0 and 1.
fn fraction() -> f64 {
    let mut byte = [0; 1];
    // Without randomness everybody waits equally long, which is no disaster.
    let _ = getrandom::fill(&mut byte);
    f64::from(byte[0]) / 255.0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Tries;

    #[test]
    fn attempts_that_are_taken_become_rarer_and_do_not_end() {
        let mut tries = Tries::default();
        for number in 0..100_u32 {
            let wait = tries.next(None).unwrap().as_millis();
            let least = 1_000_u128.checked_shl(number.min(10)).unwrap().min(30_000);
            assert!((least..=least + least / 5).contains(&wait), "{number}: {wait}");
            tries.accepted();
        }
        tries.begin_anew();
        assert!(tries.next(None).unwrap() < Duration::from_secs(2));
    }

    #[test]
    fn attempts_become_rarer_and_end() {
        let waits = |asked: Option<u64>| {
            let mut tries = Tries::default();
            std::iter::from_fn(|| tries.next(asked.map(Duration::from_millis)))
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
