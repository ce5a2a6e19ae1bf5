//! What can go wrong in files, to what a person can act on.

use std::io;
use std::path::{Path, PathBuf};

use tantivy::TantivyError;
use tantivy::directory::error::{OpenReadError, OpenWriteError};

use crate::blog::store::StoreError;

/// Where an index is, as people are told: the folder and the one it is in, and nothing of the way there.
#[must_use]
pub fn place(path: &Path) -> String {
    let parts: Vec<_> = path.components().rev().take(2).collect();
    parts.into_iter().rev().collect::<PathBuf>().display().to_string()
}

/// Sorts errors of one index.
#[derive(Debug, Clone)]
pub(super) struct Faults {
    place: String,
}

impl Faults {
    /// Of the index at this path.
    pub(super) fn at(path: &Path) -> Self {
        Self { place: place(path) }
    }

    /// Nothing was ever indexed here.
    pub(super) fn missing(&self) -> StoreError {
        StoreError::Missing { place: self.place.clone() }
    }

    /// What is there cannot be trusted.
    pub(super) fn corrupt(&self, what: impl Into<String>) -> StoreError {
        StoreError::Corrupt { place: self.place.clone(), what: what.into() }
    }

    /// Somebody else's.
    pub(super) fn foreign(&self, what: impl Into<String>) -> StoreError {
        StoreError::Foreign { place: self.place.clone(), what: what.into() }
    }

    /// No key of this user has sealed it.
    pub(super) fn unsealed(&self, why: impl Into<String>, by_another: bool) -> StoreError {
        StoreError::Unsealed { place: self.place.clone(), why: why.into(), by_another }
    }

    /// Somebody else is writing.
    pub(super) fn locked(&self, by: String) -> StoreError {
        StoreError::Locked { place: self.place.clone(), by }
    }

    /// Nobody can be kept from writing at the same time.
    pub(super) fn no_locks(&self, error: io::Error) -> StoreError {
        let doing = format!("{} is on a disk with no locks; keep the index on a local disk", self.place);
        StoreError::Io { doing, source: error }
    }

    /// A file could not be read or written, or is not what was written.
    pub(super) fn io(&self, doing: &str, error: io::Error) -> StoreError {
        match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => self.corrupt(error.to_string()),
            _ => StoreError::Io { doing: format!("{doing} {}", self.place), source: error },
        }
    }

    /// The library that keeps the words failed.
    pub(super) fn words(&self, doing: &str, error: &TantivyError) -> StoreError {
        match cause(error) {
            Some(cause) => self.io(doing, cause),
            None => self.corrupt(error.to_string()),
        }
    }
}

fn cause(error: &TantivyError) -> Option<io::Error> {
    let (TantivyError::IoError(error)
    | TantivyError::OpenReadError(OpenReadError::IoError { io_error: error, .. })
    | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error: error, .. })) = error
    else {
        return None;
    };
    Some(match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::place;

    #[test]
    fn a_place_is_the_end_of_a_path() {
        for (path, told) in [
            ("/srv/texts/notes/.papertape", "notes/.papertape"),
            ("notes/.papertape", "notes/.papertape"),
            ("/index", "/index"),
            ("./index", "./index"),
            ("index", "index"),
        ] {
            assert_eq!(place(Path::new(path)), told, "{path}");
        }
    }
}
