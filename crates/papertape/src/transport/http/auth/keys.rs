//! A token to the name of the key that it is; from a text, or from a file that may change.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use tokio::sync::{MutexGuard, watch};
use tokio::time::{Instant, sleep, timeout};

use super::challenge::Refusal;
use super::error::AuthSetupError;
use super::key::{Key, PREFIX, Table};
use super::key_file::{self, Stamp};
use super::lease::Lease;
use crate::server::Principal;

/// A file is looked at no more often than this.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Some editors empty a file before they write it: one that is suddenly empty, broken or gone is looked at again so many
/// times, with so much time between, before its keys are revoked.
const SECOND_LOOKS: usize = 3;
const SETTLE: Duration = Duration::from_millis(100);

/// How long a request waits for a look that another one has begun.
const PATIENCE: Duration = Duration::from_secs(5);

/// The keys that a server accepts: TOML text with a table for each.
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
/// `papertape key` and [`NewKey`](super::NewKey) make them. Only hashes of keys are kept.
pub struct Keys {
    shared: Arc<Shared>,
}

/// What is known of the keys, for requests and for the streams that outlive them.
pub(super) struct Shared {
    now: RwLock<Arc<Table>>,
    /// Tells streams that keys have come or gone.
    changed: watch::Sender<()>,
    file: Option<Watched>,
    /// A task looks at the file, whether or not there are requests.
    watched: AtomicBool,
}

struct Watched {
    path: PathBuf,
    /// When the last look was over.
    looked: Mutex<Instant>,
    seen: tokio::sync::Mutex<Seen>,
}

struct Seen {
    stamp: Result<Stamp, String>,
    /// Why the file cannot be used, if so.
    problem: Option<String>,
}

impl Keys {
    /// The keys that a text lists.
    ///
    /// # Errors
    /// If it is not such a text.
    pub fn parse(text: &str) -> Result<Self, AuthSetupError> {
        let table = Table::parse(text).map_err(AuthSetupError::Keys)?;
        Ok(Self::new(table, None))
    }

    /// The keys in a file. When the file changes, so do the keys, within two seconds: a key that is taken out is refused,
    /// and the streams that were opened with it end.
    ///
    /// A file that is deleted, or can no longer be used, has no valid keys until it is there again and whole; the log says
    /// why, and names the line. What happens to it for less than 0.3 seconds, as in editors that empty a file before they
    /// write it, does not count.
    ///
    /// # Errors
    /// If the file cannot be read, is no such text, or others can read or change it.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, AuthSetupError> {
        let path = path.into();
        // Looked at before it is read: what changes in between is seen the next time.
        let stamp = key_file::stamp(&path);
        let table =
            key_file::read(&path).map_err(|problem| AuthSetupError::File { path: path.clone(), problem })?;
        if table.len() == 0 {
            tracing::warn!(file = %path.display(), "there are no keys in this file: it lets nobody in");
        }
        let seen = tokio::sync::Mutex::new(Seen { stamp, problem: None });
        Ok(Self::new(table, Some(Watched { path, looked: Mutex::new(Instant::now()), seen })))
    }

    fn new(table: Table, file: Option<Watched>) -> Self {
        let (changed, _) = watch::channel(());
        let now = RwLock::new(Arc::new(table));
        Self { shared: Arc::new(Shared { now, changed, file, watched: AtomicBool::new(false) }) }
    }

    /// Whether a token is meant to be one of ours.
    pub(super) fn looks_like_one(token: &str) -> bool {
        token.starts_with(PREFIX)
    }

    /// Whose key a token is, and for how long.
    pub(super) async fn check(&self, token: &str) -> Result<(Principal, Lease), Refusal> {
        self.shared.look_again().await;
        // Before the keys are looked at: no change after that is missed.
        let changed = self.shared.changed.subscribe();
        let table = self.shared.table();
        let key = table.find(token).ok_or_else(|| Refusal::invalid("the key is not known"))?;
        if key.expires.is_some_and(|expires| expires <= SystemTime::now()) {
            return Err(Refusal::invalid("the key has expired"));
        }
        let principal = Principal { name: key.name.clone(), scopes: key.scopes.clone() };
        Ok((principal, Lease::of_key(Arc::clone(key), Arc::clone(&self.shared), changed)))
    }
}

