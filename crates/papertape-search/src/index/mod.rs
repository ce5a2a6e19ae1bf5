//! What changed in the directory to a new generation of the store: terms first, then vectors, then whether these are used.
//!
//! - `compare` (with `digest`): which files must be read
//! - `read`: a file to a record and its chunks
//! - `lexical`: the files that were read to a generation
//! - `model`: the model of the store's vectors against the configured one
//! - `vectors` (with `rejected`): chunks without vector to generations with their vectors
//! - `judgement`: whether the model knows the language, from headings as queries whose chunk is known
//! - `writer`: waits for another writer

mod compare;
mod digest;
mod error;
mod judgement;
mod lexical;
mod model;
mod read;
mod rejected;
mod vectors;
mod writer;

use crate::corpus::folder::{Folder, Skipped};
use crate::embed::{EmbedError, Embedder, Embedding};
use crate::store::{Store, StoreError, Summary};
use crate::warnings::Warnings;
pub use error::IndexError;
use model::Model;
pub use rejected::RejectedTexts;

/// The progress of an indexing run.
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
    /// Whether the model knows the language of the texts is judged.
    Judging,
    /// The generation is written.
    Writing,
}

/// The result of an indexing run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Files that are new.
    pub added: u64,
    /// Files that have changed.
    pub changed: u64,
    /// Files that are gone.
    pub removed: u64,
    /// Files that have not changed.
    pub unchanged: u64,
    /// Paths of the files that are new, changed or gone.
    pub paths: Vec<String>,
    /// Files that are not read because of how their names end.
    pub skipped: Skipped,
    /// Warnings, one line each; at most a hundred, then how many more.
    pub warnings: Vec<String>,
    /// Of several directories, those that cannot be read or have no files any more, and why, one line each (also a warning):
    /// what was found there before is found as it was.
    pub absent: Vec<String>,
    /// What the store holds now.
    pub summary: Summary,
}

/// Options of an indexing run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Another model than that of the store's vectors replaces them all. Without it, the run fails.
    pub reembed: bool,
    /// Every file is read and cut again, whatever its stamp.
    pub full: bool,
    /// An index that was made from another directory is an error, and not overwritten.
    pub same_folder_only: bool,
    /// A directory without any file leaves the index as it is, or of several directories its part of it: it may be a disk that
    /// is not mounted.
    pub never_empty: bool,
    /// The warnings of unchanged files have been logged: they are not read again for them.
    pub warnings_logged: bool,
    /// Another writer is waited for, half a minute at most. Without it, the run fails at once.
    pub wait_for_writer: bool,
}

/// Gets the progress of a run.
pub type OnProgress<'a> = &'a (dyn Fn(Progress) + Send + Sync);

/// Brings the store up to date with the directory: terms first, which can be searched at once, then vectors.
///
/// Without an embedder, the vectors that are there stay.
///
/// # Errors
/// If the store cannot be written, or if its vectors are of another model ([`StoreError::Mismatch`]); it is then as it
/// was. An embedder that fails is a warning.
pub async fn run(
    folder: &Folder,
    store: &dyn Store,
    embedder: Option<&dyn Embedder>,
    progress: OnProgress<'_>,
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
    progress: OnProgress<'_>,
) -> Result<Report, StoreError> {
    let mut warnings = Warnings::default();
    let known = known_model(store).await?;
    let mut model = None;
    if let (Some(embedder), Some(_)) = (embedder, &known) {
        // Fails before anything is written, or not at all.
        model = Some(Model::check(embedder, known.as_ref(), options.reembed).await?);
    }
    let mut report = lexical::update(folder, store, options, &mut warnings, progress).await?;
    if let Some(embedder) = embedder {
        // Terms can be searched from here on, however long the model takes to identify itself.
        let model = match model {
            Some(model) => model,
            None => Model::check(embedder, report.summary.embedding.as_ref(), options.reembed).await?,
        };
        let mut rejected = RejectedTexts::default();
        (report.summary, _) =
            vectors::update(store, &model, report.summary, &mut rejected, &mut warnings, progress).await?;
    }
    report.warnings = warnings.into_lines();
    Ok(report)
}

/// Brings the terms of the store up to date: the part of [`run_with`] before the vectors, with errors that identify an
/// index of another directory.
///
/// # Errors
/// If the store cannot be read or written, or is the index of another directory.
pub async fn lexical(
    folder: &Folder,
    store: &dyn Store,
    options: Options,
    progress: OnProgress<'_>,
) -> Result<Report, IndexError> {
    let mut warnings = Warnings::default();
    let report = lexical::update(folder, store, options, &mut warnings, progress).await?;
    Ok(Report { warnings: warnings.into_lines(), ..report })
}

/// Gives every chunk of the store a vector, unless the model rejects its text: the part of [`run_with`] after the terms.
/// Texts in `rejected` are not sent to the model again.
///
/// # Errors
/// As [`run`].
pub async fn vectors(
    store: &dyn Store,
    embedder: &dyn Embedder,
    rejected: &mut RejectedTexts,
    progress: OnProgress<'_>,
) -> Result<Vectors, StoreError> {
    let summary = store.summary().await?;
    let model = Model::check(embedder, summary.embedding.as_ref(), false).await?;
    let mut warnings = Warnings::default();
    let (summary, failure) =
        vectors::update(store, &model, summary, rejected, &mut warnings, progress).await?;
    Ok(Vectors { summary, failure, warnings: warnings.into_lines() })
}

/// What [`vectors`] did.
#[derive(Debug, Clone, PartialEq)]
pub struct Vectors {
    /// What the store holds now.
    pub summary: Summary,
    /// Why the model failed, if it did.
    pub failure: Option<EmbedError>,
    /// As in [`Report::warnings`].
    pub warnings: Vec<String>,
}

/// The model of the vectors that are there.
async fn known_model(store: &dyn Store) -> Result<Option<Embedding>, StoreError> {
    match store.summary().await {
        Ok(summary) => Ok(summary.embedding),
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(error),
    }
}
