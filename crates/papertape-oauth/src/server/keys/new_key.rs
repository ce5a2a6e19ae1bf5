//! A new key: its generation, and adding it to a key file, atomically.

use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};

use super::{PREFIX, RANDOM_BYTES, file, hash};
use crate::server::error::AuthSetupError;
use crate::{is_scope, private_file, random};

/// The header of a new file.
const HEADER: &str = "\
# API keys of a papertape server: `papertape key NAME --file THIS` adds a key; to revoke one, delete its entry.
# The file has hashes only, from which the keys cannot be recovered.
";

/// The end of the year 9999, the last that RFC 3339 can express.
const MAX_EXPIRES: u64 = 253_402_300_799;

/// A new API key: the secret, which is shown once, and its entry in a key file.
///
/// ```
/// use papertape_oauth::server::NewKey;
/// let key = NewKey::generate("ci", ["read".to_owned()], None).unwrap();
/// assert!(key.secret().starts_with("pt_"));
/// assert!(!key.entry().contains(key.secret()));
/// ```
pub struct NewKey {
    secret: String,
    entry: String,
}

impl NewKey {
    /// Generates a key with a name, scopes, and an optional expiry.
    ///
    /// # Errors
    /// If the name or a scope is invalid, or the operating system provides no random bytes.
    pub fn generate(
        name: &str,
        scopes: impl IntoIterator<Item = String>,
        expires: Option<SystemTime>,
    ) -> Result<Self, AuthSetupError> {
        let scopes: Vec<String> = scopes.into_iter().collect();
        file::check_name(name).map_err(AuthSetupError::Keys)?;
        if let Some(scope) = scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(AuthSetupError::Scope(scope.clone()));
        }
        let since = expires.map(|expires| expires.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
        if since.is_some_and(|since| since.as_secs() > MAX_EXPIRES) {
            return Err(AuthSetupError::Keys("the key expires after the year 9999".to_owned()));
        }
        let random = random::bytes::<RANDOM_BYTES>().map_err(|_| AuthSetupError::NoRandomness)?;
        let secret = format!("{PREFIX}{}", BASE64URL_NOPAD.encode(&random));
        // Neither a name nor a scope has characters that TOML escapes.
        let scopes: Vec<String> = scopes.iter().map(|scope| format!("\"{scope}\"")).collect();
        let mut entry = format!("[[key]]\nname = \"{name}\"\nscopes = [{}]\n", scopes.join(", "));
        if let Some(since) = since {
            let expires = SystemTime::UNIX_EPOCH + since;
            entry += &format!("expires = {}\n", humantime::format_rfc3339_seconds(expires));
        }
        entry += &format!("sha256 = \"{}\"\n", HEXLOWER.encode(&hash(&secret)));
        Ok(Self { secret, entry })
    }

    /// The key itself. It cannot be recovered later.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// The entry for a key file: TOML to append.
    #[must_use]
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// Adds the entry to a key file, which is created (mode 0600) if there is none.
    ///
    /// The file is replaced atomically, with the same owner and mode. Where that is not possible (the directory is not
    /// writable, or the file is a mount point), the entry is appended in one write.
    ///
    /// # Errors
    /// If the file would be invalid with the new key, which leaves it unchanged, or cannot be written.
    pub fn add_to(&self, path: impl AsRef<Path>) -> Result<(), AuthSetupError> {
        let path = path.as_ref();
        let unwritten = |error: io::Error| AuthSetupError::NotWritten {
            path: path.to_owned(),
            problem: error.to_string(),
        };
        let unusable = |problem: String| AuthSetupError::File { path: path.to_owned(), problem };
        match private_file::create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(unwritten(error)),
            _ => {}
        }
        file::stamp(path).map_err(unusable)?;
        // A symbolic link stays: its target is replaced.
        let path = fs::canonicalize(path).map_err(unwritten)?;
        let (_lock, found) = lock(&path).map_err(unwritten)?;
        file::read(&path).map_err(unusable)?;
        let old = fs::read_to_string(&path).map_err(unwritten)?;
        let added = match old.as_str() {
            "" => format!("{HEADER}\n{}", self.entry()),
            old if old.ends_with('\n') => format!("\n{}", self.entry()),
            _ => format!("\n\n{}", self.entry()),
        };
        let text = format!("{old}{added}");
        file::parse(&text).map_err(unusable)?;
        let prepare = |new: &File| {
            new.set_permissions(found.permissions())?;
            keep_owner(new, &found)
        };
        match private_file::replace(&path, text.as_bytes(), prepare) {
            Err(error) if cannot_replace(&error) => append(&path, &added).map_err(unwritten),
            written => written.map_err(unwritten),
        }
    }
}

impl fmt::Debug for NewKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewKey").field("entry", &self.entry).finish_non_exhaustive()
    }
}

/// Locks the file against other writers, until it is dropped. If the file was replaced meanwhile, the new one is locked.
#[cfg(unix)]
fn lock(path: &Path) -> io::Result<(File, Metadata)> {
    use std::os::unix::fs::MetadataExt;
    loop {
        let file = File::open(path)?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
        let (locked, there) = (file.metadata()?, fs::metadata(path)?);
        if (locked.dev(), locked.ino()) == (there.dev(), there.ino()) {
            return Ok((file, locked));
        }
    }
}

#[cfg(not(unix))]
fn lock(path: &Path) -> io::Result<(File, Metadata)> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    Ok((file, found))
}

/// The server must be able to read the new file, also if an administrator wrote it.
#[cfg(unix)]
fn keep_owner(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    fchown(file, Some(old.uid()), Some(old.gid()))?;
    // fchown may clear bits of the mode.
    file.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

fn cannot_replace(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices
    )
}

fn append(path: &Path, added: &str) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(added.as_bytes())
}
