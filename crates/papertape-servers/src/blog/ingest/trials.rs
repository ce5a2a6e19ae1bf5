//! Headings of the corpus as questions whose answers are known: what vectors are worth here is found without labels.
//!
//! A heading is how an author sums up a section in a few words, as a reader's question does. So a section is hidden
//! behind it: scored as if its heading were not there, by words and by meaning, among all other chunks.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::model;
use crate::blog::document::{self, Section};
use crate::blog::embed::{EmbedError, Embedder, Identity, Purpose};
use crate::blog::rank::calibrate::{MOST_TRIALS, Trial};
use crate::blog::store::{Chunk, ChunkId, DEPTH, FileRecord, Filter, Query, Store, StoreError};
use crate::blog::words::{self, Bag, Language, Word};

/// Why nothing was found out.
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

/// How many files are looked at for each trial that is wanted.
const FILES_PER_TRIAL: usize = 10;

/// Fewer words do not sum up anything.
const FEWEST_WORDS: usize = 2;

/// How far a cosine from a store may be off: it keeps vectors in few bits.
const ROUNDED: f32 = 0.002;

/// A body of fewer bytes has nothing to be found by.
const SHORTEST_BODY: usize = 40;

/// A heading, and the chunk that is hidden behind it.
struct Riddle {
    question: String,
    words: Vec<Word>,
    target: ChunkId,
    /// The words and the meaning of the chunk without its heading.
    bag: Bag,
    meaning: String,
    /// Chunks of the same file that have the heading too, because they stand under it: they are not in the race.
    kin: HashSet<ChunkId>,
}

/// Asks every riddle, by words and by meaning. The same corpus and the same model give the same trials.
pub(super) async fn trials(
    store: &dyn Store,
    embedder: &dyn Embedder,
    identity: &Identity,
) -> Result<Vec<Trial>, Failure> {
    let riddles = riddles(store).await?;
    let mut trials = Vec::with_capacity(riddles.len());
    for batch in riddles.chunks(embedder.batch().max(1)) {
        let questions: Vec<String> = batch.iter().map(|riddle| riddle.question.clone()).collect();
        let bodies: Vec<String> = batch.iter().map(|riddle| riddle.meaning.clone()).collect();
        let questions = model::embed(embedder, identity, &questions, Purpose::Query).await?;
        let bodies = model::embed(embedder, identity, &bodies, Purpose::Document).await?;
        for (riddle, (question, body)) in batch.iter().zip(questions.into_iter().zip(bodies)) {
            // A text that the model will not have is found by words alone in a search, too.
            if let (Ok(question), Ok(body)) = (question, body) {
                trials.extend(ask(store, riddle, question, &body).await?);
            }
        }
    }
    Ok(trials)
}

/// One riddle to the two lists it is found in. None if its heading stands elsewhere, too: then any answer is as good.
async fn ask(
    store: &dyn Store,
    riddle: &Riddle,
    question: Vec<f32>,
    body: &[f32],
) -> Result<Option<Trial>, StoreError> {
    let meaning = question.iter().zip(body).map(|(a, b)| a * b).sum();
    let query = Query {
        words: riddle.words.clone(),
        vector: Some(question),
        filter: Filter::default(),
        top_k: 10,
        weight: Some(0.0),
    };
    let found = store.search(&query).await?;
    let is_rival = |chunk: &Chunk| {
        let id = ChunkId::of(&chunk.source, chunk.index);
        id != riddle.target && !riddle.kin.contains(&id)
    };
    let same =
        |chunk: &Chunk| chunk.headings.last().is_some_and(|heading| same_words(heading, &riddle.question));
    if found.hits.iter().any(|hit| is_rival(&hit.chunk) && same(&hit.chunk)) {
        return Ok(None);
    }
    let words = found.scale.score(&riddle.bag);
    Ok(Some(Trial {
        target: riddle.target,
        lexical: with(found.lexical, riddle, words, 0.0),
        semantic: with(found.semantic, riddle, meaning, ROUNDED),
    }))
}

