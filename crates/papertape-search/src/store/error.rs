//! Why an operation of a store failed, for operators and, without paths, for clients.

use std::io::ErrorKind;

/// Why a store failed. The message names the cause and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no index.
    #[error("there is no index yet at {place}: run `papertape index DIR`")]
    Missing {
        /// Where it would be.
        place: String,
    },
    /// The index is damaged.
    #[error("the index at {place} is damaged ({what}): rebuild it with `papertape index DIR --rebuild`")]
    Corrupt {
        /// Where it is.
        place: String,
        /// What was found.
        what: String,
    },
    /// It was made by another version of this program, or by another program.
    #[error("the index at {place} cannot be read: {what}")]
    Foreign {
        /// Where it is.
        place: String,
        /// What was found and what to do.
        what: String,
    },
    /// The index is not sealed with a key of this user: its texts need not be those of its directory. Writing replaces
    /// it.
    #[error("the index at {place} is not used: {why}. {}", SHARE)]
    Unsealed {
        /// Where it is.
        place: String,
        /// What was found.
        why: String,
        /// Whether it is sealed with another key than this user's.
        by_another: bool,
    },
    /// Another process is writing.
    #[error("the index at {place} is being written by {by}: wait until it is done")]
    Locked {
        /// Where it is.
        place: String,
        /// The writer: `process 123`.
        by: String,
    },
    /// A vector that does not fit the others.
    #[error("{0}")]
    Mismatch(String),
    /// The database cannot be reached now.
    #[error("the database cannot be reached: {0}")]
    Unreachable(String),
    /// The database aborted it because of concurrent work: it may work the next time.
    #[error("the database could not do it now: {0}")]
    Crossed(String),
    /// The disk is full, a file cannot be written, and so on.
    #[error("{doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// The remedy for an index that is not sealed by this user.
pub const SHARE: &str = "Make it again with `papertape index DIR --rebuild`; or, if you trust its maker, add their \
                                key to your papertape/index.key";

impl StoreError {
    /// Whether there is nothing to read, and indexing begins from nothing.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::Unsealed { .. })
    }

    /// The message for a client: without a path of this machine. The log has the whole of it.
    #[must_use]
    pub fn public_message(&self) -> String {
        match self {
            Self::Missing { .. } => {
                "there is no index yet: run `papertape index DIR`, or serve with --content DIR".to_owned()
            }
            Self::Corrupt { what, .. } => {
                format!("the index is damaged ({what}): rebuild it with `papertape index DIR --rebuild`")
            }
            Self::Foreign { what, .. } => format!("the index cannot be read: {what}"),
            Self::Unsealed { why, .. } => format!("the index is not used: {why}. {SHARE}"),
            Self::Locked { by, .. } => format!("the index is being written by {by}: wait until it is done"),
            Self::Io { source, .. } => {
                tracing::warn!("{self}");
                let way_out = match source.kind() {
                    ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                        "; serve with --index PATH to keep it where it can be written"
                    }
                    ErrorKind::NotADirectory => "; --content and --index must be directories",
                    ErrorKind::StorageFull => "; make room on its disk",
                    _ => "",
                };
                format!("the index cannot be read or written: {source}{way_out}")
            }
            other => other.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn clients_see_no_path() {
        let place = || "/srv/secret".to_owned();
        let what = || "a checksum is wrong".to_owned();
        let source = || io::Error::from(io::ErrorKind::StorageFull);
        for (error, expected) in [
            (StoreError::Missing { place: place() }, "run `papertape index DIR`"),
            (StoreError::Corrupt { place: place(), what: what() }, "(a checksum is wrong): rebuild it"),
            (StoreError::Foreign { place: place(), what: what() }, "a checksum is wrong"),
            (
                StoreError::Unsealed { place: place(), why: what(), by_another: true },
                "is not used: a checksum",
            ),
            (StoreError::Locked { place: place(), by: "process 7".into() }, "process 7"),
            (StoreError::Io { doing: format!("writing {}", place()), source: source() }, "no storage space"),
        ] {
            let said = error.public_message();
            assert!(said.contains(expected) && !said.contains("secret"), "{said}");
        }
    }
}
