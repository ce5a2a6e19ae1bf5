//! The lexical and the vector list of candidates to the hits of a search.

pub mod bm25;
pub mod calibrate;
pub mod fuse;
pub mod hits;
pub mod wording;

pub use fuse::fuse;
pub use hits::{Files, hits};
pub use wording::Wording;
