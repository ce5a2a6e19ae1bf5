//! A directory, or several, to the files in them that are indexed.
//!
//! - `roots`: several directories as one
//! - `list`: which there are
//! - `skipped`: how many files are not read, by the endings of their names
//! - `read`: the bytes of one of them, and of nothing outside the directory

mod list;
mod read;
mod roots;
mod skipped;

use std::error::Error;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::document::Format;
use crate::warnings::Warnings;
use roots::Root;
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
    /// Of several directories, the names of those that were read: paths begin with them.
    pub names: Vec<String>,
    /// Of several directories, those that could not be read, and why: one line for each.
    pub absent: Vec<String>,
}

/// A directory of texts, or several.
#[derive(Debug, Clone)]
pub struct Folder {
    root: Root,
    further: Vec<Root>,
}

impl Folder {
    /// A directory that is there.
    ///
    /// # Errors
    /// If it does not exist, or is not a directory.
    pub fn open(root: &Path) -> io::Result<Self> {
        Ok(Self { root: Root::alone(root)?, further: Vec::new() })
    }

    /// Several directories as one. The paths of each begin with its name, which is the last part of its own path, with a
    /// number if others have the same. A single one is as in [`Folder::open`].
    ///
    /// Of what cannot be read now, nothing is known: [`Listing::absent`].
    ///
    /// # Errors
    /// If none of them can be read: that of the first.
    pub fn open_all(places: &[PathBuf]) -> io::Result<Self> {
        let mut roots = Root::several(places);
        match (places, roots.next()) {
            (_, Some(root)) if places.len() > 1 && places.iter().any(|place| place.is_dir()) => {
                Ok(Self { root, further: roots.collect() })
            }
            ([first, ..], _) => Self::open(first),
            ([], _) => Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no directory")),
        }
    }

    /// Why directories cannot be indexed together, if they cannot: one is inside another.
    #[must_use]
    pub fn conflict(places: &[PathBuf]) -> Option<String> {
        roots::conflict(places)
    }

    /// Where it is; of several, where the first is.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root.path
    }

    /// Which of the directories the path of a file is of, from 0 in their order, and its path within that.
    #[must_use]
    pub fn place<'a>(&self, path: &'a str) -> Option<(usize, &'a str)> {
        self.roots().enumerate().find_map(|(number, root)| Some((number, root.below(path)?)))
    }

    fn roots(&self) -> impl Iterator<Item = &Root> {
        std::iter::once(&self.root).chain(&self.further)
    }

    /// Every file whose name says that it is text of a kind that is read, and that no `.gitignore` takes out.
    ///
    /// # Errors
    /// If the directory itself cannot be read.
    pub fn list(&self) -> io::Result<Listing> {
        self.walk(&mut |_| ())
    }

    /// Calls `each` for each directory that [`Folder::list`] looks into, this one first, before it is read: a watch that
    /// begins there misses nothing.
    ///
    /// # Errors
    /// As [`Folder::list`].
    pub fn enter(&self, each: &mut dyn FnMut(&Path)) -> io::Result<()> {
        self.walk(each).map(drop)
    }

    fn walk(&self, enter: &mut dyn FnMut(&Path)) -> io::Result<Listing> {
        let mut listing = Listing::default();
        for root in self.roots() {
            root.list_into(&mut listing, enter)?;
        }
        if !self.further.is_empty() {
            listing.files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        }
        Ok(listing)
    }

    /// Whether a file is not there any more, although its directory is.
    #[must_use]
    pub fn is_gone(&self, path: &str) -> bool {
        let below = |root: &'_ Root| root.below(path).map(|rest| (root.path.clone(), root.path.join(rest)));
        let Some((root, file)) = self.roots().find_map(below) else { return true };
        root.is_dir() && file.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// The bytes of a file, and how it looked while they were read.
    ///
    /// # Errors
    /// If it has gone, is not a plain file, is too large, or lies outside the directory.
    pub fn read(&self, path: &str) -> Result<(Vec<u8>, Stamp), String> {
        let place = self.roots().find_map(|root| Some((&root.path, root.below(path)?)));
        let read = place.map_or_else(|| Err(read::NOWHERE.to_owned()), |(root, rest)| read::read(root, rest));
        read.map_err(|problem| format!("{}: {problem}", shown(path)))
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
