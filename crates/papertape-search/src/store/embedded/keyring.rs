//! The keys that authenticate an index: its manifest is sealed, with a keyed BLAKE3 hash (a MAC), by a key of its user.
//!
//! A directory may come with an index in it, such as a clone or an archive. The texts in that index may differ from those
//! of the directory, and may be crafted to mislead. So an index is used only if a key of this user has sealed its
//! manifest, which pins every other file by a cryptographic digest. Any other index is rebuilt from its directory.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::OFlags;

use super::index_folder::unique;
use crate::store::StoreError;

/// The path of the file of keys in the user's data directory.
const FILE: &str = "papertape/index.key";

/// The most bytes read of a file of keys: enough for hundreds of lines.
const LIMIT: u64 = 64 * 1024;

/// The key of this process, used where no key can be stored.
static OF_THIS_PROCESS: OnceLock<Key> = OnceLock::new();

/// A secret key. It does not implement `Debug`, so that it cannot be logged.
#[derive(Clone)]
pub(super) struct Key([u8; 32]);

impl Key {
    fn random() -> io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        Ok(Self(key))
    }

    /// The seal of a manifest: its keyed hash.
    pub(super) fn seal(&self, manifest: &[u8]) -> blake3::Hash {
        blake3::keyed_hash(&self.0, manifest)
    }
}

/// The keys of a user: a file of lines with 64 hexadecimal digits each. The first key seals, each of them is trusted.
#[derive(Debug, Clone)]
pub(super) struct Keyring {
    file: Option<PathBuf>,
}

impl Keyring {
    /// The keys in the user's data directory.
    pub(super) fn of_user() -> Self {
        Self { file: data_folder().map(|folder| folder.join(FILE)) }
    }

    /// The keys in this file, which need not exist yet.
    pub(super) fn at(file: &Path) -> Self {
        Self { file: Some(file.to_owned()) }
    }

    /// The keys whose seals are trusted.
    pub(super) fn trusted(&self) -> Result<Vec<Key>, StoreError> {
        let mut keys = self.kept()?;
        keys.extend(OF_THIS_PROCESS.get().cloned());
        Ok(keys)
    }

    /// The key that seals new manifests; created now if there is none.
    pub(super) fn sealing(&self) -> Result<Key, StoreError> {
        if let Some(key) = self.kept()?.into_iter().next() {
            return Ok(key);
        }
        let made = match &self.file {
            Some(file) => make(file),
            None => Err(io::Error::new(io::ErrorKind::NotFound, "neither HOME nor XDG_DATA_HOME is set")),
        };
        match made {
            // Another process may have created the file first: its key is used then.
            Ok(()) => self.kept()?.into_iter().next().ok_or_else(|| unusable("it has no key in it")),
            Err(error) => of_this_process(&error),
        }
    }

    fn kept(&self) -> Result<Vec<Key>, StoreError> {
        let Some(file) = &self.file else { return Ok(Vec::new()) };
        match read(file) {
            Ok(text) => parse(&text),
            // A missing directory means that there is no key.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(Vec::new())
            }
            // So does a home that this user may not enter, as in services and containers.
            Err(_) if is_closed(file) => Ok(Vec::new()),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(unusable("it is not text")),
            Err(error)
                if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory) =>
            {
                Err(unusable(&format!("it cannot be read: {error}")))
            }
            // The failure may be temporary.
            Err(source) => Err(StoreError::Io { doing: format!("cannot read {FILE}"), source }),
        }
    }
}

/// An absolute path in `XDG_DATA_HOME`, else `.local/share` in the user's home.
fn data_folder() -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(absolute);
    data.or_else(|| std::env::home_dir().filter(absolute).map(|home| home.join(".local/share")))
}

fn unusable(why: &str) -> StoreError {
    StoreError::Other(format!(
        "{FILE}, the key that seals indexes, cannot be used: {why}. Correct the file; or remove it, and every index is rebuilt"
    ))
}

