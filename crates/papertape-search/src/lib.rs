//! Full-text and semantic search over a directory of Markdown.
//!
//! The modules stand in the order of their dependencies: each uses only those above it.
//!
//! - [`analysis`]: text to terms
//! - [`corpus`]: a directory to its texts (Markdown, HTML, notebooks and others), and each to a title, tags and chunks
//! - [`embed`]: text to vectors, if there is an embedding model
//! - [`rank`]: BM25, fusion of the lexical and the vector list, re-ranking by file
//! - [`store`]: terms, vectors and texts, in files of our own or in PostgreSQL
//! - [`index`]: what changed in the directory to a new generation of the store
//! - [`query`]: a query to hits
//! - [`Options`]: what a user configures, to a [`query::Searcher`]
//! - [`maintain`]: an index that follows its directory while it is searched
//!
//! Features: `postgres` for the store in PostgreSQL, `local-models` for models in this process.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod analysis;
mod background;
pub mod corpus;
pub mod embed;
#[cfg(not(all(feature = "postgres", feature = "local-models")))]
mod features;
pub mod index;
pub mod maintain;
mod options;
pub mod query;
pub mod rank;
pub mod store;
mod sync;
mod warnings;

pub use options::Options;
pub use warnings::Warnings;

/// The example in the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
