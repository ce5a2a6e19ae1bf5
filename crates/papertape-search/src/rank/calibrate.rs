//! Queries whose best chunk is known to the weight of the vector list.

use super::fuse::fuse;
use crate::corpus::ChunkId;

/// More queries would not change the weight noticeably.
pub const MAX_QUERIES: usize = 300;

/// Fewer queries prove nothing.
const MIN_QUERIES: usize = 30;

/// The weight without proof: enough where the lexical list is empty, and to order chunks that are about equal in it.
const UNPROVED: f32 = 0.1;

/// The metric is MRR at this rank.
const CUTOFF: usize = 10;

/// The weights that are tried.
const WEIGHTS: [f32; 9] = [0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0];

/// How many standard errors the gain must be above 0: 1 in 200 by chance, because nine weights are tried.
const SIGNIFICANT: f64 = 2.6;

/// A query whose best chunk is known, and its two lists, best first.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationQuery {
    /// The best chunk.
    pub target: ChunkId,
    /// By BM25.
    pub lexical: Vec<(ChunkId, f32)>,
    /// By cosine.
    pub semantic: Vec<(ChunkId, f32)>,
}

impl CalibrationQuery {
    /// 1 for the first rank, 1/2 for the second, and so on; 0 below the cutoff.
    fn reciprocal_rank(&self, weight: f32) -> f64 {
        let fused = fuse(&self.lexical, &self.semantic, weight, CUTOFF);
        let rank = fused.iter().zip(1_u32..).find(|((chunk, _), _)| *chunk == self.target);
        rank.map_or(0.0, |(_, rank)| 1.0 / f64::from(rank))
    }
}

/// The weight whose gain over the lexical list alone is the most significant, if it is significant enough; else 0. With too
/// few queries, a small weight, unless it loses on these few.
///
/// Not the weight of the greatest gain: greater weights gain a little more on average and lose more of the hits that the
/// lexical list had, which hurts queries in the author's own words.
#[must_use]
pub fn choose_weight(queries: &[CalibrationQuery]) -> f32 {
    let lexical: Vec<f64> = queries.iter().map(|query| query.reciprocal_rank(0.0)).collect();
    let gains = |weight| {
        queries.iter().zip(&lexical).map(move |(query, lexical)| query.reciprocal_rank(weight) - lexical)
    };
    if queries.len() < MIN_QUERIES {
        return if gains(UNPROVED).sum::<f64>() < 0.0 { 0.0 } else { UNPROVED };
    }
    let mut best = (0.0, SIGNIFICANT);
    for weight in WEIGHTS {
        let (gain, error) = mean_and_error(&gains(weight).collect::<Vec<_>>());
        let significance = if gain > 0.0 { gain / error.max(f64::MIN_POSITIVE) } else { 0.0 };
        if significance > best.1 {
            best = (weight, significance);
        }
    }
    best.0
}

/// The mean of a sample, and by how much it may be off by chance.
fn mean_and_error(sample: &[f64]) -> (f64, f64) {
    let count = sample.iter().fold(0.0, |count, _| count + 1.0);
    let mean = sample.iter().sum::<f64>() / count;
    let spread = sample.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (spread / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::{CalibrationQuery, MIN_QUERIES, UNPROVED, WEIGHTS, choose_weight};
    use crate::corpus::ChunkId;

    /// A query whose best chunk has these ranks in the two lists; 0 for a list that does not have it.
    fn query(number: u64, lexical: usize, semantic: usize) -> CalibrationQuery {
        let target = ChunkId(number * 1_000_000);
        let list = |place: usize, salt: u64| {
            (1..=20_u16)
                .zip(1_u64..)
                .map(|(at, n)| {
                    let chunk = if usize::from(at) == place { target } else { ChunkId(target.0 + salt + n) };
                    (chunk, 1.0 / f32::from(at))
                })
                .collect()
        };
        CalibrationQuery { target, lexical: list(lexical, 100), semantic: list(semantic, 200) }
    }

    fn queries(count: u64, ranks: impl Fn(u64) -> (usize, usize)) -> Vec<CalibrationQuery> {
        (0..count)
            .map(|n| {
                let (lexical, semantic) = ranks(n);
                query(n, lexical, semantic)
            })
            .collect()
    }

    #[test]
    fn vectors_that_find_what_terms_do_not_get_weight() {
        let weight = choose_weight(&queries(100, |n| if n % 2 == 0 { (0, 1) } else { (1, 3) }));
        assert!(weight > 0.0, "{weight}");
    }

    #[test]
    fn vectors_that_find_nothing_get_no_weight() {
        assert_eq!(choose_weight(&queries(100, |_| (1, 0))), 0.0);
        assert_eq!(choose_weight(&queries(100, |n| (usize::try_from(n % 12).unwrap(), 0))), 0.0);
    }

    #[test]
    fn a_gain_that_may_be_chance_does_not_count() {
        // Two in a hundred are ranked higher, one lower.
        let places = |n| match n {
            0 | 1 => (0, 1),
            2 => (3, 0),
            _ => (1, 1),
        };
        assert_eq!(choose_weight(&queries(100, places)), 0.0);
    }

    #[test]
    fn a_few_queries_prove_nothing() {
        let few = u64::try_from(MIN_QUERIES).unwrap() - 1;
        assert_eq!(choose_weight(&queries(few, |_| (0, 1))), UNPROVED);
        assert!(choose_weight(&queries(few + 1, |_| (0, 1))) > UNPROVED);
        assert_eq!(choose_weight(&[]), UNPROVED);
        // They may speak against it.
        assert_eq!(choose_weight(&queries(few, |_| (1, 1))), UNPROVED);
        let mut against = queries(few, |_| (1, 1));
        against.iter_mut().take(2).for_each(|query| query.semantic = query.lexical[1..].to_vec());
        assert_eq!(choose_weight(&against), 0.0);
    }

    #[test]
    fn the_weight_is_as_small_as_possible() {
        // A little weight ranks half of them first; more would push the other half down.
        assert_eq!(choose_weight(&queries(200, |n| if n % 2 == 0 { (2, 1) } else { (1, 0) })), WEIGHTS[0]);
        // The lexical list has none of them.
        assert!(choose_weight(&queries(200, |_| (0, 1))) > 0.5);
    }
}
