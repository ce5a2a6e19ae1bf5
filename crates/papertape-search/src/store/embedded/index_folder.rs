//! The directory of an index: which files belong to it, which may be removed, and how a generation is published.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::disk::{open_plain, to_usize};
use super::errors::ErrorContext;
use super::file_set::private;
use super::keyring::Keyring;
use super::lock;
use super::manifest::{self, LIMIT, Manifest, NAME};
use crate::store::StoreError;

/// Bytes that are enough for the first line of a manifest.
const HEAD: u32 = 192;

/// Keeps an index out of repositories.
const IGNORE: (&str, &str) = (".gitignore", "*\n");

/// Names that may be in a directory that still counts as empty.
const IGNORABLE: [&str; 5] = [IGNORE.0, lock::NAME, ".gitkeep", ".DS_Store", "lost+found"];

/// The first line of a manifest. It has the checksum of the rest, so it differs between generations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fingerprint(Vec<u8>);

/// Why a generation was not published, and whether the previous one is certainly the newest. If not, a power loss decides
/// which of them is, and the files of both are needed.
#[derive(Debug)]
pub(super) struct Unpublished {
    pub(super) error: io::Error,
    pub(super) certain: bool,
}

/// The directory of an index.
#[derive(Debug, Clone)]
pub(super) struct IndexFolder {
    root: PathBuf,
    errors: ErrorContext,
    keys: Keyring,
}

impl IndexFolder {
    /// The index in this directory, which need not exist. Its manifest must be sealed with one of these keys.
    pub(super) fn new(folder: &Path, keys: Keyring) -> Self {
        Self { root: folder.to_owned(), errors: ErrorContext::at(folder), keys }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn errors(&self) -> &ErrorContext {
        &self.errors
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The first line of the manifest, if there is one.
    pub(super) fn fingerprint(&self) -> Result<Option<Fingerprint>, StoreError> {
        let Some(bytes) = self.read(HEAD)? else { return Ok(None) };
        Ok(Some(Fingerprint(bytes)))
    }

    /// The newest generation's manifest and its fingerprint.
    pub(super) fn manifest(&self) -> Result<Option<(Fingerprint, Manifest)>, StoreError> {
        self.check()?;
        let Some(bytes) = self.read(LIMIT)? else { return Ok(None) };
        let manifest = Manifest::decode(&bytes, &self.keys, &self.errors)?;
        Ok(Some((Fingerprint(bytes.into_iter().take(to_usize(HEAD)).collect()), manifest)))
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
            return Err(self.errors.foreign(format!("{NAME} is a link; remove it")));
        }
        Err(self.errors.io("cannot read", error))
    }

    /// Rejects a path that exists but is not a directory.
    fn check(&self) -> Result<(), StoreError> {
        match fs::symlink_metadata(&self.root) {
            Ok(meta) if meta.is_dir() => Ok(()),
            Ok(meta) if meta.is_symlink() => {
                Err(self.errors.foreign("it is a link; give the directory it leads to"))
            }
            Ok(_) => {
                Err(self.errors.foreign("it is a file, not a directory; remove it or choose another place"))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(self.errors.io("cannot read", error)),
        }
    }

    /// Rejects a directory with files of other programs, which might look like ours.
    fn claim(&self) -> Result<(), StoreError> {
        self.check()?;
        if self.is_marked() {
            return Ok(());
        }
        match self.fingerprint()? {
            Some(Fingerprint(bytes)) if manifest::is_ours(&bytes) => return Ok(()),
            Some(_) => return Err(manifest::not_ours(&self.errors)),
            None => {}
        }
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(self.errors.io("cannot read", error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| self.errors.io("cannot read", error))?;
            let name = entry.file_name();
            let ignorable = name.to_str().is_some_and(|name| IGNORABLE.contains(&name) || is_ours(name));
            if !ignorable || (name == lock::NAME && !lock::is_ours(&entry.path())) {
                return Err(self.errors.foreign(
                    "there are other files and no index in this directory; choose another one, empty or not yet there",
                ));
            }
        }
        Ok(())
    }

    /// Whether an index was begun here, complete or not.
    fn is_marked(&self) -> bool {
        let (name, content) = IGNORE;
        let mut bytes = Vec::new();
        let read = open_plain(&self.path(name)).and_then(|file| file.take(16).read_to_end(&mut bytes));
        read.is_ok() && bytes == content.as_bytes() && lock::is_ours(&self.path(lock::NAME))
    }

    /// Creates the directory, private to its user, with a `.gitignore`. Fails before that if there is no key to seal
    /// with.
    pub(super) fn prepare(&self) -> Result<(), StoreError> {
        self.claim()?;
        self.keys.sealing()?;
        let io = |error| self.errors.io("cannot write to", error);
        let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.is_dir();
        let missing: Vec<&Path> = self.root.ancestors().take_while(missing).collect();
        DirBuilder::new().recursive(true).mode(0o700).create(&self.root).map_err(io)?;
        for made in missing {
            let parent = made.parent().filter(|parent| !parent.as_os_str().is_empty());
            File::open(parent.unwrap_or(Path::new("."))).and_then(|parent| parent.sync_all()).map_err(io)?;
        }
        self.check()?;
        if let Err(error) = self.keep_private() {
            // The permissions of a directory of another user are left to that user.
            tracing::debug!(%error, "failed to restrict the permissions of the index to its owner");
        }
        match private().open(self.path(IGNORE.0)) {
            Ok(mut file) => file.write_all(IGNORE.1.as_bytes()).map_err(io),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(io(error)),
        }
    }

    /// Removes group and other permissions that an older version or a copy has left on the directory and on our files in
    /// it.
    fn keep_private(&self) -> io::Result<()> {
        let restrict = |file: &File, mode: u32| match file.metadata()?.permissions().mode() & 0o077 {
            0 => Ok(()),
            _ => file.set_permissions(Permissions::from_mode(mode)),
        };
        restrict(&File::open(&self.root)?, 0o700)?;
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            let name = entry.file_name();
            let ours = |name: &str| [NAME, IGNORE.0, lock::NAME].contains(&name) || is_ours(name);
            if name.to_str().is_some_and(ours) && entry.file_type()?.is_file() {
                restrict(&open_plain(&entry.path())?, 0o600)?;
            }
        }
        Ok(())
    }

    /// Publishes a generation. The files it names must be durable already.
    pub(super) fn publish(&self, manifest: &Manifest, before: Option<&Manifest>) -> Result<(), Unpublished> {
        let certain = |error| Unpublished { error, certain: true };
        self.sync().map_err(certain)?;
        self.replace(manifest).map_err(certain)?;
        let Err(error) = self.sync() else { return Ok(()) };
        // The new manifest may not survive a power loss: restore the previous one.
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

    /// Syncs the directory itself, and so the names of its files.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(&self.root)?.sync_all()
    }

    /// Garbage collection: removes files of ours that the published manifest does not name, such as those of crashed
    /// writers and of older generations.
    pub(super) fn sweep(&self) {
        let keep: HashSet<String> = match self.manifest() {
            Ok(Some((_, manifest))) => manifest.names().collect(),
            Ok(None) => HashSet::new(),
            Err(_) => return,
        };
        let Ok(entries) = fs::read_dir(&self.root) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if is_ours(name) && !keep.contains(name) {
                let gone = fs::remove_file(entry.path());
                if let Err(error) = gone {
                    tracing::warn!(name, %error, "failed to remove an unused file of the index");
                }
            }
        }
    }

