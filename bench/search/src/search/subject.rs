//! A directory, indexed by the product itself into a temporary index, and whatever else can search it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use papertape_search::analysis::query_terms;
use papertape_search::corpus::folder::Folder;
use papertape_search::embed::{Embedder, Purpose};
use papertape_search::index;
use papertape_search::query::Searcher;
use papertape_search::store::embedded::Embedded;
use papertape_search::store::{self, ChunkId, Filter, Store, Summary};
use tempfile::TempDir;

use super::chunks::{Chunks, Query};
use super::contender::Contender;
use super::sample::sample;
use super::textbook::Textbook;
use super::vectors::KeptVectors;

/// The length of every list.
pub(crate) const DEPTH: usize = 100;

/// How long a query waits for the model: its answer counts, not its speed.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is indexed, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting<'a> {
    /// At most so many of the files.
    pub(crate) files: usize,
    pub(crate) seed: u64,
    pub(crate) model: Option<&'a Arc<KeptVectors>>,
}

/// A directory and its index.
#[derive(Debug)]
pub(crate) struct Subject {
    /// The name of the directory.
    pub(crate) name: String,
    /// Paths and texts.
    pub(crate) files: Vec<(String, String)>,
    pub(crate) chunks: Chunks,
    pub(crate) textbook: Textbook,
    #[cfg(feature = "sqlite")]
    fts5: super::fts5::Fts5,
    store: Arc<Embedded>,
    words: Searcher,
    hybrid: Option<Searcher>,
    model: Option<Arc<KeptVectors>>,
    summary: Summary,
    took: Duration,
    place: TempDir,
}

impl Subject {
    /// Indexes a directory, with vectors if there is a model.
    pub(crate) async fn index(path: &Path, setting: Setting<'_>) -> Result<Self> {
        let folder = Folder::open(path)?;
        let mut files = Vec::new();
        for file in folder.list()?.files {
            let (bytes, _) = folder.read(&file.path).map_err(|why| anyhow!("{}: {why}", file.path))?;
            files.push((file.path, String::from_utf8_lossy(&bytes).into_owned()));
        }
        ensure!(!files.is_empty(), "there is no Markdown in {}", path.display());
        let mut files = sample(files, setting.files, setting.seed, |(path, _)| path);
        files.sort();
        let place = TempDir::new()?;
        let name = path.canonicalize()?.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let copy = place.path().join("folder");
        write_files(&copy, &files)?;
        let store = Arc::new(Embedded::open(&place.path().join("index"))?);
        let model = setting.model.cloned();
        let (words, hybrid) = searchers(&store, model.as_ref());
        let chunks = Chunks::default();
        let mut subject = Self {
            name,
            files,
            textbook: Textbook::of(&chunks),
            #[cfg(feature = "sqlite")]
            fts5: super::fts5::Fts5::of(&chunks)?,
            chunks,
            store,
            words,
            hybrid,
            model,
            summary: Summary::default(),
            took: Duration::ZERO,
            place,
        };
        let start = Instant::now();
        subject.ingest(&Folder::open(&copy)?).await?;
        subject.took = start.elapsed();
        Ok(subject)
    }

    async fn ingest(&mut self, folder: &Folder) -> Result<()> {
        let model = self.model.as_ref().map(|model| -> &dyn Embedder { model.as_ref() });
        let report = index::run(folder, self.store.as_ref(), model, &|_| ()).await?;
        if model.is_some() && report.summary.vectors < report.summary.chunks {
            bail!("not every chunk has a vector: {}", report.warnings.join("; "));
        }
        self.summary = report.summary;
        self.chunks = Chunks::read(&self.files);
        ensure!(
            usize::try_from(self.summary.chunks)? == self.chunks.all.len(),
            "the index of {} has {} chunks instead of {}",
            self.name,
            self.summary.chunks,
            self.chunks.all.len()
        );
        self.textbook = Textbook::of(&self.chunks);
        #[cfg(feature = "sqlite")]
        {
            self.fts5 = super::fts5::Fts5::of(&self.chunks)?;
        }
        Ok(())
    }

    /// Puts other texts in place of some files, in another index.
    pub(crate) async fn replace(&mut self, changed: &[(String, String)]) -> Result<()> {
        self.store = Arc::new(Embedded::open(&self.place.path().join("replaced"))?);
        (self.words, self.hybrid) = searchers(&self.store, self.model.as_ref());
        let changed: BTreeMap<&String, &String> = changed.iter().map(|(path, text)| (path, text)).collect();
        for (path, text) in &mut self.files {
            if let Some(changed) = changed.get(path) {
                text.clone_from(changed);
            }
        }
        let copy = self.place.path().join("folder");
        write_files(&copy, &self.files)?;
        self.ingest(&Folder::open(&copy)?).await
    }

