//! Changes to the next generation.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use half::f16;
use tantivy::indexer::{IndexWriterOptions, NoMergePolicy, UserOperation};
use tantivy::{Index, IndexWriter, TantivyError};

use super::lock::Lock;
use super::manifest::VectorFile;
use super::newest::Core;
use super::schema::{Fields, schema, settings, tokenizers};
use super::shelf::Shelf;
use super::snapshot::Snapshot;
use super::vectors::build::{self, Row};
use crate::blog::store::unit::unit;
use crate::blog::store::{Embedding, Entry, FileRecord, StoreError, VectorKey};

/// Fewer changes than this wait in memory until the commit, so that a small change needs a small writer.
const FEW: usize = 2_000;

/// Bytes for each of tantivy's threads: what it needs at least, and what makes large segments.
const SMALL_HEAP: usize = 15_000_000;
const LARGE_HEAP: usize = 120_000_000;

/// Vectors that wait in memory: about this many bytes.
const VECTOR_BYTES: usize = 64 * 1024 * 1024;

/// Makes the next generation. Dropped before its commit, it leaves nothing behind.
pub(super) struct Changes {
    pub(super) core: Arc<Core>,
    pub(super) base: Option<Arc<Snapshot>>,
    pub(super) shelf: Shelf,
    pub(super) index: Index,
    fields: Fields,
    pub(super) writer: Option<IndexWriter>,
    /// What is given to tantivy at once, file by file.
    waiting: Vec<Vec<UserOperation>>,
    pub(super) files: BTreeMap<String, Option<FileRecord>>,
    rows: BTreeMap<u64, Vec<f16>>,
    pub(super) vectors: Vec<VectorFile>,
    pub(super) embedding: Option<Embedding>,
    pub(super) changed: bool,
    /// Whether what everybody sees is what a loss of power leaves.
    pub(super) certain: bool,
    _lock: Lock,
}

impl Changes {
    /// Begins with what there is. Whatever a dead writer has left is removed.
    pub(super) fn begin(core: Arc<Core>) -> Result<Self, StoreError> {
        let place = core.place();
        place.prepare()?;
        let lock = Lock::take(place.folder(), place.faults())?;
        let base = match core.current() {
            Ok(base) => Some(base),
            Err(StoreError::Missing { .. }) => None,
            Err(StoreError::Unsealed { place: index, why, .. }) => {
                tracing::warn!("the index at {index} is not used, and made again: {why}");
                place.clear()?;
                core.forget()?;
                None
            }
            Err(error) => return Err(error),
        };
        // A writer that died or failed may not have come so far: first make certain of what everybody sees.
        place.sync().map_err(|error| place.faults().io("cannot write to", error))?;
        place.sweep();
        let open = base.as_ref().map(|base| base.open_files()).transpose();
        let open = open.map_err(|error| place.faults().io("cannot read", error))?.unwrap_or_default();
        let list = base.as_ref().map(|base| base.manifest().lexical.clone()).unwrap_or_default();
        let shelf = Shelf::new(place.folder(), open, &list);
        let (schema, fields) = schema();
        let opened = if list.is_empty() {
            Index::create(shelf.clone(), schema, settings())
        } else {
            // Says whether it is ours.
            base.as_ref().map(|base| base.words()).transpose()?;
            Index::open(shelf.clone())
        };
        let mut index = opened.map_err(|error| place.faults().words("cannot write to", &error))?;
        index.set_tokenizers(tokenizers());
        Ok(Self {
            vectors: base.as_ref().map(|base| base.manifest().vectors.clone()).unwrap_or_default(),
            embedding: base.as_ref().and_then(|base| base.manifest().embedding()),
            core,
            base,
            shelf,
            index,
            fields,
            writer: None,
            waiting: Vec::new(),
            files: BTreeMap::new(),
            rows: BTreeMap::new(),
            changed: false,
            certain: true,
            _lock: lock,
        })
    }

    pub(super) fn io(&self, error: io::Error) -> StoreError {
        self.core.place().faults().io("cannot write to", self.shelf.failure().unwrap_or(error))
    }

    pub(super) fn words(&self, error: &TantivyError) -> StoreError {
        match self.shelf.failure() {
            Some(failure) => self.core.place().faults().io("cannot write to", failure),
            None => self.core.place().faults().words("cannot write to", error),
        }
    }

    /// Whether there may be chunks of this file.
    fn knows(&self, path: &str) -> Result<bool, StoreError> {
        if self.files.contains_key(path) {
            return Ok(true);
        }
        let Some(base) = &self.base else { return Ok(false) };
        Ok(base.table()?.binary_search_by(|record| record.path.as_str().cmp(path)).is_ok())
    }

    /// A file and its chunks.
    pub(super) fn put(&mut self, file: FileRecord, chunks: &[Entry]) -> Result<(), StoreError> {
        self.changed = true;
        let old = self.knows(&file.path)?.then(|| UserOperation::Delete(self.fields.of_file(&file.path)));
        let new = chunks.iter().map(|entry| UserOperation::Add(self.fields.document(&file, entry)));
        let operations: Vec<UserOperation> = old.into_iter().chain(new).collect();
        if !operations.is_empty() {
            // A file without a chunk leaves nothing to count again and again.
            self.waiting.push(operations);
        }
        self.files.insert(file.path.clone(), Some(file));
        let waiting: usize = self.waiting.iter().map(Vec::len).sum();
        if self.writer.is_some() || waiting >= FEW { self.feed(true) } else { Ok(()) }
    }