    /// Removes the whole index.
    pub(super) fn clear(&self) -> Result<(), StoreError> {
        match fs::remove_file(self.path(NAME)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(self.errors.io("cannot clear", error)),
        }
        // After a power loss there must be no manifest that names removed files.
        self.sync().map_err(|error| self.errors.io("cannot clear", error))?;
        self.sweep();
        Ok(())
    }
}

/// A unique file name: 32 hexadecimal digits, from random bytes, the time and the process id.
pub(super) fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut random = [0; 32];
    getrandom::fill(&mut random).unwrap_or_default();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&random).update(&since.as_nanos().to_le_bytes()).update(&std::process::id().to_le_bytes());
    hasher.update(&COUNT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    hasher.finalize().to_hex().chars().take(32).collect()
}

/// The suffixes of our files; those from `idx` on were made by older versions, and are only removed.
const KINDS: [&str; 16] = [
    "terms",
    "postings",
    "docs",
    "texts",
    "del",
    "files",
    "codes",
    "rows",
    "new", //
    "idx",
    "pos",
    "term",
    "store",
    "store.temp",
    "fast",
    "fieldnorm",
];

/// Whether a file name is one of ours: 32 hexadecimal digits and a known suffix.
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
    fn index_files_are_recognised_by_name() {
        let id = unique();
        for kind in [
            "terms",
            "postings",
            "docs",
            "texts",
            "del",
            "idx",
            "store.temp",
            "17.del",
            "files",
            "rows",
            "new",
        ] {
            assert!(is_ours(&format!("{id}.{kind}")), "{kind}");
        }
        for kind in ["jpg", "", ".del", "x.del", "idx.bak", "IDX", "tar.gz"] {
            assert!(!is_ours(&format!("{id}.{kind}")), "{kind}");
        }
        for name in [id.clone(), format!("{id}0.idx"), format!("{}.idx", "A".repeat(32)), "lock".to_owned()] {
            assert!(!is_ours(&name), "{name}");
        }
    }
}
