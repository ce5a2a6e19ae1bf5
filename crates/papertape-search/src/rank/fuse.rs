//! The lexical and the vector list to one, by their scores, the same for every store.
//!
//! What a score means:
//!
//! - of two lists, `words + 1.5 x meaning`. `words` is BM25 as a part of what the query's terms could score at most, those
//!   that occur nowhere included: so it is small if the query is in other words than the texts, and then meaning decides; it
//!   is near 1 for a chunk with all words of the query, which a greater cosine elsewhere rarely outweighs. `meaning` is the
//!   cosine. Each chunk has both scores, whichever list it is from.
//! - a single list keeps its own scores: BM25 (above 0, without an upper bound) or the cosine.
//!
//! `hits` changes lexical scores before, and all of them after.

use std::collections::HashMap;

use crate::corpus::ChunkId;

/// How much a cosine of 1 counts, beside 1 for all that words can score.
const MEANING: f32 = 1.5;

/// All chunks of two lists that are each best first, by both scores. `most` is what BM25 could reach. Equal scores are ordered
/// by chunk id.
///
/// A chunk that is not in the lexical list has no term of the query. One that is not in the vector list has no vector yet: it
/// gets the cosine in the middle of the list.
#[must_use]
pub fn fuse(lexical: &[(ChunkId, f32)], semantic: &[(ChunkId, f32)], most: f32) -> Vec<(ChunkId, f32)> {
    let middle = semantic.get(semantic.len() / 2).map_or(0.0, |(_, cosine)| *cosine);
    let mut scores: HashMap<ChunkId, (f32, f32)> = HashMap::with_capacity(lexical.len() + semantic.len());
    scores.extend(semantic.iter().map(|(chunk, cosine)| (*chunk, (0.0, *cosine))));
    for (chunk, score) in lexical {
        scores.entry(*chunk).or_insert((0.0, middle)).0 = score / most;
    }
    let mut fused: Vec<(ChunkId, f32)> = scores
        .into_iter()
        .map(|(chunk, (words, cosine))| (chunk, words + MEANING * cosine.max(0.0)))
        .collect();
    best_first(&mut fused);
    fused
}

/// Sorts a list. Equal scores are ordered by chunk id.
pub fn best_first(list: &mut [(ChunkId, f32)]) {
    list.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::prop;
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::{MEANING, best_first, fuse};
    use crate::corpus::ChunkId;

    fn list(chunks: &[(u64, f32)]) -> Vec<(ChunkId, f32)> {
        chunks.iter().map(|(chunk, score)| (ChunkId(*chunk), *score)).collect()
    }

    fn order(fused: &[(ChunkId, f32)]) -> Vec<u64> {
        fused.iter().map(|(chunk, _)| chunk.0).collect()
    }

    #[test]
    fn both_scores_of_a_chunk_count() {
        let fused = fuse(&list(&[(7, 6.0), (1, 3.0)]), &list(&[(2, 0.8), (7, 0.4), (1, 0.3)]), 12.0);
        let expected = [(2, MEANING * 0.8), (7, 0.5 + MEANING * 0.4), (1, 0.25 + MEANING * 0.3)];
        let mut expected = list(&expected);
        best_first(&mut expected);
        assert_eq!(fused, expected);
    }

    #[test]
    fn words_decide_if_the_text_has_them_all_and_meaning_if_it_has_few() {
        let semantic = list(&[(2, 0.6), (1, 0.3)]);
        assert_eq!(order(&fuse(&list(&[(1, 9.0)]), &semantic, 10.0)), [1, 2]);
        assert_eq!(order(&fuse(&list(&[(1, 9.0)]), &semantic, 100.0)), [2, 1]);
    }

    #[test]
    fn a_chunk_without_a_vector_is_neither_lost_nor_first_for_it() {
        let semantic = list(&[(2, 0.7), (3, 0.4), (4, 0.1)]);
        let fused = fuse(&list(&[(1, 5.0), (3, 5.0)]), &semantic, 10.0);
        assert_eq!(fused.iter().find(|(chunk, _)| chunk.0 == 1), Some(&(ChunkId(1), 0.5 + MEANING * 0.4)));
        assert_eq!(order(&fused), [1, 3, 2, 4]);
    }

    #[test]
    fn equal_scores_are_ordered_by_chunk_id() {
        assert_eq!(order(&fuse(&[], &list(&[(9, 0.5), (3, 0.5), (5, -0.5), (4, -0.1)]), 1.0)), [3, 9, 4, 5]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_scores_fall(
            lexical in prop::collection::hash_map(0_u64..40, 0.0_f32..60.0, 0..30),
            semantic in prop::collection::hash_map(0_u64..40, -1.0_f32..1.0, 0..30),
            most in 0.001_f32..100.0,
        ) {
            let sorted = |map: &std::collections::HashMap<u64, f32>| {
                let mut list = list(&map.iter().map(|(chunk, score)| (*chunk, *score)).collect::<Vec<_>>());
                best_first(&mut list);
                list
            };
            let fused = fuse(&sorted(&lexical), &sorted(&semantic), most);
            let all: std::collections::HashSet<u64> = lexical.keys().chain(semantic.keys()).copied().collect();
            prop_assert_eq!(fused.len(), all.len());
            prop_assert!(fused.iter().all(|(_, score)| score.is_finite() && *score >= 0.0));
            prop_assert!(fused.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        }
    }
}
