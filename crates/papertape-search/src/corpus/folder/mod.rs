//! A directory to the files in it that are indexed.
//!
//! - `list`: which there are
//! - `skipped`: how many files are not read, by the endings of their names
//! - `read`: the bytes of one of them, and of nothing outside the directory

mod list;
mod read;
mod skipped;

use std::error::Error;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::document::Format;
use crate::warnings::Warnings;
pub use skipped::Skipped;

/// The most bytes of a file. One that has more is left out.
pub const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// A file that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// Relative to the directory, with `/`.
    pub path: String,
    /// Its metadata.
    pub stamp: Stamp,
}

/// The metadata of a file. If nothing of it has changed, and it was not written in the same instant as it was read,
/// neither has the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// When it was written, in nanoseconds since 1970.
    pub modified: i64,
    /// When its inode was changed, in nanoseconds since 1970: programs that set the other time cannot set this one.
    pub changed: i64,
    /// Its inode.
    pub inode: u64,
}

/// What a directory holds now.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// By path.
    pub files: Vec<ListedFile>,
    /// What could not be looked into or at, relative to the directory: of what is there, or below, nothing is known. One
    /// that is empty is the directory itself.
    pub unread: Vec<String>,
    /// Files that are not read because of how their names end, by that ending.
    pub skipped: Skipped,
    /// What was left out, and why: one line for each.
    pub warnings: Warnings,
}

/// A directory of texts.
#[derive(Debug, Clone)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// A directory that is there.
    ///
    /// # Errors
    /// If it does not exist, or is not a directory.
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a directory"));
        }
        Ok(Self { root })
    }

    /// Where it is.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Every file whose name says that it is text of a kind that is read, and that no `.gitignore` takes out.
    ///
    /// # Errors
    /// If the directory itself cannot be read.
    pub fn list(&self) -> io::Result<Listing> {
        list::list(&self.root, &mut |_| ())
    }

    /// Calls `each` for each directory that [`Folder::list`] looks into, this one first, before it is read: a watch that
    /// begins there misses nothing.
    ///
    /// # Errors
    /// As [`Folder::list`].
    pub fn enter(&self, each: &mut dyn FnMut(&Path)) -> io::Result<()> {
        list::list(&self.root, each).map(drop)
    }

    /// The bytes of a file, and how it looked while they were read.
    ///
    /// # Errors
    /// If it has gone, is not a plain file, is too large, or lies outside the directory.
    pub fn read(&self, path: &str) -> Result<(Vec<u8>, Stamp), String> {
        read::read(&self.root, path).map_err(|problem| format!("{}: {problem}", shown(path)))
    }
}

/// Whether a file's name says that it is text of a kind that is read.
#[must_use]
pub fn is_text(name: &str) -> bool {
    Format::of(name).is_some()
}

/// What went wrong at bottom, without the system's number for it.
fn reason(error: &io::Error) -> String {
    // The walker puts words and a path around it.
    let mut cause: &dyn Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let said = cause.to_string();
    let said = said.split(" (os error").next().unwrap_or_default();
    let mut letters = said.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// A path on one line.
fn shown(path: &str) -> String {
    if path.chars().any(char::is_control) { path.escape_debug().to_string() } else { path.to_owned() }
}

fn stamp(file: &Metadata) -> Stamp {
    let time =
        |seconds: i64, nanoseconds: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
    Stamp {
        size: file.size(),
        modified: time(file.mtime(), file.mtime_nsec()),
        changed: time(file.ctime(), file.ctime_nsec()),
        inode: file.ino(),
    }
}

fn too_large(size: u64) -> String {
    let most = MOST_BYTES >> 20;
    format!("too large: {size} bytes, and {most} MiB are the most")
}

#[cfg(test)]
mod tests;
