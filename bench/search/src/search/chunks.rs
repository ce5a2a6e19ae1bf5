//! The chunks of a directory, as the product cuts them, for whatever searches them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use papertape_search::analysis::Language;
use papertape_search::corpus::document;
use papertape_search::store::ChunkId;

/// The chunks of a directory, by their number.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    pub(crate) all: Vec<Chunk>,
    /// The numbers of the chunks of each file.
    files: HashMap<String, Range<usize>>,
    numbers: HashMap<ChunkId, usize>,
}

/// A chunk with all that is said of it.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) path: String,
    pub(crate) title: String,
    /// The headings above it and its own, without the title.
    pub(crate) headings: Vec<String>,
    /// Its Markdown.
    pub(crate) text: String,
    /// Its words, without its own heading.
    pub(crate) plain: String,
    pub(crate) language: Language,
}

impl Chunk {
    /// Title, headings and words: what a search engine with one field gets.
    pub(crate) fn whole(&self) -> String {
        let above = [self.title.as_str()].into_iter().chain(self.headings.iter().map(String::as_str));
        above.chain([self.plain.as_str()]).collect::<Vec<_>>().join("\n")
    }
}

impl Chunks {
    /// Of paths and texts.
    pub(crate) fn read(files: &[(String, String)]) -> Self {
        let mut chunks = Self::default();
        for (path, text) in files {
            let read = document::read(path, text.as_bytes());
            let first = chunks.all.len();
            for (section, index) in read.chunks.into_iter().zip(0_u32..) {
                chunks.numbers.insert(ChunkId::of(path, index), chunks.all.len());
                chunks.all.push(Chunk {
                    path: path.clone(),
                    title: read.title.clone(),
                    headings: section.headings,
                    text: section.text,
                    plain: section.plain,
                    language: read.language,
                });
            }
            chunks.files.insert(path.clone(), first..chunks.all.len());
        }
        chunks
    }

    /// The numbers of the chunks of a file.
    pub(crate) fn of(&self, path: &str) -> Range<usize> {
        self.files.get(path).cloned().unwrap_or_default()
    }

    /// The number of a chunk of the index; one that no chunk has, if the index has others than these.
    pub(crate) fn number(&self, id: ChunkId) -> usize {
        self.numbers.get(&id).copied().unwrap_or(usize::MAX)
    }

    /// Where a chunk is, for people.
    pub(crate) fn place(&self, number: usize) -> String {
        self.all.get(number).map_or_else(String::new, |chunk| {
            let heading = chunk.headings.last().map_or("", String::as_str);
            format!("{}#{heading}", chunk.path)
        })
    }
}

/// A query whose relevant chunks are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query {
    /// What is asked for.
    pub(crate) ask: String,
    /// Any of these chunks is right.
    pub(crate) relevant: HashSet<usize>,
    /// These are left out of the results.
    pub(crate) hidden: HashSet<usize>,
}

impl Query {
    /// The place of the first relevant chunk in a list.
    pub(crate) fn place(&self, found: &[usize]) -> Option<usize> {
        let mut others = found.iter().filter(|chunk| !self.hidden.contains(chunk));
        others.position(|chunk| self.relevant.contains(chunk)).map(|place| place + 1)
    }
}
