//! A question to the words that are looked up.

use super::term::Terms;
use super::token::tokens;
use super::{Language, Term};

/// The most bytes of a question that are read.
const MOST_BYTES: usize = 4 * 1024;

/// The most words that are looked up.
const MOST_TERMS: usize = 64;

/// The words of a question and how often each was said. Each is stemmed in every language there is an answer in.
#[must_use]
pub fn question(text: &str, languages: &[Language]) -> Vec<(Term, u32)> {
    let languages = if languages.is_empty() { &[Language::Other] } else { languages };
    let mut end = text.len().min(MOST_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut said: Vec<(Term, u32)> = Vec::new();
    Terms::with(|terms| {
        tokens(text.get(..end).unwrap_or_default(), &mut |token| {
            let mut numbers: Vec<_> =
                languages.iter().map(|language| terms.number(token, *language)).collect();
            numbers.sort_unstable();
            numbers.dedup();
            for term in numbers.into_iter().filter_map(|number| terms.term(number)) {
                if let Some((_, times)) = said.iter_mut().find(|(known, _)| known == term) {
                    *times = times.saturating_add(1);
                } else if said.len() < MOST_TERMS {
                    said.push((term.to_owned(), 1));
                }
            }
        });
    });
    said
}
