//! Pending changes: files, chunks and vectors of the next generation.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::Arc;

use half::f16;

use super::StoreState;
use super::disk::to_usize;
use super::file_set::FileSet;
use super::index_folder::unique;
use super::lexical::build::Builder;
use super::lexical::segment::LexicalSegment;
use super::lock::Lock;
use super::manifest::{LexicalFile, VectorFile};
use super::snapshot::Snapshot;
use super::vectors::build::{self, Row};
use crate::store::normalise::normalised;
use crate::store::{Embedding, Entry, FileRecord, StoreError, VectorKey};

/// Bytes of terms buffered in memory, about. Beyond that another segment begins.
const TERM_BYTES: usize = 96 * 1024 * 1024;

/// Bytes of vectors buffered in memory, about.
const VECTOR_BYTES: usize = 64 * 1024 * 1024;

/// Builds the next generation. Dropped before its commit, it leaves no files.
pub(super) struct Changes {
    pub(super) state: Arc<StoreState>,
    pub(super) base: Option<Arc<Snapshot>>,
    pub(super) file_set: FileSet,
    /// Segments of terms and texts: first those of `base`, then new ones.
    pub(super) lexical: Vec<LexicalFile>,
    /// The segment that is being built: the next of those.
    builder: Option<Builder>,
    /// The new chunks of a file: the number of their segment, and of the file in it.
    added: HashMap<String, (u32, u32)>,
    /// The files that have still to be deleted from each segment.
    deleted: BTreeMap<u32, BTreeSet<u32>>,
    pub(super) files: BTreeMap<String, Option<FileRecord>>,
    rows: BTreeMap<u64, Vec<f16>>,
    pub(super) vectors: Vec<VectorFile>,
    pub(super) embedding: Option<Embedding>,
    pub(super) changed: bool,
    /// Whether the published manifest is certain to survive a power loss.
    pub(super) certain: bool,
    _lock: Lock,
}

impl Changes {
    /// Begins from the newest generation. Files of crashed writers are removed.
    pub(super) fn begin(state: Arc<StoreState>) -> Result<Self, StoreError> {
        let folder = state.folder();
        folder.prepare()?;
        let lock = Lock::take(folder.root(), folder.errors())?;
        let base = match state.current() {
            Ok(base) => Some(base),
            Err(StoreError::Missing { .. }) => None,
            Err(StoreError::Unsealed { place: index, why, .. }) => {
                tracing::warn!("the index at {index} is not used, and is rebuilt: {why}");
                folder.clear()?;
                state.forget()?;
                None
            }
            Err(error) => return Err(error),
        };
        // A crashed writer may not have synced the directory: make the published manifest durable first.
        folder.sync().map_err(|error| folder.errors().io("cannot write to", error))?;
        folder.sweep();
        let open = base.as_ref().map(|base| base.open_files()).transpose();
        let open = open.map_err(|error| folder.errors().io("cannot read", error))?.unwrap_or_default();
        let file_set = FileSet::new(folder.root(), open);
        Ok(Self {
            lexical: base.as_ref().map(|base| base.manifest().lexical.clone()).unwrap_or_default(),
            vectors: base.as_ref().map(|base| base.manifest().vectors.clone()).unwrap_or_default(),
            embedding: base.as_ref().and_then(|base| base.manifest().embedding()),
            state,
            base,
            file_set,
            builder: None,
            added: HashMap::new(),
            deleted: BTreeMap::new(),
            files: BTreeMap::new(),
            rows: BTreeMap::new(),
            changed: false,
            certain: true,
            _lock: lock,
        })
    }

    pub(super) fn io(&self, error: io::Error) -> StoreError {
        self.state.folder().errors().io("cannot write to", error)
    }

