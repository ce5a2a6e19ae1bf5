//! API keys, from a text or from a file that may change. `file` reads it, `new_key` makes keys and adds them to it.
//!
//! A key is `pt_` and 256 random bits, of which only the SHA-256 is stored. A slow hash such as Argon2 protects passwords, which
//! can be guessed; 256 random bits cannot, and a fast hash costs a request nothing. For the same reason nothing else is
//! accepted as a key, not even if its hash is in the file.

mod file;
mod new_key;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::sync::{MutexGuard, watch};
use tokio::time::{Instant, sleep, timeout};

use super::challenge::Refusal;
use super::error::AuthSetupError;
use crate::Principal;
use crate::sync::lock;
use file::Stamp;

pub use new_key::NewKey;

/// The prefix of every key, by which people and secret scanners recognise one.
const PREFIX: &str = "pt_";
const RANDOM_BYTES: usize = 32;

/// How often the file is checked for changes.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Some editors truncate a file before they write it: one that is suddenly empty, invalid or missing is read again this many
/// times, at this interval, before its keys are revoked.
const REREADS: usize = 3;
const REREAD_INTERVAL: Duration = Duration::from_millis(100);

/// How long a request waits for a check that another one has begun.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// The API keys that a server accepts: TOML text with a table for each.
///
/// ```toml
/// [[key]]
/// name = "ci"
/// scopes = ["read"]
/// expires = 2027-01-31T12:00:00Z
/// sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
///
/// [implies]
/// admin = ["read", "write"]
/// ```
///
/// `papertape key` and [`NewKey`] make them. Only hashes of keys are stored.
pub struct Keys {
    shared: Arc<Shared>,
}

/// The keys, for requests and for the streams that outlive them.
struct Shared {
    table: watch::Sender<Arc<KeyTable>>,
    file: Option<WatchedFile>,
    /// A task checks the file, independently of requests.
    watched: AtomicBool,
}

struct WatchedFile {
    path: PathBuf,
    /// When the last check ended.
    checked: Mutex<Instant>,
    seen: tokio::sync::Mutex<KeyFileState>,
}

struct KeyFileState {
    stamp: Result<Stamp, String>,
    /// Why the file cannot be used, if so.
    problem: Option<String>,
}

/// The result of a check that found a change.
type Change = (Result<Stamp, String>, Result<KeyTable, String>);

impl Keys {
    /// The keys in a text.
    ///
    /// # Errors
    /// If the text is invalid.
    pub fn parse(text: &str) -> Result<Self, AuthSetupError> {
        let table = file::parse(text).map_err(AuthSetupError::Keys)?;
        Ok(Self::new(table, None))
    }

    /// The keys in a file. Changes of the file take effect within two seconds: a key that is deleted is rejected, and the
    /// streams that were opened with it end.
    ///
    /// While the file is missing or invalid, no key is valid; the log names the reason and the line. A state of less than 0.3
    /// seconds, as of an editor that truncates the file before it writes it, has no effect.
    ///
    /// # Errors
    /// If the file cannot be read, is invalid, or other users can read or change it.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, AuthSetupError> {
        let path = path.into();
        // Before the file is read: a change in between is noticed by the next check.
        let stamp = file::stamp(&path);
        let table =
            file::read(&path).map_err(|problem| AuthSetupError::File { path: path.clone(), problem })?;
        if table.len() == 0 {
            tracing::warn!(file = %path.display(), "the key file has no keys: every request with a key will be rejected");
        }
        let seen = tokio::sync::Mutex::new(KeyFileState { stamp, problem: None });
        Ok(Self::new(table, Some(WatchedFile { path, checked: Mutex::new(Instant::now()), seen })))
    }

    fn new(table: KeyTable, file: Option<WatchedFile>) -> Self {
        let (table, _) = watch::channel(Arc::new(table));
        Self { shared: Arc::new(Shared { table, file, watched: AtomicBool::new(false) }) }
    }

    /// Whether a token has the form of an API key. No JWT does.
    pub(super) fn is_api_key(token: &str) -> bool {
        token.starts_with(PREFIX)
    }

    /// The principal of an API key, when the key expires, and the key itself, to notice when it is revoked.
    pub(super) async fn check(
        &self,
        token: &str,
    ) -> Result<(Principal, Option<SystemTime>, HeldKey), Refusal> {
        self.shared.check_file().await;
        let mut changes = self.shared.table.subscribe();
        let table = Arc::clone(&changes.borrow_and_update());
        let key = table.find(token).ok_or_else(|| Refusal::invalid_token("the API key is unknown"))?;
        if key.expires.is_some_and(|expires| expires <= SystemTime::now()) {
            return Err(Refusal::invalid_token("the API key has expired"));
        }
        let principal = Principal::new(&key.name).with_scopes(key.scopes.iter().cloned());
        let held = HeldKey { key: Arc::clone(key), shared: Arc::clone(&self.shared), changes };
        Ok((principal, key.expires, held))
    }
}

