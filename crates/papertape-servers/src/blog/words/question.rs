//! A question to the words that are looked up.

use std::collections::HashMap;

use super::common::is_common;
use super::term::{Number, Terms};
use super::token::{Token, tokens};
use super::{Language, Term};

/// The most characters of a question.
pub(crate) const LONGEST: usize = 10_000;

/// The most bytes of one that are read.
const MOST_BYTES: usize = 4 * LONGEST;

/// The most different words that are looked at. Those of them that stand somewhere are looked up: see `rank::bm25`.
const MOST_WORDS: usize = 2_000;

/// A word of a question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    /// What it is looked up by: a stem for each language that many of the texts are in, each once. They are one word, and as
    /// rare as all of them together: a stem that only a few stray files have says no more than the others.
    pub forms: Vec<Term>,
    /// As it was said.
    pub said: String,
    /// How often it was said.
    pub times: u32,
    /// It says nothing by itself, as "the" does, however rare it is here.
    pub common: bool,
}

impl Word {
    /// The same in all languages there are: what it is looked up by if none of its forms stands anywhere. One recipe in
    /// Spanish among a thousand pages in English is found by its words, and nothing else is found by them.
    #[must_use]
    pub fn elsewhere(&self) -> Self {
        let forms = Terms::with(|terms| {
            let stems = stems(terms, Token::Word(&self.said), &Language::ALL);
            spelled(terms, &stems)
        });
        Self { forms, ..self.clone() }
    }
}

/// The words of a question, for texts of which many are in these languages.
#[must_use]
pub fn question(text: &str, languages: &[Language]) -> Vec<Word> {
    let languages = if languages.is_empty() { &[Language::Other] } else { languages };
    let mut end = text.len().min(MOST_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut words: Vec<Word> = Vec::new();
    let mut places: HashMap<Vec<Number>, usize> = HashMap::new();
    Terms::with(|terms| {
        tokens(text.get(..end).unwrap_or_default(), &mut |token| {
            let (Token::Whole(said) | Token::Word(said)) = token else { return };
            let stems = stems(terms, token, languages);
            if let Some(word) = places.get(&stems).and_then(|place| words.get_mut(*place)) {
                word.times = word.times.saturating_add(1);
            } else if words.len() < MOST_WORDS {
                let (forms, common) = (spelled(terms, &stems), is_common(said, languages));
                places.insert(stems, words.len());
                words.push(Word { forms, said: said.to_owned(), times: 1, common });
            }
        });
    });
    words
}

/// What a token is in each of these languages, each once.
fn stems(terms: &mut Terms, token: Token<'_>, languages: &[Language]) -> Vec<Number> {
    let mut stems: Vec<Number> = languages.iter().map(|language| terms.number(token, *language)).collect();
    stems.sort_unstable();
    stems.dedup();
    stems
}

fn spelled(terms: &Terms, stems: &[Number]) -> Vec<Term> {
    stems.iter().filter_map(|number| terms.term(*number)).map(str::to_owned).collect()
}
