//! Directories, chunks and vectors to test with.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use papertape_search::analysis::{Bag, Language, QueryTerm};
use papertape_search::store::embedded::Embedded;
use papertape_search::store::{
    Embedding, Entry, FileRecord, Lines, Matches, Query, Stamp, Store, StoreError, Summary, VectorKey, Writer,
};

/// A directory that is gone with the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("papertape-store-{}-{number}", std::process::id()));
        // A run that was killed may have left something under the same number.
        std::fs::remove_dir_all(&path).unwrap_or_default();
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.0.join("index")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}

pub(crate) const DIMENSION: u32 = 64;

/// A stream of numbers that look random and are the same each time.
#[derive(Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub(crate) fn vector(&mut self, dimension: u32) -> Vec<f32> {
        (0..dimension).map(|_| (self.next() >> 40) as f32 / (1 << 24) as f32 - 0.5).collect()
    }
}

pub(crate) fn record(path: &str, content: &str, chunks: usize) -> FileRecord {
    FileRecord {
        path: path.to_owned(),
        stamp: Stamp { size: content.len() as u64, ..Stamp::default() },
        digest: [content.len() as u8; 32],
        title: format!("About {path}"),
        date: path.contains("dated").then(|| "2026-07-28".to_owned()),
        tags: if path.contains("tagged") {
            vec!["Rust".to_owned(), "Zürich".to_owned()]
        } else {
            Vec::new()
        },
        language: Language::English,
        chunks: chunks as u32,
        size: content.len() as u64,
    }
}

/// A chunk for each paragraph; its terms are separated by spaces.
pub(crate) fn file(path: &str, content: &str) -> (FileRecord, Vec<Entry>) {
    let entries: Vec<Entry> = content
        .split("\n\n")
        .enumerate()
        .map(|(index, text)| {
            let mut bag = Bag::default();
            text.split_whitespace().for_each(|word| bag.add(word.to_lowercase(), 1));
            Entry {
                index: index as u32,
                headings: vec!["Heading".to_owned(), format!("Part {index}")],
                text: text.to_owned(),
                bag,
                key: VectorKey::of(text),
                lines: Lines { start: index as u32 * 2 + 1, end: index as u32 * 2 + 1 },
            }
        })
        .collect();
    (record(path, content, entries.len()), entries)
}

pub(crate) fn embedding() -> Embedding {
    Embedding {
        model: "test".to_owned(),
        dimension: DIMENSION,
        digest: "1".to_owned(),
        knows_language: true,
        judged_on: 0,
    }
}

/// The vector of a text: the same for the same text.
pub(crate) fn vector(text: &str) -> Vec<f32> {
    Random(VectorKey::of(text).0).vector(DIMENSION)
}

pub(crate) fn open(path: &Path) -> Embedded {
    Embedded::open_with_keys(path, &keys()).unwrap()
}

/// The test keys, shared with the processes that the tests start.
pub(crate) fn keys() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("blog_store.keys")
}

pub(crate) async fn put(writer: &mut dyn Writer, path: &str, content: &str) -> Result<(), StoreError> {
    let (record, entries) = file(path, content);
    writer.put(record, entries).await
}

/// Files, and vectors for all their chunks.
pub(crate) async fn fill(store: &Embedded, files: &[(&str, &str)]) -> Result<Summary, StoreError> {
    let mut writer = store.write().await?;
    writer.set_embedding(Some(embedding())).await?;
    for (path, content) in files {
        put(writer.as_mut(), path, content).await?;
        let vectors = content.split("\n\n").map(|text| (VectorKey::of(text), vector(text))).collect();
        writer.attach(vectors).await?;
    }
    writer.commit().await
}

pub(crate) fn lexical_query(query_text: &str) -> Query {
    Query {
        terms: query_text
            .split_whitespace()
            .map(|word| QueryTerm { forms: vec![word.to_lowercase()], count: 1, ..QueryTerm::default() })
            .collect(),
        top_k: 20,
        ..Query::default()
    }
}

/// A query with terms and a vector.
pub(crate) fn both(query_text: &str, text: &str) -> Query {
    Query { vector: Some(vector(text)), ..lexical_query(query_text) }
}

/// The hits as `path#index`.
pub(crate) fn hits(found: &Matches) -> Vec<String> {
    found.hits.iter().map(|hit| format!("{}#{}", hit.chunk.source, hit.chunk.index)).collect()
}
