//! The folder of an index: what is in it, what may be removed from it, and how a generation becomes the newest.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tantivy::index::SegmentId;

use super::blocks::open_plain;
use super::fault::Faults;
use super::manifest::{LIMIT, Manifest, NAME};
use crate::blog::store::StoreError;

/// How the manifest looks from outside: another one looks differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

/// Where an index is.
#[derive(Debug, Clone)]
pub(super) struct Place {
    folder: PathBuf,
    faults: Faults,
}

impl Place {
    /// The index in this folder, which need not be there.
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), faults: Faults::at(folder) }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn faults(&self) -> &Faults {
        &self.faults
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// How the manifest looks, if there is one.
    pub(super) fn look(&self) -> Result<Option<Look>, StoreError> {
        match fs::symlink_metadata(self.path(NAME)) {
            Ok(meta) => Ok(Some(Look {
                inode: meta.ino(),
                size: meta.size(),
                modified: (meta.mtime(), meta.mtime_nsec()),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.check()?;
                Ok(None)
            }
            Err(error) => {
                self.check()?;
                Err(self.faults.io("cannot read", error))
            }
        }
    }

    /// The newest generation's manifest, and how it looks.
    pub(super) fn manifest(&self) -> Result<Option<(Look, Manifest)>, StoreError> {
        self.check()?;
        let Some(look) = self.look()? else { return Ok(None) };
        let file = match open_plain(&self.path(NAME)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(_) if self.path(NAME).is_symlink() => {
                return Err(self.faults.foreign(format!("{NAME} is a link; remove it")));
            }
            Err(error) => return Err(self.faults.io("cannot read", error)),
        };
        let mut bytes = Vec::new();
        file.take(LIMIT).read_to_end(&mut bytes).map_err(|error| self.faults.io("cannot read", error))?;
        Ok(Some((look, Manifest::decode(&bytes, &self.faults)?)))
    }

    /// Says no to what is there but is no folder of ours.
    fn check(&self) -> Result<(), StoreError> {
        match fs::symlink_metadata(&self.folder) {
            Ok(meta) if meta.is_dir() => Ok(()),
            Ok(meta) if meta.is_symlink() => {
                Err(self.faults.foreign("it is a link; give the folder it leads to"))
            }
            Ok(_) => {
                Err(self.faults.foreign("it is a file, not a folder; remove it or choose another place"))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(self.faults.io("cannot read", error)),
        }
    }

    /// Makes the folder, and keeps it out of repositories.
    pub(super) fn prepare(&self) -> Result<(), StoreError> {
        self.check()?;
        let io = |error| self.faults.io("cannot write to", error);
        fs::create_dir_all(&self.folder).map_err(io)?;
        self.check()?;
        match OpenOptions::new().write(true).create_new(true).open(self.path(".gitignore")) {
            Ok(mut file) => file.write_all(b"*\n").map_err(io),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(io(error)),
        }
    }

    /// Makes a generation the newest one. What it names has to be on the disk already.
    pub(super) fn publish(&self, manifest: &Manifest, before: Option<&Manifest>) -> io::Result<()> {
        self.sync()?;
        self.replace(manifest)?;
        let Err(error) = self.sync() else { return Ok(()) };
        // It may or may not survive a loss of power: back to what did.
        match before {
            Some(before) => self.replace(before)?,
            None => fs::remove_file(self.path(NAME))?,
        }
        Err(error)
    }

    fn replace(&self, manifest: &Manifest) -> io::Result<()> {
        let name = format!("{}.new", unique());
        let path = self.path(&name);
        let written = (|| {
            let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
            file.write_all(&manifest.encode().map_err(io::Error::other)?)?;
            file.sync_all()?;
            fs::rename(&path, self.path(NAME))
        })();
        if written.is_err() {
            fs::remove_file(&path).unwrap_or_default();
        }
        written
    }

    /// Brings the names of files to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    /// Removes files of ours that belong to no generation: what dead or failed writers left, and what is of no use now.
    pub(super) fn sweep(&self, keep: Option<&Manifest>) {
        let keep: HashSet<String> = keep.map(|manifest| manifest.names().collect()).unwrap_or_default();
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if is_ours(name) && !keep.contains(name) {
                let gone = fs::remove_file(entry.path());
                if let Err(error) = gone {
                    tracing::warn!(name, %error, "a file of the index that is of no use cannot be removed");
                }
            }
        }
    }

    /// Removes the whole index.
    pub(super) fn clear(&self) -> Result<(), StoreError> {
        match fs::remove_file(self.path(NAME)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(self.faults.io("cannot clear", error)),
        }
        self.sweep(None);
        Ok(())
    }
}

/// A name no file has had.
pub(super) fn unique() -> String {
    SegmentId::generate_random().uuid_string()
}

/// Whether a file is one that a generation is made of: 32 hexadecimal digits and what it is.
fn is_ours(name: &str) -> bool {
    name.split_once('.')
        .is_some_and(|(id, _)| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
