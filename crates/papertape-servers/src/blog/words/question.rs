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
    /// What it is looked up by if none of these stands anywhere: its stems in all other languages. One recipe in Spanish
    /// among a thousand pages in English is found by its words, and nothing else is found by them.
    pub strays: Vec<Term>,
    /// How often it was said.
    pub times: u32,
    /// It says nothing by itself, as "the" does, however rare it is here.
    pub common: bool,
}

/// The words of a question, for texts of which many are in these languages.
#[must_use]
pub fn question(text: &str, languages: &[Language]) -> Vec<Word> {
    let languages = if languages.is_empty() { &[Language::Other] } else { languages };
    let mut end = text.len().min(MOST_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut said: Vec<(Vec<Number>, Vec<Number>, u32, bool)> = Vec::new();
    let mut places: HashMap<Vec<Number>, usize> = HashMap::new();
    Terms::with(|terms| {
        tokens(text.get(..end).unwrap_or_default(), &mut |token| {
            let common = match token {
                Token::Part(_) => return,
                Token::Whole(word) | Token::Word(word) => is_common(word, languages),
            };
            let forms = stems(terms, token, languages);
            if let Some((_, _, times, _)) = places.get(&forms).and_then(|place| said.get_mut(*place)) {
                *times = times.saturating_add(1);
            } else if said.len() < MOST_WORDS {
                let mut strays = stems(terms, token, &Language::ALL);
                strays.retain(|number| !forms.contains(number));
                places.insert(forms.clone(), said.len());
                said.push((forms, strays, 1, common));
            }
        });
        let of = |numbers: Vec<Number>| {
            numbers.into_iter().filter_map(|number| terms.term(number)).map(str::to_owned).collect()
        };
        let words = said.into_iter().map(|(forms, strays, times, common)| Word {
            forms: of(forms),
            strays: of(strays),
            times,
            common,
        });
        words.collect()
    })
}

/// What a token is in each of these languages, each once.
fn stems(terms: &mut Terms, token: Token<'_>, languages: &[Language]) -> Vec<Number> {
    let mut stems: Vec<Number> = languages.iter().map(|language| terms.number(token, *language)).collect();
    stems.sort_unstable();
    stems.dedup();
    stems
}
