//! A token store in a file that only its owner can read: JSON, mode 0600, in a directory of mode 0700. It is replaced
//! atomically, and a lock file beside it serialises writers.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use url::Url;

use super::flow::without_fragment;
use super::token_store::{SavedTokens, TokenKey, TokenStore};
use crate::private_file;

/// The greatest length of the file.
const MAX_LENGTH: u64 = 4 * 1024 * 1024;

/// A token store in a file that only its owner can read.
///
/// ```
/// use papertape_oauth::client::{FileTokens, OAuth};
///
/// let oauth = OAuth::new().store(FileTokens::new("/home/me/.local/share/my-host/tokens.json"));
/// ```
#[derive(Debug, Clone)]
pub struct FileTokens {
    path: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct Contents {
    tokens: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    server: String,
    issuer: String,
    saved: SavedTokens,
}

impl FileTokens {
    /// The store at a path. The file and its directory are created with the first token.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Deletes the tokens of a server, of every issuer. Returns how many there were.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn forget(&self, server: &str) -> io::Result<usize> {
        // The form in which the flow stores it.
        let server = Url::parse(server).map_or_else(|_| server.to_owned(), |url| without_fragment(&url));
        self.change(|contents| {
            let before = contents.tokens.len();
            contents.tokens.retain(|entry| entry.server != server);
            before - contents.tokens.len()
        })
    }

    /// The servers and issuers that there are tokens of.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn keys(&self) -> io::Result<Vec<TokenKey>> {
        let entries = self.read()?.tokens.into_iter();
        Ok(entries.map(|Entry { server, issuer, .. }| TokenKey { server, issuer }).collect())
    }

    fn change<T>(&self, change: impl FnOnce(&mut Contents) -> T) -> io::Result<T> {
        let folder = self.folder();
        create_folder(folder)?;
        let _lock = lock_file(&self.path.with_extension("lock"))?;
        let mut contents = self.read()?;
        let changed = change(&mut contents);
        self.write(&contents)?;
        Ok(changed)
    }

    fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    fn read(&self) -> io::Result<Contents> {
        let mut file = match open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Contents::default()),
            Err(e) => return Err(self.with_path(&e)),
        };
        check_mode(&self.path, &file.metadata()?, 0o077, "600")?;
        check_mode(self.folder(), &fs::metadata(self.folder())?, 0o022, "700")?;
        let mut text = Vec::new();
        Read::take(&mut file, MAX_LENGTH).read_to_end(&mut text)?;
        // The text of the error may quote a part of a token.
        serde_json::from_slice(&text).map_err(|e| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "{} is not a token file (line {}, column {}): move it away and sign in again",
                    self.path.display(),
                    e.line(),
                    e.column()
                ),
            )
        })
    }

    fn write(&self, contents: &Contents) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(contents)?;
        private_file::replace(&self.path, &text, |_| Ok(())).map_err(|e| self.with_path(&e))
    }

    fn with_path(&self, e: &io::Error) -> io::Error {
        io::Error::new(e.kind(), format!("{}: {e}", self.path.display()))
    }
}

impl TokenStore for FileTokens {
    fn load(&self, key: &TokenKey) -> io::Result<Option<SavedTokens>> {
        let mut entries = self.read()?.tokens.into_iter();
        Ok(entries.find(|e| e.server == key.server && e.issuer == key.issuer).map(|e| e.saved))
    }

    fn save(&self, key: &TokenKey, tokens: &SavedTokens) -> io::Result<()> {
        self.change(|contents| {
            contents.tokens.retain(|e| !(e.server == key.server && e.issuer == key.issuer));
            contents.tokens.push(Entry {
                server: key.server.clone(),
                issuer: key.issuer.clone(),
                saved: tokens.clone(),
            });
        })
    }

    fn delete(&self, key: &TokenKey) -> io::Result<()> {
        self.change(|contents| {
            contents.tokens.retain(|e| !(e.server == key.server && e.issuer == key.issuer))
        })
    }
}

fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(folder)
        .map_err(|e| io::Error::new(e.kind(), format!("the directory {}: {e}", folder.display())))
}

/// Opens a file for reading, without following a symbolic link.
fn open(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path)?.file_type().is_symlink() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this is a symbolic link, which a token file must not be: remove the link",
        ));
    }
    let mut options = OpenOptions::new();
    options.read(true);
    no_follow(&mut options);
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
}

/// Takes the lock of all writers, until the file is dropped.
fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    no_follow(&mut options);
    let file =
        options.open(path).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
    #[cfg(unix)]
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
    Ok(file)
}

#[cfg(unix)]
fn no_follow(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    // Against a link that appears between the check and the opening.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
}

#[cfg(not(unix))]
fn no_follow(_: &mut OpenOptions) {}

/// Rejects a file that other users can read, or a directory that they can change.
#[cfg(unix)]
fn check_mode(path: &Path, found: &fs::Metadata, forbidden: u32, chmod: &str) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let mode = found.mode() & 0o7777;
    if mode & forbidden == 0 {
        return Ok(());
    }
    let shown = path.display();
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "other users can access {shown} (mode {mode:o}): run `chmod {chmod} {shown}`, and sign in again if they may \
             have read it"
        ),
    ))
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &fs::Metadata, _: u32, _: &str) -> io::Result<()> {
    Ok(())
}
