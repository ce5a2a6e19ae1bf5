//! Why nobody could be let in at all: what is wrong with the way a server is set up.

use std::path::PathBuf;

/// Why a server cannot find out who asks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthSetupError {
    /// A file of keys cannot be used.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A file of keys cannot be written.
    #[error("cannot write {}: {problem}", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// Keys cannot be used.
    #[error("the keys: {0}")]
    Keys(String),
    /// The authorization server, or what it is told about this one, cannot be used.
    #[error("OAuth: {0}")]
    OAuth(String),
    /// No token can have such a scope.
    #[error("{0:?} is no scope: those are visible ASCII without spaces, quotes and backslashes")]
    Scope(String),
    /// The system has no randomness to give.
    #[error("the system gives no random bytes for a key")]
    NoRandomness,
}

impl From<AuthSetupError> for std::io::Error {
    fn from(error: AuthSetupError) -> Self {
        std::io::Error::new(std::io::ErrorKind::InvalidInput, error)
    }
}
