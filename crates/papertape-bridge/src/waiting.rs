//! Calls whose hosts have been asked for input, and have to make them again (2026-07-28).

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::lock;
use crate::relay::Relayed;

/// How long a call waits for the input of its host.
const INPUT_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// After how long it waits no more if that keeps a server from requesting the input of other hosts.
pub(crate) const ABANDONED: Duration = Duration::from_secs(60);

/// How many calls wait.
const MOST: usize = 1_000;

/// Calls by number. One that is dropped is cancelled on the server.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<HashMap<u64, (Instant, Relayed)>>);

impl Waiting {
    /// Keeps a call until its host makes it again, or has let the time pass.
    pub(crate) fn keep(self: &Arc<Self>, number: u64, relayed: Relayed) {
        let mut waiting = lock(&self.0);
        if waiting.len() >= MOST {
            return tracing::warn!("too many requests wait for input: the latest is cancelled");
        }
        let since = Instant::now();
        waiting.insert(number, (since, relayed));
        drop(waiting);
        let all = Arc::downgrade(self);
        tokio::spawn(async move {
            sleep(INPUT_TIMEOUT).await;
            let Some(all) = all.upgrade() else { return };
            let mut waiting = lock(&all.0);
            let expired = waiting.get(&number).is_some_and(|(then, _)| *then == since);
            let expired = if expired { waiting.remove(&number) } else { None };
            drop(waiting);
            drop(expired);
        });
    }

    pub(crate) fn take(&self, number: u64) -> Option<Relayed> {
        lock(&self.0).remove(&number).map(|(_, relayed)| relayed)
    }

    /// Cancels those whose hosts let others wait for too long.
    pub(crate) fn cancel_abandoned(&self) {
        let mut waiting = lock(&self.0);
        let abandoned: Vec<_> = waiting.extract_if(|_, (since, _)| since.elapsed() >= ABANDONED).collect();
        drop(waiting);
        // Each locks what it is removed from.
        drop(abandoned);
    }
}
