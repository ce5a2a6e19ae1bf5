//! Two lists of candidates to one.

pub mod bm25;
