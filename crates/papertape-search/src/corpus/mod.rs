//! A directory of texts to documents: which files there are, and each file's bytes to a title, tags and chunks.

pub mod document;
pub mod folder;
mod ids;

pub use ids::{ChunkId, VectorKey};
