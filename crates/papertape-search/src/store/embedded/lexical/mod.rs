//! Segments of the inverted index: terms, postings and stored texts in files.
//!
//! A segment holds documents (a chunk is one), numbered from 0; those of a file stand side by side. It never changes, but
//! for the list of files that were deleted from it, of which each generation may name another one. Every number that is
//! read is checked before it is used: whatever is in a file, reading it ends, and takes no more memory than the file.
//!
//! - `postings`: a posting list, bit-packed
//! - `terms`: the term dictionary
//! - `documents`: the stored fields of documents and files
//! - `segment`: those files, opened, and the texts, compressed
//! - `build`: chunks to a segment
//! - `merge`: several segments to one

pub(super) mod build;
pub(super) mod documents;
pub(super) mod merge;
pub(super) mod postings;
pub(super) mod segment;
mod terms;

/// A document's number in its segment.
pub(super) type DocId = u32;

/// Where a document is in a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct DocAddress {
    /// The number of its segment.
    pub(super) segment: u32,
    /// Its number there.
    pub(super) doc: DocId,
}
