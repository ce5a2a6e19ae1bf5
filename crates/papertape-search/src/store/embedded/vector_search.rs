//! A query's vector to the chunks nearest to it, and to the cosine of any other chunk.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use super::disk::to_usize;
use super::join::{Join, Keys};
use super::lexical::DocAddress;
use super::lexical_index::LexicalIndex;
use super::vectors::Rows;
use super::vectors::scan::{nearest, rescore};
use super::vectors::segment::VectorSegment;
use crate::store::{ChunkId, DEPTH};

/// A query's vector, among those of a generation.
#[derive(Debug)]
pub(super) struct VectorSearch<'a> {
    pub(super) index: &'a LexicalIndex,
    /// The vector keys of the chunks, for each lexical segment in order.
    pub(super) keys: &'a [(String, Arc<Keys>)],
    pub(super) joined: &'a Join,
    pub(super) segments: &'a [Arc<VectorSegment>],
    /// Of length 1.
    pub(super) query: Vec<f32>,
}

/// Chunks by cosine, best first, and their addresses.
pub(super) type VectorHits = Vec<(ChunkId, f32, DocAddress)>;

impl VectorSearch<'_> {
    /// The nearest chunks among those that are allowed.
    pub(super) fn nearest(&self, allowed: Option<&[Rows]>) -> io::Result<VectorHits> {
        let among = allowed.map(|allowed| self.joined.among(allowed));
        let near = nearest(self.segments, among.as_deref().unwrap_or(&self.joined.live), &self.query, DEPTH)?;
        let mut found: VectorHits = Vec::new();
        for near in near {
            // All that are as near as the last one are taken, so that their order does not depend on where they are.
            if found.len() >= DEPTH && found.last().is_none_or(|(_, last, _)| *last > near.cosine) {
                break;
            }
            for ((lexical, (_, keys)), segment) in self.index.segments().iter().zip(self.keys).zip(0_u32..) {
                let through = allowed.and_then(|allowed| allowed.get(to_usize(segment)));
                for doc in keys.docs(near.key).filter(|doc| !lexical.is_deleted(*doc)) {
                    if through.is_none_or(|through| through.contains(to_usize(doc))) {
                        let place = DocAddress { segment, doc };
                        found.push((self.index.id(place), near.cosine, place));
                    }
                }
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(DEPTH);
        Ok(found)
    }

    /// The cosines of these chunks, without those that have no vector.
    pub(super) fn cosines(&self, places: &[DocAddress]) -> io::Result<Vec<(ChunkId, f32)>> {
        let row = |place: &DocAddress| self.joined.row(to_usize(place.segment), place.doc);
        let mut rows: Vec<(usize, usize)> = places.iter().filter_map(row).collect();
        rows.sort_unstable();
        rows.dedup();
        let near = rescore(self.segments, &rows, &self.query)?;
        let by_row: HashMap<(usize, usize), f32> =
            rows.into_iter().zip(near.iter().map(|near| near.cosine)).collect();
        let cosine = |place| row(place).and_then(|row| by_row.get(&row).copied());
        Ok(places.iter().filter_map(|place| Some((self.index.id(*place), cosine(place)?))).collect())
    }
}