    /// Whether this file may have chunks.
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
        self.delete(&file.path)?;
        if !chunks.is_empty() {
            let number = self.add(&file, chunks).map_err(|error| self.io(error))?;
            let segment = u32::try_from(self.lexical.len()).unwrap_or(u32::MAX);
            self.added.insert(file.path.clone(), (segment, number));
        }
        self.files.insert(file.path.clone(), Some(file));
        if self.builder.as_ref().is_some_and(|builder| builder.memory() >= TERM_BYTES) {
            self.write_terms()?;
        }
        Ok(())
    }

    fn add(&mut self, file: &FileRecord, chunks: &[Entry]) -> io::Result<u32> {
        let mut builder = match self.builder.take() {
            Some(builder) => builder,
            None => Builder::new(&self.file_set)?,
        };
        let number = builder.add(file, chunks)?;
        self.builder = Some(builder);
        Ok(number)
    }

    /// Deletes the chunks of a file, wherever they are.
    fn delete(&mut self, path: &str) -> Result<(), StoreError> {
        let before = self.base.as_ref().map(|base| base.lexical_index()?.find_file(path)).transpose()?;
        for (segment, file) in before.flatten().into_iter().chain(self.added.remove(path)) {
            self.deleted.entry(segment).or_default().insert(file);
        }
        Ok(())
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
            self.delete(path)?;
            self.files.insert(path.to_owned(), None);
        }
        Ok(())
    }

    /// Adds vectors for chunks without one.
    pub(super) fn attach(&mut self, vectors: Vec<(VectorKey, Vec<f32>)>) -> Result<(), StoreError> {
        let Some(embedding) = &self.embedding else {
            return Err(StoreError::Mismatch(
                "the writer has no embedding model for these vectors".to_owned(),
            ));
        };
        let dimension = to_usize(embedding.dimension);
        let mut rows = Vec::with_capacity(vectors.len());
        for (key, vector) in vectors {
            if vector.len() != dimension {
                return Err(StoreError::Mismatch(format!(
                    "a vector of {} numbers, where {} has {dimension}",
                    vector.len(),
                    embedding.model
                )));
            }
            let vector = normalised(&vector)
                .ok_or_else(|| StoreError::Mismatch("a vector without a direction".to_owned()))?;
            rows.push((key.0, vector.into_iter().map(f16::from_f32).collect()));
        }
        self.changed |= !rows.is_empty();
        self.rows.extend(rows);
        if self.rows.len() * dimension * 2 >= VECTOR_BYTES { self.write_vectors() } else { Ok(()) }
    }

    /// Which model the vectors are of.
    pub(super) fn set_embedding(&mut self, embedding: Option<Embedding>) -> Result<(), StoreError> {
        if embedding.as_ref().is_some_and(|embedding| embedding.dimension == 0) {
            return Err(StoreError::Mismatch("a model of no dimension".to_owned()));
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

    /// Writes the segment that is being built.
    pub(super) fn write_terms(&mut self) -> Result<(), StoreError> {
        if let Some(builder) = self.builder.take() {
            let file = builder.finish(&self.file_set).map_err(|error| self.io(error))?;
            self.lexical.push(file);
        }
        Ok(())
    }

    /// Writes which files were deleted from which segments.
    pub(super) fn write_deleted(&mut self) -> Result<(), StoreError> {
        for (segment, mut files) in std::mem::take(&mut self.deleted) {
            let number = to_usize(segment);
            if let Some(base) = &self.base {
                let before = base.lexical_index()?.segments().get(number).map(LexicalSegment::deleted_files);
                files.extend(before.unwrap_or_default());
            }
            let name = format!("{}.del", unique());
            let bytes: Vec<u8> = files.iter().flat_map(|file| file.to_le_bytes()).collect();
            self.file_set.write(&name, &bytes).map_err(|error| self.io(error))?;
            if let Some(file) = self.lexical.get_mut(number) {
                file.deleted = Some(name);
            }
        }
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
        let written = build::write(&self.file_set, &rows, embedding.dimension, centre)
            .map_err(|error| self.io(error))?;
        self.vectors.push(written);
        Ok(())
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        if self.certain {
            self.state.folder().sweep();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Changes;
    use crate::store::FileRecord;
    use crate::store::embedded::Embedded;

    #[test]
    fn files_without_chunks_are_not_in_a_segment() {
        let folder = std::env::temp_dir().join(format!("papertape-chunkless-{}", std::process::id()));
        let mut changes =
            Changes::begin(Embedded::open_with_keys(&folder, &folder.with_extension("key")).unwrap().state)
                .unwrap();
        for number in 0..3 {
            let file = FileRecord { path: format!("{number}.md"), ..FileRecord::default() };
            changes.put(file, &[]).unwrap();
        }
        assert_eq!((changes.files.len(), changes.added.len()), (3, 0));
        assert!(changes.builder.is_none());
        drop(changes);
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::remove_file(folder.with_extension("key")).unwrap();
    }
}
