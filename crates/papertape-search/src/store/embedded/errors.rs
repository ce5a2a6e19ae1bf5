//! Maps I/O errors of an index to [`StoreError`]s that name a remedy.

use std::io;
use std::path::{Path, PathBuf};

use crate::store::StoreError;

/// The path of an index for messages: its last two components, so that no absolute path is shown.
#[must_use]
pub fn place(path: &Path) -> String {
    let parts: Vec<_> = path.components().rev().take(2).collect();
    parts.into_iter().rev().collect::<PathBuf>().display().to_string()
}

/// Makes the errors of one index.
#[derive(Debug, Clone)]
pub(super) struct ErrorContext {
    place: String,
}

impl ErrorContext {
    /// Of the index at this path.
    pub(super) fn at(path: &Path) -> Self {
        Self { place: place(path) }
    }

    /// There is no index.
    pub(super) fn missing(&self) -> StoreError {
        StoreError::Missing { place: self.place.clone() }
    }

    /// The index is damaged.
    pub(super) fn corrupt(&self, what: impl Into<String>) -> StoreError {
        StoreError::Corrupt { place: self.place.clone(), what: what.into() }
    }

    /// The index is of another version, or the files are of another program.
    pub(super) fn foreign(&self, what: impl Into<String>) -> StoreError {
        StoreError::Foreign { place: self.place.clone(), what: what.into() }
    }

    /// No key of this user has sealed it.
    pub(super) fn unsealed(&self, why: impl Into<String>, by_another: bool) -> StoreError {
        StoreError::Unsealed { place: self.place.clone(), why: why.into(), by_another }
    }

    /// Another process is writing.
    pub(super) fn locked(&self, by: String) -> StoreError {
        StoreError::Locked { place: self.place.clone(), by }
    }

    /// The file system has no locks, so concurrent writers cannot be excluded.
    pub(super) fn no_locks(&self, error: io::Error) -> StoreError {
        let doing =
            format!("{} is on a file system without locks; keep the index on a local disk", self.place);
        StoreError::Io { doing, source: error }
    }

    /// Reading or writing failed, or the content differs from what was written.
    pub(super) fn io(&self, doing: &str, error: io::Error) -> StoreError {
        match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => self.corrupt(error.to_string()),
            _ => StoreError::Io { doing: format!("{doing} {}", self.place), source: error },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::place;

    #[test]
    fn a_place_is_the_end_of_a_path() {
        for (path, expected) in [
            ("/srv/texts/notes/.papertape", "notes/.papertape"),
            ("notes/.papertape", "notes/.papertape"),
            ("/index", "/index"),
            ("./index", "./index"),
            ("index", "index"),
        ] {
            assert_eq!(place(Path::new(path)), expected, "{path}");
        }
    }
}
