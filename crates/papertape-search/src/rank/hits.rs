//! The two lists to hits, re-ranked by file.
//!
//! - A relevant file has several matching chunks. Each of its chunks gets a share of the lexical scores of the others, so
//!   that it ranks above a chance match elsewhere.
//! - The first chunk of a file is enough to find it. Its further ones rank below other files that are about as good.

use std::collections::HashMap;

use super::best_first;
use super::fuse::{LEAST_DOUBT, fuse};
use crate::corpus::ChunkId;

/// The share that a chunk gets of the best score of its file's other chunks; of the next one it gets half of that, and so on.
const SUPPORT: f64 = 0.2;

/// A chunk with less than this share of the best lexical score has only an unimportant term of the query: it is not a hit.
const LEAST: f32 = 0.05;

/// How much a further chunk of a file is ranked down, for each that is ahead of it.
const SPREAD: f64 = 0.2;

/// The file of each chunk in the lists, by any unique number.
pub type Files = HashMap<ChunkId, u64>;

/// The best `top_k` of a lexical list and a vector list: see [`fuse`](fuse()). `most` is what BM25 could reach.
#[must_use]
pub fn hits(
    lexical: &[(ChunkId, f32)],
    semantic: &[(ChunkId, f32)],
    most: f32,
    top_k: usize,
    files: &Files,
) -> Vec<(ChunkId, f32)> {
    if lexical.is_empty() {
        // Cosines lie close together: a tenth less would put a chunk behind all others.
        return semantic.iter().take(top_k).copied().collect();
    }
    let best = lexical.first().map_or(0.0, |(_, best)| *best);
    let ranked = if semantic.is_empty() {
        let some = lexical.partition_point(|(_, score)| *score >= LEAST * best);
        supported(lexical.get(..some).unwrap_or_default(), files)
    } else {
        let doubt = (1.0 - best / most).max(LEAST_DOUBT);
        fuse(&supported(lexical, files), semantic, most, doubt)
    };
    let mut best = spread(ranked, files);
    best.truncate(top_k);
    best
}

/// A list in which each chunk has its own score and a share of those of its file.
fn supported(list: &[(ChunkId, f32)], files: &Files) -> Vec<(ChunkId, f32)> {
    let mut of_file: HashMap<u64, Vec<(ChunkId, f32)>> = HashMap::new();
    for (chunk, score) in list {
        if let Some(file) = files.get(chunk) {
            of_file.entry(*file).or_default().push((*chunk, *score));
        }
    }
    let support = |chunk: ChunkId| {
        let siblings = files.get(&chunk).and_then(|file| of_file.get(file)).into_iter().flatten();
        let others = siblings.filter(|(other, _)| *other != chunk).map(|(_, score)| f64::from(*score));
        let shares = std::iter::successors(Some(SUPPORT), |share| Some(share / 2.0));
        others.zip(shares).map(|(score, share)| score * share).sum::<f64>()
    };
    let list = list.iter().map(|(chunk, score)| (*chunk, f64::from(*score) + support(*chunk)));
    narrowed(list)
}

/// A list in which the further chunks of a file are ranked down.
fn spread(list: Vec<(ChunkId, f32)>, files: &Files) -> Vec<(ChunkId, f32)> {
    let mut ahead: HashMap<u64, f64> = HashMap::new();
    let list = list.into_iter().map(|(chunk, score)| {
        let score = f64::from(score);
        let Some(file) = files.get(&chunk) else { return (chunk, score) };
        let ahead = ahead.entry(*file).or_default();
        let score = score / (1.0 + SPREAD * *ahead);
        *ahead += 1.0;
        (chunk, score)
    });
    narrowed(list)
}

/// Sums to a list, best first.
fn narrowed(list: impl Iterator<Item = (ChunkId, f64)>) -> Vec<(ChunkId, f32)> {
    #[expect(clippy::cast_possible_truncation, reason = "a score is shown with four decimals")]
    let mut list: Vec<(ChunkId, f32)> = list.map(|(chunk, score)| (chunk, score as f32)).collect();
    best_first(&mut list);
    list
}

#[cfg(test)]
mod tests {
    use proptest::prelude::prop;
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::{Files, hits};
    use crate::corpus::ChunkId;

