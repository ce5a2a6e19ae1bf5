//! Where chunks are kept and found again: one trait, two stores.
//!
//! A store has generations. A search sees one of them from beginning to end; a writer makes the next one, which is there
//! for everybody or for nobody.

pub mod embedded;
pub mod postgres;
mod unit;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::watch;

use super::rank::bm25::Scale;
use super::words::{Bag, Language, Word};

/// What a store's functions give.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Where chunks are kept.
pub trait Store: fmt::Debug + Send + Sync {
    /// What the newest generation holds.
    fn summary(&self) -> Answer<'_, Summary>;

    /// The best chunks for a question, all from one generation.
    fn search<'a>(&'a self, query: &'a Query) -> Answer<'a, Found>;

    /// One chunk.
    fn chunk<'a>(&'a self, source: &'a str, index: u32) -> Answer<'a, Option<Chunk>>;

    /// The chunks of a file in their order; none if there is no such file.
    fn chunks<'a>(&'a self, source: &'a str) -> Answer<'a, Vec<Chunk>>;

    /// Every file, by path. Kept by the store for as long as the generation is the newest.
    fn files(&self) -> Answer<'_, Arc<[FileRecord]>>;

    /// Chunks that have no vector yet, in any order: at most `limit`, one for each key.
    fn wanting(&self, limit: usize) -> Answer<'_, Vec<Chunk>>;

    /// The one who writes. A second one gets [`StoreError::Locked`].
    fn write(&self) -> Answer<'_, Box<dyn Writer>>;

    /// Hears of generations, whoever made them: of this process or of another. It is the number in [`Summary`], and grows
    /// with everything that changes, also when the index is gone or another one has taken its place.
    fn generations(&self) -> watch::Receiver<u64>;
}

/// Makes the next generation. Nothing of it is seen before it is committed; dropped before that, it never was.
pub trait Writer: Send {
    /// A file and all its chunks, in place of what there was of it.
    fn put(&mut self, file: FileRecord, chunks: Vec<Entry>) -> Answer<'_, ()>;

    /// A file whose chunks stay as they are, with what is new about it (its stamp).
    fn touch(&mut self, file: FileRecord) -> Answer<'_, ()>;

    /// A file that is gone.
    fn remove<'a>(&'a mut self, path: &'a str) -> Answer<'a, ()>;

    /// Vectors by what they are the meaning of.
    fn attach(&mut self, vectors: Vec<(VectorKey, Vec<f32>)>) -> Answer<'_, ()>;

    /// Which model the vectors are of. Another model than before (by name, dimension or digest) drops every vector there is.
    fn set_embedding(&mut self, embedding: Option<Embedding>) -> Answer<'_, ()>;

    /// Makes it the newest generation. Only what has reached the disk is a success.
    fn commit(self: Box<Self>) -> Answer<'static, Summary>;
}

/// A chunk's own number, the same in every store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkId(pub u64);

impl ChunkId {
    /// Of a file's path and the chunk's place in it.
    #[must_use]
    pub fn of(source: &str, index: u32) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(source.as_bytes()).update(&[0]).update(&index.to_le_bytes());
        Self(first_eight(&hasher.finalize()))
    }
}

/// What a vector is the meaning of: chunks that say the same share it, wherever they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VectorKey(pub u64);

impl VectorKey {
    /// Of the text that is given to the model.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(first_eight(&blake3::hash(text.as_bytes())))
    }
}

fn first_eight(hash: &blake3::Hash) -> u64 {
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(hash.as_bytes()) {
        *to = *from;
    }
    u64::from_le_bytes(bytes)
}

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileRecord {
    /// Relative to the folder, with `/`.
    pub path: String,
    /// How the file looked from outside when it was read.
    pub stamp: Stamp,
    /// What its bytes are known by, the rules they were read by, and whether there is a warning about them.
    pub digest: [u8; 32],
    /// From the front matter, the first heading, or the file's name.
    pub title: String,
    /// `YYYY-MM-DD`, from the front matter or the beginning of the file's name.
    pub date: Option<String>,
    /// From the front matter, as written.
    pub tags: Vec<String>,
    /// What most of it is written in.
    pub language: Language,
    /// How many chunks it has.
    pub chunks: u32,
    /// How many bytes it has.
    pub size: u64,
}

/// How a file looks from outside. If nothing of it has changed, and it was not written in the same instant as it was read,
/// neither has the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// When it was written, in nanoseconds since 1970.
    pub modified: i64,
    /// When its inode was changed, in nanoseconds since 1970: programs that set the other time cannot set this one.
    pub changed: i64,
    /// Its inode.
    pub inode: u64,
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
    /// What it is found by.
    pub bag: Bag,
    /// What its vector is the meaning of.
    pub key: VectorKey,
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
    /// What its vector is the meaning of.
    pub key: VectorKey,
}

