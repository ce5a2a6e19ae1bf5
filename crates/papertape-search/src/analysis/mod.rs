//! A chunk, or a query, to its terms, by the same rules for both.
//!
//! - `terms`: text to words, identifiers and their parts, pairs of Chinese characters; and those to terms, stemmed and
//!   without accents
//! - [`Bag`]: the terms of a chunk; [`AliasBags`]: those of a file's other titles
//! - `query`: those of a query, and which of them are stop words
//! - [`Finder`]: where those stand in a text
//! - `places`: where the terms of a query are in a text
//! - [`Phrase`]: words that stand one after the other
//! - `spelling`: a misspelt word to the one that was meant
//! - [`Language`] (with `detect` and `script`): which rules apply

mod bag;
mod detect;
mod finder;
mod language;
mod phrase;
mod places;
mod query;
mod script;
mod spelling;
mod terms;
pub mod weights;

pub use bag::{AliasBags, Bag, about_bag, bag};
pub use detect::detect;
pub use finder::{Finder, Spot};
pub use language::Language;
pub use phrase::Phrase;
pub(crate) use phrase::{MOST_WORDS as MOST_PHRASE_WORDS, PhraseFinder, Sequence, stands_in, stands_near};
pub(crate) use places::{Place, places};
pub use query::{MAX_QUERY_CHARS, QueryTerm, query_terms};
pub(crate) use script::{is_han_or_kana, is_unspaced};
pub use spelling::Correction;
pub(crate) use spelling::{Misspelling, correctable, spelled_in};

/// A term of the index: a word folded and stemmed, or two characters of Chinese, Japanese or Korean.
pub type Term = String;

#[cfg(test)]
mod tests;
