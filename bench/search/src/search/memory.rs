//! Bags of words to a small index in memory: for variants of the words that the product does not offer.

use std::cmp::Reverse;
use std::collections::HashMap;

use papertape_servers::blog::rank::bm25::{B, K1, idf};
use papertape_servers::blog::words::{Bag, Term};

/// Chunks by their words.
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

    /// Chunks with any of the words, best first.
    pub(crate) fn search(&self, terms: &[(Term, u32)]) -> Vec<usize> {
        let mut scores: HashMap<usize, f32> = HashMap::new();
        for (term, said) in terms {
            let Some(list) = self.postings.get(term) else { continue };
            let weight = to_f32(*said) * idf(list.len() as u64, self.norms.len() as u64);
            for (chunk, times) in list {
                let norm = self.norms.get(*chunk).copied().unwrap_or(1.0);
                *scores.entry(*chunk).or_default() += weight * times * (1.0 + K1) / (times + norm);
            }
        }
        let mut found: Vec<(usize, f32)> = scores.into_iter().collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.into_iter().map(|(chunk, _)| chunk).collect()
    }
}

/// Words as anybody would cut them: runs of letters and figures, in small letters.
pub(crate) fn plain_words(text: &str) -> Vec<(Term, u32)> {
    let mut words: HashMap<Term, u32> = HashMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *words.entry(word.to_lowercase()).or_default() += 1;
    }
    let mut words: Vec<(Term, u32)> = words.into_iter().collect();
    words.sort_by_key(|(_, times)| Reverse(*times));
    words
}

/// The same as a bag.
pub(crate) fn plain_bag(text: &str) -> Bag {
    let mut bag = Bag::default();
    for (word, times) in plain_words(text) {
        bag.add(word, times);
    }
    bag
}

#[expect(clippy::cast_precision_loss, reason = "counts of words are far below 2^24")]
fn to_f32(count: u32) -> f32 {
    count as f32
}