    /// The file of a chunk is its number in tens.
    fn files(lists: &[&[(ChunkId, f32)]]) -> Files {
        lists.iter().flat_map(|list| list.iter()).map(|(chunk, _)| (*chunk, chunk.0 / 10)).collect()
    }

    fn list(chunks: &[(u64, f32)]) -> Vec<(ChunkId, f32)> {
        chunks.iter().map(|(chunk, score)| (ChunkId(*chunk), *score)).collect()
    }

    fn by_words(chunks: &[(u64, f32)]) -> Vec<(u64, f32)> {
        let lexical = list(chunks);
        let hits = hits(&lexical, &[], 20.0, 99, &files(&[&lexical]));
        hits.into_iter().map(|(chunk, score)| (chunk.0, (score * 1_000.0).round() / 1_000.0)).collect()
    }

    #[test]
    fn a_file_that_is_found_in_several_places_comes_before_a_chance_match() {
        let found = by_words(&[(10, 10.0), (20, 9.5), (21, 8.0), (22, 6.0)]);
        // (9.5 + 0.2 * 8 + 0.1 * 6) / 1, (8 + 0.2 * 9.5 + 0.1 * 6) / 1.2, (6 + 0.2 * 9.5 + 0.1 * 8) / 1.4
        assert_eq!(found, [(20, 11.7), (10, 10.0), (21, 8.75), (22, 6.214)]);
    }

    #[test]
    fn files_of_one_chunk_keep_their_order_and_scores() {
        let alone = [(40, 9.0), (20, 8.0), (30, 8.0), (10, 1.0)];
        assert_eq!(by_words(&alone), [(40, 9.0), (20, 8.0), (30, 8.0), (10, 1.0)]);
        let lexical = list(&[(11, 9.0), (12, 8.0)]);
        assert_eq!(hits(&lexical, &[], 20.0, 99, &Files::new()), lexical, "their files are not known");
    }

    #[test]
    fn further_chunks_of_a_file_are_demoted() {
        let (lexical, semantic) =
            (list(&[(10, 9.0), (11, 8.9), (20, 8.8)]), list(&[(10, 0.9), (11, 0.88), (20, 0.87), (30, 0.1)]));
        let files = files(&[&lexical]);
        let order =
            |hits: Vec<(ChunkId, f32)>| hits.into_iter().map(|(chunk, _)| chunk.0).collect::<Vec<_>>();
        assert_eq!(order(hits(&lexical, &semantic, 20.0, 3, &files)), [10, 20, 11]);
        assert_eq!(order(hits(&lexical, &semantic, 20.0, 2, &files)), [10, 20]);
    }

    #[test]
    fn a_chunk_with_a_small_share_of_the_best_score_is_not_a_hit() {
        assert_eq!(by_words(&[(10, 17.7), (20, 1.0), (30, 0.4)]), [(10, 17.7), (20, 1.0)]);
    }

    #[test]
    fn a_vector_list_alone_keeps_its_cosines() {
        let semantic = list(&[(10, 0.9), (11, 0.89), (20, 0.88)]);
        assert_eq!(hits(&[], &semantic, 1.0, 2, &files(&[&semantic])), semantic.get(..2).unwrap());
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_scores_fall(
            lexical in prop::collection::hash_map(0_u64..60, 2.0_f32..30.0, 1..40),
            semantic in prop::collection::hash_map(0_u64..60, 0.01_f32..1.0, 0..40),
            most in 1.0_f32..50.0,
            top_k in 0_usize..100,
        ) {
            let sorted = |map: std::collections::HashMap<u64, f32>| {
                let mut list = list(&map.into_iter().collect::<Vec<_>>());
                list.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                list
            };
            let (lexical, semantic) = (sorted(lexical), sorted(semantic));
            let files = files(&[&lexical, &semantic]);
            let hits = |top_k| hits(&lexical, &semantic, most, top_k, &files);
            let all = hits(usize::MAX);
            let mut chunks: Vec<ChunkId> = all.iter().map(|(chunk, _)| *chunk).collect();
            chunks.sort_unstable();
            let mut wanted: Vec<ChunkId> = lexical.iter().chain(&semantic).map(|(chunk, _)| *chunk).collect();
            wanted.sort_unstable();
            wanted.dedup();
            prop_assert_eq!(chunks, wanted);
            prop_assert!(all.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            prop_assert_eq!(hits(top_k), all.get(..top_k.min(all.len())).unwrap());
        }
    }
}
