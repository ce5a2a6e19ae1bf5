//! A folder to a list of its Markdown files.

use std::fs::FileType;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use ignore::{DirEntry, WalkBuilder};

use super::{Listing, MOST_BYTES, Seen, is_markdown, shown, stamp, too_large};

/// The most warnings; further ones are counted.
const MOST_WARNINGS: usize = 100;

/// Never looked into: what others wrote, and (hidden anyway) what we keep.
const NEVER: [&str; 2] = ["node_modules", ".papertape"];

pub(super) fn list(root: &Path) -> io::Result<Listing> {
    // What is wrong with the folder itself is an error, and no warning.
    std::fs::read_dir(root)?;
    // Rules that stand above the folder hold only where git would say so.
    let in_repository = root.ancestors().skip(1).any(|above| above.join(".git").exists());
    let mut found = walk(root, in_repository);
    if in_repository && found.listing.files.is_empty() {
        // They take out the folder itself: it was named on purpose, so that they mean something else.
        found = walk(root, false);
    }
    Ok(found.finished())
}

fn walk(root: &Path, rules_above: bool) -> Found<'_> {
    let walker = WalkBuilder::new(root)
        .standard_filters(true)
        .git_global(false)
        .require_git(false)
        .parents(rules_above)
        .follow_links(false)
        .filter_entry(|entry| entry.depth() == 0 || !NEVER.iter().any(|name| entry.file_name() == *name))
        .build();
    let mut found = Found { root, listing: Listing::default(), more: 0 };
    for entry in walker {
        match entry {
            Ok(entry) => found.take(&entry),
            Err(error) => found.warn(&without_root(&error.to_string(), root)),
        }
    }
    found
}

struct Found<'a> {
    root: &'a Path,
    listing: Listing,
    /// Warnings that are only counted.
    more: usize,
}

impl Found<'_> {
    fn take(&mut self, entry: &DirEntry) {
        let Some(kind) = entry.file_type().filter(|_| entry.depth() > 0) else { return };
        let named = entry
            .file_name()
            .to_str()
            .map_or_else(|| is_markdown(&entry.file_name().to_string_lossy()), is_markdown);
        if kind.is_symlink() && entry.path().is_dir() {
            return self.leave(entry, LINKED_FOLDER);
        }
        if !named {
            return;
        }
        if kind.is_dir() {
            return self.tell(entry, "a folder that is named like a file; what is in it is indexed");
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
            Ok(file) => self.listing.files.push(Seen { path: path.to_owned(), stamp: stamp(&file) }),
            // It has gone since.
            Err(error) if error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound) => {}
            Err(error) => self.warn(&without_root(&error.to_string(), self.root)),
        }
    }

    fn leave(&mut self, entry: &DirEntry, why: &str) {
        self.tell(entry, &format!("left out: {why}"));
    }

    fn tell(&mut self, entry: &DirEntry, what: &str) {
        let path = entry.path().strip_prefix(self.root).unwrap_or(entry.path());
        self.warn(&format!("{}: {what}", path.to_string_lossy()));
    }

    fn warn(&mut self, warning: &str) {
        if self.listing.warnings.len() < MOST_WARNINGS {
            self.listing.warnings.push(shown(warning));
        } else {
            self.more += 1;
        }
    }

    fn finished(self) -> Listing {
        let Listing { mut files, mut warnings } = self.listing;
        files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        warnings.sort_unstable();
        if self.more > 0 {
            warnings.push(format!("and {} more that were left out", self.more));
        }
        Listing { files, warnings }
    }
}

const LINKED_FOLDER: &str =
    "a link, and links are not followed; index that folder itself, or put a copy in its place";

fn what_it_is(kind: FileType) -> &'static str {
    match () {
        () if kind.is_symlink() => "a link, and links are not followed; put a copy in its place",
        // It was a file a moment ago.
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

/// Messages go by paths within the folder.
fn without_root(message: &str, root: &Path) -> String {
    let root = root.to_string_lossy();
    message.replace(&format!("{}/", root.trim_end_matches('/')), "")
}