    /// What there is.
    pub(crate) fn described(&self) -> String {
        let Summary { files, chunks, languages, embedding, .. } = &self.summary;
        let languages: Vec<String> = languages.iter().map(|language| format!("{language:?}")).collect();
        let model = embedding.as_ref().map_or_else(
            || "no model (--model)".to_owned(),
            |model| {
                format!(
                    "{}, which {} the language",
                    model.model,
                    if model.knows_language { "knows" } else { "does not know" }
                )
            },
        );
        let (name, took) = (&self.name, self.took.as_secs_f64());
        format!(
            "{name}: {files} files, {chunks} chunks, {}; {model}; indexed in {took:.1} s\n",
            languages.join(", ")
        )
    }

    /// Who can be asked.
    pub(crate) fn contenders(&self) -> Vec<Contender> {
        let mut all = vec![Contender::Words];
        if self.model.is_some() {
            all.extend([Contender::Hybrid, Contender::Model]);
        }
        all.push(Contender::Textbook);
        if cfg!(feature = "sqlite") {
            all.push(Contender::Fts5);
        }
        all
    }

    /// The chunks that one of them finds, best first.
    pub(crate) async fn ask(&self, contender: Contender, ask: &str) -> Result<Vec<usize>> {
        match contender {
            Contender::Words => self.hits(&self.words, ask).await,
            Contender::Hybrid => self.hits(self.hybrid.as_ref().context("no model")?, ask).await,
            Contender::Model => self.nearest(ask).await,
            Contender::Textbook => Ok(self.textbook.search(&query_terms(ask, &self.summary.languages))),
            #[cfg(feature = "sqlite")]
            Contender::Fts5 => self.fts5.search(ask),
            #[cfg(not(feature = "sqlite"))]
            Contender::Fts5 => bail!("SQLite is not built in"),
        }
    }

    /// Asks as the product does.
    async fn hits(&self, searcher: &Searcher, ask: &str) -> Result<Vec<usize>> {
        let found = searcher.search(ask, DEPTH, &Filter::default()).await?;
        let ids = found.hits.iter().map(|hit| ChunkId::of(&hit.chunk.source, hit.chunk.index));
        Ok(ids.map(|id| self.chunks.number(id)).collect())
    }

    /// The chunks with the greatest cosines, whether the product uses the model or not.
    async fn nearest(&self, ask: &str) -> Result<Vec<usize>> {
        let model = self.model.as_ref().context("no model")?;
        let vector = model.embed(&[ask.to_owned()], Purpose::Query).await?.into_iter().next();
        let vector = vector.with_context(|| format!("no vector for {ask:?}"))?;
        let vector = vector.map_err(|why| anyhow!("no vector for {ask:?}: {why}"))?;
        let query = store::Query { vector: Some(vector), top_k: DEPTH, ..store::Query::default() };
        let found = self.store.search(&query).await?;
        Ok(found.semantic.iter().map(|(id, _)| self.chunks.number(*id)).collect())
    }

    /// What one of them found first in place of a relevant chunk, if it did.
    pub(crate) fn miss(&self, query: &Query, found: &[usize]) -> Option<String> {
        let place = match query.place(found) {
            Some(1) => return None,
            Some(place) => format!("at place {place}"),
            None => "not found".to_owned(),
        };
        let first = found.iter().find(|chunk| !query.hidden.contains(chunk));
        let first = first.map_or_else(|| "nothing".to_owned(), |number| self.chunks.place(*number));
        let mut targets: Vec<String> =
            query.relevant.iter().map(|number| self.chunks.place(*number)).collect();
        targets.sort();
        targets.dedup();
        targets.truncate(2);
        Some(format!("  {:?} means {}: {place}, behind {first}\n", query.ask, targets.join(" or ")))
    }
}

/// By words alone, and with a model.
fn searchers(store: &Arc<Embedded>, model: Option<&Arc<KeptVectors>>) -> (Searcher, Option<Searcher>) {
    let store: Arc<dyn Store> = Arc::<Embedded>::clone(store);
    let hybrid = model.map(|model| {
        let model: Arc<dyn Embedder> = Arc::<KeptVectors>::clone(model);
        Searcher::new(Arc::clone(&store), Some(model)).waiting(PATIENCE)
    });
    (Searcher::new(store, None), hybrid)
}

fn write_files(folder: &Path, files: &[(String, String)]) -> Result<()> {
    for (path, text) in files {
        let path = folder.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}
