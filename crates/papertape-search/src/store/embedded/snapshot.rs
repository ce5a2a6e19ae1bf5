//! A generation, opened: immutable, and each part of it read when it is first needed; and a query to its hits in it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use super::correct;
use super::disk::{Source, open_plain, to_usize};
use super::file_set::{FileSet, is_cached};
use super::filter;
use super::index_folder::IndexFolder;
use super::join::{Join, Keys};
use super::lexical::DocAddress;
use super::lexical_index::{LexicalHits, LexicalIndex};
use super::manifest::Manifest;
use super::restrict;
use super::table;
use super::vector_search::{VectorHits, VectorSearch};
use super::vectors::Rows;
use super::vectors::segment::VectorSegment;
use crate::rank::{Files, best_first, hits};
use crate::store::normalise::normalised;
use crate::store::phrases::{CHECKED, Phrases};
use crate::store::{Chunk, ChunkId, Correction, DEPTH, FileRecord, Filter, Hit, Matches, Query, StoreError};
use crate::sync::Lazy;

/// So many texts are verified before it is known whether there are enough.
const CHECKED_AT_ONCE: usize = 2 * DEPTH;

/// A generation. All its files are open, so that it can be read to the end whatever is removed meanwhile.
#[derive(Debug)]
pub(super) struct Snapshot {
    folder: IndexFolder,
    manifest: Manifest,
    file_set: FileSet,
    vectors: Vec<Arc<VectorSegment>>,
    lexical_index: Lazy<LexicalIndex>,
    table: Lazy<Arc<[FileRecord]>>,
    keys: Lazy<Vec<(String, Arc<Keys>)>>,
    inherited: Vec<(String, Arc<Keys>)>,
    joined: Lazy<Join>,
    /// Chunks without a vector, in the order of their files.
    wanting: Lazy<Vec<DocAddress>>,
}

