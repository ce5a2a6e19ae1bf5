//! A question to hits, all from one generation.

use std::collections::{HashMap, HashSet};

use tantivy::DocAddress;

use super::bytes::to_usize;
use super::filter;
use super::snapshot::Snapshot;
use super::vectors::Rows;
use super::vectors::scan::nearest;
use super::words::ByWords;
use crate::blog::rank::{Files, hits};
use crate::blog::store::unit::unit;
use crate::blog::store::{Chunk, ChunkId, DEPTH, Found, Hit, Query, StoreError};

/// Chunks by meaning, best first, and where they are.
type ByMeaning = Vec<(ChunkId, f32, DocAddress)>;

impl Snapshot {
    /// The best chunks for a question.
    pub(super) fn search(&self, query: &Query) -> Result<Found, StoreError> {
        let words = self.words()?;
        let through = filter::query(&query.filter, words.fields())?
            .map(|filter| filter::chunks(filter.as_ref(), words.searcher()))
            .transpose()
            .map_err(|error| self.place().faults().words("cannot search", &error))?;
        let through = through.as_deref();
        let by_words = || words.search(&query.words, through, DEPTH);
        let (by_words, by_meaning) = match &query.vector {
            Some(vector) => rayon::join(by_words, || self.by_meaning(vector, through)),
            None => (by_words(), Ok(Vec::new())),
        };
        let (ByWords { list: lexical, places, scale }, by_meaning) = (by_words?, by_meaning?);
        let mut places: HashMap<ChunkId, DocAddress> = places.into_iter().collect();
        places.extend(by_meaning.iter().map(|(id, _, place)| (*id, *place)));
        let semantic: Vec<(ChunkId, f32)> =
            by_meaning.into_iter().map(|(id, cosine, _)| (id, cosine)).collect();
        let calibrated = || self.manifest().embedding().map_or(0.0, |embedding| embedding.weight);
        let weight = query.weight.unwrap_or_else(calibrated);
        let files: Files = places.iter().map(|(id, place)| (*id, words.file(*place))).collect();
        let hits = hits(&lexical, &semantic, weight, query.top_k, &files)
            .into_iter()
            .filter_map(|(id, score)| places.get(&id).map(|place| (*place, score)))
            .map(|(place, score)| Ok(Hit { chunk: words.chunk(place)?, score }))
            .collect::<Result<_, StoreError>>()?;
        Ok(Found { hits, lexical, semantic, scale })
    }

    fn by_meaning(&self, vector: &[f32], allowed: Option<&[Rows]>) -> Result<ByMeaning, StoreError> {
        let Some(segment) = self.vectors().first() else { return Ok(Vec::new()) };
        if vector.len() != segment.dimension() {
            return Err(StoreError::Mismatch(format!(
                "the question's vector has {} numbers, those of the index have {}: they are of different models",
                vector.len(),
                segment.dimension()
            )));
        }
        let question = unit(vector)
            .ok_or_else(|| StoreError::Mismatch("the question's vector has no direction".to_owned()))?;
        let words = self.words()?;
        let joined = self.joined()?;
        let among = allowed.map(|allowed| joined.among(allowed));
        let near = nearest(self.vectors(), among.as_deref().unwrap_or(&joined.live), &question, DEPTH)
            .map_err(|error| self.place().faults().io("cannot search", error))?;
        let keys = self.keys()?;
        let mut found: ByMeaning = Vec::new();
        for near in near {
            // All that are as near as the last one are taken, so that their order does not depend on where they are.
            if found.len() >= DEPTH && found.last().is_none_or(|(_, last, _)| *last > near.cosine) {
                break;
            }
            for (((reader, _), (_, keys)), segment) in words.segments().zip(keys).zip(0_u32..) {
                let through = allowed.and_then(|allowed| allowed.get(to_usize(segment)));
                for doc in keys.docs(near.key).filter(|doc| !reader.is_deleted(*doc)) {
                    if through.is_none_or(|through| through.contains(to_usize(doc))) {
                        let place = DocAddress::new(segment, doc);
                        found.push((words.id(place), near.cosine, place));
                    }
                }
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(DEPTH);
        Ok(found)
    }

    /// Chunks without a vector, in the order of their files: one for each key.
    pub(super) fn wanting(&self, limit: usize) -> Result<Vec<Chunk>, StoreError> {
        let words = self.words()?;
        let places = self.wanting.or_make(|| self.all_wanting())?;
        places.iter().take(limit).map(|place| words.chunk(*place)).collect()
    }

    fn all_wanting(&self) -> Result<Vec<DocAddress>, StoreError> {
        let failed = |error| self.place().faults().words("cannot read", &error);
        let (words, joined, table) = (self.words()?, self.joined()?, self.table()?);
        let mut wanting = Vec::new();
        for ((reader, columns), segment) in words.segments().zip(0_u32..) {
            let Some(paths) = &columns.source else { continue };
            let mut numbers: HashMap<u64, usize> = HashMap::new();
            let mut path = String::new();
            for doc in reader.doc_ids_alive().filter(|doc| !joined.has_vector(to_usize(segment), *doc)) {
                let Some(ord) = paths.term_ords(doc).next() else { continue };
                let number = match numbers.get(&ord) {
                    Some(number) => *number,
                    None => {
                        path.clear();
                        paths.ord_to_str(ord, &mut path).map_err(|error| failed(error.into()))?;
                        let number = table.partition_point(|record| record.path < path);
                        numbers.insert(ord, number);
                        number
                    }
                };
                wanting.push((
                    number,
                    columns.index.get_val(doc),
                    columns.key.get_val(doc),
                    DocAddress::new(segment, doc),
                ));
            }
        }
        wanting.sort_unstable();
        let mut seen = HashSet::new();
        wanting.retain(|(_, _, key, _)| seen.insert(*key));
        Ok(wanting.into_iter().map(|(_, _, _, place)| place).collect())
    }
}
