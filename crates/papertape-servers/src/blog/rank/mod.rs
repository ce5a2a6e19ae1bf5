//! Two lists of candidates to the hits that are shown.

pub mod bm25;
pub mod calibrate;
pub mod fuse;
pub mod hits;

pub use fuse::fuse;
pub use hits::{Files, hits};
