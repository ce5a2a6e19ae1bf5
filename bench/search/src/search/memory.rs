//! A small in-memory index, for variants of the analysis that the product does not offer.

use std::collections::HashMap;

use papertape_search::analysis::{Bag, QueryTerm, Term};
use papertape_search::rank::bm25::{B, Bm25, K1};

/// Chunks by their terms.
#[derive(Debug)]
pub(crate) struct Memory {
    postings: HashMap<Term, Vec<(usize, f32)>>,
    norms: Vec<f32>,
}

impl Memory {
    /// Of the bags of all chunks, in their order.
    pub(crate) fn new(bags: &[Bag]) -> Self {
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

    /// Chunks with any of the terms, best first.
    pub(crate) fn search(&self, terms: &[QueryTerm]) -> Vec<usize> {
        let mut scores: HashMap<usize, f32> = HashMap::new();
        let forms = terms.iter().flat_map(|term| &term.forms);
        let with =
            forms.map(|form| (form.as_str(), self.postings.get(form).map_or(0, Vec::len) as u64)).collect();
        for (term, weight) in Bm25::new(terms, &with, self.norms.len() as u64, 1.0).weights {
            for (chunk, times) in self.postings.get(&term).into_iter().flatten() {
                let norm = self.norms.get(*chunk).copied().unwrap_or(1.0);
                *scores.entry(*chunk).or_default() += weight * times * (1.0 + K1) / (times + norm);
            }
        }
        let mut found: Vec<(usize, f32)> = scores.into_iter().collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.into_iter().map(|(chunk, _)| chunk).collect()
    }
}

/// Plain words: runs of letters and digits, in lower case.
fn plain(text: &str) -> impl Iterator<Item = Term> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Plain words as query terms.
pub(crate) fn plain_words(text: &str) -> Vec<QueryTerm> {
    plain(text).map(|word| QueryTerm { forms: vec![word], count: 1, ..QueryTerm::default() }).collect()
}

/// The same as a bag.
pub(crate) fn plain_bag(text: &str) -> Bag {
    let mut bag = Bag::default();
    for word in plain(text) {
        bag.add(word, 1);
    }
    bag
}

#[expect(clippy::cast_precision_loss, reason = "counts of words are far below 2^24")]
fn to_f32(count: u32) -> f32 {
    count as f32
}
