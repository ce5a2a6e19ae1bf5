//! A directory and an index that go away again.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use papertape_search::corpus::folder::Folder;
use papertape_search::embed::Embedder;
use papertape_search::index::{self, Options, Report};
use papertape_search::query::Searcher;
use papertape_search::store::embedded::Embedded;
use papertape_search::store::{Filter, Store, StoreError};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A directory of Markdown, and beside it an index.
pub(crate) struct Fixture {
    root: PathBuf,
    pub(crate) store: Embedded,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("papertape-ingest-{}-{number}", std::process::id()));
        // A run that was killed may have left something under the same number.
        fs::remove_dir_all(&root).unwrap_or_default();
        fs::create_dir_all(root.join("notes")).unwrap();
        let store = open(&root.join("index"));
        Self { root, store }
    }

    pub(crate) fn notes(&self) -> PathBuf {
        self.root.join("notes")
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.root.join("index")
    }

    pub(crate) fn folder(&self) -> Folder {
        Folder::open(&self.notes()).unwrap()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.notes(), path, text);
    }

    pub(crate) async fn run(&self) -> Report {
        self.run_with(None, Options::default()).await.unwrap()
    }

    pub(crate) async fn run_with(
        &self,
        embedder: Option<&dyn Embedder>,
        options: Options,
    ) -> Result<Report, StoreError> {
        index::run_with(&self.folder(), &self.store, embedder, options, &|_| {}).await
    }

    pub(crate) async fn embed(&self, embedder: &dyn Embedder) -> Report {
        self.run_with(Some(embedder), Options::default()).await.unwrap()
    }

    /// What an index that was never anything else would hold.
    pub(crate) async fn clean_digest(&self) -> [u8; 32] {
        let clean = open(&self.root.join("clean"));
        clean.clear().await.unwrap();
        index::run(&self.folder(), &clean, None, &|_| {}).await.unwrap();
        clean.digest().await.unwrap()
    }

    pub(crate) async fn generation(&self) -> u64 {
        self.store.summary().await.unwrap().generation
    }

    /// A searcher without a model.
    pub(crate) fn lexical(&self) -> Searcher {
        Searcher::new(Arc::new(self.store.clone()), None)
    }

    /// A searcher that waits for its model, however busy the machine is.
    pub(crate) fn patient(&self, model: Arc<dyn Embedder>) -> Searcher {
        self.impatient(model).waiting(Duration::from_secs(60))
    }

    /// A searcher with a model and the default time budget.
    pub(crate) fn impatient(&self, model: Arc<dyn Embedder>) -> Searcher {
        Searcher::new(Arc::new(self.store.clone()), Some(model))
    }

    /// The first source of a lexical search.
    pub(crate) async fn sources(&self, query: &str) -> Vec<String> {
        let result = self.lexical().search(query, 20, &Filter::default()).await;
        result.unwrap().hits.into_iter().map(|hit| hit.chunk.source).collect()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.root).ok();
    }
}

/// An index sealed with the test key.
pub(crate) fn open(index: &Path) -> Embedded {
    let keys = Path::new(env!("CARGO_TARGET_TMPDIR")).join("blog_ingest.keys");
    Embedded::open_with_keys(index, &keys).unwrap()
}

pub(crate) fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
