//! Chunks that have no vector to generations in which they have, and what vectors are worth here.

use std::time::Duration;

use tokio::time::Instant;

use super::model::{self, Model};
use super::refused::Refused;
use super::trials::{self, trials};
use super::turn::patiently;
use super::warnings::Warnings;
use super::{Progress, Watcher};
use crate::blog::document::{self, Section};
use crate::blog::embed::{EmbedError, Embedder, Identity, Purpose};
use crate::blog::rank::calibrate::choose;
use crate::blog::store::{Chunk, Embedding, Store, StoreError, Summary, VectorKey, Writer};

/// Chunks between two commits: what an interruption loses at most.
const ROUND: usize = 1_000;

/// Time between two commits, at most.
const ROUND_TIME: Duration = Duration::from_secs(10);

/// Gives every chunk a vector, as far as the model will. What it will not is a warning; if it failed, it is said why.
pub(super) async fn bring(
    store: &dyn Store,
    model: &Model<'_>,
    summary: Summary,
    refused: &mut Refused,
    warnings: &mut Warnings,
    progress: Watcher<'_>,
) -> Result<(Summary, Option<EmbedError>), StoreError> {
    let identity = match &model.identity {
        Ok(identity) => identity,
        Err(why) => {
            warnings.add(later(why));
            return Ok((summary, Some(why.clone())));
        }
    };
    refused.begin(identity);
    let mut pass = Pass { store, embedder: model.embedder, identity, summary, refused, warnings, progress };
    pass.begin().await?;
    let mut failure = pass.embed().await?;
    if failure.is_none() && pass.needs_weight() {
        failure = pass.weigh().await?;
    }
    Ok((pass.summary, failure))
}

/// What a model that fails means for whoever indexes.
fn later(why: &EmbedError) -> String {
    format!("search by meaning is not up to date: {why}. Words are indexed; index again when that is mended")
}

struct Pass<'a> {
    store: &'a dyn Store,
    embedder: &'a dyn Embedder,
    identity: &'a Identity,
    summary: Summary,
    refused: &'a mut Refused,
    warnings: &'a mut Warnings,
    progress: Watcher<'a>,
}

