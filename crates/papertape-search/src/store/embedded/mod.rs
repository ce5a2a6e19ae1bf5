//! The embedded store: an inverted index, quantised and exact vectors, and a digest for every block, in a directory.
//!
//! All handles of a store share its newest generation, opened once, and checked again on each use. An index that is removed
//! and built again restarts its generation numbers. So subscribers get numbers of this process: those of the manifests while
//! they grow, and greater ones after that.
//!
//! - `index_folder`: the directory, and how a generation is published in it
//! - `lock`: one writer at a time
//! - `manifest`: what a generation consists of
//! - `keyring`: the keys that authenticate manifests
//! - `disk`: files with a digest for each block, and the numbers and texts in them
//! - `file_set`: the files of a generation
//! - `lexical`: the segments of the inverted index
//! - `table`: the records of files
//! - `vectors`: the segments of vectors, and nearest-neighbour search in them
//! - `writer`, `write`, `publish`, `merge_policy`: changes to the next generation
//! - `snapshot` (with `lexical_index`, `correct`, `filter`, `restrict` and `join`): a generation, and a query to hits in it
//! - `check`: verification and digest of a generation
//! - `errors`: I/O errors to [`StoreError`]s

mod check;
mod correct;
mod disk;
mod errors;
mod file_set;
mod filter;
mod index_folder;
mod join;
mod keyring;
mod lexical;
mod lexical_index;
mod lock;
mod manifest;
mod merge_policy;
mod publish;
mod restrict;
mod snapshot;
mod table;
mod vector_search;
mod vectors;
mod write;
mod writer;

pub use errors::place;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use tokio::sync::watch;

use self::index_folder::{Fingerprint, IndexFolder};
use self::keyring::Keyring;
use self::lock::Lock;
use self::snapshot::Snapshot;
use self::write::Changes;
use self::writer::Writing;
use super::{Chunk, FileRecord, Matches, Query, Store, StoreError, StoreFuture, Summary, Writer};
use crate::sync::lock;

/// How often subscribed processes check for generations of other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// How often opening is retried when a generation is replaced meanwhile.
const RETRIES: usize = 50;

/// A store in a directory. Opening it reads nothing; the directory need not exist.
#[derive(Debug, Clone)]
pub struct Embedded {
    state: Arc<StoreState>,
}

impl Embedded {
    /// The store in this directory, which need not exist: a server can start without an index. Its manifest is sealed
    /// (authenticated with a keyed hash) with the key of the user in `papertape/index.key` in `$XDG_DATA_HOME` or
    /// `~/.local/share`, which is made when the first index is written; an index that no key there has sealed is
    /// [`StoreError::Unsealed`], until it is written again.
    ///
    /// # Errors
    /// None at present: problems with the directory are reported when it is used.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Ok(Self { state: Arc::new(StoreState::new(folder, Keyring::of_user())) })
    }

    /// The same, with keys in another file: lines of 64 hexadecimal digits, of which the first seals and each is trusted.
    ///
    /// # Errors
    /// As [`Embedded::open`].
    pub fn open_with_keys(folder: &Path, keys: &Path) -> Result<Self, StoreError> {
        Ok(Self { state: Arc::new(StoreState::new(folder, Keyring::at(keys))) })
    }

    /// Verifies the seal of the newest generation, then every byte of it, and only then whether its counts agree.
    ///
    /// # Errors
    /// If no key of this user has sealed it, if any byte differs from what was written, or if there is no index.
    pub async fn verify(&self) -> Result<Summary, StoreError> {
        self.blocking(|state| {
            let fresh = state.load()?;
            fresh.verify()?;
            Ok(fresh.manifest().summary())
        })
        .await
    }

    /// A digest of what the newest generation holds: equal for two indexes of the same files, however they came about.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn digest(&self) -> Result<[u8; 32], StoreError> {
        self.blocking(|state| state.current()?.digest()).await
    }

    /// Removes the index, damaged or not, so that it can be built again.
    ///
    /// # Errors
    /// If another process is writing, or files cannot be removed.
    pub async fn clear(&self) -> Result<(), StoreError> {
        self.blocking(|state| {
            state.folder().prepare()?;
            let _lock = Lock::take(state.folder().root(), state.folder().errors())?;
            state.folder().clear()?;
            state.forget()
        })
        .await
    }

    /// Removes the index if it is damaged, not sealed by this user, or of another version, so that it is built again.
    /// An intact one stays.
    ///
    /// # Errors
    /// If it cannot be read at the moment, if the directory has other files, or if another process is writing.
    pub async fn repair(&self) -> Result<(), StoreError> {
        match self.verify().await {
            Ok(_) | Err(StoreError::Missing { .. }) => Ok(()),
            Err(StoreError::Corrupt { .. } | StoreError::Foreign { .. } | StoreError::Unsealed { .. }) => {
                self.clear().await
            }
            Err(error) => Err(error),
        }
    }

    /// Runs blocking file I/O on the blocking pool. A panic there, caused by crafted files that pass every check, becomes
    /// an error.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<StoreState>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let state = Arc::clone(&self.state);
        match tokio::task::spawn_blocking(move || work(&state)).await {
            Ok(result) => result,
            Err(_) => Err(self.state.folder().errors().corrupt("its content is inconsistent")),
        }
    }
}

