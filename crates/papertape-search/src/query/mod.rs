//! A query to hits: the lexical list alone if there are no vectors, or the model fails.
//!
//! - [`syntax`]: a query as it is written to words, phrases, exclusions and filters
//! - `query_vector`: the vector of a query, in time or not at all
//! - `phrases`: its phrases and exclusions, as far as they are applied
//! - `preview`: what a hit shows of its chunk
//! - `nearest`: a path that does not exist to the most similar one

mod nearest;
mod phrases;
mod preview;
mod query_vector;
pub mod syntax;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::analysis::{Language, query_terms, spelled_in};
use crate::embed::{Embedder, Embedding};
use crate::store::{Chunk, Correction, FileRecord, Filter, Hit, Matches, Query, Store, StoreError, Summary};
use crate::sync::lock;
use phrases::PhraseReader;
pub use preview::{MatchedTerms, PREVIEW_CHARS, Preview};
use query_vector::QueryVectors;
use syntax::ParsedQuery;

/// How many titles, headings and texts are looked through for the spelling of a term.
const CONSULTED: usize = 20;

/// What is said of a query of exclusions and filters alone.
const NO_WORDS: &str = "the query has exclusions and filters, and no words to search for; add some";

/// Searches a store, with the vectors of a model if there is one.
#[derive(Debug, Clone)]
pub struct Searcher {
    store: Arc<dyn Store>,
    vectors: Option<QueryVectors>,
    /// Of the generation that was the newest at the last query.
    summary: Arc<Mutex<Option<Summary>>>,
    /// Why the vectors of the index are not being made, if they should be.
    vector_failure: Arc<Mutex<Option<String>>>,
}

/// Which lists the hits come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The lexical list alone.
    Lexical,
    /// Both lists.
    Hybrid,
    /// The vector list alone: no chunk has a term of the query.
    Semantic,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Which lists they come from.
    pub mode: Mode,
    /// What of the query is found by its words, for the previews of the hits.
    pub terms: MatchedTerms,
    /// What is to be known of the result: why vectors were not used although a model is configured, what of the query was
    /// read in another way than it was written, or why there are no hits.
    pub note: Option<String>,
}

/// A chunk by its path and index, or the most similar ones that exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChunkLookup {
    /// The chunk.
    Found(Box<Chunk>),
    /// There is none; this is the nearest one: a path and an index. None if the index is empty.
    Missing(Option<(String, u32)>),
}

