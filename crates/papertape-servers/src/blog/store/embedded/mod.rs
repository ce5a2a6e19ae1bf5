//! The store in files of our own: words with tantivy, vectors as bits and exactly, every block with a checksum.
//!
//! On the way from a folder to hits:
//!
//! - `place`: the folder, and how a generation becomes the newest
//! - `lock`: one writer at a time
//! - `manifest`: what a generation consists of
//! - `blocks`: bytes to a file whose every block can be checked
//! - `shelf`: such files as tantivy's directory
//! - `schema`, `tokens`: a chunk to a document of tantivy
//! - `table`, `bytes`: the records of files
//! - `vectors`: vectors to files, and a question's vector to the nearest
//! - `write`, `tidy`: changes to the next generation
//! - `snapshot`, `lazy`: a generation, opened
//! - `words`, `score`, `filter`, `join`, `search`: a question to hits
//! - `check`: is it what was written?
//! - `fault`: what can go wrong, to what a person can act on

mod blocks;
mod bytes;
mod check;
mod fault;
mod filter;
mod join;
mod lazy;
mod lock;
mod manifest;
mod place;
mod schema;
mod score;
mod search;
mod shelf;
mod snapshot;
mod table;
mod tidy;
mod tokens;
mod vectors;
mod words;
mod write;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;

use self::lock::Lock;
use self::place::{Look, Place};
use self::snapshot::Snapshot;
use self::write::Changes;
use super::{
    Answer, Chunk, Embedding, Entry, FileRecord, Found, Query, Store, StoreError, Summary, VectorKey, Writer,
};

/// How often somebody who wants to hear of generations looks for those of other processes.
const GLANCE: Duration = Duration::from_millis(250);

/// How often a generation may vanish while it is opened, because a newer one is there.
const RETRIES: usize = 50;

/// A store in a folder. Opening it reads nothing; it may be there or not.
#[derive(Debug, Clone)]
pub struct Embedded {
    core: Arc<Core>,
}

impl Embedded {
    /// The store in this folder, which need not exist: a server can start without an index.
    ///
    /// # Errors
    /// None now: what is wrong with the folder is said when it is used.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Ok(Self { core: Arc::new(Core::new(folder)) })
    }

    /// Reads every byte of the newest generation and checks it.
    ///
    /// # Errors
    /// If anything is not what was written, or there is nothing.
    pub async fn verify(&self) -> Result<Summary, StoreError> {
        self.blocking(|core| {
            let fresh = core.load()?;
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
        self.blocking(|core| core.current()?.digest()).await
    }

    /// Removes the index, whatever is wrong with it, so that it can be made anew.
    ///
    /// # Errors
    /// If somebody is writing, or files cannot be removed.
    pub async fn clear(&self) -> Result<(), StoreError> {
        self.blocking(|core| {
            core.place.prepare()?;
            let _lock = Lock::take(core.place.folder(), core.place.faults())?;
            core.place.clear()?;
            *core.seen() = None;
            Ok(())
        })
        .await
    }

    /// Files block, so they are used on a thread that may. A panic there (of tantivy, on files that pass every check and
    /// make no sense all the same) is an error here.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Core>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let core = Arc::clone(&self.core);
        let faults = core.place.faults().clone();
        match tokio::task::spawn_blocking(move || work(&core)).await {
            Ok(result) => result,
            Err(_) => Err(faults.corrupt("what is in it makes no sense")),
        }
    }
}

