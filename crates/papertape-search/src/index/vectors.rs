//! Chunks without vector to generations with their vectors, and whether these are used.

use std::time::Duration;

use tokio::time::Instant;

use super::judgement;
use super::model::Model;
use super::rejected::RejectedTexts;
use super::writer::wait_for_writer;
use super::{OnProgress, Progress};
use crate::corpus::document::{self, Section};
use crate::embed::{EmbedError, Embedder, Embedding, Identity, Purpose};
use crate::rank::judge::knows_language;
use crate::store::{Chunk, Store, StoreError, Summary, VectorKey, Writer};
use crate::warnings::Warnings;

/// Chunks between two commits: what an interruption loses at most.
const ROUND: usize = 1_000;

/// Time between two commits, at most.
const ROUND_TIME: Duration = Duration::from_secs(10);

/// Gives every chunk a vector, unless the model rejects its text, which is a warning. Returns why the model failed, if it
/// did.
pub(super) async fn update(
    store: &dyn Store,
    model: &Model<'_>,
    summary: Summary,
    rejected: &mut RejectedTexts,
    warnings: &mut Warnings,
    progress: OnProgress<'_>,
) -> Result<(Summary, Option<EmbedError>), StoreError> {
    let identity = match &model.identity {
        Ok(identity) => identity,
        Err(why) => {
            warnings.add(incomplete(why));
            return Ok((summary, Some(why.clone())));
        }
    };
    rejected.begin(identity);
    let mut pass = Pass { store, embedder: model.embedder, identity, summary, rejected, warnings, progress };
    pass.begin().await?;
    let mut failure = pass.embed().await?;
    if failure.is_none() && pass.needs_judgement() {
        failure = pass.judge().await?;
    }
    Ok((pass.summary, failure))
}

/// The warning that the model failed.
fn incomplete(why: &EmbedError) -> String {
    format!("vectors are not up to date: {why}. The lexical index is; index again when that is fixed")
}

struct Pass<'a> {
    store: &'a dyn Store,
    embedder: &'a dyn Embedder,
    identity: &'a Identity,
    summary: Summary,
    rejected: &'a mut RejectedTexts,
    warnings: &'a mut Warnings,
    progress: OnProgress<'a>,
}

