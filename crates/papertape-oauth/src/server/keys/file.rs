//! The key file: its TOML text, reading it, and noticing changes.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use data_encoding::HEXLOWER_PERMISSIVE;
use serde::Deserialize;

use super::{Key, KeyTable, PREFIX};
use crate::is_scope;
use crate::principal::ScopeHierarchy;
use crate::server::error::AuthSetupError;

/// The greatest length, for some thousand keys.
const MAX_LENGTH: u64 = 1024 * 1024;
const MAX_NAME: usize = 64;

/// The metadata of a file that change when the file does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    /// Inode, mode, and the time of their last change: `chmod` changes nothing else.
    system: [i64; 4],
}

/// The metadata of a regular file.
pub(super) fn stamp(path: &Path) -> Result<Stamp, String> {
    let found = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("not a regular file".to_owned());
    }
    Ok(Stamp { modified: found.modified().ok(), length: found.len(), system: system(&found) })
}

/// The keys in a file.
pub(super) fn read(path: &Path) -> Result<KeyTable, String> {
    // To open something else, such as a pipe, may block.
    stamp(path)?;
    let file = File::open(path).map_err(|error| error.to_string())?;
    let found = file.metadata().map_err(|error| error.to_string())?;
    check_mode(path, &found)?;
    let mut text = String::new();
    let read = file.take(MAX_LENGTH + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if read as u64 > MAX_LENGTH {
        return Err(format!("the file is longer than {MAX_LENGTH} bytes"));
    }
    parse(&text)
}

/// Rejects a file that other users can write or read. The group may read it: that is how secrets are mounted into containers.
#[cfg(unix)]
fn check_mode(path: &Path, found: &Metadata) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o027 != 0 {
        let path = path.display();
        return Err(format!("other users can read or change it (mode {mode:04o}): run `chmod 600 {path}`"));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &Metadata) -> Result<(), String> {
    Ok(())
}

#[cfg(unix)]
fn system(found: &Metadata) -> [i64; 4] {
    use std::os::unix::fs::MetadataExt;
    [found.ino().cast_signed(), i64::from(found.mode()), found.ctime(), found.ctime_nsec()]
}

#[cfg(not(unix))]
fn system(_: &Metadata) -> [i64; 4] {
    [0; 4]
}

/// Parses a key file; the error says which entry is wrong, and quotes nothing that may be a secret.
pub(super) fn parse(text: &str) -> Result<KeyTable, String> {
    let file: KeyFileText = toml::from_str(text).map_err(|error| {
        let message = error.message();
        let message = if message.contains(PREFIX) { "a value of the wrong type" } else { message };
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        format!("line {}: {message}", before.matches('\n').count() + 1)
    })?;
    let mut hierarchy = ScopeHierarchy::default();
    for (scope, implied) in file.implies {
        hierarchy.add(scope, implied);
    }
    if let Some(scope) = hierarchy.names().find(|scope| !is_scope(scope)) {
        return Err(AuthSetupError::Scope(scope.to_owned()).to_string());
    }
    let mut keys: Vec<Arc<Key>> = Vec::with_capacity(file.key.len());
    for entry in file.key {
        let name = entry.name.clone();
        let key = entry.parse(&hierarchy).map_err(|problem| format!("key {name:?}: {problem}"))?;
        if let Some(other) = keys.iter().find(|other| other.name == name || other.sha256 == key.sha256) {
            let what = if other.name == name { "name" } else { "hash" };
            return Err(format!("key {name:?}: another key has the same {what}"));
        }
        keys.push(Arc::new(key));
    }
    Ok(KeyTable { keys })
}

/// A name identifies the principal in logs and handlers. No principal of an issuer has such a name: those begin with a URL.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@');
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(fits) {
        return Err(format!(
            "a name has 1 to {MAX_NAME} letters, digits, dots, hyphens, underscores and @; {name:?} does not"
        ));
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFileText {
    #[serde(default)]
    key: Vec<EntryText>,
    #[serde(default)]
    implies: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryText {
    name: String,
    #[serde(default)]
    scopes: Vec<String>,
    expires: Option<toml::Value>,
    sha256: String,
}

impl EntryText {
    fn parse(self, hierarchy: &ScopeHierarchy) -> Result<Key, String> {
        check_name(&self.name)?;
        if let Some(scope) = self.scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(AuthSetupError::Scope(scope.clone()).to_string());
        }
        if self.sha256.starts_with(PREFIX) {
            return Err("`sha256` is the key itself, which is not secret any more: make another one with \
                `papertape key`, and use the entry that it prints"
                .to_owned());
        }
        let sha256 = HEXLOWER_PERMISSIVE.decode(self.sha256.as_bytes()).ok();
        let sha256 = sha256.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let sha256 = sha256.ok_or("`sha256` is not 64 hexadecimal digits, as `papertape key` prints them")?;
        let expires = match self.expires {
            None => None,
            Some(toml::Value::Datetime(time)) => Some(parse_time(&time.to_string())?),
            Some(toml::Value::String(text)) => Some(parse_time(&text)?),
            Some(_) => return Err(EXPIRES_FORMAT.to_owned()),
        };
        Ok(Key { name: self.name, scopes: hierarchy.expand(self.scopes), expires, sha256 })
    }
}

const EXPIRES_FORMAT: &str =
    "`expires` is neither a date (2027-01-31) nor a time in UTC (2027-01-31T12:00:00Z)";

/// A date means midnight, UTC.
fn parse_time(text: &str) -> Result<SystemTime, String> {
    let text = if text.contains(['T', 't', ' ']) { text.to_owned() } else { format!("{text}T00:00:00Z") };
    humantime::parse_rfc3339(&text).map_err(|_| EXPIRES_FORMAT.to_owned())
}