/// A question to a store.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Query {
    /// The words.
    pub words: Vec<Word>,
    /// The question's vector, of the same model as the store's.
    pub vector: Option<Vec<f32>>,
    /// Which files count.
    pub filter: Filter,
    /// How many hits.
    pub top_k: usize,
    /// What a place in the list of meanings counts beside one in the list of words; nothing: as calibrated.
    pub weight: Option<f32>,
}

/// How deep the two lists go that hits are made of.
pub const DEPTH: usize = 100;

/// Which files count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Their path begins so.
    pub path_prefix: Option<String>,
    /// They have this tag, whatever its case.
    pub tag: Option<String>,
    /// `YYYY-MM-DD`: they are of this day or later.
    pub since: Option<String>,
    /// `YYYY-MM-DD`: they are of this day or earlier.
    pub until: Option<String>,
}

/// What a store found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// The best, at most as many as were asked for.
    pub hits: Vec<Hit>,
    /// By words, best first: at most [`DEPTH`].
    pub lexical: Vec<(ChunkId, f32)>,
    /// By meaning, best first, with the cosine: at most [`DEPTH`]; empty without a vector.
    pub semantic: Vec<(ChunkId, f32)>,
    /// What the words of the question weighed.
    pub scale: Scale,
}

/// A chunk and how good it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The chunk.
    pub chunk: Chunk,
    /// The greater, the better; comparable within one answer only.
    pub score: f32,
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
    /// What questions are read in: see [`main_languages`].
    pub languages: Vec<Language>,
    /// Which model the vectors are of.
    pub embedding: Option<Embedding>,
}

/// The languages that have at least a tenth as many chunks as the commonest one, sorted. A question is stemmed in each of
/// them, and the words of a few stray files would be the rarest of all, and so weigh more than any other.
#[must_use]
pub fn main_languages(chunks: &BTreeMap<Language, u64>) -> Vec<Language> {
    let most = chunks.values().copied().max().unwrap_or_default();
    chunks
        .iter()
        .filter(|(_, many)| **many > 0 && **many * 10 >= most)
        .map(|(language, _)| *language)
        .collect()
}

/// The model that made the vectors, and what they are worth here.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// As its maker calls it.
    pub model: String,
    /// How many numbers a vector has.
    pub dimension: u32,
    /// What tells two models of the same name apart.
    pub digest: String,
    /// What a place in the list of meanings counts beside one in the list of words; 0 if meaning does not help here.
    pub weight: f32,
    /// How many chunks there were when the weight was found; 0 if it was not yet.
    pub calibrated_on: u64,
}

/// Why a store cannot do what is asked. What is shown names the cause and the way out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Nothing was ever indexed here.
    #[error("there is no index yet at {place}: run `papertape index DIR`")]
    Missing {
        /// Where it was looked for.
        place: String,
    },
    /// What is there cannot be trusted.
    #[error("the index at {place} is damaged ({what}): rebuild it with `papertape index DIR --rebuild`")]
    Corrupt {
        /// Where it is.
        place: String,
        /// What was found.
        what: String,
    },
    /// It was made by another version of this program, or by another program.
    #[error("the index at {place} cannot be read: {what}")]
    Foreign {
        /// Where it is.
        place: String,
        /// What was found and what to do.
        what: String,
    },
    /// There is an index, and no key of this user has sealed it: its texts need not be those of its folder. Writing makes it
    /// again.
    #[error("the index at {place} is not used: {why}. {}", SHARE)]
    Unsealed {
        /// Where it is.
        place: String,
        /// What was found.
        why: String,
        /// Whether it is sealed, and this user has a key, which is another one.
        by_another: bool,
    },
    /// Somebody else is writing.
    #[error("the index at {place} is being written by {by}: wait until it is done")]
    Locked {
        /// Where it is.
        place: String,
        /// Who: `process 123`.
        by: String,
    },
    /// A vector that does not fit the others.
    #[error("{0}")]
    Mismatch(String),
    /// The database cannot be reached now.
    #[error("the database cannot be reached: {0}")]
    Unreachable(String),
    /// The database could not do it now, because of what others do there: it may work the next time.
    #[error("the database could not do it now: {0}")]
    Crossed(String),
    /// The disk is full, a file cannot be written, and so on.
    #[error("{doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// What to do about an index that is not sealed by this user.
pub(super) const SHARE: &str = "Make it again with `papertape index DIR --rebuild`; or, if you trust its maker, add their \
                                key to your papertape/index.key";

impl StoreError {
    /// Whether there is nothing to read, and indexing begins from nothing.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::Unsealed { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::main_languages;
    use crate::blog::words::Language;

    #[test]
    fn stray_files_are_no_language_of_the_folder() {
        let many =
            [(Language::English, 100), (Language::Spanish, 10), (Language::French, 9), (Language::Other, 0)];
        assert_eq!(main_languages(&many.into()), [Language::English, Language::Spanish]);
        assert_eq!(main_languages(&[(Language::Other, 0)].into()), []);
    }
}
