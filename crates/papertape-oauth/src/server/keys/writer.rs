//! Adding a key to a key file, atomically.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::file;
use super::key::{KeyTable, NewKey};
use crate::private_file;
use crate::server::error::AuthSetupError;

/// The header of a new file.
const HEADER: &str = "\
# API keys of a papertape server: `papertape key NAME --file THIS` adds a key; to revoke one, delete its entry.
# The file has hashes only, from which the keys cannot be recovered.
";

impl NewKey {
    /// Adds the entry to a key file, which is created (mode 0600) if there is none.
    ///
    /// The file is replaced atomically, with the same owner and mode. Where that is not possible (the directory is not
    /// writable, or the file is a mount point), the entry is appended in one write.
    ///
    /// # Errors
    /// If the file would be invalid with the new key, which leaves it unchanged, or cannot be written.
    pub fn add_to(&self, path: impl AsRef<Path>) -> Result<(), AuthSetupError> {
        let path = path.as_ref();
        let unwritten = |error: io::Error| AuthSetupError::NotWritten {
            path: path.to_owned(),
            problem: error.to_string(),
        };
        let unusable = |problem: String| AuthSetupError::File { path: path.to_owned(), problem };
        match private_file::create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(unwritten(error)),
            _ => {}
        }
        file::stamp(path).map_err(unusable)?;
        // A symbolic link stays: its target is replaced.
        let path = fs::canonicalize(path).map_err(unwritten)?;
        let (_lock, found) = lock(&path).map_err(unwritten)?;
        file::read(&path).map_err(unusable)?;
        let old = fs::read_to_string(&path).map_err(unwritten)?;
        let added = match old.as_str() {
            "" => format!("{HEADER}\n{}", self.entry()),
            old if old.ends_with('\n') => format!("\n{}", self.entry()),
            _ => format!("\n\n{}", self.entry()),
        };
        let text = format!("{old}{added}");
        KeyTable::parse(&text).map_err(unusable)?;
        let prepare = |new: &File| {
            new.set_permissions(found.permissions())?;
            keep_owner(new, &found)
        };
        match private_file::replace(&path, text.as_bytes(), prepare) {
            Err(error) if cannot_replace(&error) => append(&path, &added).map_err(unwritten),
            written => written.map_err(unwritten),
        }
    }
}

/// Locks the file against other writers, until it is dropped. If the file was replaced meanwhile, the new one is locked.
#[cfg(unix)]
fn lock(path: &Path) -> io::Result<(File, Metadata)> {
    use std::os::unix::fs::MetadataExt;
    loop {
        let file = File::open(path)?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
        let (locked, there) = (file.metadata()?, fs::metadata(path)?);
        if (locked.dev(), locked.ino()) == (there.dev(), there.ino()) {
            return Ok((file, locked));
        }
    }
}

#[cfg(not(unix))]
fn lock(path: &Path) -> io::Result<(File, Metadata)> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    Ok((file, found))
}

/// The server must be able to read the new file, also if an administrator wrote it.
#[cfg(unix)]
fn keep_owner(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    fchown(file, Some(old.uid()), Some(old.gid()))?;
    // fchown may clear bits of the mode.
    file.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

fn cannot_replace(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices
    )
}

fn append(path: &Path, added: &str) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(added.as_bytes())
}
