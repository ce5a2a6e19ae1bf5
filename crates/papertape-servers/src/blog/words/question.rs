//! A question to the words that are looked up.

use super::common::is_common;
use super::term::{Number, Terms};
use super::token::{Token, tokens};
use super::{Language, Term};

/// The most bytes of a question that are read.
const MOST_BYTES: usize = 4 * 1024;

/// The most words that are looked up.
const MOST_WORDS: usize = 64;

/// A word of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// What it is looked up by: a stem for each language there is an answer in, each once. They are one word, and as rare
    /// as all of them together: a stem that only a few stray files have says no more than the others.
    pub forms: Vec<Term>,
    /// How often it was said.
    pub times: u32,
    /// It says nothing by itself, as "the" does, however rare it is here.
    pub common: bool,
}

/// The words of a question.
#[must_use]
pub fn question(text: &str, languages: &[Language]) -> Vec<Word> {
    let languages = if languages.is_empty() { &[Language::Other] } else { languages };
    let mut end = text.len().min(MOST_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut said: Vec<(Vec<Number>, u32, bool)> = Vec::new();
    Terms::with(|terms| {
        tokens(text.get(..end).unwrap_or_default(), &mut |token| {
            let common = match token {
                Token::Part(_) => return,
                Token::Whole(word) | Token::Word(word) => is_common(word, languages),
            };
            let mut forms: Vec<Number> =
                languages.iter().map(|language| terms.number(token, *language)).collect();
            forms.sort_unstable();
            forms.dedup();
            if let Some((_, times, _)) = said.iter_mut().find(|(known, _, _)| *known == forms) {
                *times = times.saturating_add(1);
            } else if said.len() < MOST_WORDS {
                said.push((forms, 1, common));
            }
        });
        let words = said.into_iter().map(|(forms, times, common)| Word {
            forms: forms.into_iter().filter_map(|number| terms.term(number)).map(str::to_owned).collect(),
            times,
            common,
        });
        words.collect()
    })
}
