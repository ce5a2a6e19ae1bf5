//! One writer at a time: an advisory file lock (`flock`).

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use super::disk::open_plain;
use super::errors::ErrorContext;
use crate::store::StoreError;

pub(super) const NAME: &str = "lock";

/// More bytes than any process id has.
const LIMIT: usize = 32;

/// The lock of a writer. The kernel releases it when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock; fails with the process that holds it.
    pub(super) fn take(folder: &Path, errors: &ErrorContext) -> Result<Self, StoreError> {
        let io = |error| errors.io("cannot lock", error);
        let no_links = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(no_links)
            .open(folder.join(NAME))
            .map_err(io)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(errors.locked(holder(&mut file))),
            // Without a lock two writers would remove each other's files.
            Err(error @ (Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP)) => {
                return Err(errors.no_locks(error.into()));
            }
            Err(error) => return Err(io(error.into())),
        }
        // A crafted directory may have a lock that is a hard link to another file.
        if !is_lock(&file).map_err(io)? {
            return Err(errors.foreign(format!("{NAME} in it was not written by this program; remove it")));
        }
        file.set_len(0).map_err(io)?;
        writeln!(file, "{}", std::process::id()).map_err(io)?;
        Ok(Self { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child process may have inherited the descriptor.
        if let Err(error) = flock(&self.file, FlockOperation::Unlock) {
            tracing::warn!(%error, "failed to release the lock of the index");
        }
    }
}

/// Whether a file is a lock: a process id, or what a power loss left of one.
pub(super) fn is_ours(path: &Path) -> bool {
    open_plain(path).and_then(|file| is_lock(&file)).unwrap_or(false)
}

fn is_lock(file: &File) -> io::Result<bool> {
    let mut bytes = [0; LIMIT];
    let read = file.read_at(&mut bytes, 0)?;
    let bytes = bytes.get(..read).unwrap_or_default();
    Ok(bytes.iter().all(|byte| byte.is_ascii_digit() || [b'\n', 0].contains(byte)))
}

/// The process that holds the lock, by the id in the file, which it may not have written yet.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(LIMIT as u64).read_to_string(&mut text);
    match text.trim().parse::<u32>() {
        Ok(process) if read.is_ok() => format!("process {process}"),
        _ => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{ErrorContext, Lock, NAME};

    #[test]
    fn a_file_that_is_not_a_lock_is_not_overwritten() {
        let folder = std::env::temp_dir().join(format!("papertape-lock-{}", std::process::id()));
        fs::remove_dir_all(&folder).unwrap_or_default();
        fs::create_dir(&folder).unwrap();
        let errors = ErrorContext::at(&folder);
        let (lock, theirs) = (folder.join(NAME), folder.join("theirs"));
        fs::write(&theirs, "precious\n").unwrap();
        fs::hard_link(&theirs, &lock).unwrap();
        let error = Lock::take(&folder, &errors).unwrap_err().to_string();
        assert!(error.contains("lock") && error.contains("remove it"), "{error}");
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "precious\n");
        for own in ["4711\n", "", "\0\0\0\0\0"] {
            fs::write(&lock, own).unwrap();
            drop(Lock::take(&folder, &errors).unwrap());
            assert_eq!(fs::read_to_string(&lock).unwrap(), format!("{}\n", std::process::id()));
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
