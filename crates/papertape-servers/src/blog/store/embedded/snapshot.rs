//! A generation, opened: immutable, and each part of it read when it is first needed.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use tantivy::DocAddress;
use tantivy::index::SegmentId;

use super::blocks::{Source, open_plain};
use super::join::{Join, Keys};
use super::lazy::Lazy;
use super::manifest::Manifest;
use super::place::Place;
use super::shelf::{Shelf, kept_whole};
use super::table;
use super::vectors::segment::Segment;
use super::words::Words;
use crate::blog::store::{FileRecord, StoreError};

/// A generation. All its files are open, so that it can be read to the end whatever is removed meanwhile.
#[derive(Debug)]
pub(super) struct Snapshot {
    place: Place,
    manifest: Manifest,
    shelf: Shelf,
    vectors: Vec<Arc<Segment>>,
    words: Lazy<Words>,
    table: Lazy<Arc<[FileRecord]>>,
    keys: Lazy<Vec<(SegmentId, Arc<Keys>)>>,
    inherited: Vec<(SegmentId, Arc<Keys>)>,
    joined: Lazy<Join>,
    /// Chunks without a vector, in the order of their files.
    pub(super) wanting: Lazy<Vec<DocAddress>>,
}

impl Snapshot {
    /// Opens what the manifest names; what `before` has open already is shared.
    pub(super) fn open(place: &Place, manifest: Manifest, before: Option<&Self>) -> io::Result<Self> {
        let mut open = HashMap::new();
        for (name, pin) in &manifest.files {
            let known = before.filter(|before| before.manifest.files.get(name) == Some(pin));
            let source = match known.map(|before| before.shelf.source(name)).transpose()?.flatten() {
                Some(source) => source,
                None => Arc::new(Source::open(&place.path(name), name, *pin, kept_whole(name))?),
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
                    let rows = open_plain(&place.path(&file.rows()))?;
                    Arc::new(Segment::open(file.clone(), Arc::clone(codes), rows)?)
                }
                (None, None) => return Err(io::ErrorKind::NotFound.into()),
            });
        }
        let inherited = before.map(|before| before.keys.get().unwrap_or(&before.inherited).clone());
        Ok(Self {
            shelf: Shelf::new(place.folder(), open, &manifest.lexical),
            place: place.clone(),
            manifest,
            vectors,
            words: Lazy::default(),
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

    /// The same, while it is not yet anybody else's.
    pub(super) fn manifest_mut(&mut self) -> &mut Manifest {
        &mut self.manifest
    }

    /// Where it is.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Its files with digests of their own.
    pub(super) fn sources(&self) -> io::Result<Vec<Arc<Source>>> {
        self.manifest.files.keys().filter_map(|name| self.shelf.source(name).transpose()).collect()
    }

    /// Its files, open.
    pub(super) fn open_files(&self) -> io::Result<HashMap<String, Arc<Source>>> {
        let names = self.manifest.files.keys();
        names
            .filter_map(|name| {
                Some(self.shelf.source(name).transpose()?.map(|source| (name.clone(), source)))
            })
            .collect()
    }

    /// Segments of vectors.
    pub(super) fn vectors(&self) -> &[Arc<Segment>] {
        &self.vectors
    }

    /// Its words and texts.
    pub(super) fn words(&self) -> Result<&Words, StoreError> {
        self.words.or_make(|| Words::open(self.shelf.clone(), self.place.faults()))
    }

    /// Every file that is indexed, by path.
    pub(super) fn table(&self) -> Result<&Arc<[FileRecord]>, StoreError> {
        self.table.or_make(|| {
            let read = (|| {
                let name = &self.manifest.table;
                let source = self.shelf.source(name)?.ok_or(io::ErrorKind::NotFound)?;
                table::decode(&source.read(0..source.len())?)
            })();
            read.map(Arc::from).map_err(|error| self.place.faults().io("cannot read", error))
        })
    }

    /// Which chunk has which vector.
    pub(super) fn joined(&self) -> Result<&Join, StoreError> {
        self.joined.or_make(|| {
            Join::of(self.words()?, self.keys()?, &self.vectors)
                .map_err(|error| self.place.faults().io("cannot read", error))
        })
    }

    /// What chunks mean, for each segment of words in their order. Kept from generation to generation.
    pub(super) fn keys(&self) -> Result<&[(SegmentId, Arc<Keys>)], StoreError> {
        let words = self.words()?;
        let keys = self.keys.or_make(|| {
            let keys = words.segments().map(|(reader, columns)| {
                let id = reader.segment_id();
                let known =
                    self.inherited.iter().find(|(other, _)| *other == id).map(|(_, keys)| Arc::clone(keys));
                (id, known.unwrap_or_else(|| Arc::new(Keys::of(columns, reader.max_doc()))))
            });
            Ok::<_, StoreError>(keys.collect())
        })?;
        Ok(keys)
    }
}
