//! What was written around the entries that were installed, so that removing them restores the file to the byte: where a file, or
//! a container in it, was made for them, the file alone does not show that.
//!
//! Without a record, or if the text around an entry has been changed, the entry is removed with its comma and its line.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::edit::Surroundings;

/// The file of records in the data directory.
const NAME: &str = "installed.json";

/// More than are ever installed; the oldest ones are dropped.
const MOST: usize = 1000;

/// What was written around one thing: an entry, the container, or the document itself (an empty path).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) file: String,
    pub(crate) path: Vec<String>,
    pub(crate) surroundings: Surroundings,
    /// The file was made for it.
    #[serde(default)]
    pub(crate) created: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Records {
    records: Vec<Record>,
}

/// What becomes of records.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// The paths within the file whose records are dropped.
    pub(crate) dropped: Vec<Vec<String>>,
    pub(crate) added: Vec<Record>,
}

impl Records {
    /// The records in a data directory. Without one, or if they cannot be read, there are none.
    pub(crate) fn read(folder: &Path) -> Self {
        let content = fs::read(folder.join(NAME)).unwrap_or_default();
        serde_json::from_slice(&content).unwrap_or_default()
    }

    pub(crate) fn find(&self, file: &str, path: &[&str]) -> Option<&Record> {
        self.records.iter().rev().find(|record| record.file == file && record.path == path)
    }

    #[cfg(test)]
    pub(crate) fn of(changes: &Changes) -> Self {
        Self { records: changes.added.clone() }
    }

    #[cfg(test)]
    pub(crate) fn extend(&mut self, changes: &Changes) {
        self.records.extend_from_slice(&changes.added);
    }

    /// Changes the records about a file.
    pub(crate) fn update(folder: &Path, file: &str, changes: &Changes) -> io::Result<()> {
        if changes.dropped.is_empty() && changes.added.is_empty() {
            return Ok(());
        }
        fs::create_dir_all(folder)?;
        // Another command may be changing others.
        let lock = File::create(folder.join(format!("{NAME}.lock")))?;
        flock(&lock, FlockOperation::LockExclusive)?;
        let mut records = Self::read(folder).records;
        let added = |path: &Vec<String>| changes.added.iter().any(|record| record.path == *path);
        records.retain(|record| {
            record.file != file || !(changes.dropped.contains(&record.path) || added(&record.path))
        });
        records.extend_from_slice(&changes.added);
        let surplus = records.len().saturating_sub(MOST);
        records.drain(..surplus);
        let temporary = folder.join(format!("{NAME}.new"));
        drop(fs::remove_file(&temporary));
        let new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        serde_json::to_writer(&new, &Records { records })?;
        new.sync_all()?;
        fs::rename(temporary, folder.join(NAME))
    }
}
