//! Headings of the corpus as queries whose best chunk is known: the vector list is calibrated without labels.
//!
//! A heading sums up a section in a few words, as a query does. So each is searched for, and its section is ranked among
//! all other chunks as if it had no heading, in the lexical list and in the vector list.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::analysis::{self, Bag, Language, QueryTerm};
use crate::corpus::document::{self, Section};
use crate::embed::{EmbedError, Embedder, Identity, Purpose};
use crate::rank::calibrate::{CalibrationQuery, MAX_QUERIES};
use crate::store::{Chunk, ChunkId, DEPTH, FileRecord, Filter, Query, Store, StoreError};

/// Why there is no calibration.
#[derive(Debug)]
pub(super) enum Failure {
    Store(StoreError),
    Model(EmbedError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<EmbedError> for Failure {
    fn from(error: EmbedError) -> Self {
        Self::Model(error)
    }
}

/// How many files are read for each query that is needed.
const FILES_PER_QUERY: usize = 10;

/// A heading of fewer terms is too general.
const FEWEST_TERMS: usize = 2;

/// The error of a cosine from a store, which keeps quantised vectors.
const QUANTISATION_ERROR: f32 = 0.002;

/// A body of fewer bytes has nothing to be found by.
const SHORTEST_BODY: usize = 40;

/// A heading as a query, and its chunk.
struct HeadingQuery {
    heading: String,
    terms: Vec<QueryTerm>,
    target: ChunkId,
    /// The terms and the embedded text of the chunk without its heading.
    bag: Bag,
    text: String,
    /// Chunks of the same file below the same heading, which are not ranked.
    siblings: HashSet<ChunkId>,
}

/// Searches for every heading, in both lists. The same corpus and the same model give the same result.
pub(super) async fn calibration_queries(
    store: &dyn Store,
    embedder: &dyn Embedder,
    identity: &Identity,
) -> Result<Vec<CalibrationQuery>, Failure> {
    let headings = heading_queries(store).await?;
    let mut queries = Vec::with_capacity(headings.len());
    for batch in headings.chunks(embedder.batch().max(1)) {
        let texts: Vec<String> = batch.iter().map(|query| query.heading.clone()).collect();
        let bodies: Vec<String> = batch.iter().map(|query| query.text.clone()).collect();
        let vectors = identity.embed(embedder, &texts, Purpose::Query).await?;
        let bodies = identity.embed(embedder, &bodies, Purpose::Document).await?;
        for (query, (vector, body)) in batch.iter().zip(vectors.into_iter().zip(bodies)) {
            // A text that the model rejects is in the lexical list only in a search, too.
            if let (Ok(vector), Ok(body)) = (vector, body) {
                queries.extend(search(store, query, vector, &body).await?);
            }
        }
    }
    Ok(queries)
}

/// The two lists for a heading. None if another chunk has the same heading: then either is right.
async fn search(
    store: &dyn Store,
    heading: &HeadingQuery,
    vector: Vec<f32>,
    body: &[f32],
) -> Result<Option<CalibrationQuery>, StoreError> {
    let cosine = vector.iter().zip(body).map(|(a, b)| a * b).sum();
    let query = Query {
        terms: heading.terms.clone(),
        vector: Some(vector),
        filter: Filter::default(),
        top_k: 10,
        weight: Some(0.0),
    };
    let matches = store.search(&query).await?;
    let is_rival = |chunk: &Chunk| {
        let id = ChunkId::of(&chunk.source, chunk.index);
        id != heading.target && !heading.siblings.contains(&id)
    };
    let same = |chunk: &Chunk| chunk.headings.last().is_some_and(|own| same_words(own, &heading.heading));
    if matches.hits.iter().any(|hit| is_rival(&hit.chunk) && same(&hit.chunk)) {
        return Ok(None);
    }
    let score = matches.bm25.score(&heading.bag);
    Ok(Some(CalibrationQuery {
        target: heading.target,
        lexical: with_target(matches.lexical, heading, score, 0.0),
        semantic: with_target(matches.semantic, heading, cosine, QUANTISATION_ERROR),
    }))
}

/// A list with the target at the rank of its score, behind all that score the same within `slack`, and without its
/// siblings. So a model that embeds all texts alike gains nothing.
fn with_target(
    list: Vec<(ChunkId, f32)>,
    heading: &HeadingQuery,
    score: f32,
    slack: f32,
) -> Vec<(ChunkId, f32)> {
    let was_full = list.len() >= DEPTH;
    let last = list.last().map_or(0.0, |(_, last)| *last);
    let mut list: Vec<(ChunkId, f32)> = list
        .into_iter()
        .filter(|(chunk, _)| *chunk != heading.target && !heading.siblings.contains(chunk))
        .collect();
    let score = score - slack;
    // Below the end of a full list there are others that the list does not have.
    if score > 0.0 && (!was_full || score > last) {
        let place = list.partition_point(|(_, other)| *other >= score);
        list.insert(place, (heading.target, score));
    }
    list
}

/// Headings from all over the corpus, the same ones each time.
async fn heading_queries(store: &dyn Store) -> Result<Vec<HeadingQuery>, StoreError> {
    let files = store.files().await?;
    let mut files: Vec<(ChunkId, &FileRecord)> =
        files.iter().map(|file| (ChunkId::of(&file.path, 0), file)).collect();
    files.sort_unstable_by_key(|(id, _)| *id);
    files.truncate(MAX_QUERIES * FILES_PER_QUERY);
    let usual = Arc::new(usual_headings(store, &files).await?);
    let from_each = (2 * MAX_QUERIES).div_ceil(files.len().max(1));
    let languages: Arc<[Language]> = store.summary().await?.languages.into();
    let mut queries = Vec::new();
    for (_, file) in files {
        let chunks = store.chunks(&file.path).await?;
        let (language, languages, usual) = (file.language, Arc::clone(&languages), Arc::clone(&usual));
        let of_file = move || queries_of_file(&chunks, language, &languages, &usual, from_each);
        let of_file = spawn_blocking(of_file).await;
        queries.extend(of_file.map_err(|error| StoreError::Other(format!("calibration panicked: {error}")))?);
        if queries.len() >= MAX_QUERIES {
            queries.truncate(MAX_QUERIES);
            break;
        }
    }
    Ok(queries)
}

/// The headings of a file, as many as are needed.
fn queries_of_file(
    chunks: &[Chunk],
    language: Language,
    languages: &[Language],
    usual: &HashSet<String>,
    most: usize,
) -> Vec<HeadingQuery> {
    let is_usual =
        |chunk: &Chunk| chunk.headings.last().is_none_or(|own| usual.contains(&own.to_lowercase()));
    let mut places: Vec<(ChunkId, usize)> = chunks
        .iter()
        .zip(0..)
        .filter(|(chunk, _)| !is_usual(chunk))
        .map(|(chunk, place)| (ChunkId::of(&chunk.source, chunk.index), place))
        .collect();
    places.sort_unstable();
    places
        .into_iter()
        .filter_map(|(_, place)| heading_query(chunks, place, language, languages))
        .take(most)
        .collect()
}

/// The headings that several files have, in lower case: it is not known which of them is meant.
async fn usual_headings(
    store: &dyn Store,
    files: &[(ChunkId, &FileRecord)],
) -> Result<HashSet<String>, StoreError> {
    let (mut seen, mut usual) = (HashSet::new(), HashSet::new());
    for (_, file) in files {
        let chunks = store.chunks(&file.path).await?;
        let headings: HashSet<String> = chunks
            .iter()
            .filter_map(|chunk| chunk.headings.last())
            .map(|heading| heading.to_lowercase())
            .collect();
        for heading in headings {
            if seen.contains(&heading) {
                usual.insert(heading);
            } else {
                seen.insert(heading);
            }
        }
    }
    Ok(usual)
}

/// A chunk to its heading as a query, if it has a heading of its own with enough terms, and a body.
fn heading_query(
    chunks: &[Chunk],
    place: usize,
    language: Language,
    languages: &[Language],
) -> Option<HeadingQuery> {
    let chunk = chunks.get(place)?;
    let before = place.checked_sub(1).and_then(|before| chunks.get(before));
    let (heading, above) = chunk.headings.split_last()?;
    if before.is_some_and(|before| before.headings == chunk.headings) {
        return None;
    }
    let plain = document::plain(&chunk.source, &chunk.text);
    let terms = analysis::query_terms(heading, languages);
    let above_bag = analysis::bag(&chunk.source, &chunk.title, above, "", language);
    let is_repeated = terms.iter().all(|term| term.forms.iter().any(|form| above_bag.count(form) > 0));
    if terms.len() < FEWEST_TERMS || is_repeated || plain.len() < SHORTEST_BODY {
        return None;
    }
    let siblings = chunks
        .iter()
        .filter(|other| other.headings.starts_with(&chunk.headings) && other.index != chunk.index)
        .map(|other| ChunkId::of(&other.source, other.index))
        .collect();
    Some(HeadingQuery {
        heading: heading.clone(),
        terms,
        target: ChunkId::of(&chunk.source, chunk.index),
        bag: analysis::bag(&chunk.source, &chunk.title, above, &plain, language),
        text: document::embedded_text(
            &chunk.title,
            &Section { headings: above.to_vec(), text: String::new(), plain, ..Section::default() },
        ),
        siblings,
    })
}

fn same_words(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}
