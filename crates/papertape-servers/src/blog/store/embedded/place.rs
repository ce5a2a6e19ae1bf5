//! The folder of an index: what is in it, what may be removed from it, and how a generation becomes the newest.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tantivy::index::SegmentId;

use super::blocks::open_plain;
use super::bytes::to_usize;
use super::fault::Faults;
use super::lock;
use super::manifest::{self, LIMIT, Manifest, NAME};
use super::seal::Keyring;
use super::shelf::private;
use crate::blog::store::StoreError;

/// Bytes that the first line of a manifest has, and more.
const HEAD: u32 = 192;

/// Keeps an index out of repositories.
const IGNORE: (&str, &str) = (".gitignore", "*\n");

/// What may be in a folder that is empty to those who use it.
const NOTHING: [&str; 5] = [IGNORE.0, lock::NAME, ".gitkeep", ".DS_Store", "lost+found"];

/// The first line of a manifest: no two generations have the same, since it has the checksum of all the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look(Vec<u8>);

/// Why a generation is not the newest, and whether the one before certainly is. If not, a loss of power decides which of
/// them it is, and the files of both are needed.
#[derive(Debug)]
pub(super) struct Unpublished {
    pub(super) error: io::Error,
    pub(super) certain: bool,
}

/// Where an index is.
#[derive(Debug, Clone)]
pub(super) struct Place {
    folder: PathBuf,
    faults: Faults,
    keys: Keyring,
}

