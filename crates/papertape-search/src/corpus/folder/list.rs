//! A directory to a list of the files in it that are read.

use std::fs::FileType;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};

use super::{ListedFile, Listing, MOST_BYTES, is_text, reason, shown, stamp, too_large};

/// Never indexed: dependencies, and (hidden anyway) the index.
const NEVER: [&str; 2] = ["node_modules", ".papertape"];

/// What a warning calls the directory itself.
pub(super) const ITSELF: &str = "the directory";

/// Lists a directory; `enter` is called with each directory before it is read.
pub(super) fn list(root: &Path, enter: &mut dyn FnMut(&Path)) -> io::Result<Listing> {
    // A problem with the directory itself is an error, not a warning.
    std::fs::read_dir(root)?;
    // Ignore rules above the directory apply only where git would apply them.
    let in_repository = root.ancestors().skip(1).any(|above| above.join(".git").exists());
    let mut found = walk(root, in_repository, enter);
    if in_repository && found.listing.files.is_empty() {
        // They exclude the directory itself: it was named on purpose, so they are ignored.
        found = walk(root, false, enter);
    }
    Ok(found.finished())
}

fn walk<'a>(root: &'a Path, rules_above: bool, enter: &mut dyn FnMut(&Path)) -> ListingBuilder<'a> {
    let walker = WalkBuilder::new(root)
        .standard_filters(true)
        .git_global(false)
        .require_git(false)
        .parents(rules_above)
        .follow_links(false)
        .filter_entry(|entry| entry.depth() == 0 || !NEVER.iter().any(|name| entry.file_name() == *name))
        .build();
    let mut found = ListingBuilder { root, listing: Listing::default(), entered: Vec::new() };
    for entry in walker {
        match entry {
            Ok(entry) => {
                if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                    enter(entry.path());
                    found.entered.truncate(entry.depth());
                    found.entered.push(entry.path().to_owned());
                }
                found.take(&entry);
            }
            Err(error) => found.fail(&error),
        }
    }
    found
}

struct ListingBuilder<'a> {
    root: &'a Path,
    listing: Listing,
    /// The directory that is being read, after its parents.
    entered: Vec<PathBuf>,
}

impl ListingBuilder<'_> {
    fn take(&mut self, entry: &DirEntry) {
        let Some(kind) = entry.file_type().filter(|_| entry.depth() > 0) else { return };
        let named =
            entry.file_name().to_str().map_or_else(|| is_text(&entry.file_name().to_string_lossy()), is_text);
        if kind.is_symlink() && entry.path().is_dir() {
            return self.leave(entry, LINKED_FOLDER);
        }
        if !named {
            if kind.is_file() {
                self.listing.skipped.add(entry.path().extension());
            }
            return;
        }
        if kind.is_dir() {
            return self.warn_about(entry, "a directory that is named like a file; what is in it is indexed");
        }
        if !kind.is_file() {
            return self.leave(entry, what_it_is(kind));
        }
        let Some(path) = entry.path().strip_prefix(self.root).ok().and_then(Path::to_str) else {
            return self.leave(entry, "its name is not UTF-8");
        };
        match entry.metadata() {
            Ok(file) if !file.is_file() => self.leave(entry, what_it_is(file.file_type())),
            Ok(file) if file.len() > MOST_BYTES => self.leave(entry, &too_large(file.len())),
            Ok(file) => self.listing.files.push(ListedFile { path: path.to_owned(), stamp: stamp(&file) }),
            Err(error) => self.fail_at(entry.path(), &error),
        }
    }

    /// What went wrong says where, or at least how deep.
    fn fail(&mut self, error: &ignore::Error) {
        let parent = || error.depth().and_then(|depth| self.entered.get(depth.checked_sub(1)?)).cloned();
        let path = place(error).map(Path::to_owned).or_else(parent);
        self.fail_at(&path.unwrap_or_else(|| self.root.to_owned()), error);
    }

    /// The files there may be unchanged, or gone: it is not known.
    fn fail_at(&mut self, path: &Path, error: &ignore::Error) {
        let why = match error.io_error() {
            // It has gone since.
            Some(error) if error.kind() == io::ErrorKind::NotFound => return,
            Some(error) => reason(error),
            None => error.to_string(),
        };
        let path = path.strip_prefix(self.root).unwrap_or(path);
        let name = if path.as_os_str().is_empty() { ITSELF.into() } else { path.to_string_lossy() };
        self.warn(&format!(
            "{name}: it cannot be read ({why}); what was found there before is found as it was"
        ));
        // Nothing with another name was ever indexed.
        self.listing.unread.extend(path.to_str().map(str::to_owned));
    }

    fn leave(&mut self, entry: &DirEntry, why: &str) {
        self.warn_about(entry, &format!("left out: {why}"));
    }

    fn warn_about(&mut self, entry: &DirEntry, what: &str) {
        let path = entry.path().strip_prefix(self.root).unwrap_or(entry.path());
        self.warn(&format!("{}: {what}", path.to_string_lossy()));
    }

    fn warn(&mut self, warning: &str) {
        self.listing.warnings.add(shown(warning));
    }

    fn finished(self) -> Listing {
        let mut listing = self.listing;
        listing.files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        listing.warnings.sort();
        listing
    }
}

const LINKED_FOLDER: &str =
    "a link, and links are not followed; index that directory itself, or put a copy in its place";

fn what_it_is(kind: FileType) -> &'static str {
    match () {
        () if kind.is_symlink() => "a link, and links are not followed; put a copy in its place",
        // It was a file a moment ago.
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

/// Where it went wrong, if the walker knows.
fn place(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => place(err),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(depth: usize, code: i32) -> ignore::Error {
        let error = ignore::Error::Io(io::Error::from_raw_os_error(code));
        ignore::Error::WithDepth { depth, err: Box::new(error) }
    }

    #[test]
    fn walk_errors_are_reported_with_their_path() {
        let io =
            |path: &str, code| ignore::Error::WithPath { path: path.into(), err: Box::new(depth(2, code)) };
        let (eio, eacces, enoent) = (5, 13, 2);
        for (error, unread, warning) in [
            (io("/r/sub", eacces), Some("sub"), "sub: it cannot be read (permission denied); what was"),
            (depth(2, eio), Some("deep"), "deep: it cannot be read (input/output error); what was"),
            (depth(1, eio), Some(""), "the directory: it cannot be read (input/output error); what was"),
            (depth(9, eio), Some(""), "the directory: it cannot be read (input/output error); what was"),
            (io("/r/sub", enoent), None, ""),
        ] {
            let entered = vec!["/r".into(), "/r/deep".into()];
            let mut found = ListingBuilder { root: Path::new("/r"), listing: Listing::default(), entered };
            found.fail(&error);
            let Listing { unread: failed, warnings, .. } = found.finished();
            assert_eq!(failed.first().map(String::as_str), unread);
            assert_eq!(failed.len(), warnings.lines().len());
            assert!(warnings.lines().iter().all(|line| line.starts_with(warning)), "{warnings:?}");
        }
    }
}
