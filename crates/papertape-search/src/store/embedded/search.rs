//! Search: a query to hits, all from one generation.

use std::collections::{HashMap, HashSet};

use super::bytes::to_usize;
use super::filter;
use super::lexical::DocAddress;
use super::lexical_index::LexicalHits;
use super::snapshot::Snapshot;
use super::vectors::Rows;
use super::vectors::scan::nearest;
use crate::rank::{Files, hits};
use crate::store::normalise::normalised;
use crate::store::{Chunk, ChunkId, DEPTH, Hit, Matches, Query, StoreError};

/// Chunks by cosine, best first, and their addresses.
type VectorHits = Vec<(ChunkId, f32, DocAddress)>;

impl Snapshot {
    /// The best chunks for a query.
    pub(super) fn search(&self, query: &Query) -> Result<Matches, StoreError> {
        let index = self.lexical_index()?;
        let through = filter::wanted(&query.filter)?
            .map(|wanted| wanted.documents(index.segments()))
            .transpose()
            .map_err(|error| self.folder().errors().io("cannot search", error))?;
        let through = through.as_deref();
        let lexical_list = || index.search(&query.terms, through, DEPTH);
        let (lexical_list, vector_list) = match &query.vector {
            Some(vector) => rayon::join(lexical_list, || self.vector_list(vector, through)),
            None => (lexical_list(), Ok(Vec::new())),
        };
        let (LexicalHits { list: lexical, places, scale }, vector_list) = (lexical_list?, vector_list?);
        let mut places: HashMap<ChunkId, DocAddress> = places.into_iter().collect();
        places.extend(vector_list.iter().map(|(id, _, place)| (*id, *place)));
        let semantic: Vec<(ChunkId, f32)> =
            vector_list.into_iter().map(|(id, cosine, _)| (id, cosine)).collect();
        let calibrated = || self.manifest().embedding().map_or(0.0, |embedding| embedding.weight);
        let weight = query.weight.unwrap_or_else(calibrated);
        let files: Files = places.iter().map(|(id, place)| (*id, index.file(*place))).collect();
        let hits = hits(&lexical, &semantic, weight, query.top_k, &files)
            .into_iter()
            .filter_map(|(id, score)| places.get(&id).map(|place| (*place, score)))
            .map(|(place, score)| Ok(Hit { chunk: index.chunk(place)?, score }))
            .collect::<Result<_, StoreError>>()?;
        Ok(Matches { hits, lexical, semantic, bm25: scale })
    }

    fn vector_list(&self, vector: &[f32], allowed: Option<&[Rows]>) -> Result<VectorHits, StoreError> {
        let Some(segment) = self.vectors().first() else { return Ok(Vec::new()) };
        if vector.len() != segment.dimension() {
            return Err(StoreError::Mismatch(format!(
                "the query's vector has {} numbers, those of the index have {}: they are of different models",
                vector.len(),
                segment.dimension()
            )));
        }
        let query = normalised(vector)
            .ok_or_else(|| StoreError::Mismatch("the query's vector has no direction".to_owned()))?;
        let index = self.lexical_index()?;
        let joined = self.joined()?;
        let among = allowed.map(|allowed| joined.among(allowed));
        let near = nearest(self.vectors(), among.as_deref().unwrap_or(&joined.live), &query, DEPTH)
            .map_err(|error| self.folder().errors().io("cannot search", error))?;
        let keys = self.keys()?;
        let mut found: VectorHits = Vec::new();
        for near in near {
            // All that are as near as the last one are taken, so that their order does not depend on where they are.
            if found.len() >= DEPTH && found.last().is_none_or(|(_, last, _)| *last > near.cosine) {
                break;
            }
            for ((lexical, (_, keys)), segment) in index.segments().iter().zip(keys).zip(0_u32..) {
                let through = allowed.and_then(|allowed| allowed.get(to_usize(segment)));
                for doc in keys.docs(near.key).filter(|doc| !lexical.is_deleted(*doc)) {
                    if through.is_none_or(|through| through.contains(to_usize(doc))) {
                        let place = DocAddress { segment, doc };
                        found.push((index.id(place), near.cosine, place));
                    }
                }
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(DEPTH);
        Ok(found)
    }

    /// Chunks without a vector, in the order of their files: one for each key.
    pub(super) fn without_vector(&self, limit: usize) -> Result<Vec<Chunk>, StoreError> {
        let index = self.lexical_index()?;
        let places = self.wanting.get_or_try_init(|| self.all_wanting())?;
        places.iter().take(limit).map(|place| index.chunk(*place)).collect()
    }

    fn all_wanting(&self) -> Result<Vec<DocAddress>, StoreError> {
        let failed = |error| self.folder().errors().io("cannot read", error);
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
