//! A file of keys to the keys in it; and whether it has changed.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use super::key::Table;

/// Room for some thousand keys.
const BIGGEST_FILE: u64 = 1024 * 1024;

/// What changes when a file does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    /// The file's number, its mode, and when any of this was changed: `chmod` changes nothing else.
    system: [i64; 4],
}

/// What a file looks like now, or why it is none.
pub(super) fn stamp(path: &Path) -> Result<Stamp, String> {
    let found = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("this is no plain file".to_owned());
    }
    Ok(Stamp { modified: found.modified().ok(), length: found.len(), system: system(&found) })
}

/// The keys in a file.
pub(super) fn read(path: &Path) -> Result<Table, String> {
    // Something that is no plain file, such as a pipe, might never be opened.
    stamp(path)?;
    let file = File::open(path).map_err(|error| error.to_string())?;
    let found = file.metadata().map_err(|error| error.to_string())?;
    private(path, &found)?;
    let mut text = String::new();
    let read = file.take(BIGGEST_FILE + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if read as u64 > BIGGEST_FILE {
        return Err(format!("it is bigger than {BIGGEST_FILE} bytes"));
    }
    Table::parse(&text)
}

/// Whoever can write the file can let themselves in; what others can read, they can copy and try elsewhere.
/// The owner's group may read: that is how secrets are mounted into containers.
#[cfg(unix)]
fn private(path: &Path, found: &Metadata) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o027 != 0 {
        let path = path.display();
        return Err(format!(
            "others can read or change it (its mode is {mode:04o}): run `chmod 600 {path}` first"
        ));
    }
    Ok(())
}

#[cfg(not(unix))]
fn private(_: &Path, _: &Metadata) -> Result<(), String> {
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
