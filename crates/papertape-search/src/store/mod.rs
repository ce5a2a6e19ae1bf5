//! Terms, vectors and texts of chunks: one trait, two stores.
//!
//! A store has generations. A search sees one of them from beginning to end; a writer makes the next one, which becomes
//! visible as a whole or not at all.

pub mod embedded;
mod error;
mod filter;
mod normalise;
mod phrases;
#[cfg(feature = "postgres")]
pub mod postgres;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::watch;

pub use crate::analysis::Correction;
use crate::analysis::{Bag, Language, Phrase, QueryTerm};
pub use crate::corpus::document::Lines;
pub use crate::corpus::folder::Stamp;
pub use crate::corpus::{ChunkId, VectorKey};
pub use crate::embed::Embedding;
use crate::rank::bm25::Bm25;
pub use error::{SHARE, StoreError};
pub use filter::{FileTerms, Filter, folded_tag};

/// What the methods of a [`Store`] return.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Keeps and searches chunks.
pub trait Store: fmt::Debug + Send + Sync {
    /// What the newest generation holds.
    fn summary(&self) -> StoreFuture<'_, Summary>;

    /// The best chunks for a query, all from one generation.
    fn search<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Matches>;

    /// One chunk.
    fn chunk<'a>(&'a self, source: &'a str, index: u32) -> StoreFuture<'a, Option<Chunk>>;

    /// The chunks of a file in their order; none if there is no such file.
    fn chunks<'a>(&'a self, source: &'a str) -> StoreFuture<'a, Vec<Chunk>>;

    /// Every file, by path. Kept by the store for as long as the generation is the newest.
    fn files(&self) -> StoreFuture<'_, Arc<[FileRecord]>>;

    /// Chunks without a vector, in any order: at most `limit`, one for each key.
    fn without_vector(&self, limit: usize) -> StoreFuture<'_, Vec<Chunk>>;

    /// Opens the writer. While there is one, another gets [`StoreError::Locked`].
    fn write(&self) -> StoreFuture<'_, Box<dyn Writer>>;

    /// Clears what is damaged, so that it can be indexed again. An index that is not damaged serves until it is replaced.
    fn repair(&self) -> StoreFuture<'_, ()>;

    /// The number of the newest generation, by this process or another: that of [`Summary`]. It grows with every change, also
    /// when the index is gone or has been replaced.
    fn generations(&self) -> watch::Receiver<u64>;
}

/// Makes the next generation. Nothing of it is visible before it is committed; dropped before that, it is discarded.
pub trait Writer: Send {
    /// A file and all its chunks, in place of what there was of it.
    fn put(&mut self, file: FileRecord, chunks: Vec<Entry>) -> StoreFuture<'_, ()>;

    /// A file whose chunks stay as they are, with its new stamp.
    fn touch(&mut self, file: FileRecord) -> StoreFuture<'_, ()>;

    /// A file that is gone.
    fn remove<'a>(&'a mut self, path: &'a str) -> StoreFuture<'a, ()>;

    /// Adds vectors.
    fn attach(&mut self, vectors: Vec<(VectorKey, Vec<f32>)>) -> StoreFuture<'_, ()>;

    /// Which model the vectors are of. Another model than before (by name, dimension or digest) drops every vector there is.
    fn set_embedding(&mut self, embedding: Option<Embedding>) -> StoreFuture<'_, ()>;

    /// Makes it the newest generation. Returns when it is on disk.
    fn commit(self: Box<Self>) -> StoreFuture<'static, Summary>;
}

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileRecord {
    /// Relative to the directory, with `/`.
    pub path: String,
    /// The metadata of the file when it was read.
    pub stamp: Stamp,
    /// Of its bytes, the rules they were indexed by, and whether there were warnings.
    pub digest: [u8; 32],
    /// From the front matter, the first heading, or the file's name.
    pub title: String,
    /// `YYYY-MM-DD`, from the front matter or the beginning of the file's name.
    pub date: Option<String>,
    /// From the front matter, as written.
    pub tags: Vec<String>,
    /// The language of most of it.
    pub language: Language,
    /// How many chunks it has.
    pub chunks: u32,
    /// How many bytes it has.
    pub size: u64,
}

/// A chunk on its way into a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// From 0, in the order of the file.
    pub index: u32,
    /// The headings above it, outermost first, without the title.
    pub headings: Vec<String>,
    /// Its Markdown, as it stands in the file.
    pub text: String,
    /// Its terms.
    pub bag: Bag,
    /// Identifies its vector.
    pub key: VectorKey,
    /// Where it stands in the file.
    pub lines: Lines,
}