impl Place {
    /// The index in this folder, which need not be there, if one of these keys has sealed it.
    pub(super) fn new(folder: &Path, keys: Keyring) -> Self {
        Self { folder: folder.to_owned(), faults: Faults::at(folder), keys }
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

    /// How the manifest begins, if there is one.
    pub(super) fn look(&self) -> Result<Option<Look>, StoreError> {
        let Some(bytes) = self.read(HEAD)? else { return Ok(None) };
        Ok(Some(Look(bytes)))
    }

    /// The newest generation's manifest, and how it begins.
    pub(super) fn manifest(&self) -> Result<Option<(Look, Manifest)>, StoreError> {
        self.check()?;
        let Some(bytes) = self.read(LIMIT)? else { return Ok(None) };
        let manifest = Manifest::decode(&bytes, &self.keys, &self.faults)?;
        Ok(Some((Look(bytes.into_iter().take(to_usize(HEAD)).collect()), manifest)))
    }

    fn read(&self, limit: u32) -> Result<Option<Vec<u8>>, StoreError> {
        let mut bytes = Vec::new();
        let read =
            open_plain(&self.path(NAME)).and_then(|file| file.take(u64::from(limit)).read_to_end(&mut bytes));
        let Err(error) = read else { return Ok(Some(bytes)) };
        self.check()?;
        if error.kind() == io::ErrorKind::NotFound {
            return Ok(None);
        }
        if self.path(NAME).is_symlink() {
            return Err(self.faults.foreign(format!("{NAME} is a link; remove it")));
        }
        Err(self.faults.io("cannot read", error))
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

    /// Says no to a folder that others use: files of theirs might look like ours.
    fn claim(&self) -> Result<(), StoreError> {
        self.check()?;
        if self.is_marked() {
            return Ok(());
        }
        match self.look()? {
            Some(Look(bytes)) if manifest::is_ours(&bytes) => return Ok(()),
            Some(_) => return Err(manifest::not_ours(&self.faults)),
            None => {}
        }
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(self.faults.io("cannot read", error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| self.faults.io("cannot read", error))?;
            let name = entry.file_name();
            let nobodys = name.to_str().is_some_and(|name| NOTHING.contains(&name) || is_ours(name));
            if !nobodys || (name == lock::NAME && !lock::is_ours(&entry.path())) {
                return Err(self.faults.foreign(
                    "there are other files and no index in this folder; choose another one, empty or not yet there",
                ));
            }
        }
        Ok(())
    }

    /// Whether an index was begun here, whatever has become of it.
    fn is_marked(&self) -> bool {
        let (name, content) = IGNORE;
        let mut bytes = Vec::new();
        let read = open_plain(&self.path(name)).and_then(|file| file.take(16).read_to_end(&mut bytes));
        read.is_ok() && bytes == content.as_bytes() && lock::is_ours(&self.path(lock::NAME))
    }

    /// Makes the folder, for its user alone, and keeps it out of repositories. Without a key to seal with, nothing is begun.
    pub(super) fn prepare(&self) -> Result<(), StoreError> {
        self.claim()?;
        self.keys.sealing()?;
        let io = |error| self.faults.io("cannot write to", error);
        let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.is_dir();
        let missing: Vec<&Path> = self.folder.ancestors().take_while(missing).collect();
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(io)?;
        for made in missing {
            let parent = made.parent().filter(|parent| !parent.as_os_str().is_empty());
            File::open(parent.unwrap_or(Path::new("."))).and_then(|parent| parent.sync_all()).map_err(io)?;
        }
        self.check()?;
        if let Err(error) = self.keep_private() {
            // A folder of another user is private or not as that user wants it.
            tracing::debug!(%error, "others may read the index");
        }
        match private().open(self.path(IGNORE.0)) {
            Ok(mut file) => file.write_all(IGNORE.1.as_bytes()).map_err(io),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(io(error)),
        }
    }

    /// Takes from others what an older version or a copy has given them: the folder and files of ours in it.
    fn keep_private(&self) -> io::Result<()> {
        let restrict = |file: &File, mode: u32| match file.metadata()?.permissions().mode() & 0o077 {
            0 => Ok(()),
            _ => file.set_permissions(Permissions::from_mode(mode)),
        };
        restrict(&File::open(&self.folder)?, 0o700)?;
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let ours = |name: &str| [NAME, IGNORE.0, lock::NAME].contains(&name) || is_ours(name);
            if name.to_str().is_some_and(ours) && entry.file_type()?.is_file() {
                restrict(&open_plain(&entry.path())?, 0o600)?;
            }
        }
        Ok(())
    }

    /// Makes a generation the newest one. What it names has to be on the disk already.
    pub(super) fn publish(&self, manifest: &Manifest, before: Option<&Manifest>) -> Result<(), Unpublished> {
        let certain = |error| Unpublished { error, certain: true };
        self.sync().map_err(certain)?;
        self.replace(manifest).map_err(certain)?;
        let Err(error) = self.sync() else { return Ok(()) };
        // It may or may not survive a loss of power: back to what did.
        let back = match before {
            Some(before) => self.replace(before),
            None => fs::remove_file(self.path(NAME)),
        };
        Err(Unpublished { error, certain: back.and_then(|()| self.sync()).is_ok() })
    }

    fn replace(&self, manifest: &Manifest) -> io::Result<()> {
        let name = format!("{}.new", unique());
        let path = self.path(&name);
        let written = (|| {
            let key = self.keys.sealing().map_err(io::Error::other)?;
            let mut file = private().open(&path)?;
            file.write_all(&manifest.encode(&key).map_err(io::Error::other)?)?;
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
    /// What does is what the manifest says that everybody sees, whoever asks.
    pub(super) fn sweep(&self) {
        let keep: HashSet<String> = match self.manifest() {
            Ok(Some((_, manifest))) => manifest.names().collect(),
            Ok(None) => HashSet::new(),
            Err(_) => return,
        };
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
        // After a loss of power there must be no manifest of files that are gone.
        self.sync().map_err(|error| self.faults.io("cannot clear", error))?;
        self.sweep();
        Ok(())
    }
}

/// A name no file has had.
pub(super) fn unique() -> String {
    SegmentId::generate_random().uuid_string()
}

/// What files of ours are: tantivy's, and those beside.
const KINDS: [&str; 11] =
    ["idx", "pos", "term", "store", "store.temp", "fast", "fieldnorm", "files", "codes", "rows", "new"];

/// Whether a file is one that a generation is made of: 32 hexadecimal digits and what it is.
fn is_ours(name: &str) -> bool {
    let Some((id, kind)) = name.split_once('.') else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    id.len() == 32
        && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && (KINDS.contains(&kind) || kind.strip_suffix(".del").is_some_and(digits))
}

#[cfg(test)]
mod tests {
    use super::{is_ours, unique};

    #[test]
    fn files_of_ours_are_told_by_their_names() {
        let id = unique();
        for kind in ["idx", "store", "store.temp", "17.del", "files", "codes", "rows", "new"] {
            assert!(is_ours(&format!("{id}.{kind}")), "{kind}");
        }
        for kind in ["jpg", "", "del", ".del", "x.del", "idx.bak", "IDX", "tar.gz"] {
            assert!(!is_ours(&format!("{id}.{kind}")), "{kind}");
        }
        for name in [id.clone(), format!("{id}0.idx"), format!("{}.idx", "A".repeat(32)), "lock".to_owned()] {
            assert!(!is_ours(&name), "{name}");
        }
    }
}
