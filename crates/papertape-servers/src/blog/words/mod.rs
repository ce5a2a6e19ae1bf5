//! A chunk, or a question, to the words it is found by.
//!
//! Both sides go the same way, so that they meet:
//!
//! - `token`: text to words in small letters, to identifiers and their parts, to pairs of Chinese characters
//! - `term` (with `fold`): a word to what it is looked up by, stemmed in its language, without accents
//! - [`Bag`]: what a chunk is found by, and `question`: what is looked up
//! - `common`: which words say nothing by themselves
//! - [`Language`] (with `detect` and `script`): which rules hold

mod bag;
mod common;
mod detect;
mod fold;
mod language;
mod question;
mod script;
mod term;
mod token;
pub mod weights;

pub use bag::{Bag, bag};
pub use detect::detect;
pub use language::Language;
pub(crate) use question::LONGEST as LONGEST_QUESTION;
pub use question::{Word, question};
pub(in crate::blog) use script::{is_han_or_kana, is_unspaced};

/// A word as it is looked up: folded and stemmed, or two characters of Chinese, Japanese or Korean.
pub type Term = String;

#[cfg(test)]
mod tests;
