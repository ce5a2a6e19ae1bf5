//! Configuration errors.

use std::path::PathBuf;

/// Why a server cannot authenticate requests: an error in its configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthSetupError {
    /// A key file cannot be used.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        problem: String,
    },
    /// A key file cannot be written.
    #[error("cannot write {}: {problem}", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// The reason.
        problem: String,
    },
    /// The API keys are invalid.
    #[error("the API keys: {0}")]
    Keys(String),
    /// The OAuth configuration is invalid.
    #[error("OAuth: {0}")]
    OAuth(String),
    /// Not a scope.
    #[error("{0:?} is not a scope: a scope is visible ASCII without spaces, quotes and backslashes")]
    Scope(String),
    /// The operating system provides no random bytes.
    #[error("the operating system provides no random bytes")]
    NoRandomness,
}

impl From<AuthSetupError> for std::io::Error {
    fn from(error: AuthSetupError) -> Self {
        std::io::Error::new(std::io::ErrorKind::InvalidInput, error)
    }
}
