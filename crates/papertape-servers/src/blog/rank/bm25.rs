//! How well the words of a chunk fit those of a question: BM25, the same for every store.

use crate::blog::words::{Bag, Term};

/// How fast a word's repetition stops to count: slower than the usual 1.2, because a word of a title counts as many.
pub const K1: f32 = 4.0;

/// How much the length of a chunk counts: less than the usual 0.75, because chunks are cut to much the same size.
pub const B: f32 = 0.2;

/// What the words of a question weigh among all chunks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scale {
    /// Each word's weight: how rare it is, times how often it was said.
    pub weights: Vec<(Term, f32)>,
    /// Words in a chunk, on average.
    pub average_length: f32,
}

impl Scale {
    /// What a chunk with these words would score.
    #[must_use]
    pub fn score(&self, bag: &Bag) -> f32 {
        let norm = self.norm(bag.rounded_length());
        self.weights.iter().map(|(term, weight)| worth(*weight, bag.count(term), norm)).sum()
    }

    /// How much the length of a chunk (as stores keep it) takes from the worth of its words.
    #[must_use]
    pub fn norm(&self, rounded_length: u32) -> f32 {
        K1 * (1.0 - B + B * to_f32(rounded_length) / self.average_length.max(1.0))
    }
}

/// What a word of this weight adds to a chunk that has it so many times: less than [`at_most`].
#[must_use]
pub fn worth(weight: f32, times: u32, norm: f32) -> f32 {
    let times = to_f32(times);
    weight * times * (1.0 + K1) / (times + norm)
}

/// What a word of this weight cannot add more than, however often a chunk has it.
#[must_use]
pub fn at_most(weight: f32) -> f32 {
    weight * (1.0 + K1)
}

/// How rare a word is: it stands in `with` of `all` chunks.
#[must_use]
pub fn idf(with: u64, all: u64) -> f32 {
    let (with, all) = (to_f64(with), to_f64(all));
    #[expect(clippy::cast_possible_truncation, reason = "a weight between 0 and 50")]
    let idf = (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln() as f32;
    idf
}

#[expect(clippy::cast_precision_loss, reason = "counts of words in a chunk are far below 2^24")]
fn to_f32(count: u32) -> f32 {
    count as f32
}

#[expect(clippy::cast_precision_loss, reason = "counts of chunks are far below 2^53")]
fn to_f64(count: u64) -> f64 {
    count as f64
}
