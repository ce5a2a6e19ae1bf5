//! API keys: generation, and the TOML text that lists them.
//!
//! A key is `pt_` and 256 random bits, of which only the SHA-256 is stored. A slow hash such as Argon2 protects passwords, which
//! can be guessed; 256 random bits cannot, and a fast hash costs a request nothing. For the same reason nothing else is
//! accepted as a key, not even if its hash is in the file.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use data_encoding::{BASE64URL_NOPAD, HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::server::error::AuthSetupError;
use crate::server::scope_hierarchy::ScopeHierarchy;
use crate::{is_scope, random};

/// The prefix of every key, by which people and secret scanners recognise one.
pub(super) const PREFIX: &str = "pt_";
const RANDOM_BYTES: usize = 32;
const MAX_NAME: usize = 64;
/// The end of the year 9999, the last that RFC 3339 can express.
const MAX_EXPIRES: u64 = 253_402_300_799;

/// A new API key: the secret, which is shown once, and its entry in a key file.
///
/// ```
/// use papertape_oauth::server::NewKey;
/// let key = NewKey::generate("ci", ["read".to_owned()], None)?;
/// assert!(key.secret().starts_with("pt_"));
/// assert!(!key.entry().contains(key.secret()));
/// # Ok::<_, papertape_oauth::server::AuthSetupError>(())
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
        check_name(name).map_err(AuthSetupError::Keys)?;
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
}

impl fmt::Debug for NewKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewKey").field("entry", &self.entry).finish_non_exhaustive()
    }
}

/// A key as a server knows it.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: String,
    /// Including implied ones.
    pub(super) scopes: Vec<String>,
    pub(super) expires: Option<SystemTime>,
    sha256: [u8; 32],
}

/// The keys of a file.
#[derive(Debug, Default)]
pub(super) struct KeyTable {
    keys: Vec<Arc<Key>>,
}

impl KeyTable {
    /// Parses a key file; the error says which entry is wrong, and quotes nothing that may be a secret.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
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
        Ok(Self { keys })
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key.name.as_str())
    }

    /// The key that a token is, in constant time for all keys.
    pub(super) fn find(&self, token: &str) -> Option<&Arc<Key>> {
        let random = token.strip_prefix(PREFIX)?;
        let well_formed =
            BASE64URL_NOPAD.decode(random.as_bytes()).is_ok_and(|random| random.len() == RANDOM_BYTES);
        let wanted = hash(token);
        let mut found = None;
        for key in &self.keys {
            if bool::from(key.sha256.ct_eq(&wanted)) {
                found = Some(key);
            }
        }
        found.filter(|_| well_formed)
    }

    /// The same key in this table, with the same name and scopes.
    pub(super) fn find_same(&self, key: &Key) -> Option<&Arc<Key>> {
        let same = |other: &&Arc<Key>| {
            (&other.name, &other.scopes, &other.sha256) == (&key.name, &key.scopes, &key.sha256)
        };
        self.keys.iter().find(same)
    }
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// A name identifies the principal in logs and handlers. No principal of an issuer has such a name: those begin with a URL.
fn check_name(name: &str) -> Result<(), String> {
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