    /// A file whose chunks stay.
    pub(super) fn touch(&mut self, file: FileRecord) {
        self.changed = true;
        self.files.insert(file.path.clone(), Some(file));
    }

    /// A file that is gone.
    pub(super) fn remove(&mut self, path: &str) -> Result<(), StoreError> {
        if self.knows(path)? {
            self.changed = true;
            self.waiting.push(vec![UserOperation::Delete(self.fields.of_file(path))]);
            self.files.insert(path.to_owned(), None);
        }
        Ok(())
    }

    /// Vectors for those who have none.
    pub(super) fn attach(&mut self, vectors: Vec<(VectorKey, Vec<f32>)>) -> Result<(), StoreError> {
        let Some(embedding) = &self.embedding else {
            return Err(StoreError::Mismatch("vectors of a model that the index was not told of".to_owned()));
        };
        let dimension = super::bytes::to_usize(embedding.dimension);
        let mut rows = Vec::with_capacity(vectors.len());
        for (key, vector) in vectors {
            if vector.len() != dimension {
                return Err(StoreError::Mismatch(format!(
                    "a vector of {} numbers, where {} has {dimension}",
                    vector.len(),
                    embedding.model
                )));
            }
            let vector = unit(&vector)
                .ok_or_else(|| StoreError::Mismatch("a vector without a direction".to_owned()))?;
            rows.push((key.0, vector.into_iter().map(f16::from_f32).collect()));
        }
        self.changed |= !rows.is_empty();
        self.rows.extend(rows);
        if self.rows.len() * dimension * 2 >= VECTOR_BYTES { self.write_vectors() } else { Ok(()) }
    }

    /// Which model the vectors are of.
    pub(super) fn set_embedding(&mut self, embedding: Option<Embedding>) -> Result<(), StoreError> {
        if embedding
            .as_ref()
            .is_some_and(|embedding| embedding.dimension == 0 || !embedding.weight.is_finite())
        {
            return Err(StoreError::Mismatch("a model of no dimension or without a weight".to_owned()));
        }
        let same_model = match (&self.embedding, &embedding) {
            (Some(old), Some(new)) => {
                (&old.model, old.dimension, &old.digest) == (&new.model, new.dimension, &new.digest)
            }
            (None, None) => true,
            _ => false,
        };
        if !same_model {
            self.rows.clear();
            self.vectors.clear();
        }
        self.changed |= self.embedding != embedding;
        self.embedding = embedding;
        Ok(())
    }

    /// Gives what waits to tantivy.
    pub(super) fn feed(&mut self, much: bool) -> Result<(), StoreError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.start_writer(much)?;
        let Some(writer) = &self.writer else { return Ok(()) };
        for file in waiting {
            // What is given at once ends up in one segment: `Words::file` relies on it.
            writer.run(file).map_err(|error| self.words(&error))?;
        }
        Ok(())
    }

    pub(super) fn start_writer(&mut self, much: bool) -> Result<(), StoreError> {
        if self.writer.is_some() {
            return Ok(());
        }
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .memory_budget_per_thread(if much { LARGE_HEAP } else { SMALL_HEAP })
            .num_merge_threads(1)
            .build();
        let writer = self.index.writer_with_options(options).map_err(|error| self.words(&error))?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        self.writer = Some(writer);
        Ok(())
    }

    pub(super) fn write_vectors(&mut self) -> Result<(), StoreError> {
        let Some(embedding) = self.embedding.as_ref().filter(|_| !self.rows.is_empty()) else {
            return Ok(());
        };
        let rows: Vec<Row> =
            std::mem::take(&mut self.rows).into_iter().map(|(key, vector)| Row { key, vector }).collect();
        let mut centres = Vec::new();
        if let Some(base) = self.base.as_ref().filter(|_| !self.vectors.is_empty()) {
            for segment in base.vectors() {
                centres.push(&segment.codes().map_err(|error| self.io(error))?.centre);
            }
        }
        let centre = centres.into_iter().max_by_key(|centre| centre.learned_from);
        let written =
            build::write(&self.shelf, &rows, embedding.dimension, centre).map_err(|error| self.io(error))?;
        self.vectors.push(written);
        Ok(())
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        // Its threads write files: they have to end first.
        drop(self.writer.take());
        if self.certain {
            self.core.place().sweep();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Changes;
    use crate::blog::store::FileRecord;
    use crate::blog::store::embedded::Embedded;

    #[test]
    fn files_without_a_chunk_leave_nothing_that_waits() {
        let folder = std::env::temp_dir().join(format!("papertape-chunkless-{}", std::process::id()));
        let mut changes =
            Changes::begin(Embedded::open_with_keys(&folder, &folder.with_extension("key")).unwrap().core)
                .unwrap();
        for number in 0..3 {
            let file = FileRecord { path: format!("{number}.md"), ..FileRecord::default() };
            changes.put(file, &[]).unwrap();
        }
        assert_eq!((changes.files.len(), changes.waiting.len()), (3, 0), "each is counted at every file");
        drop(changes);
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::remove_file(folder.with_extension("key")).unwrap();
    }
}