/// Whether a directory above the file, not the file itself, denies access.
fn is_closed(file: &Path) -> bool {
    fs::symlink_metadata(file).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

fn read(file: &Path) -> io::Result<String> {
    let no_wait = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(no_wait).open(file)?;
    let mut text = String::new();
    file.take(LIMIT).read_to_string(&mut text)?;
    Ok(text)
}

fn parse(text: &str) -> Result<Vec<Key>, StoreError> {
    let lines = text.lines().zip(1..).map(|(line, number)| (line.trim(), number));
    lines
        .filter(|(line, _)| !line.is_empty() && !line.starts_with('#'))
        .map(|(line, number)| match blake3::Hash::from_hex(line) {
            Ok(key) => Ok(Key(*key.as_bytes())),
            Err(_) => Err(unusable(&format!("line {number} is not 64 hexadecimal digits"))),
        })
        .collect()
}

/// Creates a key, unless another process has created one.
fn make(file: &Path) -> io::Result<()> {
    let folder = file.parent().ok_or(io::ErrorKind::NotFound)?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let new = folder.join(format!("index.key.{}", unique()));
    let made = (|| {
        let mut writer = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        writeln!(writer, "{}", blake3::Hash::from_bytes(Key::random()?.0).to_hex())?;
        writer.sync_all()?;
        match fs::hard_link(&new, file) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    })();
    fs::remove_file(&new).unwrap_or_default();
    made
}

/// The key of this process, for use where no key can be stored. Logs a warning once.
fn of_this_process(error: &io::Error) -> Result<Key, StoreError> {
    if let Some(key) = OF_THIS_PROCESS.get() {
        return Ok(key.clone());
    }
    let key = Key::random().map_err(|error| unusable(&error.to_string()))?;
    tracing::warn!(
        "the key that seals indexes cannot be stored in {FILE}: {error}. The next process rebuilds the index, unless \
         XDG_DATA_HOME names a directory that is writable"
    );
    Ok(OF_THIS_PROCESS.get_or_init(|| key).clone())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("papertape-keyring-{name}-{}", std::process::id()));
            fs::remove_dir_all(&path).unwrap_or_default();
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap_or_default();
        }
    }

    #[test]
    fn a_key_is_created_once_and_private() {
        let scratch = Scratch::new("once");
        let file = scratch.0.join("deep/index.key");
        let rings: Vec<Keyring> = (0..8).map(|_| Keyring::at(&file)).collect();
        let keys: Vec<Key> = std::thread::scope(|scope| {
            let threads: Vec<_> = rings.iter().map(|ring| scope.spawn(|| ring.sealing().unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| key.0 == keys[0].0), "all processes have the same");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn the_first_key_seals_and_each_is_trusted() {
        let scratch = Scratch::new("lines");
        fs::create_dir_all(&scratch.0).unwrap();
        let file = scratch.0.join("index.key");
        fs::write(&file, format!("# mine\n{}\n\n# the laptop's\n  {}\n", "0a".repeat(32), "FF".repeat(32)))
            .unwrap();
        let ring = Keyring::at(&file);
        assert_eq!(ring.sealing().unwrap().0, [10; 32]);
        let trusted: Vec<[u8; 32]> = ring.kept().unwrap().into_iter().map(|key| key.0).collect();
        assert_eq!(trusted, [[10; 32], [255; 32]]);
    }

    #[test]
    fn an_invalid_key_file_is_not_replaced() {
        let scratch = Scratch::new("invalid");
        fs::create_dir_all(&scratch.0).unwrap();
        let refused = |file: &Path| {
            let error = Keyring::at(file).sealing().err().unwrap().to_string();
            assert!(error.contains("papertape/index.key") && error.contains("remove it"), "{error}");
        };
        for content in [&b"secret\n"[..], b"", b"0a0a\n", "0a".repeat(33).as_bytes(), b"\xff\xfe"] {
            let file = scratch.0.join("index.key");
            fs::write(&file, content).unwrap();
            refused(&file);
            assert_eq!(fs::read(&file).unwrap(), content);
        }
        refused(&scratch.0); // a directory
    }

    #[test]
    fn without_a_writable_key_file_the_process_has_its_own_key() {
        let scratch = Scratch::new("nowhere");
        fs::create_dir_all(&scratch.0).unwrap();
        fs::write(scratch.0.join("file"), "").unwrap();
        for ring in [Keyring { file: None }, Keyring::at(&scratch.0.join("file/index.key"))] {
            let key = ring.sealing().unwrap();
            assert!(ring.trusted().unwrap().iter().any(|trusted| trusted.0 == key.0));
            assert!(ring.kept().unwrap().is_empty());
        }
    }
}
