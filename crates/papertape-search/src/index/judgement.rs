//! Headings of the corpus as queries whose best chunk is known: whether a model knows the language is judged without labels.
//!
//! A heading sums up a section in a few words, as a query does. So each is searched for, and its section is ranked among
//! all other chunks as if it had no heading, by words and by meaning.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::analysis::{self, Bag, Language, QueryTerm};
use crate::corpus::document::{self, Section};
use crate::embed::{EmbedError, Embedder, Identity, Purpose};
use crate::rank::judge::{MAX_QUERIES, Ranks};
use crate::store::{Chunk, ChunkId, DEPTH, FileRecord, Query, Store, StoreError};

/// Why there is no judgement.
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

/// Searches for every heading, by words and by meaning. The same corpus and the same model give the same result.
pub(super) async fn ranks(
    store: &dyn Store,
    embedder: &dyn Embedder,
    identity: &Identity,
) -> Result<Vec<Ranks>, Failure> {
    let headings = heading_queries(store).await?;
    let mut ranks = Vec::with_capacity(headings.len());
    for batch in headings.chunks(embedder.batch().max(1)) {
        let texts: Vec<String> = batch.iter().map(|query| query.heading.clone()).collect();
        let bodies: Vec<String> = batch.iter().map(|query| query.text.clone()).collect();
        let vectors = identity.embed(embedder, &texts, Purpose::Query).await?;
        let bodies = identity.embed(embedder, &bodies, Purpose::Document).await?;
        for (query, (vector, body)) in batch.iter().zip(vectors.into_iter().zip(bodies)) {
            // A text that the model rejects is in the lexical list only in a search, too.
            if let (Ok(vector), Ok(body)) = (vector, body) {
                ranks.extend(search(store, query, vector, &body).await?);
            }
        }
    }
    Ok(ranks)
}

/// The ranks of a heading's chunk. None if another chunk has the same heading: then either is right.
async fn search(
    store: &dyn Store,
    heading: &HeadingQuery,
    vector: Vec<f32>,
    body: &[f32],
) -> Result<Option<Ranks>, StoreError> {
    let cosine = cosine(&vector, body);
    // The target has no bonus for its wording, so its rivals have none either.
    let (terms, vector) = (heading.terms.clone(), Some(vector));
    let query = Query { terms, vector, plain: true, top_k: 10, ..Query::default() };
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
    Ok(Some(Ranks {
        words: heading.rank(&matches.lexical, score),
        meaning: heading.rank(&matches.semantic, cosine - QUANTISATION_ERROR),
    }))
}

/// The cosine of two vectors, which a model may not have given length 1.
fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    product(a, b) / (product(a, a) * product(b, b)).sqrt().max(f32::MIN_POSITIVE)
}

impl HeadingQuery {
    /// The rank of the chunk in a list if it scores so much there without its heading: behind all that score the same, so
    /// that a model to which all texts are alike finds nothing. None without a score, or if it is not among the best.
    fn rank(&self, list: &[(ChunkId, f32)], score: f32) -> Option<usize> {
        let others = list.iter().filter(|(chunk, _)| *chunk != self.target && !self.siblings.contains(chunk));
        let ahead = others.take_while(|(_, other)| *other >= score).count();
        // The list may have no others because it ends.
        (score > 0.0 && ahead < DEPTH / 2).then_some(ahead + 1)
    }
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
        queries.extend(
            of_file.map_err(|error| StoreError::Other(format!("judging the model panicked: {error}")))?,
        );
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

#[cfg(test)]
mod tests;
