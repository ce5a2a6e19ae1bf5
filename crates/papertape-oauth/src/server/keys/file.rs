//! The key file: reading it, and noticing changes.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use super::key::KeyTable;

/// The greatest length, for some thousand keys.
const MAX_LENGTH: u64 = 1024 * 1024;

/// The metadata of a file that change when the file does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    /// Inode, mode, and the time of their last change: `chmod` changes nothing else.
    system: [i64; 4],
}

/// The metadata of a regular file.
pub(super) fn stamp(path: &Path) -> Result<Stamp, String> {
    let found = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("not a regular file".to_owned());
    }
    Ok(Stamp { modified: found.modified().ok(), length: found.len(), system: system(&found) })
}

/// The keys in a file.
pub(super) fn read(path: &Path) -> Result<KeyTable, String> {
    // To open something else, such as a pipe, may block.
    stamp(path)?;
    let file = File::open(path).map_err(|error| error.to_string())?;
    let found = file.metadata().map_err(|error| error.to_string())?;
    check_mode(path, &found)?;
    let mut text = String::new();
    let read = file.take(MAX_LENGTH + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if read as u64 > MAX_LENGTH {
        return Err(format!("the file is longer than {MAX_LENGTH} bytes"));
    }
    KeyTable::parse(&text)
}

/// Rejects a file that other users can write or read. The group may read it: that is how secrets are mounted into containers.
#[cfg(unix)]
fn check_mode(path: &Path, found: &Metadata) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o027 != 0 {
        let path = path.display();
        return Err(format!("other users can read or change it (mode {mode:04o}): run `chmod 600 {path}`"));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &Metadata) -> Result<(), String> {
    Ok(())
}

#[cfg(unix)]
fn system(found: &Metadata) -> [i64; 4] {
    use std::os::unix::fs::MetadataExt;
    [found.ino().cast_signed(), i64::from(found.mode()), found.ctime(), found.ctime_nsec()]
}

#[cfg(not(unix))]
fn system(_: &Metadata) -> [i64; 4] {
    [0; 4]
}
