//! Two lists of candidates to one.

pub mod bm25;
pub mod calibrate;
pub mod fuse;

pub use fuse::fuse;
