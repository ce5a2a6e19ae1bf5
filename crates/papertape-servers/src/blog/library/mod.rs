//! A question to hits, whatever is broken.
//!
//! - `asking`: a question to a vector, in time or not at all
//! - `recent`: what was asked a moment ago
//! - `nearest`: a path that is not there to the one that was meant

mod asking;
mod nearest;
mod nothing;
mod recent;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::embed::Embedder;
use super::store::{Chunk, Embedding, FileRecord, Filter, Found, Hit, Query, Store, StoreError, Summary};
use super::words;
use asking::Asking;

/// A store and, perhaps, a model: what answers questions.
#[derive(Debug, Clone)]
pub struct Library {
    store: Arc<dyn Store>,
    asking: Option<Asking>,
    /// Of the newest generation when it was last asked for.
    summary: Arc<Mutex<Option<Summary>>>,
    /// Why chunks get no vectors, if they should.
    trouble: Arc<Mutex<Option<String>>>,
}

/// Which lists the hits come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Words alone.
    Lexical,
    /// Words and meaning.
    Hybrid,
    /// Meaning alone: no word of the question is in any chunk.
    Semantic,
}

/// What a question got.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Which lists they come from.
    pub mode: Mode,
    /// Why meaning was left out, if a model is configured and it was; or why there can be no hits.
    pub note: Option<String>,
}

/// A chunk, or where one like it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// The chunk that was asked for.
    Chunk(Box<Chunk>),
    /// There is none; this is the nearest one that there is: a path and a place. None if the library is empty.
    Missing(Option<(String, u32)>),
}

