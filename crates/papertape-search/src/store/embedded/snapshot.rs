//! A generation, opened: immutable, and each part of it read when it is first needed.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use super::blocks::{Source, open_plain};
use super::file_set::{FileSet, is_cached};
use super::index_folder::IndexFolder;
use super::join::{Join, Keys};
use super::lazy::Lazy;
use super::lexical::DocAddress;
use super::lexical_index::LexicalIndex;
use super::manifest::Manifest;
use super::table;
use super::vectors::segment::Segment;
use crate::store::{FileRecord, StoreError};

/// A generation. All its files are open, so that it can be read to the end whatever is removed meanwhile.
#[derive(Debug)]
pub(super) struct Snapshot {
    folder: IndexFolder,
    manifest: Manifest,
    file_set: FileSet,
    vectors: Vec<Arc<Segment>>,
    lexical_index: Lazy<LexicalIndex>,
    table: Lazy<Arc<[FileRecord]>>,
    keys: Lazy<Vec<(String, Arc<Keys>)>>,
    inherited: Vec<(String, Arc<Keys>)>,
    joined: Lazy<Join>,
    /// Chunks without a vector, in the order of their files.
    pub(super) wanting: Lazy<Vec<DocAddress>>,
}

impl Snapshot {
    /// Opens what the manifest names; what `before` has open already is shared.
    pub(super) fn open(folder: &IndexFolder, manifest: Manifest, before: Option<&Self>) -> io::Result<Self> {
        let mut open = HashMap::new();
        for (name, pin) in &manifest.files {
            let known = before.filter(|before| before.manifest.files.get(name) == Some(pin));
            let source = match known.map(|before| before.file_set.source(name)).transpose()?.flatten() {
                Some(source) => source,
                None => Arc::new(Source::open(&folder.path(name), name, *pin, is_cached(name))?),
            };
            open.insert(name.clone(), source);
        }
        let mut vectors = Vec::new();
        for file in &manifest.vectors {
            let known =
                before.and_then(|before| before.vectors.iter().find(|segment| segment.file() == file));
            vectors.push(match (known, open.get(&file.codes())) {
                (Some(segment), _) => Arc::clone(segment),
                (None, Some(codes)) => {
                    let rows = open_plain(&folder.path(&file.rows()))?;
                    Arc::new(Segment::open(file.clone(), Arc::clone(codes), rows)?)
                }
                (None, None) => return Err(io::ErrorKind::NotFound.into()),
            });
        }
        let inherited = before.map(|before| before.keys.get().unwrap_or(&before.inherited).clone());
        Ok(Self {
            file_set: FileSet::new(folder.root(), open),
            folder: folder.clone(),
            manifest,
            vectors,
            lexical_index: Lazy::default(),
            table: Lazy::default(),
            keys: Lazy::default(),
            inherited: inherited.unwrap_or_default(),
            joined: Lazy::default(),
            wanting: Lazy::default(),
        })
    }

    /// What it consists of.
    pub(super) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The same, while the snapshot is not shared yet.
    pub(super) fn manifest_mut(&mut self) -> &mut Manifest {
        &mut self.manifest
    }

    /// Where it is.
    pub(super) fn folder(&self) -> &IndexFolder {
        &self.folder
    }

    /// Its files with digests of their own.
    pub(super) fn sources(&self) -> io::Result<Vec<Arc<Source>>> {
        self.manifest.files.keys().filter_map(|name| self.file_set.source(name).transpose()).collect()
    }

    /// Its files, open.
    pub(super) fn open_files(&self) -> io::Result<HashMap<String, Arc<Source>>> {
        let names = self.manifest.files.keys();
        names
            .filter_map(|name| {
                Some(self.file_set.source(name).transpose()?.map(|source| (name.clone(), source)))
            })
            .collect()
    }

    /// Segments of vectors.
    pub(super) fn vectors(&self) -> &[Arc<Segment>] {
        &self.vectors
    }

    /// Its terms and texts.
    pub(super) fn lexical_index(&self) -> Result<&LexicalIndex, StoreError> {
        self.lexical_index.get_or_try_init(|| {
            LexicalIndex::open(&self.file_set, &self.manifest.lexical, self.folder.errors())
        })
    }

    /// Every file that is indexed, by path.
    pub(super) fn table(&self) -> Result<&Arc<[FileRecord]>, StoreError> {
        self.table.get_or_try_init(|| {
            let read = (|| {
                let name = &self.manifest.table;
                let source = self.file_set.source(name)?.ok_or(io::ErrorKind::NotFound)?;
                table::decode(&source.read(0..source.len())?)
            })();
            read.map(Arc::from).map_err(|error| self.folder.errors().io("cannot read", error))
        })
    }

    /// Which chunk has which vector.
    pub(super) fn joined(&self) -> Result<&Join, StoreError> {
        self.joined.get_or_try_init(|| {
            Join::of(self.lexical_index()?, self.keys()?, &self.vectors)
                .map_err(|error| self.folder.errors().io("cannot read", error))
        })
    }

    /// The vector keys of the chunks, for each lexical segment in order. Reused from generation to generation.
    pub(super) fn keys(&self) -> Result<&[(String, Arc<Keys>)], StoreError> {
        let index = self.lexical_index()?;
        let keys = self.keys.get_or_try_init(|| {
            let keys = index.segments().iter().map(|segment| {
                let name = &segment.file().name;
                let known = self.inherited.iter().find(|(other, _)| other == name);
                let keys = known.map(|(_, keys)| Arc::clone(keys));
                (name.clone(), keys.unwrap_or_else(|| Arc::new(Keys::of(segment.documents()))))
            });
            Ok::<_, StoreError>(keys.collect())
        })?;
        Ok(keys)
    }
}
