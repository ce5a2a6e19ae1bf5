//! The newest generation, for all who share a store: opened once, and looked for again whenever it is needed.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;

use super::place::{Look, Place};
use super::snapshot::Snapshot;
use crate::blog::store::StoreError;

/// How often somebody who wants to hear of generations looks for those of other processes.
const GLANCE: Duration = Duration::from_millis(250);

/// How often a generation may vanish while it is opened, because a newer one is there.
const RETRIES: usize = 50;

/// What all who have the same store share.
pub(super) struct Core {
    place: Place,
    seen: Mutex<Option<(Look, Arc<Snapshot>)>>,
    generation: watch::Sender<u64>,
    glancing: AtomicBool,
}

impl fmt::Debug for Core {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Core").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Core {
    pub(super) fn new(folder: &Path) -> Self {
        let generation = watch::Sender::new(0);
        Self {
            place: Place::new(folder),
            seen: Mutex::new(None),
            generation,
            glancing: AtomicBool::new(false),
        }
    }

    /// Hears of generations, whoever makes them.
    pub(super) fn generations(self: &Arc<Self>) -> watch::Receiver<u64> {
        let receiver = self.generation.subscribe();
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

    fn seen(&self) -> MutexGuard<'_, Option<(Look, Arc<Snapshot>)>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what was seen.
    pub(super) fn forget(&self) {
        *self.seen() = None;
    }

    /// The number of the newest generation that was ever seen.
    pub(super) fn newest(&self) -> u64 {
        *self.generation.borrow()
    }

    /// The newest generation. If it is the one that was seen last, that costs a look at one file.
    pub(super) fn current(&self) -> Result<Arc<Snapshot>, StoreError> {
        let look = self.place.look()?.ok_or_else(|| self.place.faults().missing())?;
        let mut seen = self.seen();
        if let Some((known, snapshot)) = seen.as_ref()
            && *known == look
        {
            return Ok(Arc::clone(snapshot));
        }
        let (look, snapshot) = self.open(seen.as_ref().map(|(_, snapshot)| snapshot.as_ref()))?;
        let snapshot = Arc::new(snapshot);
        *seen = Some((look, Arc::clone(&snapshot)));
        drop(seen);
        self.tell(snapshot.manifest().generation);
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
        let generation = snapshot.manifest().generation;
        *self.seen() = self.place.look()?.map(|look| (look, snapshot));
        self.tell(generation);
        Ok(())
    }

    fn tell(&self, generation: u64) {
        self.generation.send_if_modified(|told| std::mem::replace(told, generation) != generation);
    }

    fn notice(&self) {
        match self.current() {
            Ok(_) | Err(StoreError::Missing { .. }) => {}
            Err(error) => tracing::debug!(%error, "the index cannot be read now"),
        }
    }
}

/// Looks for generations that other processes made, for as long as somebody has the store.
fn glance(core: &Weak<Core>) {
    loop {
        std::thread::sleep(GLANCE);
        let Some(core) = core.upgrade() else { return };
        core.notice();
    }
}