impl Library {
    /// What answers questions.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self { store, asking: embedder.map(Asking::new), summary: Arc::default(), trouble: Arc::default() }
    }

    /// The same, with answers that wait so long for the model, and no longer: 900 ms unless it is said here.
    #[must_use]
    pub fn waiting(self, budget: Duration) -> Self {
        Self { asking: self.asking.map(|asking| asking.waiting(budget)), ..self }
    }

    /// Where its chunks are.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Its model.
    #[must_use]
    pub fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.asking.as_ref().map(Asking::embedder)
    }

    /// The best chunks for a question. A model that does not answer in time is left out.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn search(
        &self,
        question: &str,
        top_k: usize,
        filter: &Filter,
    ) -> Result<Answered, StoreError> {
        let summary = self.summary().await?;
        let words = words::question(question, &summary.languages);
        let (vector, cause) = match &self.asking {
            None => (None, None),
            Some(asking) => match asking.vector(question, &summary).await {
                Ok(vector) => (Some(vector.to_vec()), None),
                Err(cause) => {
                    let cause = self.trouble().filter(|_| !is_weighed(&summary)).unwrap_or(cause);
                    (None, Some(format!("semantic search is off: {cause}")))
                }
            },
        };
        if words.is_empty() && vector.is_none() {
            let note = cause.unwrap_or_else(|| "the question has no words to search for".to_owned());
            return Ok(Answered { hits: Vec::new(), mode: Mode::Lexical, note: Some(note) });
        }
        let mut query = Query { words, vector, filter: filter.clone(), top_k, weight: None };
        let mut found = self.store.search(&query).await;
        let mut note = cause;
        let is_refused = matches!(found, Err(StoreError::Mismatch(_)));
        if query.vector.is_some() && (is_refused || !self.is_still_of(summary.embedding.as_ref()).await?) {
            // Whatever was found by meaning was found among the vectors of another model.
            query.vector = None;
            found = self.store.search(&query).await;
            note = Some("semantic search is off: the index is being made anew with another model".to_owned());
        }
        let found = found?;
        if found.hits.is_empty() {
            let why = self.why_nothing(query, &summary).await?;
            note = Some(match note {
                Some(note) => format!("{note}; {why}"),
                None => why,
            });
        }
        Ok(Answered { mode: mode(&found), hits: found.hits, note })
    }

    /// The vectors of the store are still by this model.
    async fn is_still_of(&self, model: Option<&Embedding>) -> Result<bool, StoreError> {
        let same = |one: &Embedding, other: &Embedding| {
            (&one.model, &one.digest, one.dimension) == (&other.model, &other.digest, other.dimension)
        };
        let now = self.summary().await?.embedding;
        Ok(now.zip(model).is_some_and(|(now, model)| same(&now, model)))
    }

    /// Remembers why there are no vectors, for whoever asks meanwhile.
    pub(super) fn set_trouble(&self, trouble: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A chunk by its file and its place, or the nearest to it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn read(&self, source: &str, index: u32) -> Result<Reading, StoreError> {
        if let Some(chunk) = self.store.chunk(source, index).await? {
            return Ok(Reading::Chunk(Box::new(chunk)));
        }
        let files = self.store.files().await?;
        let nearest = nearest::nearest(&files, source);
        Ok(Reading::Missing(
            nearest.map(|file| (file.path.clone(), index.min(file.chunks.saturating_sub(1)))),
        ))
    }

    /// The file with this path, else the one with something in it whose path is most like it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn nearest(&self, path: &str) -> Result<Option<FileRecord>, StoreError> {
        let files = self.store.files().await?;
        let exact = files.iter().find(|file| file.path == path);
        Ok(exact.or_else(|| nearest::nearest(&files, path)).cloned())
    }

    /// Paths of files with something to read, for whoever types one: first those that begin so, then those that have it
    /// anywhere.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn sources(&self, typed: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        let files = self.store.files().await?;
        let typed = typed.to_lowercase();
        let found = |path: &str| path.to_lowercase().find(&typed);
        let mut paths: Vec<&str> = Vec::new();
        for begins in [true, false] {
            let fits = files.iter().filter(|file| file.chunks > 0).map(|file| file.path.as_str());
            let fits = fits.filter(|path| found(path).is_some_and(|at| (at == 0) == begins));
            paths.extend(fits.take(limit.saturating_sub(paths.len())));
        }
        Ok(paths.into_iter().map(str::to_owned).collect())
    }

    /// The Markdown of a file without its front matter; nothing if there is no such file.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn document(&self, path: &str) -> Result<Option<String>, StoreError> {
        let chunks = self.store.chunks(path).await?;
        if chunks.is_empty() {
            let files = self.store.files().await?;
            return Ok(files.iter().any(|file| file.path == path && file.chunks == 0).then(String::new));
        }
        Ok(Some(chunks.into_iter().map(|chunk| chunk.text).collect()))
    }

    /// Every file, by path.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn files(&self) -> Result<Arc<[FileRecord]>, StoreError> {
        self.store.files().await
    }

    /// What the newest generation holds.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn summary(&self) -> Result<Summary, StoreError> {
        let newest = *self.store.generations().borrow();
        if let Some(summary) = &*self.summary.lock().unwrap_or_else(PoisonError::into_inner)
            && summary.generation == newest
        {
            return Ok(summary.clone());
        }
        let summary = self.store.summary().await?;
        *self.summary.lock().unwrap_or_else(PoisonError::into_inner) = Some(summary.clone());
        Ok(summary)
    }
}

/// It is known what the vectors are worth. Before that, whatever keeps the model from it is why they are left out.
fn is_weighed(summary: &Summary) -> bool {
    summary.vectors > 0 && summary.embedding.as_ref().is_some_and(|embedding| embedding.calibrated_on > 0)
}

/// Which lists the hits come from. A list of meanings that counts nothing is not asked for.
fn mode(found: &Found) -> Mode {
    match (found.lexical.is_empty(), found.semantic.is_empty()) {
        (_, true) => Mode::Lexical,
        (false, false) => Mode::Hybrid,
        (true, false) => Mode::Semantic,
    }
}

#[cfg(test)]
mod tests;
