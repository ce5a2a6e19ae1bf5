//! A directory, indexed by the product itself into a temporary index, and queries to it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, anyhow, bail};

use papertape_search::analysis::{self, Language};
use papertape_search::corpus::folder::Folder;
use papertape_search::embed::{Embedder, Local, Purpose};
use papertape_search::index;
use papertape_search::store::embedded::Embedded;
use papertape_search::store::{ChunkId, DEPTH, Filter, Matches, Query, Store, Summary};
use tempfile::TempDir;

use super::headings::Heading;
use super::links::LinkText;

/// A directory and its index.
#[derive(Debug)]
pub(crate) struct Subject {
    /// Paths and texts.
    pub(crate) files: Vec<(String, String)>,
    pub(crate) languages: Vec<Language>,
    pages: HashMap<ChunkId, String>,
    store: Embedded,
    index: PathBuf,
    model: Option<Local>,
    summary: Summary,
    took: std::time::Duration,
    place: TempDir,
}

/// What a query found, best first.
#[derive(Debug)]
pub(crate) struct Lists {
    pub(crate) lexical: Vec<ChunkId>,
    pub(crate) semantic: Option<Vec<ChunkId>>,
    pub(crate) hybrid: Option<Vec<ChunkId>>,
}

impl Subject {
    /// Indexes a directory, with vectors if there is a model; into a directory that stays, if one is given.
    pub(crate) async fn index(path: &Path, model: Option<&Path>, keep: Option<&Path>) -> Result<Self> {
        let folder = Folder::open(path)?;
        let mut files = Vec::new();
        for file in folder.list()?.files {
            let (bytes, _) = folder.read(&file.path).map_err(|why| anyhow!("{}: {why}", file.path))?;
            files.push((file.path, String::from_utf8_lossy(&bytes).into_owned()));
        }
        let place = TempDir::new()?;
        let index = keep.map_or_else(|| place.path().join("index"), Path::to_owned);
        let mut subject = Self {
            files,
            languages: Vec::new(),
            pages: HashMap::new(),
            store: Embedded::open(&index)?,
            index,
            model: model.map(Local::new),
            summary: Summary::default(),
            took: std::time::Duration::ZERO,
            place,
        };
        let start = Instant::now();
        subject.ingest(&folder).await?;
        subject.took = start.elapsed();
        Ok(subject)
    }

    async fn ingest(&mut self, folder: &Folder) -> Result<()> {
        let model = self.model.as_ref().map(|model| -> &dyn Embedder { model });
        let report = index::run(folder, &self.store, model, &|_| ()).await?;
        if model.is_some() && report.summary.vectors < report.summary.chunks {
            bail!("not every chunk has a vector: {}", report.warnings.join("; "));
        }
        self.languages.clone_from(&report.summary.languages);
        self.summary = report.summary;
        self.pages.clear();
        for file in self.store.files().await?.iter() {
            self.pages
                .extend((0..file.chunks).map(|index| (ChunkId::of(&file.path, index), file.path.clone())));
        }
        Ok(())
    }

    /// Puts other texts in place of some files, in a copy of directory and index, and brings the copy up to date. The
    /// judgement of the model stays.
    pub(crate) async fn replace(&mut self, changed: &[(String, String)]) -> Result<()> {
        let index = self.place.path().join("copy");
        copy_files(&self.index, &index)?;
        self.store = Embedded::open(&index)?;
        let copy = self.place.path().join("folder");
        for (path, text) in self.files.iter().chain(changed) {
            let path = copy.join(path);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, text)?;
        }
        self.ingest(&Folder::open(&copy)?).await
    }

    /// What there is.
    pub(crate) fn described(&self) -> String {
        let Summary { files, chunks, languages, embedding, .. } = &self.summary;
        let languages: Vec<String> = languages.iter().map(|language| format!("{language:?}")).collect();
        let model = embedding.as_ref().map_or_else(
            || "no model (--model)".to_owned(),
            |model| {
                let knows = if model.knows_language { "knows" } else { "does not know" };
                format!("{} {knows} the language", model.model)
            },
        );
        let took = self.took.as_secs_f64();
        format!("{files} files, {chunks} chunks, {}; {model}; indexed in {took:.1} s\n", languages.join(", "))
    }

    /// Asks the store as the product does.
    pub(crate) async fn ask(&self, query: &str) -> Result<Lists> {
        let hits = |found: &Matches| {
            let hits = found.hits.iter().map(|hit| ChunkId::of(&hit.chunk.source, hit.chunk.index));
            hits.collect::<Vec<_>>()
        };
        let lexical = hits(&self.found(query, None).await?);
        let Some(model) = &self.model else { return Ok(Lists { lexical, semantic: None, hybrid: None }) };
        let vectors = model.embed(&[query.to_owned()], Purpose::Query).await?;
        let vector = vectors.into_iter().next().ok_or_else(|| anyhow!("no vector for {query:?}"))?;
        let vector = vector.map_err(|why| anyhow!("no vector for {query:?}: {why}"))?;
        let found = self.found(query, Some(vector)).await?;
        let semantic = found.semantic.iter().map(|(chunk, _)| *chunk).collect();
        Ok(Lists { lexical, semantic: Some(semantic), hybrid: Some(hits(&found)) })
    }

    async fn found(&self, query: &str, vector: Option<Vec<f32>>) -> Result<Matches> {
        let terms = analysis::query_terms(query, &self.languages);
        let query = Query { terms, vector, filter: Filter::default(), top_k: DEPTH };
        Ok(self.store.search(&query).await?)
    }

    /// There is something of a page to find: some have a title and nothing else.
    pub(crate) fn has_chunks(&self, page: &str) -> bool {
        self.pages.contains_key(&ChunkId::of(page, 0))
    }

    /// The place of the first chunk of a page that the link leads to, among chunks that are not on a linking page.
    pub(crate) fn page_place(&self, link: &LinkText, found: &[ChunkId]) -> Option<usize> {
        let pages = found.iter().filter_map(|chunk| self.pages.get(chunk));
        let mut others = pages.filter(|page| !link.linking.contains(*page));
        others.position(|page| link.targets.contains(page)).map(|place| place + 1)
    }

    /// What was found first in place of a page that the link leads to, if it was not.
    pub(crate) fn miss(&self, link: &LinkText, found: &[ChunkId]) -> Option<String> {
        let place = match self.page_place(link, found) {
            Some(1) => return None,
            Some(place) => format!("at place {place}"),
            None => "not found".to_owned(),
        };
        let mut others = found.iter().filter_map(|chunk| self.pages.get(chunk));
        let first = others.find(|page| !link.linking.contains(*page)).map_or("nothing", String::as_str);
        let targets: Vec<&str> = link.targets.iter().map(String::as_str).collect();
        Some(format!("  {:?} leads to {}: {place}, behind {first}\n", link.text, targets.join(" or ")))
    }

    /// The place of the chunk that a heading stood above.
    pub(crate) fn chunk_place(heading: &Heading, found: &[ChunkId]) -> Option<usize> {
        let target = ChunkId::of(&heading.path, heading.chunk);
        found.iter().position(|chunk| *chunk == target).map(|place| place + 1)
    }
}

fn copy_files(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in from.read_dir()? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_files(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
