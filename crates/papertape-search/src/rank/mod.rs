//! The lexical and the vector list of candidates to the hits of a search.

pub mod bm25;
pub mod fuse;
pub mod hits;
pub mod judge;
pub mod wording;

pub use fuse::{best_first, fuse};
pub use hits::{Files, hits};
pub use wording::Wording;
