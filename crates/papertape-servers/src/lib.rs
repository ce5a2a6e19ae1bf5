//! The bundled servers of papertape, written with its public API only.
//!
//! - [`blog`]: full-text and semantic search over a directory of Markdown
//! - [`grammar`]: a tutor for twenty English verbs
//! - [`text`]: echo and word count
//! - [`all`]: the last two in one
//!
//! Each module has a function `server`, whose [`Server`](papertape::Server) can be served over any transport.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod all;
#[cfg(feature = "blog")]
pub mod blog;
pub mod grammar;
mod page;
pub mod text;

/// The example in the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
