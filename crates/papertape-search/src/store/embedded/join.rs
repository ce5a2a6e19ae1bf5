//! Which chunk has which vector: both sides are in the order of their keys.

use std::io;
use std::sync::Arc;

use super::disk::to_usize;
use super::lexical::documents::Documents;
use super::lexical_index::LexicalIndex;
use super::vectors::Rows;
use super::vectors::segment::VectorSegment;

/// A chunk without a vector.
const NONE: u32 = u32::MAX;

/// The vector keys of the chunks of a segment, sorted.
#[derive(Debug)]
pub(super) struct Keys {
    sorted: Vec<(u64, u32)>,
}

impl Keys {
    /// Of a segment's documents.
    pub(super) fn of(documents: &Documents) -> Self {
        let docs = u32::try_from(documents.len()).unwrap_or(u32::MAX);
        let mut sorted: Vec<(u64, u32)> = (0..docs).map(|doc| (documents.key(doc), doc)).collect();
        sorted.sort_unstable();
        Self { sorted }
    }

    /// The chunks with this key, deleted or not.
    pub(super) fn docs(&self, key: u64) -> impl Iterator<Item = u32> {
        let start = self.sorted.partition_point(|(other, _)| *other < key);
        let found = self.sorted.get(start..).unwrap_or_default();
        found.iter().take_while(move |(other, _)| *other == key).map(|(_, doc)| *doc)
    }
}

/// Which chunk of a generation has which vector.
#[derive(Debug)]
pub(super) struct Join {
    rows: Vec<Vec<u32>>,
    starts: Vec<u32>,
    /// The vectors that a chunk needs, for each segment of vectors.
    pub(super) live: Vec<Rows>,
    /// How many chunks have a vector.
    pub(super) embedded: u64,
}

impl Join {
    /// Joins both sides of a generation. If a key has two vectors, the newer one is used.
    pub(super) fn of(
        index: &LexicalIndex,
        keys: &[(String, Arc<Keys>)],
        vectors: &[Arc<VectorSegment>],
    ) -> io::Result<Self> {
        let mut starts = Vec::new();
        let mut all = 0_u32;
        for segment in vectors {
            starts.push(all);
            all = all.saturating_add(segment.file().rows);
        }
        let mut live: Vec<Rows> = vectors.iter().map(|segment| Rows::none(segment.len())).collect();
        let (mut rows, mut embedded) = (Vec::new(), 0);
        for (lexical, (_, keys)) in index.segments().iter().zip(keys) {
            let mut of_docs = vec![NONE; lexical.len()];
            for (segment, start) in vectors.iter().zip(&starts) {
                pair(&keys.sorted, &segment.codes()?.keys, |doc, row| {
                    if let Some(of_doc) = of_docs.get_mut(to_usize(doc)) {
                        *of_doc = start + row;
                    }
                });
            }
            for (row, doc) in of_docs.iter().zip(0..) {
                if *row != NONE && !lexical.is_deleted(doc) {
                    embedded += 1;
                    insert(&mut live, &starts, *row);
                }
            }
            rows.push(of_docs);
        }
        Ok(Self { rows, starts, live, embedded })
    }

    /// Whether a chunk has a vector.
    pub(super) fn has_vector(&self, segment: usize, doc: u32) -> bool {
        self.rows.get(segment).and_then(|rows| rows.get(to_usize(doc))).is_some_and(|row| *row != NONE)
    }

    /// A chunk's vector: the segment of vectors that it is in, and its row there.
    pub(super) fn row(&self, segment: usize, doc: u32) -> Option<(usize, usize)> {
        let row = *self.rows.get(segment)?.get(to_usize(doc))?;
        if row == NONE {
            return None;
        }
        let number = segment_of(&self.starts, row);
        Some((number, to_usize(row - self.starts.get(number)?)))
    }

    /// The vectors of these chunks, for each segment of vectors.
    pub(super) fn among(&self, chunks: &[Rows]) -> Vec<Rows> {
        let mut among: Vec<Rows> = self.live.iter().map(Rows::empty_copy).collect();
        for (rows, chunks) in self.rows.iter().zip(chunks) {
            for (row, doc) in rows.iter().zip(0..) {
                if *row != NONE && chunks.contains(doc) {
                    insert(&mut among, &self.starts, *row);
                }
            }
        }
        among
    }
}

fn insert(sets: &mut [Rows], starts: &[u32], row: u32) {
    let number = segment_of(starts, row);
    if let (Some(set), Some(start)) = (sets.get_mut(number), starts.get(number)) {
        set.insert(to_usize(row - start));
    }
}

/// The segment of a row.
fn segment_of(starts: &[u32], row: u32) -> usize {
    starts.partition_point(|start| *start <= row).saturating_sub(1)
}

/// Calls `each` for every chunk and the vector with its key.
fn pair(chunks: &[(u64, u32)], vectors: &[u64], mut each: impl FnMut(u32, u32)) {
    let mut row = 0;
    for (key, doc) in chunks {
        // From where the last one was: one step if there are about as many of both, a leap if not.
        let rest = vectors.get(row..).unwrap_or_default();
        let mut leap = 1;
        while rest.get(leap).is_some_and(|other| other < key) {
            leap *= 2;
        }
        let near = rest.get(leap / 2..rest.len().min(leap + 1)).unwrap_or_default();
        row += leap / 2 + near.partition_point(|other| other < key);
        if vectors.get(row) == Some(key) {
            each(*doc, u32::try_from(row).unwrap_or(NONE));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::prop;
    use proptest::{prop_assert_eq, proptest};

    use super::pair;

    proptest! {
        #[test]
        fn every_chunk_finds_its_vector(
            mut chunks in prop::collection::vec(0_u64..60, 0..40),
            vectors in prop::collection::btree_set(0_u64..60, 0..40),
        ) {
            chunks.sort_unstable();
            let vectors: Vec<u64> = vectors.into_iter().collect();
            let chunks: Vec<(u64, u32)> = chunks.into_iter().zip(0..).collect();
            let mut found = Vec::new();
            pair(&chunks, &vectors, |doc, row| found.push((doc, vectors[row as usize])));
            let expected: Vec<(u32, u64)> =
                chunks.iter().filter(|(key, _)| vectors.contains(key)).map(|(key, doc)| (*doc, *key)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
