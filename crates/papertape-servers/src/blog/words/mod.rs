//! A chunk, or a question, to the words it is found by.

use std::collections::BTreeMap;

/// A word as it is looked up: folded and stemmed, or two characters of Chinese, Japanese or Korean.
pub type Term = String;

/// What a text is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Language {
    /// One without rules here: words are folded, not stemmed.
    #[default]
    Other,
    /// English.
    English,
    /// Spanish.
    Spanish,
    /// Chinese.
    Chinese,
}

/// The words of a chunk, and what they weigh: a word of the title or a heading counts several times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bag {
    words: BTreeMap<Term, u32>,
}

impl Bag {
    /// Adds a word that counts `weight` times.
    pub fn add(&mut self, term: Term, weight: u32) {
        *self.words.entry(term).or_default() += weight;
    }

    /// How much a word counts.
    #[must_use]
    pub fn count(&self, term: &str) -> u32 {
        self.words.get(term).copied().unwrap_or_default()
    }

    /// Every word and how much it counts, in the order of the alphabet.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.words.iter().map(|(term, count)| (term.as_str(), *count))
    }

    /// How much all of it counts.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.words.values().sum()
    }

    /// The length as stores keep it: in one byte, exact up to 40, then with an error below an eighth.
    #[must_use]
    pub fn rounded_length(&self) -> u32 {
        self.length() // TODO
    }
}
