//! How well the words of a chunk fit those of a question: BM25, the same for every store.

use std::collections::BTreeMap;

use crate::blog::words::{Bag, Term, Word};

/// How fast a word's repetition stops to count: slower than the usual 1.2, because a word of a title counts as many.
pub const K1: f32 = 4.0;

/// How much the length of a chunk counts: less than the usual 0.75, because chunks are cut to much the same size.
pub const B: f32 = 0.2;

/// A question of more terms is shortened to the rarest that there are.
const MOST_TERMS: usize = 128;

/// What a word that says nothing by itself weighs beside one that does. How rare it is tells nothing: "for" may stand in one
/// file of a small folder, and "what" stands in few headings, but there it counts as much as a name.
const COMMON: f32 = 0.1;

/// What the words of a question weigh among all chunks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scale {
    /// The weight of each word that stands somewhere: how rare it is, times how often it was said.
    pub weights: Vec<(Term, f32)>,
    /// Words in a chunk, on average.
    pub average_length: f32,
}

impl Scale {
    /// For the words of a question. `with` are the chunks that have each of their forms, of `all` there are.
    #[must_use]
    pub fn of(words: &[Word], with: &BTreeMap<&str, u64>, all: u64, average_length: f32) -> Self {
        let with = |form: &Term| with.get(form.as_str()).copied().unwrap_or_default();
        let totals = words.iter().map(|word| (word, word.forms.iter().map(with).sum::<u64>()));
        let standing: Vec<_> = totals.filter(|(_, total)| *total > 0).collect();
        let something_is_said = standing.iter().any(|(word, _)| !word.common);
        let mut weights: BTreeMap<&str, f32> = BTreeMap::new();
        for (word, total) in standing {
            let share = if word.common && something_is_said { COMMON } else { 1.0 };
            let rarity = idf(total.min(all), all);
            for form in word.forms.iter().filter(|form| with(form) > 0) {
                *weights.entry(form).or_default() += share * to_f32(word.times) * rarity;
            }
        }
        let mut weights: Vec<(Term, f32)> =
            weights.into_iter().map(|(term, weight)| (term.to_owned(), weight)).collect();
        if weights.len() > MOST_TERMS {
            weights.sort_by(|a, b| b.1.total_cmp(&a.1));
            weights.truncate(MOST_TERMS);
        }
        Self { weights, average_length }
    }

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Scale, idf};
    use crate::blog::words::Word;

    fn word(forms: &[&str], times: u32) -> Word {
        Word { forms: forms.iter().map(|form| (*form).to_owned()).collect(), times, ..Word::default() }
    }

    fn weights(words: &[Word], with: &[(&str, u64)]) -> BTreeMap<String, f32> {
        let with = with.iter().copied().collect();
        Scale::of(words, &with, 1_000, 100.0).weights.into_iter().collect()
    }

    #[test]
    fn the_forms_of_a_word_are_as_rare_as_all_of_them_together() {
        // A stray English file has "running", which the stem of the others is not.
        let weights = weights(&[word(&["run", "running"], 1)], &[("run", 400), ("running", 1)]);
        assert_eq!(weights["run"], idf(401, 1_000));
        assert_eq!(weights["running"], weights["run"]);
    }

    #[test]
    fn a_word_said_twice_weighs_twice_and_one_that_two_words_share_what_both_do() {
        let with = [("a", 10), ("b", 20)];
        let apart = weights(&[word(&["a"], 2), word(&["a", "b"], 1)], &with);
        assert_eq!(apart["a"], 2.0 * idf(10, 1_000) + idf(30, 1_000));
        assert_eq!(apart["b"], idf(30, 1_000));
    }

    #[test]
    fn common_words_weigh_little_unless_nothing_else_is_there() {
        let words = [Word { common: true, ..word(&["what"], 1) }, word(&["cat"], 1)];
        let weigh = |cats: u64| weights(&words, &[("what", 20), ("cat", cats)]);
        let both = weigh(20);
        assert!(both["what"] > 0.0 && both["what"] < both["cat"] / 8.0, "{both:?}");
        assert_eq!(weigh(0).into_iter().collect::<Vec<_>>(), [("what".to_owned(), idf(20, 1_000))]);
    }

    #[test]
    fn words_that_nobody_has_and_words_that_all_have_are_no_trouble() {
        let weights =
            weights(&[word(&["none"], 1), word(&["a", "b"], 1), word(&[], 9)], &[("a", 900), ("b", 900)]);
        assert_eq!(weights.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert!(weights.values().all(|weight| weight.is_finite() && *weight > 0.0), "{weights:?}");
    }

    #[test]
    fn a_question_is_shortened_to_the_rarest_of_the_words_that_there_are() {
        let names: Vec<String> = (0..2_000).map(|n| format!("w{n}")).collect();
        let words: Vec<Word> = names.iter().map(|name| word(&[name], 1)).collect();
        let there = names.iter().zip(0..).skip(1_000).map(|(name, n)| (name.as_str(), n)).collect::<Vec<_>>();
        let weights = weights(&words, &there);
        assert!(names.iter().skip(1_000).take(128).all(|name| weights.contains_key(name)), "{weights:?}");
        assert_eq!(weights.len(), 128);
    }
}
