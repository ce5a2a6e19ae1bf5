//! Keys of our own: random bytes to a key, TOML text to the keys it lists.
//!
//! A key is `pt_` and 256 random bits. Only its SHA-256 is kept: a slow hash such as Argon2 makes dictionaries slow, but
//! there is no dictionary of 256 random bits to try, and a fast hash costs an honest request nothing. For the same reason
//! nothing but such a key is accepted: a word that somebody has thought of, hashed into the file, opens nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use data_encoding::{BASE64URL_NOPAD, HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::error::AuthSetupError;
use crate::server::scope::{Hierarchy, is_scope};

/// What every key begins with, so that people and scanners of leaked secrets know one when they see it.
pub(super) const PREFIX: &str = "pt_";
const RANDOM_BYTES: usize = 32;
const LONGEST_NAME: usize = 64;
/// The end of the year 9999: later ones cannot be written.
const LAST_MOMENT: u64 = 253_402_300_799;

/// A new key: the secret, which is shown once, and what a file keeps of it.
///
/// ```
/// use papertape::http::NewKey;
/// let key = NewKey::generate("ci", ["read".to_owned()], None)?;
/// assert!(key.secret().starts_with("pt_"));
/// assert!(!key.entry().contains(key.secret()));
/// # Ok::<_, papertape::http::AuthSetupError>(())
/// ```
pub struct NewKey {
    secret: String,
    entry: String,
}

impl NewKey {
    /// Makes a key with a name, scopes, and perhaps an end.
    ///
    /// # Errors
    /// If the name or a scope cannot be used, or the system has no randomness to give.
    pub fn generate(
        name: &str,
        scopes: impl IntoIterator<Item = String>,
        expires: Option<SystemTime>,
    ) -> Result<Self, AuthSetupError> {
        let scopes: Vec<String> = scopes.into_iter().collect();
        check_name(name).map_err(AuthSetupError::Keys)?;
        if let Some(scope) = scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(AuthSetupError::Scope(scope.clone()));
        }
        let since = expires.map(|expires| expires.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
        if since.is_some_and(|since| since.as_secs() > LAST_MOMENT) {
            return Err(AuthSetupError::Keys("it would expire after the year 9999".to_owned()));
        }
        let mut random = [0; RANDOM_BYTES];
        getrandom::fill(&mut random).map_err(|_| AuthSetupError::NoRandomness)?;
        let secret = format!("{PREFIX}{}", BASE64URL_NOPAD.encode(&random));
        // Neither a name nor a scope can have anything in it that TOML would want escaped.
        let scopes: Vec<String> = scopes.iter().map(|scope| format!("\"{scope}\"")).collect();
        let mut entry = format!("[[key]]\nname = \"{name}\"\nscopes = [{}]\n", scopes.join(", "));
        if let Some(since) = since {
            let expires = SystemTime::UNIX_EPOCH + since;
            entry += &format!("expires = {}\n", humantime::format_rfc3339_seconds(expires));
        }
        entry += &format!("sha256 = \"{}\"\n", HEXLOWER.encode(&hash(&secret)));
        Ok(Self { secret, entry })
    }

    /// The key itself. Nobody can find it out later.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// What a file of keys keeps: TOML to append.
    #[must_use]
    pub fn entry(&self) -> &str {
        &self.entry
    }
}

impl fmt::Debug for NewKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewKey").field("entry", &self.entry).finish_non_exhaustive()
    }
}

/// What is kept of a key.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: String,
    /// With all that they imply.
    pub(super) scopes: Vec<String>,
    pub(super) expires: Option<SystemTime>,
    sha256: [u8; 32],
}

/// All keys of a file.
#[derive(Debug, Default)]
pub(super) struct Table {
    keys: Vec<Arc<Key>>,
}

