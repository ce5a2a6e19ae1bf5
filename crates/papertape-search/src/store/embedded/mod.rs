//! The embedded store: an inverted index, quantised and exact vectors, and a digest for every block, in a directory.
//!
//! - `index_folder`: the directory, and how a generation is published in it
//! - `lock`: one writer at a time
//! - `manifest`: what a generation consists of
//! - `keyring`: the keys that authenticate manifests
//! - `blocks`: files with a digest for each block
//! - `file_set`: the files of a generation
//! - `lexical`: the segments of the inverted index
//! - `table`, `bytes`: the records of files
//! - `vectors`: the segments of vectors, and nearest-neighbour search in them
//! - `writer`, `write`, `publish`, `merge_policy`: changes to the next generation
//! - `store_state`, `snapshot`, `lazy`: the newest generation, opened
//! - `lexical_index`, `score`, `filter`, `join`, `search`: query to hits
//! - `check`: verification and digest of a generation
//! - `errors`: I/O errors to [`StoreError`]s

mod blocks;
mod bytes;
mod check;
mod errors;
mod file_set;
mod filter;
mod index_folder;
mod join;
mod keyring;
mod lazy;
mod lexical;
mod lexical_index;
mod lock;
mod manifest;
mod merge_policy;
mod publish;
mod score;
mod search;
mod snapshot;
mod store_state;
mod table;
mod vectors;
mod write;
mod writer;

pub use errors::place;

use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;

use self::keyring::Keyring;
use self::lock::Lock;
use self::store_state::StoreState;
use self::write::Changes;
use self::writer::Writing;
use super::{Chunk, FileRecord, Matches, Query, Store, StoreError, StoreFuture, Summary, Writer};

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
        let errors = state.folder().errors().clone();
        match tokio::task::spawn_blocking(move || work(&state)).await {
            Ok(result) => result,
            Err(_) => Err(errors.corrupt("its content is inconsistent")),
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