impl Store for Embedded {
    fn summary(&self) -> Answer<'_, Summary> {
        Box::pin(self.blocking(|core| Ok(core.current()?.manifest().summary())))
    }

    fn search<'a>(&'a self, query: &'a Query) -> Answer<'a, Found> {
        let query = query.clone();
        Box::pin(self.blocking(move |core| core.current()?.search(&query)))
    }

    fn chunk<'a>(&'a self, source: &'a str, index: u32) -> Answer<'a, Option<Chunk>> {
        let source = source.to_owned();
        Box::pin(self.blocking(move |core| {
            let snapshot = core.current()?;
            let words = snapshot.words()?;
            let found = words.of_file(&source)?.into_iter().find(|(other, _)| *other == index);
            found.map(|(_, place)| words.chunk(place)).transpose()
        }))
    }

    fn chunks<'a>(&'a self, source: &'a str) -> Answer<'a, Vec<Chunk>> {
        let source = source.to_owned();
        Box::pin(self.blocking(move |core| {
            let snapshot = core.current()?;
            let words = snapshot.words()?;
            words.of_file(&source)?.into_iter().map(|(_, place)| words.chunk(place)).collect()
        }))
    }

    fn files(&self) -> Answer<'_, Arc<[FileRecord]>> {
        Box::pin(self.blocking(|core| core.current()?.table().cloned()))
    }

    fn wanting(&self, limit: usize) -> Answer<'_, Vec<Chunk>> {
        Box::pin(self.blocking(move |core| core.current()?.wanting(limit)))
    }

    fn write(&self) -> Answer<'_, Box<dyn Writer>> {
        Box::pin(async {
            let changes = self.blocking(|core| Changes::begin(Arc::clone(core))).await?;
            let changes = Arc::new(Mutex::new(Some(changes)));
            Ok(Box::new(Writing { store: self.clone(), changes }) as Box<dyn Writer>)
        })
    }

    fn generations(&self) -> watch::Receiver<u64> {
        let receiver = self.core.generation.subscribe();
        if !self.core.glancing.swap(true, Ordering::Relaxed) {
            self.core.notice();
            let core = Arc::downgrade(&self.core);
            let started =
                std::thread::Builder::new().name("papertape-index".to_owned()).spawn(move || glance(&core));
            if let Err(error) = started {
                tracing::warn!(%error, "changes that other processes make will be seen at the next question only");
            }
        }
        receiver
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

/// What all who have the same store share.
struct Core {
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
    fn new(folder: &Path) -> Self {
        let generation = watch::Sender::new(0);
        Self {
            place: Place::new(folder),
            seen: Mutex::new(None),
            generation,
            glancing: AtomicBool::new(false),
        }
    }

    fn place(&self) -> &Place {
        &self.place
    }

    fn seen(&self) -> MutexGuard<'_, Option<(Look, Arc<Snapshot>)>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the newest generation that was ever seen.
    fn newest(&self) -> u64 {
        *self.generation.borrow()
    }

    /// The newest generation. If it is the one that was seen last, that costs a look at one file.
    fn current(&self) -> Result<Arc<Snapshot>, StoreError> {
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
    fn load(&self) -> Result<Snapshot, StoreError> {
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
    fn install(&self, snapshot: Arc<Snapshot>) -> Result<(), StoreError> {
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

/// A writer whose work is done on threads that may block.
struct Writing {
    store: Embedded,
    changes: Arc<Mutex<Option<Changes>>>,
}

impl Writing {
    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Changes) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let changes = Arc::clone(&self.changes);
        self.store
            .blocking(move |_| {
                let mut changes = changes.lock().unwrap_or_else(PoisonError::into_inner);
                changes.as_mut().map_or_else(|| Err(over()), change)
            })
            .await
    }
}

fn over() -> StoreError {
    StoreError::Other("this writer has come to its end".to_owned())
}

impl Writer for Writing {
    fn put(&mut self, file: FileRecord, chunks: Vec<Entry>) -> Answer<'_, ()> {
        Box::pin(self.change(move |changes| changes.put(file, &chunks)))
    }

    fn touch(&mut self, file: FileRecord) -> Answer<'_, ()> {
        Box::pin(self.change(move |changes| {
            changes.touch(file);
            Ok(())
        }))
    }

    fn remove<'a>(&'a mut self, path: &'a str) -> Answer<'a, ()> {
        let path = path.to_owned();
        Box::pin(self.change(move |changes| changes.remove(&path)))
    }

    fn attach(&mut self, vectors: Vec<(VectorKey, Vec<f32>)>) -> Answer<'_, ()> {
        Box::pin(self.change(move |changes| changes.attach(vectors)))
    }

    fn set_embedding(&mut self, embedding: Option<Embedding>) -> Answer<'_, ()> {
        Box::pin(self.change(move |changes| changes.set_embedding(embedding)))
    }

    fn commit(self: Box<Self>) -> Answer<'static, Summary> {
        Box::pin(async move {
            let changes = Arc::clone(&self.changes);
            self.store
                .blocking(move |_| {
                    let changes = changes.lock().unwrap_or_else(PoisonError::into_inner).take();
                    changes.map_or_else(|| Err(over()), Changes::commit)
                })
                .await
        })
    }
}
