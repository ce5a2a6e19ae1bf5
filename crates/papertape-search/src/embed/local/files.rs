//! A model's directory to the bytes of its files, each read once, within bounds, and into one digest.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// The largest file but the weights: the vocabulary of a multilingual model takes 17 MB.
const LARGEST: u64 = 64 << 20;

/// The directory of a model, while it is read.
#[derive(Debug)]
pub(super) struct Files {
    root: PathBuf,
    hasher: blake3::Hasher,
}

impl Files {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), hasher: blake3::Hasher::new() }
    }

    /// The digest that distinguishes this model from others: of every file that was read so far.
    pub(super) fn digest(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }

    /// A file that may be missing, as JSON.
    pub(super) fn json<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, String> {
        let Some(bytes) = self.bytes(name)? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| format!("{name} cannot be read: {error}"))
    }

    /// A file that may be missing.
    pub(super) fn bytes(&mut self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let Some((mut file, size)) = self.open(name, LARGEST)? else { return Ok(None) };
        let mut bytes = vec![0; usize::try_from(size).map_err(|_| format!("{name} is too large"))?];
        self.fill(&mut file, name, &mut bytes)?;
        Ok(Some(bytes))
    }

    /// Opens a file that may be missing, and says how many bytes it has.
    pub(super) fn open(&mut self, name: &str, largest: u64) -> Result<Option<(File, u64)>, String> {
        let path = self.root.join(name);
        let failed = |error: std::io::Error| format!("{name} cannot be read: {error}");
        // Looked at before it is opened: to open a pipe would wait for ever.
        let found = match std::fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            found => found.map_err(failed)?,
        };
        if !found.is_file() {
            return Err(format!("{name} is not a file"));
        }
        let size = found.len();
        if size > largest {
            return Err(format!("{name} has {size} bytes; at most {largest} are read"));
        }
        let file = File::open(&path).map_err(failed)?;
        self.hasher.update(name.as_bytes()).update(&[0]).update(&size.to_le_bytes());
        Ok(Some((file, size)))
    }

    /// The next bytes of a file.
    pub(super) fn fill(&mut self, file: &mut File, name: &str, bytes: &mut [u8]) -> Result<(), String> {
        file.read_exact(bytes).map_err(|error| format!("{name} cannot be read: {error}"))?;
        self.hasher.update(bytes);
        Ok(())
    }
}
