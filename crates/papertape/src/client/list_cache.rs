//! Lists that may still be used, as servers of stateless revisions say how long (`ttlMs`).

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use super::lists::{ListEntry, Listable};
use crate::sync::lock;

/// The longest that a list is kept.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// The largest list that is kept, in bytes of JSON.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// A list as it was read.
pub(super) struct ReadList<T> {
    pub(super) entries: Vec<ListEntry<T>>,
    /// Until when it may be used: all of its pages.
    pub(super) fresh_until: Instant,
    pub(super) bytes: usize,
}

/// The lists that were read last, by method: at most one of each. It belongs to one client and thus to one principal, so that
/// lists of any `cacheScope` may be kept.
#[derive(Default)]
pub(super) struct ListCache(Mutex<HashMap<&'static str, KeptList>>);

struct KeptList {
    /// A `Vec<ListEntry<T>>`.
    entries: Arc<dyn Any + Send + Sync>,
    fresh_until: Instant,
    /// How many changes of the list had been announced before it was read.
    changes: u64,
}

impl<T> ReadList<T> {
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), fresh_until: Instant::now() + LONGEST, bytes: 0 }
    }

    /// Takes the `ttlMs` of a page that has just arrived; without a valid one it is stale at once.
    pub(super) fn limit_freshness(&mut self, ttl_ms: Option<f64>) {
        let ttl = ttl_ms.filter(|ttl| *ttl >= 0.0).unwrap_or_default();
        let ttl = Duration::try_from_secs_f64(ttl / 1000.0).unwrap_or(LONGEST).min(LONGEST);
        self.fresh_until = self.fresh_until.min(Instant::now() + ttl);
    }
}

impl ListCache {
    /// The list, if it may still be used and no change of it has been announced since.
    pub(super) fn get<T: Listable>(&self, changes: u64) -> Option<Vec<ListEntry<T>>> {
        let mut lists = lock(&self.0);
        let kept = lists.get(T::METHOD)?;
        if kept.changes != changes || kept.fresh_until <= Instant::now() {
            lists.remove(T::METHOD);
            return None;
        }
        let entries = Arc::clone(&kept.entries);
        drop(lists);
        entries.downcast_ref::<Vec<ListEntry<T>>>().cloned()
    }

    pub(super) fn put<T: Listable>(&self, list: &ReadList<T>, changes: u64) {
        let keep = list.fresh_until > Instant::now() && list.bytes <= MOST_BYTES;
        let kept = keep.then(|| KeptList {
            entries: Arc::new(list.entries.clone()),
            fresh_until: list.fresh_until,
            changes,
        });
        let mut lists = lock(&self.0);
        match kept {
            Some(kept) => drop(lists.insert(T::METHOD, kept)),
            None => drop(lists.remove(T::METHOD)),
        }
    }
}
