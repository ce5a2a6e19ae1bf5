//! Why an indexing run failed.

use crate::store::StoreError;

/// Why an indexing run failed.
#[derive(Debug)]
pub enum IndexError {
    /// The index was made from another directory, and [`Options::same_folder_only`](super::Options) is set: the message,
    /// with the remedies.
    OtherFolder(String),
    /// The directory has no files any more, and [`Options::never_empty`](super::Options) is set: the message.
    NoFiles(String),
    /// Anything else.
    Store(StoreError),
}

impl IndexError {
    pub(super) fn other_folder(known: usize, stayed: usize) -> Self {
        let stayed = if stayed == 0 { "none".to_owned() } else { stayed.to_string() };
        Self::OtherFolder(format!(
            "the index is of another directory: of the files it knows ({known}), this one has {stayed}. Index with --rebuild to \
             put this directory in its place, or choose another --out (or --index, or --store) to keep both"
        ))
    }

    pub(super) fn no_files(known: usize) -> Self {
        Self::NoFiles(no_files("the directory", known))
    }
}

/// Why what is known of a directory stays although its files have gone.
pub(super) fn no_files(directory: &str, known: usize) -> String {
    format!(
        "{directory} has no files any more, as a disk that is not mounted has none: those that the index knows ({known}) are \
         found as they were until files are back. If they were removed for good, index with --rebuild"
    )
}

impl From<StoreError> for IndexError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<IndexError> for StoreError {
    fn from(error: IndexError) -> Self {
        match error {
            IndexError::OtherFolder(why) | IndexError::NoFiles(why) => StoreError::Other(why),
            IndexError::Store(error) => error,
        }
    }
}