impl Searcher {
    /// Searches this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self {
            store,
            vectors: embedder.map(QueryVectors::new),
            summary: Arc::default(),
            vector_failure: Arc::default(),
        }
    }

    /// The same, with queries that wait this long for the model: 900 ms by default.
    #[must_use]
    pub fn waiting(self, budget: Duration) -> Self {
        Self { vectors: self.vectors.map(|vectors| vectors.waiting(budget)), ..self }
    }

    /// Where its chunks are.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Its model.
    #[must_use]
    pub fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.vectors.as_ref().map(QueryVectors::embedder)
    }

    /// The best chunks for a query, with the operators of [`syntax`], in the files that pass the filter and those of the
    /// query. Without the query's vector in time, the search is lexical.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn search(
        &self,
        query: &str,
        top_k: usize,
        filter: &Filter,
    ) -> Result<SearchResult, StoreError> {
        let summary = self.summary().await?;
        let asked = syntax::parse(query);
        if asked.is_operators_alone() {
            return Ok(SearchResult {
                hits: Vec::new(),
                mode: Mode::Lexical,
                terms: MatchedTerms::default(),
                note: Some(NO_WORDS.to_owned()),
            });
        }
        let terms = query_terms(&asked.text, &summary.languages);
        let (vector, cause) = match &self.vectors {
            None => (None, None),
            Some(vectors) => match vectors.vector(&asked.text, &summary).await {
                Ok(vector) => (vector.map(|vector| vector.to_vec()), None),
                Err(cause) => {
                    let cause = self.vector_failure().filter(|_| !is_judged(&summary)).unwrap_or(cause);
                    (None, Some(format!("semantic search is off: {cause}")))
                }
            },
        };
        if terms.is_empty() && vector.is_none() {
            let note = cause.unwrap_or_else(|| "the query has no terms to search for".to_owned());
            let (hits, terms) = (Vec::new(), MatchedTerms::default());
            return Ok(SearchResult { hits, mode: Mode::Lexical, terms, note: Some(note) });
        }
        let mut reader = PhraseReader::new(&summary.languages);
        let (excluded, not_excluded) = reader.read(&asked.excluded);
        let (required, not_required) = reader.read(&asked.phrases);
        let mut query = Query {
            terms: terms.clone(),
            vector,
            filter: filter.and(&asked.filter),
            required,
            excluded,
            correct: true,
            plain: false,
            top_k,
        };
        let mut corrections = Vec::new();
        let mut matches = self.correcting(&mut query, &mut corrections).await;
        let mut note = cause;
        let is_mismatch = matches!(matches, Err(StoreError::Mismatch(_)));
        if query.vector.is_some() && (is_mismatch || !self.is_still_of(summary.embedding.as_ref()).await?) {
            // The vector list is of another model's vectors.
            query.vector = None;
            matches = self.correcting(&mut query, &mut corrections).await;
            note =
                Some("semantic search is off: the vectors are being rebuilt with another model".to_owned());
        }
        let mut matches = matches?;
        let mut notes: Vec<String> = note.into_iter().chain(asked.notes.iter().cloned()).collect();
        if matches.hits.is_empty() && !query.required.is_empty() {
            let mut without = phrases::no_phrase(&std::mem::take(&mut query.required), &query.filter);
            matches = self.store.search(&query).await?;
            without.push_str(if matches.hits.is_empty() { "" } else { "; these have the words" });
            notes.push(without);
        }
        notes.extend(corrections.iter().map(|it| did_you_mean(it, &matches.hits, &summary.languages)));
        notes.extend(phrases::left_out(&query.excluded));
        notes.extend(phrases::ignored(&not_excluded, true));
        notes.extend(phrases::ignored(&not_required, false));
        let terms = MatchedTerms::new(&terms, &matches.bm25, &summary.languages);
        if matches.hits.is_empty() {
            notes.push(self.why_no_hits(query, &asked, &summary).await?);
        }
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(SearchResult { mode: mode(&matches), hits: matches.hits, terms, note })
    }

    /// Searches; and if the words of the query were corrected, they are from now on: looking for their spelling takes longer
    /// than the rest.
    async fn correcting(
        &self,
        query: &mut Query,
        corrections: &mut Vec<Correction>,
    ) -> Result<Matches, StoreError> {
        let mut matches = self.store.search(query).await?;
        if std::mem::take(&mut query.correct) {
            query.terms = std::mem::take(&mut matches.terms);
            corrections.append(&mut matches.corrections);
        }
        Ok(matches)
    }

    /// Why a query has no hits.
    async fn why_no_hits(
        &self,
        mut query: Query,
        asked: &ParsedQuery,
        summary: &Summary,
    ) -> Result<String, StoreError> {
        if summary.chunks == 0 {
            return Ok("there is nothing to search: the index has no texts".to_owned());
        }
        query.top_k = 1;
        if !query.excluded.is_empty() {
            query.excluded.clear();
            if !self.store.search(&query).await?.hits.is_empty() {
                return Ok("every text that would be a hit has something that the query excludes".to_owned());
            }
        }
        if query.filter == Filter::default() {
            return Ok("no text has any of these words; try others".to_owned());
        }
        query.filter = Filter::default();
        let matches = self.store.search(&query).await?;
        Ok(if matches.hits.is_empty() {
            "no text has any of these words, whatever the filters; try others".to_owned()
        } else {
            let own = asked.filters.iter().map(|filter| format!(", {filter}")).collect::<String>();
            format!(
                "there are hits, but not in files that pass the filters (path_prefix, tag, since, until{own})"
            )
        })
    }

    /// Whether the vectors of the store are still by this model.
    async fn is_still_of(&self, model: Option<&Embedding>) -> Result<bool, StoreError> {
        let same = |one: &Embedding, other: &Embedding| {
            (&one.model, &one.digest, one.dimension) == (&other.model, &other.digest, other.dimension)
        };
        let now = self.summary().await?.embedding;
        Ok(now.zip(model).is_some_and(|(now, model)| same(&now, model)))
    }

    /// Sets why the vectors of the index are not being made, for the notes of searches.
    pub fn set_vector_failure(&self, failure: Option<String>) {
        *lock(&self.vector_failure) = failure;
    }

    fn vector_failure(&self) -> Option<String> {
        lock(&self.vector_failure).clone()
    }

    /// A chunk by its file and its place, or the nearest to it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn read(&self, source: &str, index: u32) -> Result<ChunkLookup, StoreError> {
        if let Some(chunk) = self.store.chunk(source, index).await? {
            return Ok(ChunkLookup::Found(Box::new(chunk)));
        }
        let files = self.store.files().await?;
        let nearest = nearest::nearest(&files, source);
        Ok(ChunkLookup::Missing(
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

    /// Paths of files with text, to complete one: first those that begin so, then those that contain it.
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
        if let Some(summary) = &*lock(&self.summary)
            && summary.generation == newest
        {
            return Ok(summary.clone());
        }
        let summary = self.store.summary().await?;
        *lock(&self.summary) = Some(summary.clone());
        Ok(summary)
    }
}

/// That a word was corrected, to a word that the hits have.
fn did_you_mean(correction: &Correction, hits: &[Hit], languages: &[Language]) -> String {
    let texts = hits
        .iter()
        .flat_map(|hit| [&hit.chunk.title, &hit.chunk.text].into_iter().chain(&hit.chunk.headings));
    let mut spellings = texts.take(CONSULTED).filter_map(|text| spelled_in(text, correction, languages));
    let spelling = spellings.next().unwrap_or_else(|| correction.spelling.clone());
    format!("no text has \"{}\": searched for \"{spelling}\" instead; did you mean that?", correction.word)
}

/// Whether it is known if the vectors are used. Before that, a failure to make them is why they are not.
fn is_judged(summary: &Summary) -> bool {
    summary.vectors > 0 && summary.embedding.as_ref().is_some_and(|embedding| embedding.judged_on > 0)
}

/// Which lists the hits come from.
fn mode(matches: &Matches) -> Mode {
    match (matches.lexical.is_empty(), matches.semantic.is_empty()) {
        (_, true) => Mode::Lexical,
        (false, false) => Mode::Hybrid,
        (true, false) => Mode::Semantic,
    }
}

#[cfg(test)]
mod tests;
