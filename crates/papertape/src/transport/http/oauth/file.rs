//! Tokens in a file that only its owner can read.
//!
//! A JSON file of mode 0600 in a folder of mode 0700. It is never changed in place: a new file is written beside it and
//! takes its name, so that a reader sees the old tokens or the new ones. A lock beside it keeps two processes apart.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use url::Url;

use super::flow::without_fragment;
use super::random;
use super::store::{SavedTokens, TokenKey, TokenStore};

/// The longest file that is read.
const LONGEST: u64 = 4 * 1024 * 1024;

/// Keeps tokens in a file that only its owner can read.
#[derive(Debug, Clone)]
pub struct FileTokens {
    path: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct Book {
    tokens: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    server: String,
    issuer: String,
    saved: SavedTokens,
}

impl FileTokens {
    /// Keeps them in this file. It and its folder are made when the first token is kept.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Forgets every token for a server, whoever issued it. Gives back how many there were.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn forget(&self, server: &str) -> io::Result<usize> {
        // As the client writes it.
        let server = Url::parse(server).map_or_else(|_| server.to_owned(), |url| without_fragment(&url));
        self.change(|book| {
            let before = book.tokens.len();
            book.tokens.retain(|entry| entry.server != server);
            before - book.tokens.len()
        })
    }

    /// The servers that there are tokens for, and who issued them.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn keys(&self) -> io::Result<Vec<TokenKey>> {
        let entries = self.read()?.tokens.into_iter();
        Ok(entries.map(|Entry { server, issuer, .. }| TokenKey { server, issuer }).collect())
    }

    fn change<T>(&self, change: impl FnOnce(&mut Book) -> T) -> io::Result<T> {
        let folder = self.folder();
        make_folder(folder)?;
        let _lock = lock(&self.path.with_extension("lock"))?;
        let mut book = self.read()?;
        let changed = change(&mut book);
        self.write(folder, &book)?;
        Ok(changed)
    }

    fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    fn read(&self) -> io::Result<Book> {
        let mut file = match open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Book::default()),
            Err(e) => return Err(self.told(&e)),
        };
        check_mode(&self.path, &file.metadata()?, 0o077, "600")?;
        check_mode(self.folder(), &fs::metadata(self.folder())?, 0o022, "700")?;
        let mut text = Vec::new();
        Read::take(&mut file, LONGEST).read_to_end(&mut text)?;
        // The error's own text could repeat a part of a token.
        serde_json::from_slice(&text).map_err(|e| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "{} is not a file of tokens (line {}, column {}): move it away and sign in again",
                    self.path.display(),
                    e.line(),
                    e.column()
                ),
            )
        })
    }

    fn write(&self, folder: &Path, book: &Book) -> io::Result<()> {
        let name = random::name().map_err(io::Error::other)?;
        let new = folder.join(format!(".tokens-{name}"));
        let written = create(&new).and_then(|mut file| {
            file.write_all(&serde_json::to_vec_pretty(book)?)?;
            file.sync_all()?;
            fs::rename(&new, &self.path)
        });
        if written.is_err() {
            // What could not be finished must not lie around.
            drop(fs::remove_file(&new));
        }
        written.map_err(|e| self.told(&e))
    }

    fn told(&self, e: &io::Error) -> io::Error {
        io::Error::new(e.kind(), format!("{}: {e}", self.path.display()))
    }
}

impl TokenStore for FileTokens {
    fn load(&self, key: &TokenKey) -> io::Result<Option<SavedTokens>> {
        let mut entries = self.read()?.tokens.into_iter();
        Ok(entries.find(|e| e.server == key.server && e.issuer == key.issuer).map(|e| e.saved))
    }

    fn save(&self, key: &TokenKey, tokens: &SavedTokens) -> io::Result<()> {
        self.change(|book| {
            book.tokens.retain(|e| !(e.server == key.server && e.issuer == key.issuer));
            book.tokens.push(Entry {
                server: key.server.clone(),
                issuer: key.issuer.clone(),
                saved: tokens.clone(),
            });
        })
    }

    fn delete(&self, key: &TokenKey) -> io::Result<()> {
        self.change(|book| book.tokens.retain(|e| !(e.server == key.server && e.issuer == key.issuer)))
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(folder)
        .map_err(|e| io::Error::new(e.kind(), format!("the folder {}: {e}", folder.display())))
}

/// Opens a file for reading, but not what a link points to.
fn open(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path)?.file_type().is_symlink() {
        return Err(link());
    }
    let mut options = OpenOptions::new();
    options.read(true);
    no_links(&mut options);
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a file"));
    }
    Ok(file)
}

/// Makes a file that is not there yet.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    no_links(&mut options);
    options.open(path)
}

/// Waits until no other process has the file, and keeps it until dropped.
fn lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    no_links(&mut options);
    let file =
        options.open(path).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
    #[cfg(unix)]
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
    Ok(file)
}

fn link() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "this is a symbolic link, and tokens are only kept in a file of their own: remove the link",
    )
}

#[cfg(unix)]
fn no_links(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    // Also for the moment between looking and opening.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
}

#[cfg(not(unix))]
fn no_links(_: &mut OpenOptions) {}

/// Refuses what others could read (a file) or change (a folder).
#[cfg(unix)]
fn check_mode(path: &Path, found: &fs::Metadata, others: u32, right: &str) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let mode = found.mode() & 0o7777;
    if mode & others == 0 {
        return Ok(());
    }
    let shown = path.display();
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "other users can get at {shown} (mode {mode:o}): run `chmod {right} {shown}`, and sign in again if you do not \
             trust them"
        ),
    ))
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &fs::Metadata, _: u32, _: &str) -> io::Result<()> {
    Ok(())
}