impl Pass<'_> {
    /// Drops the vectors of another model, so that chunks want new ones.
    async fn begin(&mut self) -> Result<(), StoreError> {
        let known = self.summary.embedding.as_ref();
        if known.is_some_and(|known| model::difference(known, self.identity).is_some()) {
            let mut writer = self.store.write().await?;
            writer.set_embedding(Some(self.embedding())).await?;
            self.summary = writer.commit().await?;
        }
        Ok(())
    }

    /// The model, with what is known of its worth.
    fn embedding(&self) -> Embedding {
        let known = self.summary.embedding.as_ref();
        match known.filter(|known| model::difference(known, self.identity).is_none()) {
            Some(known) => known.clone(),
            None => Embedding {
                model: self.identity.model.clone(),
                dimension: self.identity.dimension,
                digest: self.identity.digest.clone(),
                weight: 0.0,
                calibrated_on: 0,
            },
        }
    }

    /// Round after round until no chunk wants a vector that the model will give, or the model fails.
    async fn embed(&mut self) -> Result<Option<EmbedError>, StoreError> {
        let of = self.summary.chunks.saturating_sub(self.summary.vectors);
        let mut failure = None;
        while failure.is_none() && !self.refused.is_hopeless() {
            let wanting = self.store.wanting(ROUND + self.refused.len()).await?;
            if wanting.iter().all(|chunk| self.refused.contains(chunk)) {
                self.refused.keep(&wanting);
                break;
            }
            let chunks: Vec<Chunk> =
                wanting.into_iter().filter(|chunk| !self.refused.contains(chunk)).collect();
            let left = self.summary.chunks.saturating_sub(self.summary.vectors);
            // What was refused is done with, too.
            let done = of.saturating_sub(left).saturating_add(to_u64(self.refused.len())).min(of);
            failure = self.round(&chunks, (done, of)).await?.err();
        }
        if let Some(why) = &failure {
            self.warnings.add(later(why));
        }
        self.refused.tell(self.warnings);
        Ok(failure)
    }

    /// Vectors for some chunks, and a commit. What the model gave before it failed is kept.
    async fn round(
        &mut self,
        chunks: &[Chunk],
        (mut done, of): (u64, u64),
    ) -> Result<Result<(), EmbedError>, StoreError> {
        let begun = Instant::now();
        let mut vectors = Vec::new();
        let mut outcome = Ok(());
        let mut rest = chunks;
        while !rest.is_empty() {
            // Asked each time, as a model shows only at work how much it can do.
            let (batch, later) = rest.split_at(self.embedder.batch().clamp(1, rest.len()));
            rest = later;
            (self.progress)(Progress::Embedding { done, of });
            match self.vectors(batch).await {
                Ok(made) => vectors.extend(made),
                // Another dimension in the middle of a run: nothing of this round can be trusted.
                Err(lie @ EmbedError::Lying(_)) => return Ok(Err(lie)),
                Err(why) => {
                    outcome = Err(why);
                    break;
                }
            }
            done = done.saturating_add(to_u64(batch.len())).min(of);
            if begun.elapsed() > ROUND_TIME {
                break;
            }
        }
        (self.progress)(Progress::Embedding { done, of });
        if !vectors.is_empty() {
            self.keep(vectors).await?;
        }
        Ok(outcome)
    }

    /// Commits vectors. The store is locked only now, so that others can write while the model works.
    async fn keep(&mut self, vectors: Vec<(VectorKey, Vec<f32>)>) -> Result<(), StoreError> {
        let (mut writer, known) = self.pen().await?;
        if known.is_none() {
            writer.set_embedding(Some(self.embedding())).await?;
        }
        writer.attach(vectors).await?;
        self.summary = writer.commit().await?;
        Ok(())
    }

    /// The one who writes, and what is known of the model of the vectors that are there now, which is still ours.
    async fn pen(&self) -> Result<(Box<dyn Writer>, Option<Embedding>), StoreError> {
        // To write is to clear an index that another has put there meanwhile; that is for who brings the words.
        self.store.summary().await?;
        let writer = patiently(self.store).await?;
        let known = self.store.summary().await?.embedding;
        match known.as_ref().and_then(|known| model::difference(known, self.identity)) {
            None => Ok((writer, known)),
            Some(difference) => Err(StoreError::Mismatch(format!(
                "somebody else has indexed with another model meanwhile: {difference}"
            ))),
        }
    }

    /// A batch of chunks to vectors that fit.
    async fn vectors(&mut self, batch: &[Chunk]) -> Result<Vec<(VectorKey, Vec<f32>)>, EmbedError> {
        let texts: Vec<String> = batch.iter().map(meaning).collect();
        let answers = model::embed(self.embedder, self.identity, &texts, Purpose::Document).await?;
        let mut vectors = Vec::with_capacity(batch.len());
        for (chunk, answer) in batch.iter().zip(answers) {
            match answer {
                Ok(vector) => vectors.push((chunk.key, vector)),
                Err(why) => self.refused.add(chunk, &why),
            }
        }
        Ok(vectors)
    }

    /// Whether what vectors are worth is not known, or was found on a corpus that was larger or smaller by a fifth.
    fn needs_weight(&self) -> bool {
        let Some(embedding) = &self.summary.embedding else { return false };
        let (now, then) = (self.summary.chunks, embedding.calibrated_on);
        self.summary.vectors > 0 && (then == 0 || now.abs_diff(then).saturating_mul(5) > then)
    }

    /// Finds what vectors are worth, unless the model fails.
    async fn weigh(&mut self) -> Result<Option<EmbedError>, StoreError> {
        (self.progress)(Progress::Calibrating);
        let weight = match trials(self.store, self.embedder, self.identity).await {
            Ok(trials) => choose(&trials),
            Err(trials::Failure::Store(error)) => return Err(error),
            Err(trials::Failure::Model(why)) => {
                self.warnings.add(later(&why));
                return Ok(Some(why));
            }
        };
        let (mut writer, known) = self.pen().await?;
        let known = known.unwrap_or_else(|| self.embedding());
        let embedding = Embedding { weight, calibrated_on: self.summary.chunks, ..known };
        writer.set_embedding(Some(embedding)).await?;
        self.summary = writer.commit().await?;
        Ok(None)
    }
}

/// What the model is given for a chunk.
fn meaning(chunk: &Chunk) -> String {
    let plain = document::plain(&chunk.source, &chunk.text);
    document::meaning(&chunk.title, &Section { headings: chunk.headings.clone(), text: String::new(), plain })
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
