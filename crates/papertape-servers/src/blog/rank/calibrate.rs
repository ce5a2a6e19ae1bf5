//! Questions whose answers are known to what a place in the list of meanings is worth.

use super::fuse::fuse;
use crate::blog::store::ChunkId;

/// More questions would not make it more certain in a way that anybody would notice.
pub const MOST_TRIALS: usize = 300;

/// With fewer, nothing can be proved.
const FEWEST_TRIALS: usize = 30;

/// What a place in the list of meanings counts if nothing can be proved: enough to answer where words find nothing, and to
/// settle what words find about as good.
const UNPROVED: f32 = 0.1;

/// Hits further down are not looked at by anybody.
const IN_SIGHT: usize = 10;

/// What a place in the list of meanings may count, if it counts.
const WEIGHTS: [f32; 9] = [0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0];

/// How many standard errors the gain must be above none: 1 in 200 by chance, because nine weights are tried.
const CERTAIN: f64 = 2.6;

/// A question whose answer is known, and the lists it is to be found in, best first.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The answer.
    pub target: ChunkId,
    /// By words.
    pub lexical: Vec<(ChunkId, f32)>,
    /// By meaning.
    pub semantic: Vec<(ChunkId, f32)>,
}

impl Trial {
    /// 1 for the first place, 1/2 for the second, and so on; 0 for what nobody looks at.
    fn worth(&self, weight: f32) -> f64 {
        let fused = fuse(&self.lexical, &self.semantic, weight, IN_SIGHT);
        let place = fused.iter().zip(1_u32..).find(|((chunk, _), _)| *chunk == self.target);
        place.map_or(0.0, |(_, place)| 1.0 / f64::from(place))
    }
}

/// The weight whose gain over words alone is the most certain, if it is certain enough; else 0. With too few trials to be
/// certain of anything, a little, unless these few speak against it.
///
/// Not the one whose gain is the greatest: on known headings, greater weights gain a little more on average and lose more
/// of what words had found. Questions in the author's own words pay for that.
#[must_use]
pub fn choose(trials: &[Trial]) -> f32 {
    let words: Vec<f64> = trials.iter().map(|trial| trial.worth(0.0)).collect();
    let gains = |weight| trials.iter().zip(&words).map(move |(trial, words)| trial.worth(weight) - words);
    if trials.len() < FEWEST_TRIALS {
        return if gains(UNPROVED).sum::<f64>() < 0.0 { 0.0 } else { UNPROVED };
    }
    let mut best = (0.0, CERTAIN);
    for weight in WEIGHTS {
        let (gain, error) = mean_and_error(&gains(weight).collect::<Vec<_>>());
        let certainty = if gain > 0.0 { gain / error.max(f64::MIN_POSITIVE) } else { 0.0 };
        if certainty > best.1 {
            best = (weight, certainty);
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
    use super::{FEWEST_TRIALS, Trial, UNPROVED, WEIGHTS, choose};
    use crate::blog::store::ChunkId;

    /// A trial whose answer has these places in the two lists; 0 for a list that does not have it.
    fn trial(number: u64, by_words: usize, by_meaning: usize) -> Trial {
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
        Trial { target, lexical: list(by_words, 100), semantic: list(by_meaning, 200) }
    }

    fn trials(count: u64, places: impl Fn(u64) -> (usize, usize)) -> Vec<Trial> {
        (0..count)
            .map(|n| {
                let (words, meaning) = places(n);
                trial(n, words, meaning)
            })
            .collect()
    }

    #[test]
    fn meaning_that_finds_what_words_do_not_gets_weight() {
        let weight = choose(&trials(100, |n| if n % 2 == 0 { (0, 1) } else { (1, 3) }));
        assert!(weight > 0.0, "{weight}");
    }

    #[test]
    fn meaning_that_finds_nothing_gets_none() {
        assert_eq!(choose(&trials(100, |_| (1, 0))), 0.0);
        assert_eq!(choose(&trials(100, |n| (usize::try_from(n % 12).unwrap(), 0))), 0.0);
    }

    #[test]
    fn a_gain_that_may_be_chance_is_none() {
        // Two answers in a hundred are found better, one worse.
        let places = |n| match n {
            0 | 1 => (0, 1),
            2 => (3, 0),
            _ => (1, 1),
        };
        assert_eq!(choose(&trials(100, places)), 0.0);
    }

    #[test]
    fn a_few_trials_prove_nothing() {
        let few = u64::try_from(FEWEST_TRIALS).unwrap() - 1;
        assert_eq!(choose(&trials(few, |_| (0, 1))), UNPROVED);
        assert!(choose(&trials(few + 1, |_| (0, 1))) > UNPROVED);
        assert_eq!(choose(&[]), UNPROVED);
        // They may speak against it.
        assert_eq!(choose(&trials(few, |_| (1, 1))), UNPROVED);
        let mut against = trials(few, |_| (1, 1));
        against.iter_mut().take(2).for_each(|trial| trial.semantic = trial.lexical[1..].to_vec());
        assert_eq!(choose(&against), 0.0);
    }

    #[test]
    fn meaning_counts_no_more_than_it_must() {
        // A little weight puts half of the answers first; more would push the other half down.
        assert_eq!(choose(&trials(200, |n| if n % 2 == 0 { (2, 1) } else { (1, 0) })), WEIGHTS[0]);
        // Words find none of the answers.
        assert!(choose(&trials(200, |_| (0, 1))) > 0.5);
    }
}
