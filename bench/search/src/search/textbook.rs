//! BM25 as textbooks have it, over the same chunks: one field, k1 = 1.2, b = 0.75, and the product's stems.

use std::collections::HashMap;

use papertape_search::analysis::{self, Bag, QueryTerm, Term};

use super::chunks::Chunks;
use super::subject::DEPTH;

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Chunks by their terms.
#[derive(Debug)]
pub(crate) struct Textbook {
    postings: HashMap<Term, Vec<(usize, f32)>>,
    norms: Vec<f32>,
}

impl Textbook {
    /// Of chunks: their titles, headings and words.
    pub(crate) fn of(chunks: &Chunks) -> Self {
        let bags: Vec<Bag> = chunks
            .all
            .iter()
            .map(|chunk| analysis::bag("", "", &[], &chunk.whole(), chunk.language))
            .collect();
        let lengths: Vec<f32> = bags.iter().map(|bag| to_f32(bag.length())).collect();
        let count = lengths.iter().fold(0.0, |count, _| count + 1.0_f32).max(1.0);
        let average = (lengths.iter().sum::<f32>() / count).max(1.0);
        let mut postings: HashMap<Term, Vec<(usize, f32)>> = HashMap::new();
        for (chunk, bag) in bags.iter().enumerate() {
            for (term, times) in bag.iter() {
                postings.entry(term.to_owned()).or_default().push((chunk, to_f32(times)));
            }
        }
        Self { postings, norms: lengths.iter().map(|length| K1 * (1.0 - B + B * length / average)).collect() }
    }

    /// Whether any chunk has a form of one of the terms.
    pub(crate) fn has_any(&self, terms: &[QueryTerm]) -> bool {
        terms.iter().flat_map(|term| &term.forms).any(|form| self.postings.contains_key(form))
    }

    /// Chunks with any of the terms, best first. The stems of a word in several languages are one term.
    pub(crate) fn search(&self, terms: &[QueryTerm]) -> Vec<usize> {
        let mut scores: HashMap<usize, f32> = HashMap::new();
        for term in terms {
            let lists: Vec<_> = term.forms.iter().filter_map(|form| self.postings.get(form)).collect();
            let with = lists.iter().fold(0.0, |with, list| with + to_f32_of(list.len()));
            let chunks = to_f32_of(self.norms.len());
            let weight = to_f32(term.count) * (1.0 + (chunks - with + 0.5).max(0.0) / (with + 0.5)).ln();
            for (chunk, times) in lists.into_iter().flatten() {
                let norm = self.norms.get(*chunk).copied().unwrap_or(1.0);
                *scores.entry(*chunk).or_default() += weight * times * (1.0 + K1) / (times + norm);
            }
        }
        let mut found: Vec<(usize, f32)> = scores.into_iter().collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.into_iter().map(|(chunk, _)| chunk).take(DEPTH).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of words are far below 2^24")]
fn to_f32(count: u32) -> f32 {
    count as f32
}

#[expect(clippy::cast_precision_loss, reason = "counts of chunks are far below 2^24")]
fn to_f32_of(count: usize) -> f32 {
    count as f32
}
