//! A path within the directory to the bytes there: never to bytes outside of it, whatever is done to the directory
//! meanwhile.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, open, openat, statat};
use rustix::io::Errno;

use super::{MOST_BYTES, Stamp, is_text, reason, stamp, too_large};

/// How often a file is read that changes while it is.
const TIMES: usize = 3;

pub(super) fn read(root: &Path, path: &str) -> Result<(Vec<u8>, Stamp), String> {
    let names: Vec<&str> = path.split('/').collect();
    let Some((file, folders)) = names.split_last() else { return Err(NOWHERE.to_owned()) };
    // Also `.`, `..` and, as an absolute path begins with nothing, that.
    if names.iter().any(|name| name.is_empty() || name.starts_with('.')) || !is_text(file) {
        return Err(NOWHERE.to_owned());
    }
    for _ in 0..TIMES {
        let folder = descend(root, folders).map_err(describe)?;
        let mut file = open_plain(&folder, file)?;
        if let Some(read) = at_once(&mut file)? {
            return Ok(read);
        }
    }
    Err("it changes all the time: it is read when it has come to rest".to_owned())
}

pub(super) const NOWHERE: &str = "it is not the path of a text in this directory";

/// Goes down from the directory name by name, so that no link leads elsewhere.
fn descend(root: &Path, names: &[&str]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = open(root, flags, Mode::empty())?;
    for name in names {
        folder = openat(&folder, *name, flags, Mode::empty())?;
    }
    Ok(folder)
}

fn open_plain(folder: &OwnedFd, name: &str) -> Result<File, String> {
    // To open a device may do something to it, so that the look comes first.
    let seen = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(describe)?;
    if FileType::from_raw_mode(seen.st_mode) != FileType::RegularFile {
        return Err(NO_FILE.to_owned());
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(openat(folder, name, flags, Mode::empty()).map_err(describe)?);
    match file.metadata() {
        Ok(data) if data.is_file() => Ok(file),
        Ok(_) => Err(NO_FILE.to_owned()),
        Err(error) => Err(reason(&error)),
    }
}

const NO_FILE: &str = "it is not a plain file";

/// The bytes, unless the file changed while they were read.
fn at_once(file: &mut File) -> Result<Option<(Vec<u8>, Stamp)>, String> {
    let describe = |error: io::Error| reason(&error);
    let before = stamp(&file.metadata().map_err(describe)?);
    if before.size > MOST_BYTES {
        return Err(too_large(before.size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(before.size + 1).unwrap_or_default());
    // One byte more than expected, to detect a file that grows.
    file.take(before.size + 1).read_to_end(&mut bytes).map_err(describe)?;
    let after = stamp(&file.metadata().map_err(describe)?);
    let same = before == after && u64::try_from(bytes.len()) == Ok(before.size);
    Ok(same.then_some((bytes, before)))
}

fn describe(error: Errno) -> String {
    match error {
        Errno::NOENT => "there is no such file".to_owned(),
        Errno::LOOP | Errno::NOTDIR => {
            "a link or a file stands in the way, and links are not followed".to_owned()
        }
        _ => reason(&io::Error::from(error)),
    }
}
