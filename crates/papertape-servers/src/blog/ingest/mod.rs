//! What changed in the folder to a new generation of the store: words first, then vectors, then what these are worth.
//!
//! - `digest`: what a file is known by, and by which rules it was read
//! - `compare`: what the folder shows and what the store knows to what must be read
//! - `failure`: why a run came to nothing
//! - `read`: a file to a record and its chunks
//! - `words`: what was read to a generation
//! - `model`: the model of the store's vectors, held against the one that is at hand
//! - `vectors`: chunks that have no vector to generations in which they have
//! - `refused`: texts that a model would not have
//! - `trials`: headings as questions whose answers are known, for what vectors are worth here
//! - `turn`: the one who writes, after whoever writes now

mod compare;
mod digest;
mod failure;
pub(super) mod model;
mod read;
mod refused;
mod trials;
mod turn;
mod vectors;
mod words;

use super::embed::{EmbedError, Embedder};
use super::folder::Folder;
use super::store::{Store, StoreError, Summary};
use super::warnings::{self, Warnings};
pub(super) use failure::Failure;
use model::Model;
pub use refused::Refused;

/// How far it is, for whoever watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Files are compared with what the store knows.
    Scanning,
    /// Files are read and cut.
    Reading {
        /// Files done.
        done: u64,
        /// Files to do.
        of: u64,
    },
    /// Chunks get vectors.
    Embedding {
        /// Chunks done.
        done: u64,
        /// Chunks to do.
        of: u64,
    },
    /// What vectors are worth here is found out.
    Calibrating,
    /// The generation is written.
    Writing,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Files that are new.
    pub added: u64,
    /// Files that are others than before.
    pub changed: u64,
    /// Files that are gone.
    pub removed: u64,
    /// Files that are as before.
    pub unchanged: u64,
    /// Paths of the files that are new, others or gone.
    pub paths: Vec<String>,
    /// What was left out or odd, one line each; at most a hundred, then how many more.
    pub warnings: Vec<String>,
    /// What the store holds now.
    pub summary: Summary,
}

/// What is asked for beyond the usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// A model other than that of the store's vectors makes them all anew. Without it, the run is refused.
    pub reembed: bool,
    /// Every file is read and cut anew, whatever it looks like.
    pub full: bool,
    /// An index of hardly any file that is here is refused, not written over: it was made of another folder.
    pub careful: bool,
    /// A folder without any file leaves the index as it is: it may be a disk that is not there.
    pub never_empty: bool,
    /// What is odd about files that are as they were has been told: they need not be read for it.
    pub told: bool,
    /// Whoever else writes is waited for, half a minute at most. Without it, the run fails at once.
    pub patient: bool,
}

/// Shows how far a run is.
pub type Watcher<'a> = &'a (dyn Fn(Progress) + Send + Sync);

/// Brings the store up to date with the folder: words first, so that they can be searched at once, then vectors.
///
/// Without an embedder, the vectors that are there stay.
///
/// # Errors
/// If the store cannot be written, or if its vectors are of another model ([`StoreError::Mismatch`]); it is then as it was.
/// An embedder that fails is a warning.
pub async fn run(
    folder: &Folder,
    store: &dyn Store,
    embedder: Option<&dyn Embedder>,
    progress: Watcher<'_>,
) -> Result<Report, StoreError> {
    run_with(folder, store, embedder, Options::default(), progress).await
}

/// As [`run`], with options.
///
/// # Errors
/// As [`run`].
pub async fn run_with(
    folder: &Folder,
    store: &dyn Store,
    embedder: Option<&dyn Embedder>,
    options: Options,
    progress: Watcher<'_>,
) -> Result<Report, StoreError> {
    let mut warnings = Warnings::default();
    let known = known_model(store).await?;
    let mut model = None;
    if let (Some(embedder), Some(_)) = (embedder, &known) {
        // Refused before anything is written, or not at all.
        model = Some(Model::meet(embedder, known.as_ref(), options.reembed).await?);
    }
    let mut report = words::bring(folder, store, options, &mut warnings, progress).await?;
    if let Some(embedder) = embedder {
        // Words can be searched from here on, however long a model takes to say its name.
        let model = match model {
            Some(model) => model,
            None => Model::meet(embedder, report.summary.embedding.as_ref(), options.reembed).await?,
        };
        let mut refused = Refused::default();
        (report.summary, _) =
            vectors::bring(store, &model, report.summary, &mut refused, &mut warnings, progress).await?;
    }
    report.warnings = warnings.into_lines();
    Ok(report)
}

/// Brings the words of the store up to date: what [`run_with`] does before the vectors, for those who keep both up to date
/// side by side, and who must know whose index it is.
pub(super) async fn words(
    folder: &Folder,
    store: &dyn Store,
    options: Options,
    progress: Watcher<'_>,
) -> Result<Report, Failure> {
    let mut warnings = Warnings::default();
    let report = words::bring(folder, store, options, &mut warnings, progress).await?;
    Ok(Report { warnings: warnings.into_lines(), ..report })
}

/// Gives every chunk of the store a vector, as far as the model will: what [`run`] does after the words, for those who keep
/// both up to date side by side. What was refused is not offered again by whoever keeps `refused`.
///
/// # Errors
/// As [`run`].
pub async fn vectors(
    store: &dyn Store,
    embedder: &dyn Embedder,
    refused: &mut Refused,
    progress: Watcher<'_>,
) -> Result<Vectors, StoreError> {
    let summary = store.summary().await?;
    let model = Model::meet(embedder, summary.embedding.as_ref(), false).await?;
    let mut warnings = Warnings::default();
    let (summary, failure) = vectors::bring(store, &model, summary, refused, &mut warnings, progress).await?;
    Ok(Vectors { summary, failure, warnings: warnings.into_lines() })
}

/// What [`vectors`] did.
#[derive(Debug, Clone, PartialEq)]
pub struct Vectors {
    /// What the store holds now.
    pub summary: Summary,
    /// Why the model did not do all of it, if it failed.
    pub failure: Option<EmbedError>,
    /// As in [`Report::warnings`].
    pub warnings: Vec<String>,
}

/// The model of the vectors that are there.
async fn known_model(store: &dyn Store) -> Result<Option<super::store::Embedding>, StoreError> {
    match store.summary().await {
        Ok(summary) => Ok(summary.embedding),
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(error),
    }
}