/// A key as a server knows it.
#[derive(Debug)]
struct Key {
    name: String,
    /// Including implied ones.
    scopes: Vec<String>,
    expires: Option<SystemTime>,
    sha256: [u8; 32],
}

/// The keys of a file.
#[derive(Debug, Default)]
struct KeyTable {
    keys: Vec<Arc<Key>>,
}

impl KeyTable {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key.name.as_str())
    }

    /// The key that a token is, in constant time for all keys.
    fn find(&self, token: &str) -> Option<&Arc<Key>> {
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
    fn find_same(&self, key: &Key) -> Option<&Arc<Key>> {
        let same = |other: &&Arc<Key>| {
            (&other.name, &other.scopes, &other.sha256) == (&key.name, &key.scopes, &key.sha256)
        };
        self.keys.iter().find(same)
    }
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The key that a stream was opened with.
pub(super) struct HeldKey {
    key: Arc<Key>,
    shared: Arc<Shared>,
    changes: watch::Receiver<Arc<KeyTable>>,
}

impl HeldKey {
    /// Waits for a change of the keys. Returns when this key expires now; `None` if it is revoked or has other scopes.
    pub(super) async fn changed(&mut self) -> Option<Option<SystemTime>> {
        self.shared.watch_file();
        self.changes.changed().await.ok()?;
        let table = Arc::clone(&self.changes.borrow_and_update());
        self.key = Arc::clone(table.find_same(&self.key)?);
        Some(self.key.expires)
    }
}

impl Shared {
    /// Checks the file periodically from now on, as long as the server exists.
    fn watch_file(self: &Arc<Self>) {
        if self.file.is_none() || self.watched.swap(true, Ordering::AcqRel) {
            return;
        }
        let shared = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                sleep(CHECK_INTERVAL).await;
                let Some(shared) = shared.upgrade() else { return };
                shared.check_file().await;
            }
        });
    }

    /// Reads the file if it has changed. One request does this; others use the known keys, if those are fresh.
    async fn check_file(&self) {
        let Some(file) = &self.file else { return };
        let Some(mut seen) = file.turn().await else { return };
        let mut change = file.check(&seen).await;
        let has_keys = self.table.borrow().len() > 0;
        for _ in 0..REREADS {
            let doubtful = match &change {
                Some((_, Ok(table))) => table.len() == 0,
                Some((_, Err(_))) => true,
                None => false,
            };
            if !(doubtful && has_keys) {
                break;
            }
            sleep(REREAD_INTERVAL).await;
            change = file.check(&seen).await;
        }
        if let Some((stamp, read)) = change {
            seen.stamp = stamp;
            self.apply(file, &mut seen, read);
        }
        *lock(&file.checked) = Instant::now();
    }

    fn apply(&self, file: &WatchedFile, seen: &mut KeyFileState, read: Result<KeyTable, String>) {
        let path = file.path.display();
        let (table, problem) = match read {
            Ok(table) => {
                tracing::info!(file = %path, keys = table.len(), "the API keys have changed");
                (table, None)
            }
            Err(problem) => {
                if seen.problem.as_ref() != Some(&problem) {
                    tracing::error!(file = %path, "no API key is valid until the key file is repaired: {problem}");
                }
                (KeyTable::default(), Some(problem))
            }
        };
        seen.problem = problem;
        self.table.send_replace(Arc::new(table));
    }
}

impl WatchedFile {
    fn age(&self) -> Duration {
        lock(&self.checked).elapsed()
    }

    /// The turn to check the file, if it is time. A request that finds another one checking uses the known keys, unless they are
    /// old: after an idle hour, a revoked key must not be accepted beside the request that finds that out.
    async fn turn(&self) -> Option<MutexGuard<'_, KeyFileState>> {
        let age = self.age();
        if age < CHECK_INTERVAL {
            return None;
        }
        let turn = match self.seen.try_lock() {
            Ok(turn) => turn,
            Err(_) if age < 2 * CHECK_INTERVAL => return None,
            Err(_) => timeout(CHECK_TIMEOUT, self.seen.lock()).await.ok()?,
        };
        (self.age() >= CHECK_INTERVAL).then_some(turn)
    }

    /// Reads the file if it has changed, or could not be used before.
    async fn check(&self, seen: &KeyFileState) -> Option<Change> {
        let (path, before) = (self.path.clone(), seen.stamp.clone());
        let unusable = seen.problem.is_some();
        tokio::task::spawn_blocking(move || read_if_changed(&path, &before, unusable)).await.ok()?
    }
}

fn read_if_changed(path: &Path, before: &Result<Stamp, String>, unusable: bool) -> Option<Change> {
    let stamp = file::stamp(path);
    (unusable || stamp != *before).then(|| (stamp, file::read(path)))
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = Arc::clone(&self.shared.table.borrow());
        let names: Vec<&str> = table.names().collect();
        let path = self.shared.file.as_ref().map(|file| &file.path);
        f.debug_struct("Keys").field("names", &names).field("file", &path).finish()
    }
}
