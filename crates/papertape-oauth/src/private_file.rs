//! Files that only their owner can read, replaced atomically.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use data_encoding::HEXLOWER;

use crate::random;

/// Creates a file of mode 0600; fails if there is one, or a symbolic link.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Replaces a file: a new one is written beside it and renamed over it, so that a reader sees all of the old contents or all
/// of the new. `prepare` sets what else the new file needs, such as its owner.
pub(crate) fn replace(
    path: &Path,
    contents: &[u8],
    prepare: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.{}", HEXLOWER.encode(&random::bytes::<8>()?)));
    let written = create(&new).and_then(|mut file| {
        prepare(&file)?;
        file.write_all(contents)?;
        file.sync_all()?;
        fs::rename(&new, path)
    });
    if written.is_err() {
        // The unfinished file may hold secrets.
        drop(fs::remove_file(&new));
    }
    written
}