/// A query's vector, and the chunks nearest to it.
type VectorList<'a> = (VectorSearch<'a>, VectorHits);

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
                    Arc::new(VectorSegment::open(file.clone(), Arc::clone(codes), rows)?)
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
    pub(super) fn vectors(&self) -> &[Arc<VectorSegment>] {
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

    /// The best chunks for a query.
    pub(super) fn search(&self, query: &Query) -> Result<Matches, StoreError> {
        let index = self.lexical_index()?;
        let failed = |error| self.folder.errors().io("cannot search", error);
        let (query, corrections) = &self.corrected(query)?;
        let (LexicalHits { list, places, scale }, vector_list) = self.lists(query)?;
        let mut lexical = if query.plain {
            list
        } else {
            index.reworded(list, &places, &scale, &self.manifest.summary().languages)?
        };
        let mut semantic: Vec<(ChunkId, f32)> = Vec::new();
        let mut places: HashMap<ChunkId, DocAddress> = places.into_iter().collect();
        if let Some((search, nearest)) = vector_list {
            semantic.extend(nearest.iter().map(|(id, cosine, _)| (*id, *cosine)));
            // What one list alone has gets its score in the other.
            let near: HashSet<ChunkId> = semantic.iter().map(|(id, _)| *id).collect();
            let others = places.iter().filter(|(id, _)| !near.contains(id)).map(|(_, place)| *place);
            let cosines = search.cosines(&others.collect::<Vec<_>>()).map_err(failed)?;
            let others = nearest.iter().filter(|(id, ..)| !places.contains_key(id)).map(|(.., place)| *place);
            lexical.extend(index.scores(others.collect(), &scale)?);
            semantic.extend(cosines);
            best_first(&mut lexical);
            best_first(&mut semantic);
            places.extend(nearest.into_iter().map(|(id, _, place)| (id, place)));
        }
        let files: Files = places.iter().map(|(id, place)| (*id, index.file(*place))).collect();
        let hits = hits(&lexical, &semantic, scale.max_score(), query.top_k, &files)
            .into_iter()
            .filter_map(|(id, score)| places.get(&id).map(|place| (*place, score)))
            .map(|(place, score)| Ok(Hit { chunk: index.chunk(place)?, score }))
            .collect::<Result<_, StoreError>>()?;
        let (terms, corrections) = (query.terms.clone(), corrections.clone());
        Ok(Matches { hits, lexical, semantic, bm25: scale, terms, corrections })
    }

    /// A query without misspelt words.
    fn corrected<'a>(&self, query: &'a Query) -> Result<(Cow<'a, Query>, Vec<Correction>), StoreError> {
        if !query.correct {
            return Ok((Cow::Borrowed(query), Vec::new()));
        }
        let languages = self.manifest.summary().languages;
        let (terms, corrections) = correct::corrected(self.lexical_index()?, &query.terms, &languages)
            .map_err(|error| self.folder.errors().io("cannot search", error))?;
        let query = if corrections.is_empty() {
            Cow::Borrowed(query)
        } else {
            Cow::Owned(Query { terms, ..query.clone() })
        };
        Ok((query, corrections))
    }

    /// The two lists of a query, of the chunks that it allows.
    fn lists(&self, query: &Query) -> Result<(LexicalHits, Option<VectorList<'_>>), StoreError> {
        let index = self.lexical_index()?;
        let failed = |error| self.folder.errors().io("cannot search", error);
        let required = index.known_phrases(&query.required).map_err(failed)?;
        let excluded = index.known_phrases(&query.excluded).map_err(failed)?;
        let wanted = if query.filter == Filter::default() { None } else { filter::wanted(&query.filter)? };
        let mut through =
            wanted.map(|wanted| wanted.documents(index.segments())).transpose().map_err(failed)?;
        if !required.is_empty() || !excluded.is_empty() {
            let docs = through.get_or_insert_with(|| restrict::all(index.segments()));
            restrict::restrict(docs, index.segments(), &required, &excluded).map_err(failed)?;
        }
        let through = through.as_deref();
        if let Some(phrases) = Phrases::of(&required, &excluded) {
            return self.verified_lists(query, through, &phrases);
        }
        let lexical_list = || index.search(&query.terms, through, DEPTH);
        let (lexical_list, vector_list) = match &query.vector {
            Some(vector) => rayon::join(lexical_list, || self.vector_list(vector, through)),
            None => (lexical_list(), Ok(None)),
        };
        Ok((lexical_list?, vector_list?))
    }

    /// The same, of chunks whose texts have the phrases that are required, and none that is excluded.
    fn verified_lists(
        &self,
        query: &Query,
        through: Option<&[Rows]>,
        phrases: &Phrases,
    ) -> Result<(LexicalHits, Option<VectorList<'_>>), StoreError> {
        let index = self.lexical_index()?;
        let mut lexical = index.search(&query.terms, through, CHECKED)?;
        let mut verified: Vec<Rows> =
            index.segments().iter().map(|segment| Rows::none(segment.len())).collect();
        let (mut list, mut places) = (Vec::new(), Vec::new());
        let found: Vec<_> = lexical.list.into_iter().zip(lexical.places).collect();
        // The vector list is of all that have the phrases.
        let are_all_needed = phrases.are_required() && query.vector.is_some();
        for some in found.chunks(CHECKED_AT_ONCE) {
            if list.len() >= DEPTH && !are_all_needed {
                break;
            }
            let of_some: Vec<DocAddress> = some.iter().map(|(_, (_, place))| *place).collect();
            let allowed = some.iter().zip(index.allowed(&of_some, phrases)?).filter(|(_, allowed)| *allowed);
            for ((hit, (id, place)), _) in allowed {
                if let Some(docs) = verified.get_mut(to_usize(place.segment)) {
                    docs.insert(to_usize(place.doc));
                }
                list.push(*hit);
                places.push((*id, *place));
            }
        }
        list.truncate(DEPTH);
        places.truncate(DEPTH);
        (lexical.list, lexical.places) = (list, places);
        let through = if phrases.are_required() { Some(verified.as_slice()) } else { through };
        let mut near = match &query.vector {
            Some(vector) => self.vector_list(vector, through)?,
            None => None,
        };
        if let Some((_, near)) = &mut near {
            let of_near: Vec<DocAddress> = near.iter().map(|(.., place)| *place).collect();
            let mut allowed = index.allowed(&of_near, phrases)?.into_iter();
            near.retain(|_| allowed.next() == Some(true));
        }
        Ok((lexical, near))
    }

    /// None if there are no vectors.
    fn vector_list(
        &self,
        vector: &[f32],
        allowed: Option<&[Rows]>,
    ) -> Result<Option<VectorList<'_>>, StoreError> {
        let Some(search) = self.vector_search(vector)? else { return Ok(None) };
        let near =
            search.nearest(allowed).map_err(|error| self.folder.errors().io("cannot search", error))?;
        Ok(Some((search, near)))
    }

    /// None if there are no vectors.
    fn vector_search(&self, vector: &[f32]) -> Result<Option<VectorSearch<'_>>, StoreError> {
        let Some(segment) = self.vectors.first() else { return Ok(None) };
        if vector.len() != segment.dimension() {
            return Err(StoreError::Mismatch(format!(
                "the query's vector has {} numbers, those of the index have {}: they are of different models",
                vector.len(),
                segment.dimension()
            )));
        }
        let query = normalised(vector)
            .ok_or_else(|| StoreError::Mismatch("the query's vector has no direction".to_owned()))?;
        let (index, keys, joined) = (self.lexical_index()?, self.keys()?, self.joined()?);
        Ok(Some(VectorSearch { index, keys, joined, segments: &self.vectors, query }))
    }

    /// Chunks without a vector, in the order of their files: one for each key.
    pub(super) fn without_vector(&self, limit: usize) -> Result<Vec<Chunk>, StoreError> {
        let index = self.lexical_index()?;
        let places = self.wanting.get_or_try_init(|| self.all_wanting())?;
        places.iter().take(limit).map(|place| index.chunk(*place)).collect()
    }

    fn all_wanting(&self) -> Result<Vec<DocAddress>, StoreError> {
        let failed = |error| self.folder.errors().io("cannot read", error);
        let (index, joined, table) = (self.lexical_index()?, self.joined()?, self.table()?);
        let mut wanting = Vec::new();
        for (lexical, segment) in index.segments().iter().zip(0_u32..) {
            let documents = lexical.documents();
            for file in lexical.live_files() {
                let path = documents.file(file).map_err(failed)?.path;
                let number = table.partition_point(|record| record.path.as_str() < path);
                let without =
                    documents.of_file(file).filter(|doc| !joined.has_vector(to_usize(segment), *doc));
                wanting.extend(without.map(|doc| {
                    (number, documents.index(doc), documents.key(doc), DocAddress { segment, doc })
                }));
            }
        }
        wanting.sort_unstable();
        let mut seen = HashSet::new();
        wanting.retain(|(_, _, key, _)| seen.insert(*key));
        Ok(wanting.into_iter().map(|(_, _, _, place)| place).collect())
    }
}
