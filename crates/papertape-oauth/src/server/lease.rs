//! How long an authorization lasts: a key may be revoked and a token may expire while a stream is open.

use std::fmt;
use std::time::{Duration, SystemTime};

use tokio::time::sleep;

use super::keys::HeldKey;

/// How often the wall clock is read: it may be set, and machines may sleep.
const CLOCK_INTERVAL: Duration = Duration::from_secs(60);

/// How long an authorization lasts.
pub struct Lease {
    until: Option<SystemTime>,
    key: Option<HeldKey>,
}

impl Lease {
    /// Until a moment, and as long as the API key, if it is one, is valid with the same scopes.
    pub(super) fn new(until: Option<SystemTime>, key: Option<HeldKey>) -> Self {
        Self { until, key }
    }

    /// Waits until the authorization ends.
    pub async fn over(self) {
        let Self { mut until, key } = self;
        let Some(mut key) = key else { return wait_until(until).await };
        loop {
            tokio::select! {
                () = wait_until(until) => return,
                expires = key.changed() => match expires {
                    Some(expires) => until = expires,
                    None => return,
                },
            }
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("until", &self.until).finish_non_exhaustive()
    }
}

/// Waits for a moment of the wall clock.
async fn wait_until(until: Option<SystemTime>) {
    let Some(until) = until else { return std::future::pending().await };
    while let Ok(left) = until.duration_since(SystemTime::now())
        && !left.is_zero()
    {
        sleep(left.min(CLOCK_INTERVAL)).await;
    }
}
