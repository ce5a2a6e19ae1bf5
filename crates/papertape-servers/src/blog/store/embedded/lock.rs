//! One writer at a time: a lock that ends with its process.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use super::blocks::open_plain;
use super::fault::Faults;
use crate::blog::store::StoreError;

pub(super) const NAME: &str = "lock";

/// Longer than the number of any process.
const LIMIT: u64 = 32;

/// Held while somebody writes. The system takes it back when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock, or says who has it.
    pub(super) fn take(folder: &Path, faults: &Faults) -> Result<Self, StoreError> {
        let io = |error| faults.io("cannot lock", error);
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
            Err(Errno::WOULDBLOCK) => return Err(faults.locked(holder(&mut file))),
            // Without a lock two writers would take away each other's files.
            Err(error @ (Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP)) => {
                return Err(faults.no_locks(error.into()));
            }
            Err(error) => return Err(io(error.into())),
        }
        file.set_len(0).map_err(io)?;
        writeln!(file, "{}", std::process::id()).map_err(io)?;
        Ok(Self { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that was started just now may still have a copy of it.
        if let Err(error) = flock(&self.file, FlockOperation::Unlock) {
            tracing::warn!(%error, "the lock of the index cannot be given back");
        }
    }
}

/// Whether a file is a lock: a number, or what a loss of power left of one.
pub(super) fn is_ours(path: &Path) -> bool {
    let mut bytes = Vec::new();
    let read = open_plain(path).and_then(|file| file.take(LIMIT).read_to_end(&mut bytes));
    read.is_ok() && bytes.iter().all(|byte| byte.is_ascii_digit() || [b'\n', 0].contains(byte))
}

/// Who wrote their number last; they may not have had the time yet.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(LIMIT).read_to_string(&mut text);
    match text.trim().parse::<u32>() {
        Ok(process) if read.is_ok() => format!("process {process}"),
        _ => "another process".to_owned(),
    }
}
