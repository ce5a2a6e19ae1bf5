//! Why vectors were not used, in the note of a search; and how often words are corrected.

use std::fs;

use super::*;
use crate::corpus::folder::Folder;
use crate::embed::{EmbedError, EmbedFuture, Identity, Purpose};
use crate::index;
use crate::store::embedded::Embedded;
use crate::store::{StoreFuture, Writer};

/// A model that fails after the first vectors, before it is judged.
#[derive(Debug)]
struct Dying;

impl Embedder for Dying {
    fn identify(&self) -> EmbedFuture<'_, Identity> {
        Box::pin(async { Ok(Identity { model: "dying".into(), dimension: 2, digest: "d".into() }) })
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        _: Purpose,
    ) -> EmbedFuture<'a, Vec<Result<Vec<f32>, String>>> {
        Box::pin(async move {
            match texts {
                [text] if text.contains("lanterns") => Ok(vec![Ok(vec![0.6, 0.8])]),
                _ => Err(EmbedError::Unavailable("it went away".to_owned())),
            }
        })
    }

    fn batch(&self) -> usize {
        1
    }
}

#[tokio::test]
async fn a_model_that_failed_halfway_is_reported_as_failed() {
    let scratch = std::env::temp_dir().join(format!("papertape-halfway-{}", std::process::id()));
    let notes = scratch.join("notes");
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join("a.md"), "# A\n\nabout lanterns\n").unwrap();
    fs::write(notes.join("b.md"), "# B\n\nabout candles\n").unwrap();
    let (folder, store) = (
        Folder::open(&notes).unwrap(),
        Embedded::open_with_keys(&scratch.join("index"), &scratch.join("keys")).unwrap(),
    );
    let report = index::run(&folder, &store, Some(&Dying), &|_| {}).await.unwrap();
    assert_eq!((report.summary.vectors, report.summary.embedding.unwrap().judged_on), (1, 0));
    let searcher = Searcher::new(Arc::new(store), Some(Arc::new(Dying)));
    let note = async || searcher.search("candles", 5, &Filter::default()).await.unwrap().note.unwrap();
    assert_eq!(note().await, "semantic search is off: the vectors of the index are still being made");
    searcher.set_vector_failure(Some("it went away".to_owned()));
    assert_eq!(note().await, "semantic search is off: it went away");
    fs::remove_dir_all(scratch).unwrap();
}

/// A store that keeps, of each search, whether it was to correct words.
#[derive(Debug)]
struct Recording {
    store: Embedded,
    corrected: Mutex<Vec<bool>>,
}

impl Store for Recording {
    fn summary(&self) -> StoreFuture<'_, Summary> {
        self.store.summary()
    }

    fn search<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Matches> {
        lock(&self.corrected).push(query.correct);
        self.store.search(query)
    }

    fn chunk<'a>(&'a self, source: &'a str, index: u32) -> StoreFuture<'a, Option<Chunk>> {
        self.store.chunk(source, index)
    }

    fn chunks<'a>(&'a self, source: &'a str) -> StoreFuture<'a, Vec<Chunk>> {
        self.store.chunks(source)
    }

    fn files(&self) -> StoreFuture<'_, Arc<[FileRecord]>> {
        self.store.files()
    }

    fn without_vector(&self, limit: usize) -> StoreFuture<'_, Vec<Chunk>> {
        self.store.without_vector(limit)
    }

    fn write(&self) -> StoreFuture<'_, Box<dyn Writer>> {
        self.store.write()
    }

    fn repair(&self) -> StoreFuture<'_, ()> {
        Box::pin(self.store.repair())
    }

    fn generations(&self) -> tokio::sync::watch::Receiver<u64> {
        self.store.generations()
    }
}

#[tokio::test]
async fn words_are_corrected_once_however_often_a_query_is_searched_for() {
    let scratch = std::env::temp_dir().join(format!("papertape-corrected-{}", std::process::id()));
    let notes = scratch.join("notes");
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join("a.md"), "# A\n\nabout lanterns and candles\n").unwrap();
    let (folder, store) = (
        Folder::open(&notes).unwrap(),
        Embedded::open_with_keys(&scratch.join("index"), &scratch.join("keys")).unwrap(),
    );
    index::run(&folder, &store, None, &|_| {}).await.unwrap();
    let recording = Arc::new(Recording { store, corrected: Mutex::default() });
    let searcher = Searcher::new(Arc::clone(&recording) as Arc<dyn Store>, None);
    let search = async |query: &str| {
        let found = searcher.search(query, 5, &Filter::default()).await.unwrap();
        (found.hits.len(), found.note.unwrap(), std::mem::take(&mut *lock(&recording.corrected)))
    };
    let (hits, note, corrected) = search("lantersn \"candles about\"").await;
    assert_eq!((hits, corrected), (1, vec![true, false]));
    assert!(note.contains("searched for \"lanterns\" instead"), "{note}");
    // The corrected word is what would be a hit without the exclusion or the filter.
    let (hits, note, corrected) = search("lantersn -candles").await;
    assert_eq!((hits, corrected), (0, vec![true, false]));
    assert!(note.contains("something that the query excludes"), "{note}");
    let (hits, note, corrected) = search("lantersn \"candles and\" -green path:b").await;
    assert_eq!((hits, corrected), (0, vec![true, false, false, false]));
    assert!(note.contains("there are hits, but not in files"), "{note}");
    fs::remove_dir_all(scratch).unwrap();
}
