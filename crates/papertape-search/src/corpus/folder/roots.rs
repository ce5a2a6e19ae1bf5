//! Several directories as one: the paths of each begin with its name.

use std::io;
use std::path::{Path, PathBuf};

use super::{Listing, list, reason};

/// One directory, and how its paths begin.
#[derive(Debug, Clone)]
pub(super) struct Root {
    pub(super) path: PathBuf,
    /// Nothing if it is alone.
    name: Option<String>,
}

impl Root {
    /// A directory that is there, and the only one.
    pub(super) fn alone(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        if !path.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a directory"));
        }
        Ok(Self { path, name: None })
    }

    /// Directories of which some may not be there now.
    pub(super) fn several(places: &[PathBuf]) -> impl Iterator<Item = Self> {
        names(places).into_iter().zip(places).map(|(name, place)| {
            let path = place.canonicalize().unwrap_or_else(|_| absolute(place));
            Self { path, name: Some(name) }
        })
    }

    /// The rest of a path, if it is one of this directory.
    pub(super) fn below<'a>(&self, path: &'a str) -> Option<&'a str> {
        match &self.name {
            None => Some(path),
            Some(name) => path.strip_prefix(name)?.strip_prefix('/'),
        }
    }

    /// Adds what there is in it. One that cannot be read is a failure if it is alone.
    pub(super) fn list_into(&self, all: &mut Listing, enter: &mut dyn FnMut(&Path)) -> io::Result<()> {
        let Some(name) = &self.name else {
            *all = list::list(&self.path, enter)?;
            return Ok(());
        };
        match list::list(&self.path, enter) {
            Ok(listing) => all.take(name, listing),
            Err(error) => {
                all.unread.push(name.clone());
                all.absent.push(format!(
                    "the directory {name:?} cannot be read ({}): what was found there before is found as it was",
                    reason(&error)
                ));
            }
        }
        Ok(())
    }
}

impl Listing {
    /// Adds what one of several directories holds.
    fn take(&mut self, name: &str, listing: Self) {
        let below = |path: &str| if path.is_empty() { name.to_owned() } else { format!("{name}/{path}") };
        let Self { files, unread, skipped, warnings, .. } = listing;
        self.skipped.append(&skipped);
        self.files
            .extend(files.into_iter().map(|file| super::ListedFile { path: below(&file.path), ..file }));
        self.unread.extend(unread.iter().map(|path| below(path)));
        self.warnings.append(warnings.map(|line| match line.strip_prefix(list::ITSELF) {
            Some(rest) => format!("{name}{rest}"),
            None => below(&line),
        }));
        self.names.push(name.to_owned());
    }
}

/// The last part of each path, with a number behind it if another one has the same.
pub(super) fn names(places: &[PathBuf]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for place in places {
        // Not that of what a link leads to, which may be away.
        let absolute = absolute(place);
        let last = match absolute.file_name() {
            Some(name) => Some(name.to_owned()),
            None => absolute.canonicalize().ok().and_then(|path| path.file_name().map(ToOwned::to_owned)),
        };
        let name = last.map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().into_owned());
        let mut unique = name.clone();
        let mut number = 2;
        while names.contains(&unique) {
            unique = format!("{name}-{number}");
            number += 1;
        }
        names.push(unique);
    }
    names
}

/// Without `.` and further slashes, whether or not it exists.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).components().collect()
}

/// Why directories cannot be indexed together, if they cannot.
pub(super) fn conflict(places: &[PathBuf]) -> Option<String> {
    let whole = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| absolute(path));
    let wholes: Vec<(PathBuf, &PathBuf)> = places.iter().map(|place| (whole(place), place)).collect();
    let each = wholes.iter().enumerate();
    let pairs = each.flat_map(|(at, one)| wholes.iter().skip(at + 1).map(move |other| (one, other)));
    for ((one, shown), (other, other_shown)) in pairs {
        let (shown, other_shown) = (shown.display(), other_shown.display());
        if one == other {
            return Some(format!("{shown} and {other_shown} are the same directory: leave one out"));
        }
        let (inner, outer) = match (one.starts_with(other), other.starts_with(one)) {
            (true, _) => (shown, other_shown),
            (_, true) => (other_shown, shown),
            _ => continue,
        };
        return Some(format!("{inner} is inside {outer}, and is indexed with it: leave it out"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(places: &[&str]) -> Vec<PathBuf> {
        places.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn names_are_unique() {
        for (places, right) in [
            (&["/x/notes", "/y/blog"][..], &["notes", "blog"][..]),
            (&["/x/notes", "/y/notes/", "/z/./notes"], &["notes", "notes-2", "notes-3"]),
            (&["/x/notes", "/y/notes", "/x/notes-2"], &["notes", "notes-2", "notes-2-2"]),
            (&["/", "/x/año"], &["root", "año"]),
        ] {
            assert_eq!(names(&paths(places)), right);
        }
        // The current directory has the name that it has elsewhere.
        let here = std::env::current_dir().unwrap();
        let name = here.file_name().unwrap().to_str().unwrap();
        assert_eq!(names(&paths(&[".", "/x/notes"])), [name, "notes"]);
    }

    #[test]
    fn a_directory_within_another_is_refused() {
        for (places, said) in [
            (&["/x/a", "/x/b", "/x/ab"][..], None),
            (&["/x/a", "/x/a/b"], Some("/x/a/b is inside /x/a, and is indexed with it: leave it out")),
            (
                &["/x/b", "/x/a/b", "/x/a"],
                Some("/x/a/b is inside /x/a, and is indexed with it: leave it out"),
            ),
            (&["/x/a", "/x/a/"], Some("/x/a and /x/a/ are the same directory: leave one out")),
        ] {
            assert_eq!(conflict(&paths(places)).as_deref(), said);
        }
    }
}
