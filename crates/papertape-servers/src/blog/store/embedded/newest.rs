//! The newest generation, for all who share a store: opened once, and looked for again whenever it is needed.
//!
//! An index may be removed and made anew, and begins to count again then. So those who hear of generations are told numbers
//! of our own: those of the manifests for as long as these grow, and greater ones after that.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;

use super::place::{Look, Place};
use super::seal::Keyring;
use super::snapshot::Snapshot;
use crate::blog::store::{StoreError, Summary};

/// How often somebody who wants to hear of generations looks for those of other processes.
const GLANCE: Duration = Duration::from_millis(250);

/// How often a generation may vanish while it is opened, because a newer one is there.
const RETRIES: usize = 50;

/// What all who have the same store share.
pub(super) struct Core {
    place: Place,
    seen: Mutex<Option<Seen>>,
    told: watch::Sender<u64>,
    glancing: AtomicBool,
}

/// A generation, and the number by which others hear of it.
struct Seen {
    look: Look,
    snapshot: Arc<Snapshot>,
    number: u64,
}

impl fmt::Debug for Core {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Core").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Core {
    pub(super) fn new(folder: &Path, keys: Keyring) -> Self {
        Self {
            place: Place::new(folder, keys),
            seen: Mutex::new(None),
            told: watch::Sender::new(0),
            glancing: AtomicBool::new(false),
        }
    }

    /// Hears of generations, whoever makes them.
    pub(super) fn generations(self: &Arc<Self>) -> watch::Receiver<u64> {
        let receiver = self.told.subscribe();
        if !self.glancing.swap(true, Ordering::Relaxed) {
            self.notice();
            let core = Arc::downgrade(self);
            let started =
                std::thread::Builder::new().name("papertape-index".to_owned()).spawn(move || glance(&core));
            if let Err(error) = started {
                tracing::warn!(%error, "changes that other processes make will be seen at the next question only");
            }
        }
        receiver
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    fn seen(&self) -> MutexGuard<'_, Option<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what was seen, if there is no index any more.
    pub(super) fn forget(&self) -> Result<(), StoreError> {
        let mut seen = self.seen();
        // Somebody may have made one in the meantime.
        if seen.is_some() && self.place.look()?.is_none() {
            self.lose(&mut seen);
        }
        Ok(())
    }

    /// What was seen is no longer there: subscribers to generations are told once.
    fn lose(&self, seen: &mut Option<Seen>) {
        if seen.take().is_some() {
            self.told.send_modify(|told| *told += 1);
        }
    }

    /// The greatest number that was ever told.
    pub(super) fn newest(&self) -> u64 {
        *self.told.borrow()
    }

    /// What a generation holds, by the number that was told. If it is no longer the newest, the number is less than that.
    pub(super) fn summary(&self, snapshot: &Snapshot) -> Summary {
        let mut summary = snapshot.manifest().summary();
        if let Some(seen) = self.seen().as_ref().filter(|seen| is_same(&seen.snapshot, snapshot)) {
            summary.generation = seen.number;
        }
        summary
    }

    /// The newest generation. If it is the one that was seen last, that costs a look at one file.
    pub(super) fn current(&self) -> Result<Arc<Snapshot>, StoreError> {
        let Some(look) = self.place.look()? else {
            self.forget()?;
            return Err(self.place.faults().missing());
        };
        let mut seen = self.seen();
        if let Some(seen) = seen.as_ref().filter(|seen| seen.look == look) {
            return Ok(Arc::clone(&seen.snapshot));
        }
        let opened = self.open(seen.as_ref().map(|seen| seen.snapshot.as_ref()));
        if matches!(opened, Err(StoreError::Unsealed { .. })) {
            // Another one has taken its place, which is as good as none.
            self.lose(&mut seen);
        }
        let (look, snapshot) = opened?;
        let snapshot = Arc::new(snapshot);
        self.take(&mut seen, look, Arc::clone(&snapshot));
        Ok(snapshot)
    }

    /// The newest generation, with nothing of it read before.
    pub(super) fn load(&self) -> Result<Snapshot, StoreError> {
        self.open(None).map(|(_, snapshot)| snapshot)
    }

    fn open(&self, before: Option<&Snapshot>) -> Result<(Look, Snapshot), StoreError> {
        let mut last = None;
        for _ in 0..RETRIES {
            let (look, manifest) = self.place.manifest()?.ok_or_else(|| self.place.faults().missing())?;
            match Snapshot::open(&self.place, manifest, before) {
                Ok(snapshot) => return Ok((look, snapshot)),
                // A newer generation is there, and the files of this one have gone. Unless it is the same one again.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if last.replace(look.clone()) == Some(look) {
                        break;
                    }
                }
                Err(error) => return Err(self.place.faults().io("cannot read", error)),
            }
        }
        Err(self.place.faults().corrupt("a file of it is missing"))
    }

    /// Takes over a generation that was made here.
    pub(super) fn install(&self, snapshot: Arc<Snapshot>) -> Result<(), StoreError> {
        let mut seen = self.seen();
        if let Some(look) = self.place.look()? {
            self.take(&mut seen, look, snapshot);
        }
        Ok(())
    }

    /// Takes over a generation, and tells of it unless it is the same in other files.
    fn take(&self, seen: &mut Option<Seen>, look: Look, snapshot: Arc<Snapshot>) {
        let number = match seen {
            Some(seen) if is_same(&seen.snapshot, &snapshot) => seen.number,
            _ => snapshot.manifest().generation.max(self.newest() + 1),
        };
        *seen = Some(Seen { look, snapshot, number });
        self.told.send_if_modified(|told| std::mem::replace(told, number) != number);
    }

    fn notice(&self) {
        match self.current() {
            Ok(_) | Err(StoreError::Missing { .. } | StoreError::Unsealed { .. }) => {}
            Err(error) => tracing::debug!(%error, "the index cannot be read now"),
        }
    }
}

/// Whether two are the same generation: each has a table of files of its own, which keeps its name when files are merged.
fn is_same(one: &Snapshot, other: &Snapshot) -> bool {
    one.manifest().table == other.manifest().table
}

/// Looks for generations that other processes made, for as long as somebody has the store.
fn glance(core: &Weak<Core>) {
    loop {
        std::thread::sleep(GLANCE);
        let Some(core) = core.upgrade() else { return };
        core.notice();
    }
}
