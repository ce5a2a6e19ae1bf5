//! The lexical list and the vector list to one: weighted reciprocal rank fusion (RRF), the same for every store.
//!
//! What a score means:
//!
//! - of two lists, a hit's score lies between 0 and 1, and 1 is the first in both. Only ranks count: cosines and BM25 have no
//!   common scale.
//! - a single list keeps its own scores: BM25 (above 0, without an upper bound) or the cosine.
//!
//! `hits` changes lexical scores before, and all of them after.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::corpus::ChunkId;

/// The RRF constant k: the tenth rank counts 61/70 of the first.
const RRF_K: f64 = 60.0;

/// The best `top_k` of two lists that are each best first. A rank in the vector list counts `weight` times as much as one in
/// the lexical list; with a weight of 0 only the lexical list counts. Equal scores are ordered by chunk id.
#[must_use]
pub fn fuse(
    lexical: &[(ChunkId, f32)],
    semantic: &[(ChunkId, f32)],
    weight: f32,
    top_k: usize,
) -> Vec<(ChunkId, f32)> {
    let weight = if weight.is_finite() { weight.max(0.0) } else { 0.0 };
    if weight == 0.0 || semantic.is_empty() {
        return lexical.iter().take(top_k).copied().collect();
    }
    if lexical.is_empty() {
        return semantic.iter().take(top_k).copied().collect();
    }
    let weight = f64::from(weight);
    let mut scores: HashMap<ChunkId, f64> = HashMap::with_capacity(lexical.len() + semantic.len());
    for (list, weight) in [(lexical, 1.0), (semantic, weight)] {
        for ((chunk, _), rank) in list.iter().zip(1_u32..) {
            *scores.entry(*chunk).or_default() += weight / (RRF_K + f64::from(rank));
        }
    }
    let mut fused: Vec<(ChunkId, f64)> = scores.into_iter().collect();
    fused.sort_unstable_by(|a, b| best_first(*a, *b));
    fused.truncate(top_k);
    let best_possible = (1.0 + weight) / (RRF_K + 1.0);
    fused.into_iter().map(|(chunk, score)| (chunk, narrow(score / best_possible))).collect()
}

fn best_first(a: (ChunkId, f64), b: (ChunkId, f64)) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

#[expect(clippy::cast_possible_truncation, reason = "a score between 0 and 1, shown with four decimals")]
fn narrow(score: f64) -> f32 {
    score as f32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop};
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::fuse;
    use crate::corpus::ChunkId;

    fn list(chunks: &[u64]) -> Vec<(ChunkId, f32)> {
        chunks.iter().zip(0_u16..).map(|(chunk, place)| (ChunkId(*chunk), 9.0 - f32::from(place))).collect()
    }

    fn order(fused: &[(ChunkId, f32)]) -> Vec<u64> {
        fused.iter().map(|(chunk, _)| chunk.0).collect()
    }

    #[test]
    fn the_first_of_both_lists_scores_one() {
        let fused = fuse(&list(&[7, 1]), &list(&[7, 2]), 0.5, 5);
        assert_eq!(fused.first(), Some(&(ChunkId(7), 1.0)));
        assert_eq!(order(&fused), [7, 1, 2]);
    }

    #[test]
    fn a_chunk_of_both_lists_ranks_above_a_slightly_better_one_of_one_list() {
        assert_eq!(order(&fuse(&list(&[1, 2]), &list(&[3, 2]), 1.0, 5)), [2, 1, 3]);
    }

    #[test]
    fn equal_scores_are_ordered_by_chunk_id() {
        assert_eq!(order(&fuse(&list(&[9, 5]), &list(&[3, 4]), 1.0, 5)), [3, 9, 4, 5]);
    }

    #[test]
    fn a_list_alone_keeps_its_scores() {
        let (lexical, semantic) = (list(&[4, 2, 8]), list(&[3, 1]));
        for weight in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert_eq!(fuse(&lexical, &semantic, weight, 2), lexical.get(..2).unwrap());
        }
        assert_eq!(fuse(&lexical, &[], 1.0, 9), lexical);
        assert_eq!(fuse(&[], &semantic, 1.0, 9), semantic);
        assert_eq!(fuse(&[], &semantic, 0.0, 9), []);
    }

    #[test]
    fn a_top_k_of_zero_gives_nothing() {
        assert_eq!(fuse(&list(&[1]), &list(&[2]), 1.0, 0), []);
    }

    proptest! {
        #[test]
        fn fused_scores_fall_from_at_most_one(
            lexical in prop::collection::hash_set(0_u64..40, 1..30),
            semantic in prop::collection::hash_set(0_u64..40, 1..30),
            weight in 0.01_f32..5.0,
            top_k in 0_usize..50,
        ) {
            let lexical = list(&lexical.into_iter().collect::<Vec<_>>());
            let semantic = list(&semantic.into_iter().collect::<Vec<_>>());
            let fused = fuse(&lexical, &semantic, weight, top_k);
            prop_assert!(fused.len() <= top_k);
            prop_assert!(fused.iter().all(|(_, score)| *score > 0.0 && *score <= 1.000_01));
            prop_assert!(fused.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            prop_assert_eq!(&fused, &fuse(&lexical, &semantic, weight, top_k));
        }

        #[test]
        fn no_weight_breaks_it(weight in any::<f32>()) {
            let fused = fuse(&list(&[1, 2, 3]), &list(&[3, 2, 9]), weight, 10);
            prop_assert!(fused.iter().all(|(_, score)| score.is_finite()));
        }
    }
}