impl Table {
    /// The keys that a text lists; the error says which is wrong, and quotes nothing that might be a secret.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let file: FileText = toml::from_str(text).map_err(|error| {
            let message = error.message();
            let message = if message.contains(PREFIX) { "a value of the wrong kind" } else { message };
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            format!("line {}: {message}", before.matches('\n').count() + 1)
        })?;
        let mut hierarchy = Hierarchy::default();
        for (scope, implied) in file.implies {
            hierarchy.add(scope, implied);
        }
        if let Some(scope) = hierarchy.names().find(|scope| !is_scope(scope)) {
            return Err(AuthSetupError::Scope(scope.to_owned()).to_string());
        }
        let mut keys: Vec<Arc<Key>> = Vec::with_capacity(file.key.len());
        for entry in file.key {
            let name = entry.name.clone();
            let key = entry.read(&hierarchy).map_err(|problem| format!("key {name:?}: {problem}"))?;
            if let Some(other) = keys.iter().find(|other| other.name == name || other.sha256 == key.sha256) {
                let what = if other.name == name { "name" } else { "hash" };
                return Err(format!("key {name:?}: there is another with this {what}"));
            }
            keys.push(Arc::new(key));
        }
        Ok(Self { keys })
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key.name.as_str())
    }

    /// The key that a token is. It takes the same time whichever it is, and if it is none.
    pub(super) fn find(&self, token: &str) -> Option<&Arc<Key>> {
        let random = token.strip_prefix(PREFIX)?;
        let ours = BASE64URL_NOPAD.decode(random.as_bytes()).is_ok_and(|random| random.len() == RANDOM_BYTES);
        let wanted = hash(token);
        let mut found = None;
        for key in &self.keys {
            if bool::from(key.sha256.ct_eq(&wanted)) {
                found = Some(key);
            }
        }
        found.filter(|_| ours)
    }

    /// The same key in this table: under the same name, and with the same scopes.
    pub(super) fn find_again(&self, key: &Key) -> Option<&Arc<Key>> {
        let same = |other: &&Arc<Key>| {
            (&other.name, &other.scopes, &other.sha256) == (&key.name, &key.scopes, &key.sha256)
        };
        self.keys.iter().find(same)
    }
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// A name says who it is in logs and to handlers. No issuer's subject can look like one: those begin with a URL.
fn check_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(fits) {
        return Err(format!(
            "a name is 1 to {LONGEST_NAME} letters, digits, dots, hyphens, underscores and @, not {name:?}"
        ));
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
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
    fn read(self, hierarchy: &Hierarchy) -> Result<Key, String> {
        check_name(&self.name)?;
        if let Some(scope) = self.scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(AuthSetupError::Scope(scope.clone()).to_string());
        }
        if self.sha256.starts_with(PREFIX) {
            return Err("`sha256` holds the key itself, which no longer is a secret: make another with \
                `papertape key`, and put what it prints here"
                .to_owned());
        }
        let sha256 = HEXLOWER_PERMISSIVE.decode(self.sha256.as_bytes()).ok();
        let sha256 = sha256.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let sha256 = sha256.ok_or("`sha256` is 64 hexadecimal digits, as `papertape key` prints them")?;
        let expires = match self.expires {
            None => None,
            Some(toml::Value::Datetime(moment)) => Some(read_moment(&moment.to_string())?),
            Some(toml::Value::String(text)) => Some(read_moment(&text)?),
            Some(_) => return Err(MOMENTS.to_owned()),
        };
        Ok(Key { name: self.name, scopes: hierarchy.expand(self.scopes), expires, sha256 })
    }
}

const MOMENTS: &str = "`expires` is a day, as 2027-01-31, or a moment in UTC, as 2027-01-31T12:00:00Z";

/// A day begins at midnight, UTC.
fn read_moment(text: &str) -> Result<SystemTime, String> {
    let text = if text.contains(['T', 't', ' ']) { text.to_owned() } else { format!("{text}T00:00:00Z") };
    humantime::parse_rfc3339(&text).map_err(|_| MOMENTS.to_owned())
}