/// A list in which the target stands where its score puts it, behind all that score as well as far as `slack` can tell, and
/// its kin are left out. A model to which all texts are the same proves nothing.
fn with(list: Vec<(ChunkId, f32)>, riddle: &Riddle, score: f32, slack: f32) -> Vec<(ChunkId, f32)> {
    let was_full = list.len() >= DEPTH;
    let last = list.last().map_or(0.0, |(_, last)| *last);
    let mut list: Vec<(ChunkId, f32)> = list
        .into_iter()
        .filter(|(chunk, _)| *chunk != riddle.target && !riddle.kin.contains(chunk))
        .collect();
    let score = score - slack;
    // Below the end of a full list there are others that the list does not show.
    if score > 0.0 && (!was_full || score > last) {
        let place = list.partition_point(|(_, other)| *other >= score);
        list.insert(place, (riddle.target, score));
    }
    list
}

/// Riddles from all over the corpus, the same ones each time.
async fn riddles(store: &dyn Store) -> Result<Vec<Riddle>, StoreError> {
    let files = store.files().await?;
    let mut files: Vec<(ChunkId, &FileRecord)> =
        files.iter().map(|file| (ChunkId::of(&file.path, 0), file)).collect();
    files.sort_unstable_by_key(|(id, _)| *id);
    files.truncate(MOST_TRIALS * FILES_PER_TRIAL);
    let usual = Arc::new(usual_headings(store, &files).await?);
    let from_each = (2 * MOST_TRIALS).div_ceil(files.len().max(1));
    let languages: Arc<[Language]> = store.summary().await?.languages.into();
    let mut riddles = Vec::new();
    for (_, file) in files {
        let chunks = store.chunks(&file.path).await?;
        let (language, languages, usual) = (file.language, Arc::clone(&languages), Arc::clone(&usual));
        let of_file = move || riddles_of(&chunks, language, &languages, &usual, from_each);
        let of_file = spawn_blocking(of_file).await;
        riddles
            .extend(of_file.map_err(|error| StoreError::Other(format!("calibration broke down: {error}")))?);
        if riddles.len() >= MOST_TRIALS {
            riddles.truncate(MOST_TRIALS);
            break;
        }
    }
    Ok(riddles)
}

/// The riddles of a file, as many as are wanted.
fn riddles_of(
    chunks: &[Chunk],
    language: Language,
    languages: &[Language],
    usual: &HashSet<String>,
    most: usize,
) -> Vec<Riddle> {
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
        .filter_map(|(_, place)| riddle(chunks, place, language, languages))
        .take(most)
        .collect()
}

/// The headings that several files have, in small letters: nobody could say which of them is meant.
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

/// A chunk to a riddle, if it has a heading of its own that says something, and a body.
fn riddle(chunks: &[Chunk], place: usize, language: Language, languages: &[Language]) -> Option<Riddle> {
    let chunk = chunks.get(place)?;
    let before = place.checked_sub(1).and_then(|before| chunks.get(before));
    let (heading, above) = chunk.headings.split_last()?;
    if before.is_some_and(|before| before.headings == chunk.headings) {
        return None;
    }
    let plain = document::plain(&chunk.source, &chunk.text);
    let asked = words::question(heading, languages);
    let said_above = words::bag(&chunk.source, &chunk.title, above, "", language);
    let is_said_above = asked.iter().all(|word| word.forms.iter().any(|form| said_above.count(form) > 0));
    if asked.len() < FEWEST_WORDS || is_said_above || plain.len() < SHORTEST_BODY {
        return None;
    }
    let kin = chunks
        .iter()
        .filter(|other| other.headings.starts_with(&chunk.headings) && other.index != chunk.index)
        .map(|other| ChunkId::of(&other.source, other.index))
        .collect();
    Some(Riddle {
        question: heading.clone(),
        words: asked,
        target: ChunkId::of(&chunk.source, chunk.index),
        bag: words::bag(&chunk.source, &chunk.title, above, &plain, language),
        meaning: document::meaning(
            &chunk.title,
            &Section { headings: above.to_vec(), text: String::new(), plain },
        ),
        kin,
    })
}

fn same_words(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}
