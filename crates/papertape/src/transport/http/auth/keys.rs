//! A token to the name of the key that it is; from a text, or from a file that may change.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::challenge::Refusal;
use super::error::AuthSetupError;
use super::key::{PREFIX, Table};
use super::key_file::{self, Stamp};
use crate::server::Principal;

/// A file is looked at no more often than this.
const LOOK_EVERY: Duration = Duration::from_secs(1);

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
    now: RwLock<Arc<Table>>,
    file: Option<Watched>,
}

struct Watched {
    path: PathBuf,
    seen: Mutex<Seen>,
}

struct Seen {
    when: Instant,
    stamp: Result<Stamp, String>,
}

impl Keys {
    /// The keys that a text lists.
    ///
    /// # Errors
    /// If it is not such a text.
    pub fn parse(text: &str) -> Result<Self, AuthSetupError> {
        let table = Table::parse(text).map_err(AuthSetupError::Keys)?;
        Ok(Self { now: RwLock::new(Arc::new(table)), file: None })
    }

    /// The keys in a file. When the file changes, so do the keys, within a second; a change for the worse is logged and
    /// the keys stay as they were.
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
        let seen = Mutex::new(Seen { when: Instant::now(), stamp });
        Ok(Self { now: RwLock::new(Arc::new(table)), file: Some(Watched { path, seen }) })
    }

    /// Whether a token is meant to be one of ours.
    pub(super) fn looks_like_one(token: &str) -> bool {
        token.starts_with(PREFIX)
    }

    /// Whose key a token is.
    pub(super) async fn check(&self, token: &str) -> Result<Principal, Refusal> {
        if let Some(file) = &self.file {
            self.look_again(file).await;
        }
        let table = self.table();
        let key = table.find(token).ok_or_else(|| Refusal::invalid("the key is not known"))?;
        if key.expires.is_some_and(|expires| expires <= SystemTime::now()) {
            return Err(Refusal::invalid("the key has expired"));
        }
        Ok(Principal { name: key.name.clone(), scopes: key.scopes.clone() })
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the file if it has changed. One request does this; the others go on with what is known.
    async fn look_again(&self, file: &Watched) {
        let Ok(mut seen) = file.seen.try_lock() else { return };
        if seen.when.elapsed() < LOOK_EVERY {
            return;
        }
        let (path, before) = (file.path.clone(), seen.stamp.clone());
        let looked = tokio::task::spawn_blocking(move || look(&path, &before)).await;
        seen.when = Instant::now();
        let Ok(Some((stamp, read))) = looked else { return };
        seen.stamp = stamp;
        let path = file.path.display();
        match read {
            Ok(table) => {
                tracing::info!(file = %path, keys = table.len(), "the keys have changed");
                *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
            }
            Err(problem) => {
                tracing::error!(file = %path, "the changed keys cannot be used, the old ones stay: {problem}");
            }
        }
    }
}

/// What a file holds now, if it does not look as it did before.
fn look(
    path: &Path,
    before: &Result<Stamp, String>,
) -> Option<(Result<Stamp, String>, Result<Table, String>)> {
    let stamp = key_file::stamp(path);
    (stamp != *before).then(|| (stamp, key_file::read(path)))
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.table();
        let names: Vec<&str> = table.names().collect();
        let path = self.file.as_ref().map(|file| &file.path);
        f.debug_struct("Keys").field("names", &names).field("file", &path).finish()
    }
}
