//! Reading a file as it is, and replacing it whole: never partly, never what another program has written in the meantime.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use crate::error::InstallError;

/// The maximum size of a file in bytes. Some hosts keep their whole state beside the servers.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// How many backups of a file are kept: `FILE.papertape-backup-N`, the newest with the highest N.
pub const MOST_BACKUPS: usize = 5;

const BACKUP: &str = ".papertape-backup-";

/// For files with values that may be secret.
const PRIVATE: u32 = 0o600;
const ORDINARY: u32 = 0o666;

/// The file that is meant by a path, which may be a symbolic link to it.
pub(crate) fn target(path: &Path) -> Result<PathBuf, InstallError> {
    let unreadable = |source| InstallError::Unreadable { path: path.to_owned(), source };
    match fs::canonicalize(path) {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if path.is_symlink() {
                let source =
                    io::Error::new(error.kind(), "it is a symbolic link to a file that does not exist");
                return Err(unreadable(source));
            }
            let path = std::path::absolute(path).map_err(unreadable)?;
            // The path that it will have: records are found by it when the file is there.
            let real = path.ancestors().find_map(|folder| {
                Some(fs::canonicalize(folder).ok()?.join(path.strip_prefix(folder).ok()?))
            });
            Ok(real.unwrap_or(path))
        }
        Err(error) => Err(unreadable(error)),
    }
}

/// The content; `None` if there is no file.
pub(crate) fn content(path: &Path) -> io::Result<Option<Vec<u8>>> {
    // A FIFO would wait for a writer.
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Err(io::Error::other("it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    let mut content = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!("it is larger than {} MiB", MOST_BYTES / (1024 * 1024))));
    }
    Ok(Some(content))
}

/// Puts `new` in place of `old`; `None` is no file. Returns the path of the backup of `old`.
pub(crate) fn replace(
    path: &Path,
    old: Option<&[u8]>,
    new: Option<&[u8]>,
    private: bool,
) -> Result<Option<PathBuf>, InstallError> {
    let unwritable = |source| InstallError::Unwritable { path: path.to_owned(), source };
    unchanged(path, old)?;
    let backup = match old {
        Some(old) => Some(back_up(path, old).map_err(unwritable)?),
        None => None,
    };
    let Some(new) = new else {
        unchanged(path, old)?;
        fs::remove_file(path).map_err(unwritable)?;
        return Ok(backup);
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(unwritable)?;
    }
    let mode = if private { PRIVATE } else { ORDINARY };
    let temporary = beside(path, &format!(".papertape-{}", std::process::id()));
    let written = write_new(&temporary, new, path, mode).map_err(unwritable);
    let replaced = written.and_then(|()| {
        unchanged(path, old)?;
        match old {
            Some(_) => fs::rename(&temporary, path).map_err(unwritable),
            // A link does not replace a file that has come into being.
            None => match fs::hard_link(&temporary, path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(InstallError::Changed(path.to_owned()))
                }
                // A file system without links.
                Err(_) => fs::rename(&temporary, path).map_err(unwritable),
                Ok(()) => Ok(()),
            },
        }
    });
    drop(fs::remove_file(&temporary));
    replaced.map(|()| backup)
}

/// Fails if the file does not have this content any more.
fn unchanged(path: &Path, old: Option<&[u8]>) -> Result<(), InstallError> {
    let now = content(path).map_err(|source| InstallError::Unreadable { path: path.to_owned(), source })?;
    if now.as_deref() == old { Ok(()) } else { Err(InstallError::Changed(path.to_owned())) }
}

/// Writes a new file with the mode and the owner of `like`, if that exists.
fn write_new(path: &Path, content: &[u8], like: &Path, mode: u32) -> io::Result<()> {
    let like = fs::metadata(like).ok();
    // Other users cannot read it before it has its mode.
    let first = if like.is_some() { PRIVATE } else { mode };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(first).open(path)?;
    file.write_all(content)?;
    if let Some(like) = like {
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
            fchown(&file, Some(like.uid()), Some(like.gid())).map_err(|error| {
                io::Error::new(error.kind(), format!("its owner or group cannot be kept: {error}"))
            })?;
        }
        file.set_permissions(Permissions::from_mode(like.mode() & 0o7777))?;
    }
    file.sync_all()
}