impl Pass<'_> {
    /// Drops the vectors of another model.
    async fn begin(&mut self) -> Result<(), StoreError> {
        let known = self.summary.embedding.as_ref();
        if known.is_some_and(|known| self.identity.difference(known).is_some()) {
            let mut writer = self.store.write().await?;
            writer.set_embedding(Some(self.embedding())).await?;
            self.summary = writer.commit().await?;
        }
        Ok(())
    }

    /// The model, as it was judged if it was.
    fn embedding(&self) -> Embedding {
        let known = self.summary.embedding.as_ref();
        match known.filter(|known| self.identity.difference(known).is_none()) {
            Some(known) => known.clone(),
            None => Embedding {
                model: self.identity.model.clone(),
                dimension: self.identity.dimension,
                digest: self.identity.digest.clone(),
                knows_language: false,
                judged_on: 0,
            },
        }
    }

    /// Round after round until every chunk has a vector or is rejected, or the model fails.
    async fn embed(&mut self) -> Result<Option<EmbedError>, StoreError> {
        let of = self.summary.chunks.saturating_sub(self.summary.vectors);
        let mut failure = None;
        while failure.is_none() && !self.rejected.is_hopeless() {
            let wanting = self.store.without_vector(ROUND + self.rejected.len()).await?;
            if wanting.iter().all(|chunk| self.rejected.contains(chunk)) {
                self.rejected.keep(&wanting);
                break;
            }
            let chunks: Vec<Chunk> =
                wanting.into_iter().filter(|chunk| !self.rejected.contains(chunk)).collect();
            let left = self.summary.chunks.saturating_sub(self.summary.vectors);
            // What was rejected is done, too.
            let done = of.saturating_sub(left).saturating_add(to_u64(self.rejected.len())).min(of);
            failure = self.round(&chunks, (done, of)).await?.err();
        }
        if let Some(why) = &failure {
            self.warnings.add(incomplete(why));
        }
        self.rejected.warn(self.warnings);
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
            // Read each time, as the batch size adapts to the speed of the model.
            let (batch, later) = rest.split_at(self.embedder.batch().clamp(1, rest.len()));
            rest = later;
            (self.progress)(Progress::Embedding { done, of });
            match self.vectors(batch).await {
                Ok(made) => vectors.extend(made),
                // Another dimension in the middle of a run: nothing of this round can be trusted.
                Err(invalid @ EmbedError::InvalidResponse(_)) => return Ok(Err(invalid)),
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

    /// Commits vectors. The store is locked only now, so that other writers need not wait for the model.
    async fn keep(&mut self, vectors: Vec<(VectorKey, Vec<f32>)>) -> Result<(), StoreError> {
        let (mut writer, known) = self.open_writer().await?;
        if known.is_none() {
            writer.set_embedding(Some(self.embedding())).await?;
        }
        writer.attach(vectors).await?;
        self.summary = writer.commit().await?;
        Ok(())
    }

    /// Opens a writer, and returns the model of the vectors that are there now, which is still ours.
    async fn open_writer(&self) -> Result<(Box<dyn Writer>, Option<Embedding>), StoreError> {
        // Opening a writer clears an index that has replaced ours; only the lexical update may do that.
        self.store.summary().await?;
        let writer = wait_for_writer(self.store).await?;
        let known = self.store.summary().await?.embedding;
        match known.as_ref().and_then(|known| self.identity.difference(known)) {
            None => Ok((writer, known)),
            Some(difference) => Err(StoreError::Mismatch(format!(
                "another process has indexed with another model meanwhile: {difference}"
            ))),
        }
    }

    /// A batch of chunks to vectors that fit.
    async fn vectors(&mut self, batch: &[Chunk]) -> Result<Vec<(VectorKey, Vec<f32>)>, EmbedError> {
        let texts: Vec<String> = batch.iter().map(embedded_text).collect();
        let embedded = self.identity.embed(self.embedder, &texts, Purpose::Document).await?;
        let mut vectors = Vec::with_capacity(batch.len());
        for (chunk, vector) in batch.iter().zip(embedded) {
            match vector {
                Ok(vector) => vectors.push((chunk.key, vector)),
                Err(why) => self.rejected.add(chunk, &why),
            }
        }
        Ok(vectors)
    }

    /// Whether the model is not judged yet, or the corpus has grown or shrunk by a fifth since.
    fn needs_judgement(&self) -> bool {
        let Some(embedding) = &self.summary.embedding else { return false };
        let (now, then) = (self.summary.chunks, embedding.judged_on);
        self.summary.vectors > 0 && (then == 0 || now.abs_diff(then).saturating_mul(5) > then)
    }

    /// Judges whether the model knows the language of the texts, unless it fails.
    async fn judge(&mut self) -> Result<Option<EmbedError>, StoreError> {
        (self.progress)(Progress::Judging);
        let knows_language = match judgement::ranks(self.store, self.embedder, self.identity).await {
            Ok(ranks) => knows_language(&ranks),
            Err(judgement::Failure::Store(error)) => return Err(error),
            Err(judgement::Failure::Model(why)) => {
                self.warnings.add(incomplete(&why));
                return Ok(Some(why));
            }
        };
        let (mut writer, known) = self.open_writer().await?;
        let known = known.unwrap_or_else(|| self.embedding());
        let embedding = Embedding { knows_language, judged_on: self.summary.chunks, ..known };
        writer.set_embedding(Some(embedding)).await?;
        self.summary = writer.commit().await?;
        Ok(None)
    }
}

/// The text that is embedded for a chunk.
fn embedded_text(chunk: &Chunk) -> String {
    let plain = document::plain(&chunk.source, &chunk.text);
    document::embedded_text(
        &chunk.title,
        &Section { headings: chunk.headings.clone(), text: String::new(), plain, ..Section::default() },
    )
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
