//! For how long a principal is authorized: a key may be revoked and a token may expire while a stream is open.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::time::sleep;

use super::key::Key;
use super::keys::Shared;

/// The clock on the wall is looked at again after so long: it may be set, and machines may sleep.
const LOOK_AT_CLOCK: Duration = Duration::from_secs(60);

/// For how long a principal is authorized.
pub(crate) struct Lease {
    until: Option<SystemTime>,
    key: Option<HeldKey>,
}

/// A key of ours, and how to know what became of it.
struct HeldKey {
    key: Arc<Key>,
    keys: Arc<Shared>,
    changed: watch::Receiver<()>,
}

impl Lease {
    /// Until a token expires.
    pub(super) fn until(until: Option<SystemTime>) -> Self {
        Self { until, key: None }
    }

    /// Until a key expires, is revoked, or has other scopes.
    pub(super) fn of_key(key: Arc<Key>, keys: Arc<Shared>, changed: watch::Receiver<()>) -> Self {
        Self { until: key.expires, key: Some(HeldKey { key, keys, changed }) }
    }

    /// Waits until it is over.
    pub(crate) async fn over(self) {
        let Self { mut until, key } = self;
        let Some(HeldKey { mut key, keys, mut changed }) = key else { return end(until).await };
        keys.keep_watch();
        loop {
            tokio::select! {
                () = end(until) => return,
                told = changed.changed() => match keys.again(&key) {
                    Some(same) if told.is_ok() => (until, key) = (same.expires, same),
                    _ => return,
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

/// Waits for a moment on the wall's clock.
async fn end(until: Option<SystemTime>) {
    let Some(until) = until else { return std::future::pending().await };
    while let Ok(left) = until.duration_since(SystemTime::now())
        && !left.is_zero()
    {
        sleep(left.min(LOOK_AT_CLOCK)).await;
    }
}