/// A chunk as a store gives it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The file's path.
    pub source: String,
    /// Its place in the file.
    pub index: u32,
    /// The file's title.
    pub title: String,
    /// The headings above it.
    pub headings: Vec<String>,
    /// Its Markdown.
    pub text: String,
    /// Identifies its vector.
    pub key: VectorKey,
    /// Where it stands in the file.
    pub lines: Lines,
}

impl Chunk {
    /// How many tokens of a model its text is, about: there are some four bytes of text or JSON in each.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.text.len().div_ceil(4)
    }
}

/// A query to a store.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Query {
    /// Its terms.
    pub terms: Vec<QueryTerm>,
    /// Its vector, of the same model as the store's.
    pub vector: Option<Vec<f32>>,
    /// Which files count.
    pub filter: Filter,
    /// What a chunk must have word for word. Of the chunks with all of these words, the best 1,000 by their terms count.
    pub required: Vec<Phrase>,
    /// Words and phrases that a chunk must not have.
    pub excluded: Vec<Phrase>,
    /// Whether words that stand in no text are corrected.
    pub correct: bool,
    /// Whether the lexical list is by BM25 alone: words in the order of the query, and titles that consist of it, count no
    /// more than others.
    pub plain: bool,
    /// How many hits.
    pub top_k: usize,
}

/// The length of the lexical and of the vector list, before each gets the chunks that only the other has.
pub const DEPTH: usize = 100;

/// The result of a query to a store.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matches {
    /// The best, at most `top_k`.
    pub hits: Vec<Hit>,
    /// By BM25, best first: at most [`DEPTH`], and those of the vector list besides that have a term of the query.
    pub lexical: Vec<(ChunkId, f32)>,
    /// By cosine, best first: at most [`DEPTH`], and those of the lexical list besides that have a vector. Empty without a
    /// vector.
    pub semantic: Vec<(ChunkId, f32)>,
    /// The weights of the terms.
    pub bm25: Bm25,
    /// The terms that were searched for: those of the query, corrected.
    pub terms: Vec<QueryTerm>,
    /// Words that stand in no text, and what was searched for in their place.
    pub corrections: Vec<Correction>,
}

/// A chunk and its score.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The chunk.
    pub chunk: Chunk,
    /// The greater, the better; comparable within one result only.
    pub score: f32,
}

impl Hit {
    /// Its score with four decimals; JSON has no infinite numbers.
    #[must_use]
    pub fn rounded_score(&self) -> f64 {
        let rounded = (f64::from(self.score) * 10_000.0).round() / 10_000.0;
        if rounded.is_finite() { rounded } else { 0.0 }
    }
}

/// What a generation holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// Grows with each commit. Two summaries of the same store with the same number say the same.
    pub generation: u64,
    /// How many files.
    pub files: u64,
    /// How many chunks.
    pub chunks: u64,
    /// How many chunks have a vector.
    pub vectors: u64,
    /// The languages of queries: see [`main_languages`].
    pub languages: Vec<Language>,
    /// Which model the vectors are of.
    pub embedding: Option<Embedding>,
}

/// The languages that have at least a tenth as many chunks as the commonest one, sorted. A query is stemmed in each of
/// them; the stems of a few stray files would be the rarest terms, and so weigh more than any other.
#[must_use]
pub fn main_languages(chunks: &BTreeMap<Language, u64>) -> Vec<Language> {
    let most = chunks.values().copied().max().unwrap_or_default();
    chunks
        .iter()
        .filter(|(_, many)| **many > 0 && **many * 10 >= most)
        .map(|(language, _)| *language)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Chunk, Hit, Lines, VectorKey, main_languages};
    use crate::analysis::Language;

    #[test]
    fn scores_have_four_decimals() {
        let chunk = Chunk {
            source: String::new(),
            index: 0,
            title: String::new(),
            headings: Vec::new(),
            text: String::new(),
            key: VectorKey(0),
            lines: Lines::default(),
        };
        for (score, text) in [
            (0.016_393_442_f32, "0.0164"),
            (1.0, "1.0"),
            (12.345_67, "12.3457"),
            (f32::NAN, "0.0"),
            (f32::INFINITY, "0.0"),
        ] {
            let hit = Hit { chunk: chunk.clone(), score };
            assert_eq!(serde_json::to_string(&hit.rounded_score()).unwrap(), text);
        }
    }

    #[test]
    fn stray_files_do_not_add_a_language() {
        let many =
            [(Language::English, 100), (Language::Spanish, 10), (Language::French, 9), (Language::Other, 0)];
        assert_eq!(main_languages(&many.into()), [Language::English, Language::Spanish]);
        assert_eq!(main_languages(&[(Language::Other, 0)].into()), []);
    }
}
