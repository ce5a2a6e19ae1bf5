//! A chunk, or a query, to its terms, by the same rules for both.
//!
//! - `token`: text to words in lower case, to identifiers and their parts, to pairs of Chinese characters
//! - `term`: a word to its term, stemmed in its language, without accents
//! - [`Bag`]: the terms of a chunk, and `query`: those of a query
//! - `stop_words`: words that weigh little
//! - `norm`: the length of a chunk, in one byte
//! - [`Language`] (with `detect` and `script`): which rules apply

mod bag;
mod detect;
mod language;
pub(crate) mod norm;
mod query;
mod script;
mod stop_words;
mod term;
mod token;
pub mod weights;

pub use bag::{Bag, bag};
pub use detect::detect;
pub use language::Language;
pub use query::{MAX_QUERY_CHARS, QueryTerm, query_terms};
pub(crate) use script::{is_han_or_kana, is_unspaced};

/// A term of the index: a word folded and stemmed, or two characters of Chinese, Japanese or Korean.
pub type Term = String;

#[cfg(test)]
mod tests;
