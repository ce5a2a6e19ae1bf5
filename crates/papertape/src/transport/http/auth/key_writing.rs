//! A new key to a file of keys, in one step: who reads the file meanwhile sees it without the key, or with it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;

use super::error::AuthSetupError;
use super::key::{NewKey, Table};
use super::key_file;

/// What a new file begins with.
const HEAD: &str = "\
# The keys of a papertape server: `papertape key NAME --file THIS` adds one; take an entry out, and it opens no more.
# These are hashes, from which the keys cannot be found out.
";

impl NewKey {
    /// Adds the entry to a file of keys, which is made (readable by its owner alone) if there is none.
    ///
    /// A new file takes the old one's name, with the same owner and mode, so that a server that reads it meanwhile sees
    /// all of it. Where that cannot be (the folder is not writable, or the file is a mount of its own), the entry is
    /// appended in one write.
    ///
    /// # Errors
    /// If the file cannot be used with the new key in it, which leaves it as it was, or cannot be written.
    pub fn add_to(&self, file: impl AsRef<Path>) -> Result<(), AuthSetupError> {
        let file = file.as_ref();
        let unwritten = |error: io::Error| AuthSetupError::NotWritten {
            path: file.to_owned(),
            problem: error.to_string(),
        };
        let unusable = |problem: String| AuthSetupError::File { path: file.to_owned(), problem };
        match create(file) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(unwritten(error)),
            _ => {}
        }
        key_file::stamp(file).map_err(unusable)?;
        // What a link points to is replaced, and not the link.
        let path = fs::canonicalize(file).map_err(unwritten)?;
        let (_lock, found) = lock(&path).map_err(unwritten)?;
        key_file::read(&path).map_err(unusable)?;
        let old = fs::read_to_string(&path).map_err(unwritten)?;
        let added = match old.as_str() {
            "" => format!("{HEAD}\n{}", self.entry()),
            old if old.ends_with('\n') => format!("\n{}", self.entry()),
            _ => format!("\n\n{}", self.entry()),
        };
        let text = format!("{old}{added}");
        Table::parse(&text).map_err(unusable)?;
        match replace(&path, &found, &text) {
            Err(error) if cannot_replace(&error) => append(&path, &added).map_err(unwritten),
            written => written.map_err(unwritten),
        }
    }
}

/// An empty file for its owner alone: no keys are as good as no file.
fn create(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

/// Keeps other processes that add keys away, until dropped. What has another file's place by then is not locked.
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

/// A file of the same owner and mode takes the old one's name.
fn replace(path: &Path, old: &Metadata, text: &str) -> io::Result<()> {
    let beside = beside(path)?;
    let written = create(&beside).and_then(|mut file| {
        file.set_permissions(old.permissions())?;
        keep_owner(&file, old)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    if written.is_err() {
        // What could not be finished must not lie around.
        drop(fs::remove_file(&beside));
    }
    written
}

fn beside(path: &Path) -> io::Result<PathBuf> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|_| io::Error::other("the system gives no random bytes"))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(path.with_file_name(format!(".{name}.{}", HEXLOWER.encode(&random))))
}

/// An administrator's new file must be as readable to the server as the old one was.
#[cfg(unix)]
fn keep_owner(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    fchown(file, Some(old.uid()), Some(old.gid()))?;
    // Which may have taken away bits of the mode.
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
