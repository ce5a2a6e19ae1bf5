//! Why a file of a host cannot be read or edited.

use std::io;
use std::path::PathBuf;

/// Why a file cannot be read or edited. It has been left as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The file cannot be read.
    #[error("{}: cannot read the file: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not what the host reads: not UTF-8, not JSON, not TOML. It is not overwritten.
    #[error("{}:{line}:{column}: {problem}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1 on.
        line: usize,
        /// The column in characters, from 1 on.
        column: usize,
        /// What is wrong there.
        problem: String,
    },
    /// The file is valid, but cannot be edited by a program.
    #[error("{}: {problem}", path.display())]
    Unsuitable {
        /// The file.
        path: PathBuf,
        /// Why, and what to do about it.
        problem: String,
    },
    /// There is another entry of this name.
    #[error("{} has another server \"{name}\": choose another name, or replace it with --force", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// There is no entry of this name.
    #[error("{} has no server \"{name}\"", path.display())]
    NoServer {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The file has been changed since it was read.
    #[error("{} has been changed by another program in the meantime: nothing was written; run the command again", .0.display())]
    Changed(PathBuf),
    /// The file or its backup cannot be written.
    #[error("{}: cannot write the file: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Something that is wrong at a place of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) problem: String,
}

impl Fault {
    pub(crate) fn new(at: usize, problem: impl Into<String>) -> Self {
        Self { at, problem: problem.into() }
    }

    /// With the path, the line and the column.
    pub(crate) fn in_file(self, path: PathBuf, text: &str) -> InstallError {
        let before = text.get(..self.at).unwrap_or(text);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column =
            before.rsplit('\n').next().unwrap_or_default().trim_start_matches('\u{feff}').chars().count() + 1;
        InstallError::Invalid { path, line, column, problem: self.problem }
    }
}
