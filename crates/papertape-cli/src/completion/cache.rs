//! What servers list, kept on disk for a minute: a server is not started for every press of Tab.

use std::fs::{self, DirBuilder, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::Duration;

use super::catalog::Catalog;
use crate::directories;

/// How long a catalog is used: about as long as one command is typed.
const AGE: Duration = Duration::from_secs(60);

/// The largest catalog that is kept.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The place of one catalog.
#[derive(Debug)]
pub(crate) struct CacheFile(PathBuf);

impl CacheFile {
    /// The file for a server: `key` is all that determines what it lists. `None` without a home directory.
    pub(crate) fn of(key: &impl Hash) -> Option<Self> {
        // The key has headers and variables, which may be secret: its hash is the name of the file.
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let directory = directories::cache()?.join("completion");
        Some(Self(directory.join(format!("{:016x}.json", hasher.finish()))))
    }

    /// The catalog, if it is not too old.
    pub(crate) fn load(&self) -> Option<Catalog> {
        is_fresh(&self.0).then_some(())?;
        serde_json::from_slice(&fs::read(&self.0).ok()?).ok()
    }

    /// Keeps a catalog, and deletes those that are too old.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn save(&self, catalog: &Catalog) -> io::Result<()> {
        let json = serde_json::to_vec(catalog)?;
        let Some(directory) = self.0.parent().filter(|_| json.len() <= MOST_BYTES) else { return Ok(()) };
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        for entry in fs::read_dir(directory)?.flatten() {
            if !is_fresh(&entry.path()) {
                fs::remove_file(entry.path())?;
            }
        }
        // Two shells may complete at once: each writes a file of its own, and the last one is kept.
        let written = self.0.with_extension(std::process::id().to_string());
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&written)?;
        file.write_all(&json)?;
        fs::rename(written, &self.0)
    }
}

fn is_fresh(path: &std::path::Path) -> bool {
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
    // A time in the future is that of another clock.
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age < AGE))
}
