//! BM25: the score of a chunk for the terms of a query, the same for every store.
//!
//! Stores keep the length of a chunk in one byte. It is exact up to 40; after that it is rounded down, with an error below an
//! eighth: four bits of each number are kept, and how many follow them. Lucene keeps lengths in the same way.

use std::collections::BTreeMap;

use crate::analysis::{Bag, QueryTerm, Term};

/// Term-frequency saturation, as usual.
pub const K1: f32 = 1.2;

/// Length normalisation: below the usual 0.75, because chunks are cut to much the same size.
pub const B: f32 = 0.5;

/// Of a query with more terms, the rarest are searched for.
const MOST_TERMS: usize = 128;

/// The weight of a stop word beside other terms. Its document frequency is misleading: "for" may occur in one file of a
/// small directory only.
const STOP_WORD: f32 = 0.1;

/// Shorter lengths are kept as they are, beside those that the four bits give anyway.
const EXACT: u32 = 24;

/// The weights of a query's terms.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bm25 {
    /// The weight of each term that occurs in the corpus: its inverse document frequency, times its count in the query.
    pub weights: Vec<(Term, f32)>,
    /// The words of the query that occur, in its order.
    pub words: Vec<Word>,
    /// The average length of a chunk.
    pub average_length: f32,
    /// What a chunk with all terms of the query would score at most, see [`Self::max_score`].
    pub most: f32,
}

/// A word in its place in the query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Word {
    /// Its terms.
    pub forms: Vec<Term>,
    /// Its inverse document frequency.
    pub rarity: f32,
    /// Whether it is a stop word beside other words.
    pub stop_word: bool,
}

impl Word {
    /// How much it counts.
    #[must_use]
    pub fn weight(&self) -> f32 {
        if self.stop_word { STOP_WORD * self.rarity } else { self.rarity }
    }
}

impl Bm25 {
    /// For the terms of a query. `frequencies` are the document frequencies of their forms, among `chunks` chunks.
    #[must_use]
    pub fn new(
        terms: &[QueryTerm],
        frequencies: &BTreeMap<&str, u64>,
        chunks: u64,
        average_length: f32,
    ) -> Self {
        let frequency = |form: &Term| frequencies.get(form.as_str()).copied().unwrap_or_default();
        let totals = terms.iter().map(|term| (term, term.forms.iter().map(frequency).sum::<u64>()));
        let totals: Vec<_> = totals.collect();
        let has_content = totals.iter().any(|(term, total)| !term.stop_word && *total > 0);
        let (mut weights, mut words): (BTreeMap<&str, f32>, Vec<(usize, Word)>) = Default::default();
        let mut most = 0.0;
        for (term, total) in totals {
            let word = Word {
                forms: term.forms.clone(),
                rarity: idf(total.min(chunks), chunks),
                stop_word: term.stop_word && has_content,
            };
            let weight = to_f32(term.count) * word.weight();
            most += max_term_score(weight);
            for form in term.forms.iter().filter(|form| frequency(form) > 0) {
                *weights.entry(form).or_default() += weight;
            }
            if total > 0 {
                words.extend(term.places.iter().map(|place| (*place, word.clone())));
            }
        }
        words.sort_by_key(|(place, _)| *place);
        let words = words.into_iter().map(|(_, word)| word).collect();
        let mut weights: Vec<(Term, f32)> =
            weights.into_iter().map(|(term, weight)| (term.to_owned(), weight)).collect();
        if weights.len() > MOST_TERMS {
            weights.sort_by(|a, b| b.1.total_cmp(&a.1));
            weights.truncate(MOST_TERMS);
        }
        Self { weights, words, average_length, most }
    }

    /// What a chunk with all terms of the query would score at most, also with those that occur nowhere: each of them counts
    /// as the rarest term there can be. More than 0.
    #[must_use]
    pub fn max_score(&self) -> f32 {
        self.most.max(f32::MIN_POSITIVE)
    }

    /// The score of a chunk with these terms.
    #[must_use]
    pub fn score(&self, bag: &Bag) -> f32 {
        let norm = self.norm(rounded_length(bag.length()));
        self.weights.iter().map(|(term, weight)| term_score(*weight, bag.count(term), norm)).sum()
    }

    /// The length normalisation of a chunk, by its [`rounded_length`].
    #[must_use]
    pub fn norm(&self, rounded_length: u32) -> f32 {
        K1 * (1.0 - B + B * to_f32(rounded_length) / self.average_length.max(1.0))
    }
}

/// The score of a term in a chunk that has it so often: less than [`max_term_score`].
#[must_use]
pub fn term_score(weight: f32, frequency: u32, norm: f32) -> f32 {
    let frequency = to_f32(frequency);
    weight * frequency * (1.0 + K1) / (frequency + norm)
}

/// The upper bound of the score of a term.
#[must_use]
pub fn max_term_score(weight: f32) -> f32 {
    weight * (1.0 + K1)
}

/// The inverse document frequency of a term that occurs in `frequency` of `chunks` chunks.
#[must_use]
pub fn idf(frequency: u64, chunks: u64) -> f32 {
    let (frequency, chunks) = (to_f64(frequency), to_f64(chunks));
    #[expect(clippy::cast_possible_truncation, reason = "a weight between 0 and 50")]
    let idf = (1.0 + (chunks - frequency + 0.5).max(0.0) / (frequency + 0.5)).ln() as f32;
    idf
}