impl Store for Embedded {
    fn summary(&self) -> StoreFuture<'_, Summary> {
        Box::pin(self.blocking(|state| {
            let snapshot = state.current()?;
            Ok(state.summary(&snapshot))
        }))
    }

    fn search<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Matches> {
        let query = query.clone();
        Box::pin(self.blocking(move |state| state.current()?.search(&query)))
    }

    fn chunk<'a>(&'a self, source: &'a str, index: u32) -> StoreFuture<'a, Option<Chunk>> {
        let source = source.to_owned();
        Box::pin(self.blocking(move |state| {
            let snapshot = state.current()?;
            let lexical = snapshot.lexical_index()?;
            let found = lexical.of_file(&source)?.into_iter().find(|(other, _)| *other == index);
            found.map(|(_, place)| lexical.chunk(place)).transpose()
        }))
    }

    fn chunks<'a>(&'a self, source: &'a str) -> StoreFuture<'a, Vec<Chunk>> {
        let source = source.to_owned();
        Box::pin(self.blocking(move |state| {
            let snapshot = state.current()?;
            let lexical = snapshot.lexical_index()?;
            lexical.of_file(&source)?.into_iter().map(|(_, place)| lexical.chunk(place)).collect()
        }))
    }

    fn files(&self) -> StoreFuture<'_, Arc<[FileRecord]>> {
        Box::pin(self.blocking(|state| state.current()?.table().cloned()))
    }

    fn without_vector(&self, limit: usize) -> StoreFuture<'_, Vec<Chunk>> {
        Box::pin(self.blocking(move |state| state.current()?.without_vector(limit)))
    }

    fn write(&self) -> StoreFuture<'_, Box<dyn Writer>> {
        Box::pin(async {
            let changes = self.blocking(|state| Changes::begin(Arc::clone(state))).await?;
            Ok(Box::new(Writing::new(self.clone(), changes)) as Box<dyn Writer>)
        })
    }

    fn repair(&self) -> StoreFuture<'_, ()> {
        Box::pin(Embedded::repair(self))
    }

    fn generations(&self) -> watch::Receiver<u64> {
        self.state.generations()
    }
}

/// The state that all handles of a store share.
struct StoreState {
    folder: IndexFolder,
    seen: Mutex<Option<OpenGeneration>>,
    generation: watch::Sender<u64>,
    polling: AtomicBool,
}

/// A generation, and the number that subscribers see.
struct OpenGeneration {
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
    fn new(folder: &Path, keys: Keyring) -> Self {
        Self {
            folder: IndexFolder::new(folder, keys),
            seen: Mutex::new(None),
            generation: watch::Sender::new(0),
            polling: AtomicBool::new(false),
        }
    }

    /// Subscribes to generations of this process and of others.
    fn generations(self: &Arc<Self>) -> watch::Receiver<u64> {
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

    fn folder(&self) -> &IndexFolder {
        &self.folder
    }

    fn seen(&self) -> MutexGuard<'_, Option<OpenGeneration>> {
        lock(&self.seen)
    }

    /// Drops the cached generation if the index is gone.
    fn forget(&self) -> Result<(), StoreError> {
        let mut seen = self.seen();
        // Another process may have built one in the meantime.
        if seen.is_some() && self.folder.fingerprint()?.is_none() {
            self.invalidate(&mut seen);
        }
        Ok(())
    }

    /// Drops the cached generation, and notifies subscribers once.
    fn invalidate(&self, seen: &mut Option<OpenGeneration>) {
        if seen.take().is_some() {
            self.generation.send_modify(|generation| *generation += 1);
        }
    }

    /// The greatest generation number published to subscribers.
    fn newest(&self) -> u64 {
        *self.generation.borrow()
    }

    /// The summary of a generation, with the number that subscribers saw. It is less than [`Self::newest`] if the
    /// generation is not the newest any more.
    fn summary(&self, snapshot: &Snapshot) -> Summary {
        let mut summary = snapshot.manifest().summary();
        if let Some(seen) = self.seen().as_ref().filter(|seen| is_same(&seen.snapshot, snapshot)) {
            summary.generation = seen.number;
        }
        summary
    }

    /// The newest generation. If it is the cached one, this reads the first line of the manifest only.
    fn current(&self) -> Result<Arc<Snapshot>, StoreError> {
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
    fn load(&self) -> Result<Snapshot, StoreError> {
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
    fn install(&self, snapshot: Arc<Snapshot>) -> Result<(), StoreError> {
        let mut seen = self.seen();
        if let Some(fingerprint) = self.folder.fingerprint()? {
            self.take(&mut seen, fingerprint, snapshot);
        }
        Ok(())
    }

    /// Caches a generation, and notifies subscribers unless only its files were merged.
    fn take(&self, seen: &mut Option<OpenGeneration>, fingerprint: Fingerprint, snapshot: Arc<Snapshot>) {
        let number = match seen {
            Some(seen) if is_same(&seen.snapshot, &snapshot) => seen.number,
            _ => snapshot.manifest().generation.max(self.newest() + 1),
        };
        *seen = Some(OpenGeneration { fingerprint, snapshot, number });
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
