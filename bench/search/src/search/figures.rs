//! Places of relevant results to figures with their uncertainty.

use crate::random::Random;

/// A sample is drawn again so often to see how far chance reaches.
const RESAMPLES: usize = 2_000;

/// A figure and the interval that holds 95 of a hundred repetitions of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub(crate) struct Figure {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The reciprocal rank for MRR@10: 1, 1/2, .. 1/10, and 0 further down.
pub(crate) fn reciprocal(place: Option<usize>) -> f64 {
    place.filter(|place| *place <= 10).map_or(0.0, |place| 1.0 / to_f64(place))
}

/// 1 within the first five ranks, for recall@5.
pub(crate) fn within_five(place: Option<usize>) -> f64 {
    if place.is_some_and(|place| place <= 5) { 1.0 } else { 0.0 }
}

/// The mean of a sample, with the interval from drawing it again and again. The same seed gives the same interval.
pub(crate) fn bootstrap(sample: &[f64], seed: u64) -> Figure {
    let mean = mean(sample.iter().copied());
    let mut random = Random::new(seed);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            self::mean(
                (0..sample.len()).map(|_| sample.get(random.below(sample.len())).copied().unwrap_or(0.0)),
            )
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |part: usize| means.get(RESAMPLES * part / 1_000).copied().unwrap_or(mean);
    Figure { mean, low: at(25), high: at(975) }
}

/// How much better one is than the other on the same queries.
pub(crate) fn difference(better: &[f64], other: &[f64], seed: u64) -> Figure {
    let gains: Vec<f64> = better.iter().zip(other).map(|(a, b)| a - b).collect();
    bootstrap(&gains, seed)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / to_f64(count) }
}

#[expect(clippy::cast_precision_loss, reason = "counts of queries are far below 2^53")]
fn to_f64(count: usize) -> f64 {
    count as f64
}