/// The length of a chunk as stores keep it.
#[must_use]
pub fn rounded_length(length: u32) -> u32 {
    length_of_byte(byte_of_length(length))
}

/// The byte of a length.
pub(crate) fn byte_of_length(length: u32) -> u8 {
    let Some(more) = length.checked_sub(EXACT) else { return u8::try_from(length).unwrap_or_default() };
    let shift = (u32::BITS - more.leading_zeros()).saturating_sub(4);
    let kept = more >> shift;
    // Below 8 there is no highest bit to leave out.
    let byte = EXACT + if kept < 8 { kept } else { (shift + 1) << 3 | kept & 7 };
    u8::try_from(byte).unwrap_or(u8::MAX)
}

/// The length that a byte stands for: the least of those that have it.
pub(crate) fn length_of_byte(byte: u8) -> u32 {
    let Some(more) = u32::from(byte).checked_sub(EXACT) else { return u32::from(byte) };
    EXACT
        + match (more >> 3).checked_sub(1) {
            None => more,
            Some(shift) => (more & 7 | 8) << shift,
        }
}

#[expect(clippy::cast_precision_loss, reason = "counts of tokens in a chunk are far below 2^24")]
fn to_f32(count: u32) -> f32 {
    count as f32
}

#[expect(clippy::cast_precision_loss, reason = "counts of chunks are far below 2^53")]
fn to_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Bm25, byte_of_length, idf, length_of_byte, rounded_length};
    use crate::analysis::QueryTerm;

    fn term(forms: &[&str], count: u32) -> QueryTerm {
        let forms = forms.iter().map(|form| (*form).to_owned()).collect();
        QueryTerm { forms, count, ..QueryTerm::default() }
    }

    fn weights(terms: &[QueryTerm], frequencies: &[(&str, u64)]) -> BTreeMap<String, f32> {
        let frequencies = frequencies.iter().copied().collect();
        Bm25::new(terms, &frequencies, 1_000, 100.0).weights.into_iter().collect()
    }

    #[test]
    fn the_forms_of_a_term_share_their_document_frequency() {
        // A stray English file has "running", which the stem of the others is not.
        let weights = weights(&[term(&["run", "running"], 1)], &[("run", 400), ("running", 1)]);
        assert_eq!(weights["run"], idf(401, 1_000));
        assert_eq!(weights["running"], weights["run"]);
    }

    #[test]
    fn a_repeated_term_weighs_more_and_a_shared_form_gets_both_weights() {
        let with = [("a", 10), ("b", 20)];
        let apart = weights(&[term(&["a"], 2), term(&["a", "b"], 1)], &with);
        assert_eq!(apart["a"], 2.0 * idf(10, 1_000) + idf(30, 1_000));
        assert_eq!(apart["b"], idf(30, 1_000));
    }

    #[test]
    fn stop_words_weigh_little_unless_there_is_nothing_else() {
        let terms = [QueryTerm { stop_word: true, ..term(&["what"], 1) }, term(&["cat"], 1)];
        let weigh = |cats: u64| weights(&terms, &[("what", 20), ("cat", cats)]);
        let both = weigh(20);
        assert!(both["what"] > 0.0 && both["what"] < both["cat"] / 8.0, "{both:?}");
        assert_eq!(weigh(0).into_iter().collect::<Vec<_>>(), [("what".to_owned(), idf(20, 1_000))]);
    }

    #[test]
    fn terms_of_no_chunk_and_of_all_chunks_are_handled() {
        let weights =
            weights(&[term(&["none"], 1), term(&["a", "b"], 1), term(&[], 9)], &[("a", 900), ("b", 900)]);
        assert_eq!(weights.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert!(weights.values().all(|weight| weight.is_finite() && *weight > 0.0), "{weights:?}");
    }

    #[test]
    fn a_long_query_is_shortened_to_its_rarest_terms() {
        let names: Vec<String> = (0..2_000).map(|n| format!("w{n}")).collect();
        let terms: Vec<QueryTerm> = names.iter().map(|name| term(&[name], 1)).collect();
        let there = names.iter().zip(0..).skip(1_000).map(|(name, n)| (name.as_str(), n)).collect::<Vec<_>>();
        let weights = weights(&terms, &there);
        assert!(names.iter().skip(1_000).take(128).all(|name| weights.contains_key(name)), "{weights:?}");
        assert_eq!(weights.len(), 128);
    }

    #[test]
    fn a_byte_stands_for_the_least_length_that_has_it() {
        for byte in 0..=u8::MAX {
            assert_eq!(byte_of_length(length_of_byte(byte)), byte);
            if let Some(before) = byte.checked_sub(1) {
                assert!(length_of_byte(before) < length_of_byte(byte));
                assert_eq!(byte_of_length(length_of_byte(byte) - 1), before);
            }
        }
        for (length, kept) in [
            (0, 0),
            (1, 1),
            (7, 7),
            (24, 24),
            (40, 40),
            (41, 40),
            (42, 42),
            (43, 42),
            (100, 96),
            (1_000, 984),
        ] {
            assert_eq!(rounded_length(length), kept, "{length}");
        }
        assert_eq!((rounded_length(u32::MAX), byte_of_length(u32::MAX)), (2_013_265_944, u8::MAX));
    }
}