/// Writes the next backup, and removes the oldest ones.
fn back_up(path: &Path, content: &[u8]) -> io::Result<PathBuf> {
    let mut numbers = numbers(path)?;
    let next = numbers.last().map_or(1, |last| last + 1);
    let backup = beside(path, &format!("{BACKUP}{next}"));
    if let Err(error) = write_new(&backup, content, path, PRIVATE) {
        if error.kind() != io::ErrorKind::AlreadyExists {
            drop(fs::remove_file(&backup));
        }
        return Err(io::Error::new(error.kind(), format!("no backup {}: {error}", backup.display())));
    }
    numbers.push(next);
    for number in numbers.iter().rev().skip(MOST_BACKUPS) {
        drop(fs::remove_file(beside(path, &format!("{BACKUP}{number}"))));
    }
    Ok(backup)
}

/// The numbers of the backups that there are, in order.
fn numbers(path: &Path) -> io::Result<Vec<u64>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned() + BACKUP;
    let mut numbers = Vec::new();
    for entry in fs::read_dir(path.parent().unwrap_or(Path::new("/")))? {
        let entry = entry?.file_name();
        numbers.extend(entry.to_str().and_then(|entry| entry.strip_prefix(&name)?.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(end);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::PathBuf;

    use super::{MOST_BACKUPS, replace, target};
    use crate::error::InstallError;

    fn folder(test: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("papertape-install-file-{}-{test}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn names(folder: &PathBuf) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_change_in_the_meantime_is_detected() {
        let folder = folder("changed");
        let file = folder.join("a.json");
        fs::write(&file, "theirs").unwrap();
        for (old, new) in [(Some(&b"old"[..]), Some(&b"new"[..])), (None, Some(b"new")), (Some(b"old"), None)]
        {
            let refused = replace(&file, old, new, false).unwrap_err();
            assert!(matches!(refused, InstallError::Changed(_)), "{refused}");
        }
        assert_eq!(
            (fs::read(&file).unwrap(), names(&folder)),
            (b"theirs".to_vec(), vec!["a.json".to_owned()])
        );
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn mode_and_links_are_kept() {
        let folder = folder("mode");
        let (file, link) = (folder.join("real.json"), folder.join("link.json"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        let real = target(&link).unwrap();
        let backup = replace(&real, Some(b"old"), Some(b"new"), true).unwrap().unwrap();
        assert_eq!(
            (fs::read(&link).unwrap(), fs::read(&backup).unwrap()),
            (b"new".to_vec(), b"old".to_vec())
        );
        assert!(link.is_symlink());
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o640);
        assert_eq!(fs::metadata(&backup).unwrap().mode() & 0o777, 0o640);
        // A new file with secrets is for its user only; its directory is made.
        let new = folder.join("a/b/new.json");
        assert_eq!(replace(&new, None, Some(b"new"), true).unwrap(), None);
        assert_eq!(fs::metadata(&new).unwrap().mode() & 0o777, 0o600);
        assert_eq!(names(&folder.join("a/b")), ["new.json"]);
        // A file that is not there yet has the path that it has afterwards.
        std::os::unix::fs::symlink("a", folder.join("linked")).unwrap();
        let missing = target(&folder.join("linked/c/d.json")).unwrap();
        fs::create_dir(folder.join("a/c")).unwrap();
        fs::write(folder.join("a/c/d.json"), "").unwrap();
        assert_eq!(missing, target(&folder.join("linked/c/d.json")).unwrap());
        std::os::unix::fs::symlink("nowhere", folder.join("dangling")).unwrap();
        assert!(target(&folder.join("dangling")).unwrap_err().to_string().contains("symbolic link"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn backups_are_numbered_and_bounded() {
        let folder = folder("backups");
        let file = folder.join("a.json");
        fs::write(&file, "0").unwrap();
        for number in 1..=8_u8 {
            let (old, new) = ((number - 1).to_string(), number.to_string());
            replace(&file, Some(old.as_bytes()), Some(new.as_bytes()), false).unwrap();
        }
        let backups: Vec<String> =
            (4..=8).map(|number| format!("a.json.papertape-backup-{number}")).collect();
        assert_eq!(backups.len(), MOST_BACKUPS);
        assert_eq!(names(&folder)[1..], backups);
        assert_eq!(fs::read_to_string(folder.join(&backups[4])).unwrap(), "7");
        fs::remove_dir_all(folder).unwrap();
    }
}
