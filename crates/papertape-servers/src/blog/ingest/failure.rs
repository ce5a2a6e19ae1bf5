//! Why a run came to nothing: the store, that it is not the folder's, or that the folder has nothing left.

use crate::blog::store::StoreError;

/// Why a run came to nothing.
#[derive(Debug)]
pub(in crate::blog) enum Failure {
    /// The store is of another folder, and whoever ran was careful: what to say, with the ways out.
    OfAnotherFolder(String),
    /// The folder has no files any more, and whoever ran never empties an index: what to say.
    NoFiles(String),
    /// Anything else.
    Store(StoreError),
}

impl Failure {
    pub(super) fn of_another_folder(known: usize, stayed: usize) -> Self {
        let stayed = if stayed == 0 { "none".to_owned() } else { stayed.to_string() };
        Self::OfAnotherFolder(format!(
            "the index is of another folder: of the files it knows ({known}), this one has {stayed}. Index with --rebuild to \
             put this folder in its place, or choose another --out (or --index, or --store) to keep both"
        ))
    }

    pub(super) fn no_files(known: usize) -> Self {
        Self::NoFiles(format!(
            "the folder has no files any more, as a disk that is not mounted has none: those that the index knows ({known}) \
             are found as they were until files are back. If they were removed for good, index with --rebuild"
        ))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::OfAnotherFolder(why) | Failure::NoFiles(why) => StoreError::Other(why),
            Failure::Store(error) => error,
        }
    }
}
