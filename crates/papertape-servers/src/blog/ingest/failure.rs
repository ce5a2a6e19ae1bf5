//! Why a run came to nothing: the store, or that it is not the folder's.

use crate::blog::store::StoreError;

/// Why a run came to nothing.
#[derive(Debug)]
pub(in crate::blog) enum Failure {
    /// The store is of another folder, and whoever ran was careful: what to say, with the ways out.
    OfAnotherFolder(String),
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
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::OfAnotherFolder(why) => StoreError::Other(why),
            Failure::Store(error) => error,
        }
    }
}