impl Shared {
    fn table(&self) -> Arc<Table> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same key as it is now, unless it was taken back or may now do something else.
    pub(super) fn again(&self, key: &Key) -> Option<Arc<Key>> {
        self.table().find_again(key).cloned()
    }

    /// Looks at the file from now on, whether or not there are requests, as long as there is a server.
    pub(super) fn keep_watch(self: &Arc<Self>) {
        if self.file.is_none() || self.watched.swap(true, Ordering::AcqRel) {
            return;
        }
        let shared = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                sleep(LOOK_EVERY).await;
                let Some(shared) = shared.upgrade() else { return };
                shared.look_again().await;
            }
        });
    }

    /// Reads the file if it has changed. One request does this; the others go on with what is known, if that is fresh.
    async fn look_again(&self) {
        let Some(file) = &self.file else { return };
        let Some(mut seen) = file.turn().await else { return };
        let mut found = file.look(&seen).await;
        let has_keys = self.table().len() > 0;
        for _ in 0..SECOND_LOOKS {
            let doubtful = match &found {
                Some((_, Ok(table))) => table.len() == 0,
                Some((_, Err(_))) => true,
                None => false,
            };
            if !(doubtful && has_keys) {
                break;
            }
            sleep(SETTLE).await;
            found = file.look(&seen).await;
        }
        if let Some((stamp, read)) = found {
            seen.stamp = stamp;
            self.take(file, &mut seen, read);
        }
        *file.looked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn take(&self, file: &Watched, seen: &mut Seen, read: Result<Table, String>) {
        let path = file.path.display();
        let (table, problem) = match read {
            Ok(table) => {
                tracing::info!(file = %path, keys = table.len(), "the keys have changed");
                (table, None)
            }
            Err(problem) => {
                if seen.problem.as_ref() != Some(&problem) {
                    tracing::error!(file = %path, "no key is valid until this file can be used again: {problem}");
                }
                (Table::default(), Some(problem))
            }
        };
        seen.problem = problem;
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
        self.changed.send_replace(());
    }
}

impl Watched {
    fn age(&self) -> Duration {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// The right to look, if it is time to. A request that finds another one looking goes on with what is known, unless that
    /// is old: after an idle hour, a revoked key must not be accepted beside the request that finds this out.
    async fn turn(&self) -> Option<MutexGuard<'_, Seen>> {
        let age = self.age();
        if age < LOOK_EVERY {
            return None;
        }
        let turn = match self.seen.try_lock() {
            Ok(turn) => turn,
            Err(_) if age < 2 * LOOK_EVERY => return None,
            Err(_) => timeout(PATIENCE, self.seen.lock()).await.ok()?,
        };
        (self.age() >= LOOK_EVERY).then_some(turn)
    }

    /// What the file holds now, if it does not look as it did before or could not be used then.
    async fn look(&self, seen: &Seen) -> Option<(Result<Stamp, String>, Result<Table, String>)> {
        let (path, before) = (self.path.clone(), seen.stamp.clone());
        let unusable = seen.problem.is_some();
        tokio::task::spawn_blocking(move || look(&path, &before, unusable)).await.ok()?
    }
}

fn look(
    path: &Path,
    before: &Result<Stamp, String>,
    unusable: bool,
) -> Option<(Result<Stamp, String>, Result<Table, String>)> {
    let stamp = key_file::stamp(path);
    (unusable || stamp != *before).then(|| (stamp, key_file::read(path)))
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.shared.table();
        let names: Vec<&str> = table.names().collect();
        let path = self.shared.file.as_ref().map(|file| &file.path);
        f.debug_struct("Keys").field("names", &names).field("file", &path).finish()
    }
}
