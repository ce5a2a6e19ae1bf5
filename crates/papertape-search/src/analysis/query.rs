//! A query to its terms.

use std::collections::HashMap;

use super::stop_words::is_stop_word;
use super::term::{Number, Terms};
use super::token::{Token, tokens};
use super::{Language, Term};

/// The most characters of a query.
pub const MAX_QUERY_CHARS: usize = 10_000;

/// The most bytes of a query that are read.
const MOST_BYTES: usize = 4 * MAX_QUERY_CHARS;

/// The most different words that are read. Those that occur in the corpus are searched for: see `rank::bm25`.
const MOST_WORDS: usize = 2_000;

/// A word of a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueryTerm {
    /// Its terms: a stem for each language that many of the texts are in, each once. They share their document frequency:
    /// a stem that only a few stray files have weighs no more than the others.
    pub forms: Vec<Term>,
    /// As it was written.
    pub text: String,
    /// How often it was written.
    pub count: u32,
    /// Whether it is a stop word, such as "the", however rare it is in the corpus.
    pub stop_word: bool,
}

impl QueryTerm {
    /// The same with its stems in all languages, to search for it if none of its forms occurs in the corpus: one recipe
    /// in Spanish among a thousand pages in English is found.
    #[must_use]
    pub fn in_all_languages(&self) -> Self {
        let forms = Terms::with(|terms| {
            let stems = stems(terms, Token::Word(&self.text), &Language::ALL);
            spelled(terms, &stems)
        });
        Self { forms, ..self.clone() }
    }
}

/// The terms of a query, for texts of which many are in these languages.
#[must_use]
pub fn query_terms(text: &str, languages: &[Language]) -> Vec<QueryTerm> {
    let languages = if languages.is_empty() { &[Language::Other] } else { languages };
    let mut end = text.len().min(MOST_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut found: Vec<QueryTerm> = Vec::new();
    let mut places: HashMap<Vec<Number>, usize> = HashMap::new();
    Terms::with(|terms| {
        tokens(text.get(..end).unwrap_or_default(), &mut |token| {
            let (Token::Whole(word) | Token::Word(word)) = token else { return };
            let stems = stems(terms, token, languages);
            if let Some(known) = places.get(&stems).and_then(|place| found.get_mut(*place)) {
                known.count = known.count.saturating_add(1);
            } else if found.len() < MOST_WORDS {
                let (forms, stop_word) = (spelled(terms, &stems), is_stop_word(word, languages));
                places.insert(stems, found.len());
                found.push(QueryTerm { forms, text: word.to_owned(), count: 1, stop_word });
            }
        });
    });
    found
}

/// The terms of a token in each of these languages, each once.
fn stems(terms: &mut Terms, token: Token<'_>, languages: &[Language]) -> Vec<Number> {
    let mut stems: Vec<Number> = languages.iter().map(|language| terms.number(token, *language)).collect();
    stems.sort_unstable();
    stems.dedup();
    stems
}

fn spelled(terms: &Terms, stems: &[Number]) -> Vec<Term> {
    stems.iter().filter_map(|number| terms.term(*number)).map(str::to_owned).collect()
}
