//! The store in files of our own: words with tantivy, vectors as bits and exactly, every block with a digest.
//!
//! On the way from a folder to hits:
//!
//! - `place`: the folder, and how a generation becomes the newest
//! - `lock`: one writer at a time
//! - `manifest`: what a generation consists of
//! - `seal`: whose it is
//! - `blocks`: bytes to a file whose every block can be checked
//! - `shelf`: such files as tantivy's directory
//! - `schema`, `tokens`: a chunk to a document of tantivy
//! - `table`, `bytes`: the records of files
//! - `vectors`: vectors to files, and a question's vector to the nearest
//! - `writer`, `write`, `publish`, `tidy`: changes to the next generation
//! - `newest`, `snapshot`, `lazy`: the newest generation, opened
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
mod newest;
mod place;
mod publish;
mod schema;
mod score;
mod seal;
mod search;
mod shelf;
mod snapshot;
mod table;
mod tidy;
mod tokens;
mod vectors;
mod words;
mod write;
mod writer;

pub use fault::place;

use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;

use self::lock::Lock;
use self::newest::Core;
use self::seal::Keyring;
use self::write::Changes;
use self::writer::Writing;
use super::{Answer, Chunk, FileRecord, Found, Query, Store, StoreError, Summary, Writer};

/// A store in a folder. Opening it reads nothing; it may be there or not.
#[derive(Debug, Clone)]
pub struct Embedded {
    core: Arc<Core>,
}

impl Embedded {
    /// The store in this folder, which need not exist: a server can start without an index. It is sealed with the key of
    /// the user in `papertape/index.key` in `$XDG_DATA_HOME` or `~/.local/share`, which is made when the first index is
    /// written; an index that no key there has sealed is [`StoreError::Unsealed`], until it is written again.
    ///
    /// # Errors
    /// None now: what is wrong with the folder is said when it is used.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Ok(Self { core: Arc::new(Core::new(folder, Keyring::of_user())) })
    }

    /// The same, with keys in another file: lines of 64 hexadecimal digits, of which the first seals and each is trusted.
    ///
    /// # Errors
    /// As [`Embedded::open`].
    pub fn open_with_keys(folder: &Path, keys: &Path) -> Result<Self, StoreError> {
        Ok(Self { core: Arc::new(Core::new(folder, Keyring::at(keys))) })
    }

    /// Checks the seal of the newest generation, then every byte of it, and only then whether it makes sense.
    ///
    /// # Errors
    /// If no key of this user has sealed it, if anything is not what was written, or there is nothing.
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
            core.place().prepare()?;
            let _lock = Lock::take(core.place().folder(), core.place().faults())?;
            core.place().clear()?;
            core.forget()
        })
        .await
    }

    /// Removes the index if it is broken, not sealed by this user, or of another version, so that it is built again. An intact one stays.
    ///
    /// # Errors
    /// If it cannot be read now, which says nothing about it; if it is none; if somebody is writing.
    pub async fn repair(&self) -> Result<(), StoreError> {
        match self.verify().await {
            Ok(_) | Err(StoreError::Missing { .. }) => Ok(()),
            Err(StoreError::Corrupt { .. } | StoreError::Foreign { .. } | StoreError::Unsealed { .. }) => {
                self.clear().await
            }
            Err(error) => Err(error),
        }
    }

    /// Files block, so they are used on a thread that may. A panic there (of tantivy, on files that pass every check and
    /// make no sense all the same) is an error here.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Core>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let core = Arc::clone(&self.core);
        let faults = core.place().faults().clone();
        match tokio::task::spawn_blocking(move || work(&core)).await {
            Ok(result) => result,
            Err(_) => Err(faults.corrupt("what is in it makes no sense")),
        }
    }
}

impl Store for Embedded {
    fn summary(&self) -> Answer<'_, Summary> {
        Box::pin(self.blocking(|core| {
            let snapshot = core.current()?;
            Ok(core.summary(&snapshot))
        }))
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
            Ok(Box::new(Writing::new(self.clone(), changes)) as Box<dyn Writer>)
        })
    }

    fn generations(&self) -> watch::Receiver<u64> {
        self.core.generations()
    }
}
