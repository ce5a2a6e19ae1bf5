//! The lexical and the vector list to one, by their scores, the same for every store.
//!
//! What a score means:
//!
//! - of two lists, `words + doubt x meaning`. Each chunk has both scores, whichever list it is from.
//!   - `words` is the lexical score as a part of what BM25 could give to the query's terms, those that occur nowhere included.
//!     1 is a chunk that has them all; its wording may add to that.
//!   - `meaning` is where the cosine lies between the least (0) and the greatest (1) of the candidates: models differ in
//!     what a cosine of 0.7 means.
//!   - `doubt` is what the best chunk by words leaves open, 1 minus its `words`, and at least 0.1. If a chunk has
//!     the query word for word, meaning only orders those that are about equal. A question in other words than the texts
//!     leaves most of it open, and meaning decides.
//! - a single list keeps its own scores: those of BM25 and wording (above 0, without an upper bound), or the cosine.
//!
//! `hits` changes lexical scores before, and all of them after. A constant weight of the cosine does as well on questions, but
//! loses quotes: the one that keeps them is too small for questions.

use std::collections::HashMap;

use crate::corpus::ChunkId;

/// How much meaning counts even if words leave nothing open.
pub(super) const LEAST_DOUBT: f32 = 0.1;

/// All chunks of two lists that are each best first, by both scores. `most` is what BM25 could give. Equal scores are ordered
/// by chunk id.
///
/// A chunk that is not in the lexical list has no term of the query. One that is not in the vector list has no vector yet: it
/// gets the cosine in the middle of the list.
#[must_use]
pub fn fuse(
    lexical: &[(ChunkId, f32)],
    semantic: &[(ChunkId, f32)],
    most: f32,
    doubt: f32,
) -> Vec<(ChunkId, f32)> {
    let cosine = |place: Option<&(ChunkId, f32)>| place.map_or(0.0, |(_, cosine)| *cosine);
    let (greatest, least) = (cosine(semantic.first()), cosine(semantic.last()));
    let middle = cosine(semantic.get(semantic.len() / 2));
    let mut scores: HashMap<ChunkId, (f32, f32)> = HashMap::with_capacity(lexical.len() + semantic.len());
    scores.extend(semantic.iter().map(|(chunk, cosine)| (*chunk, (0.0, *cosine))));
    for (chunk, score) in lexical {
        scores.entry(*chunk).or_insert((0.0, middle)).0 = score / most;
    }
    // To a model to which all of them are alike, none means more than another.
    let range = if greatest > least { greatest - least } else { f32::INFINITY };
    let meaning = |cosine: f32| (cosine - least) / range;
    let mut fused: Vec<(ChunkId, f32)> =
        scores.into_iter().map(|(chunk, (words, cosine))| (chunk, words + doubt * meaning(cosine))).collect();
    best_first(&mut fused);
    fused
}

/// Sorts a list. Equal scores are ordered by chunk id.
pub fn best_first(list: &mut [(ChunkId, f32)]) {
    list.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use proptest::prelude::prop;
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::{best_first, fuse};
    use crate::corpus::ChunkId;

    fn list(chunks: &[(u64, f32)]) -> Vec<(ChunkId, f32)> {
        chunks.iter().map(|(chunk, score)| (ChunkId(*chunk), *score)).collect()
    }

    fn order(fused: &[(ChunkId, f32)]) -> Vec<u64> {
        fused.iter().map(|(chunk, _)| chunk.0).collect()
    }

    #[test]
    fn both_scores_of_a_chunk_count() {
        let fused = fuse(&list(&[(7, 6.0), (1, 3.0)]), &list(&[(2, 0.75), (7, 0.5), (1, 0.25)]), 12.0, 0.5);
        assert_eq!(fused, list(&[(7, 0.75), (2, 0.5), (1, 0.25)]));
    }

    #[test]
    fn the_scale_of_cosines_does_not_matter() {
        let lexical = list(&[(1, 9.0), (4, 2.0), (3, 1.0)]);
        let of = |cosines: [f32; 4]| {
            let semantic: Vec<(ChunkId, f32)> = (1..).map(ChunkId).zip(cosines).collect();
            let mut semantic = semantic;
            best_first(&mut semantic);
            fuse(&lexical, &semantic, 16.0, 0.5)
        };
        assert_eq!(of([0.25, 0.75, 0.5, 0.25]), of([0.75, 0.875, 0.8125, 0.75]));
    }

    #[test]
    fn a_chunk_without_a_vector_is_neither_lost_nor_first_for_it() {
        let semantic = list(&[(2, 0.75), (3, 0.5), (4, 0.25)]);
        let fused = fuse(&list(&[(1, 5.0), (3, 5.0)]), &semantic, 10.0, 0.8);
        assert_eq!(order(&fused), [1, 3, 2, 4]);
        assert_eq!(fused[0].1, fused[1].1);
    }

    #[test]
    fn a_model_to_which_all_is_the_same_changes_nothing() {
        let lexical = list(&[(5, 4.0), (9, 2.0)]);
        let semantic = list(&[(2, 0.5), (5, 0.5), (9, 0.5)]);
        assert_eq!(fuse(&lexical, &semantic, 4.0, 0.9), list(&[(5, 1.0), (9, 0.5), (2, 0.0)]));
    }

    #[test]
    fn equal_scores_are_ordered_by_chunk_id() {
        let semantic = list(&[(3, 0.5), (9, 0.5), (4, -0.5), (5, -0.5)]);
        assert_eq!(order(&fuse(&[], &semantic, 1.0, 1.0)), [3, 9, 4, 5]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_scores_fall(
            lexical in prop::collection::hash_map(0_u64..40, 0.0_f32..60.0, 0..30),
            semantic in prop::collection::hash_map(0_u64..40, -1.0_f32..1.0, 0..30),
            most in 0.001_f32..100.0,
            doubt in 0.1_f32..1.0,
        ) {
            let sorted = |map: &HashMap<u64, f32>| {
                let mut list = list(&map.iter().map(|(chunk, score)| (*chunk, *score)).collect::<Vec<_>>());
                best_first(&mut list);
                list
            };
            let fused = fuse(&sorted(&lexical), &sorted(&semantic), most, doubt);
            let all: HashSet<u64> = lexical.keys().chain(semantic.keys()).copied().collect();
            prop_assert_eq!(fused.len(), all.len());
            prop_assert!(fused.iter().all(|(_, score)| score.is_finite() && *score >= 0.0));
            prop_assert!(fused.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        }
    }
}
