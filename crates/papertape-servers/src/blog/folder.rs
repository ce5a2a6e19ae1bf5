//! A folder to the Markdown files in it that are worth reading.

use std::path::{Path, PathBuf};

use super::store::Stamp;

/// A file that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Relative to the folder, with `/`.
    pub path: String,
    /// How it looks from outside.
    pub stamp: Stamp,
}

/// What a folder holds now.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// By path.
    pub files: Vec<Seen>,
    /// What was left out, and why: one line for each.
    pub warnings: Vec<String>,
}

/// A folder of Markdown.
#[derive(Debug, Clone)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// A folder that is there.
    ///
    /// # Errors
    /// If it is not, or is no folder.
    pub fn open(root: &Path) -> std::io::Result<Self> {
        Ok(Self { root: root.canonicalize()? })
    }

    /// Where it is.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Every Markdown file that no `.gitignore` takes out.
    ///
    /// # Errors
    /// If the folder itself cannot be read.
    pub fn list(&self) -> std::io::Result<Listing> {
        Ok(Listing::default())
    }

    /// The bytes of a file, and how it looked while they were read.
    ///
    /// # Errors
    /// If it has gone, is no plain file, is too large, or lies outside the folder.
    pub fn read(&self, _path: &str) -> Result<(Vec<u8>, Stamp), String> {
        Err("not yet".to_owned())
    }
}
