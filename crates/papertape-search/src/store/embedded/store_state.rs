//! The state that all handles of a store share: the newest generation, opened once, and checked again on each use.
//!
//! An index that is removed and built again restarts its generation numbers. So subscribers get numbers of this process:
//! those of the manifests while they grow, and greater ones after that.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use tokio::sync::watch;

use super::index_folder::{Fingerprint, IndexFolder};
use super::keyring::Keyring;
use super::snapshot::Snapshot;
use crate::store::{StoreError, Summary};
use crate::sync::lock;

/// How often subscribed processes check for generations of other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// How often opening is retried when a generation is replaced meanwhile.
const RETRIES: usize = 50;

/// The state that all handles of a store share.
pub(super) struct StoreState {
    folder: IndexFolder,
    seen: Mutex<Option<CachedGeneration>>,
    generation: watch::Sender<u64>,
    polling: AtomicBool,
}

/// A generation, and the number that subscribers see.
struct CachedGeneration {
    fingerprint: Fingerprint,
    snapshot: Arc<Snapshot>,
    number: u64,
}

impl fmt::Debug for StoreState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StoreState").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl StoreState {
    pub(super) fn new(folder: &Path, keys: Keyring) -> Self {
        Self {
            folder: IndexFolder::new(folder, keys),
            seen: Mutex::new(None),
            generation: watch::Sender::new(0),
            polling: AtomicBool::new(false),
        }
    }

    /// Subscribes to generations of this process and of others.
    pub(super) fn generations(self: &Arc<Self>) -> watch::Receiver<u64> {
        let receiver = self.generation.subscribe();
        if !self.polling.swap(true, Ordering::Relaxed) {
            self.refresh();
            let state = Arc::downgrade(self);
            let started =
                std::thread::Builder::new().name("papertape-index".to_owned()).spawn(move || poll(&state));
            if let Err(error) = started {
                tracing::warn!(%error, "changes by other processes will be noticed at the next query only");
            }
        }
        receiver
    }

    pub(super) fn folder(&self) -> &IndexFolder {
        &self.folder
    }

    fn seen(&self) -> MutexGuard<'_, Option<CachedGeneration>> {
        lock(&self.seen)
    }

    /// Drops the cached generation if the index is gone.
    pub(super) fn forget(&self) -> Result<(), StoreError> {
        let mut seen = self.seen();
        // Another process may have built one in the meantime.
        if seen.is_some() && self.folder.fingerprint()?.is_none() {
            self.invalidate(&mut seen);
        }
        Ok(())
    }

    /// Drops the cached generation, and notifies subscribers once.
    fn invalidate(&self, seen: &mut Option<CachedGeneration>) {
        if seen.take().is_some() {
            self.generation.send_modify(|generation| *generation += 1);
        }
    }

    /// The greatest generation number published to subscribers.
    pub(super) fn newest(&self) -> u64 {
        *self.generation.borrow()
    }

    /// The summary of a generation, with the number that subscribers saw. It is less than [`Self::newest`] if the
    /// generation is not the newest any more.
    pub(super) fn summary(&self, snapshot: &Snapshot) -> Summary {
        let mut summary = snapshot.manifest().summary();
        if let Some(seen) = self.seen().as_ref().filter(|seen| is_same(&seen.snapshot, snapshot)) {
            summary.generation = seen.number;
        }
        summary
    }

    /// The newest generation. If it is the cached one, this reads the first line of the manifest only.
    pub(super) fn current(&self) -> Result<Arc<Snapshot>, StoreError> {
        let Some(fingerprint) = self.folder.fingerprint()? else {
            self.forget()?;
            return Err(self.folder.errors().missing());
        };
        let mut seen = self.seen();
        if let Some(seen) = seen.as_ref().filter(|seen| seen.fingerprint == fingerprint) {
            return Ok(Arc::clone(&seen.snapshot));
        }
        let opened = self.open(seen.as_ref().map(|seen| seen.snapshot.as_ref()));
        if matches!(opened, Err(StoreError::Unsealed { .. })) {
            // It was replaced with an index that cannot be used, which is the same as none.
            self.invalidate(&mut seen);
        }
        let (fingerprint, snapshot) = opened?;
        let snapshot = Arc::new(snapshot);
        self.take(&mut seen, fingerprint, Arc::clone(&snapshot));
        Ok(snapshot)
    }

    /// The newest generation, opened without the cache.
    pub(super) fn load(&self) -> Result<Snapshot, StoreError> {
        self.open(None).map(|(_, snapshot)| snapshot)
    }

    fn open(&self, before: Option<&Snapshot>) -> Result<(Fingerprint, Snapshot), StoreError> {
        let mut last = None;
        for _ in 0..RETRIES {
            let (fingerprint, manifest) =
                self.folder.manifest()?.ok_or_else(|| self.folder.errors().missing())?;
            match Snapshot::open(&self.folder, manifest, before) {
                Ok(snapshot) => return Ok((fingerprint, snapshot)),
                // A newer generation has been published and the files of this one removed, unless the manifest is the
                // same.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if last.replace(fingerprint.clone()) == Some(fingerprint) {
                        break;
                    }
                }
                Err(error) => return Err(self.folder.errors().io("cannot read", error)),
            }
        }
        Err(self.folder.errors().corrupt("a file of it is missing"))
    }

    /// Caches a generation that this process published.
    pub(super) fn install(&self, snapshot: Arc<Snapshot>) -> Result<(), StoreError> {
        let mut seen = self.seen();
        if let Some(fingerprint) = self.folder.fingerprint()? {
            self.take(&mut seen, fingerprint, snapshot);
        }
        Ok(())
    }

    /// Caches a generation, and notifies subscribers unless only its files were merged.
    fn take(&self, seen: &mut Option<CachedGeneration>, fingerprint: Fingerprint, snapshot: Arc<Snapshot>) {
        let number = match seen {
            Some(seen) if is_same(&seen.snapshot, &snapshot) => seen.number,
            _ => snapshot.manifest().generation.max(self.newest() + 1),
        };
        *seen = Some(CachedGeneration { fingerprint, snapshot, number });
        self.generation.send_if_modified(|generation| std::mem::replace(generation, number) != number);
    }

    fn refresh(&self) {
        match self.current() {
            Ok(_) | Err(StoreError::Missing { .. } | StoreError::Unsealed { .. }) => {}
            Err(error) => tracing::debug!(%error, "failed to read the index"),
        }
    }
}

/// Whether two snapshots have the same content: a merge keeps the table of files, every other change replaces it.
fn is_same(one: &Snapshot, other: &Snapshot) -> bool {
    one.manifest().table == other.manifest().table
}

/// Polls for generations of other processes while a handle of the store exists.
fn poll(state: &Weak<StoreState>) {
    loop {
        std::thread::sleep(POLL_INTERVAL);
        let Some(state) = state.upgrade() else { return };
        state.refresh();
    }
}
