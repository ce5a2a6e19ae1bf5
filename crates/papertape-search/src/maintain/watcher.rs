//! Waits for changes in a directory, until no more follow.

use std::io::ErrorKind as Io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{Config, ErrorKind, PathsMut, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, timeout_at};

use super::events::FolderEvents;
use crate::corpus::folder::Folder;

/// Without an event for this long, the files are taken to be saved.
const QUIET: Duration = Duration::from_millis(200);

/// The longest time to wait for that.
const LONGEST_DELAY: Duration = Duration::from_secs(2);

/// How often to check whether the directory is still the same one.
const CHECK: Duration = Duration::from_secs(1);

/// How often to scan the directory if the system delivers no events.
const POLL: Duration = Duration::from_secs(5);

/// Watches a directory, and the directories below it that are indexed.
#[derive(Debug)]
pub(super) struct Watcher {
    root: PathBuf,
    /// The index itself, which is not watched.
    except: PathBuf,
    events: Arc<FolderEvents>,
    /// The directory that was there when it was last looked at: another one may be put in its place.
    seen: Option<Identity>,
    /// The source of events, if the system delivers them.
    source: Option<RecommendedWatcher>,
    /// Adds a directory to those that the system watches.
    add: Add,
}

type Add = fn(&mut dyn PathsMut, &Path) -> notify::Result<()>;

/// Device and inode.
type Identity = (u64, u64);

impl Watcher {
    /// Watches from now on.
    pub(super) async fn new(root: PathBuf, except: PathBuf) -> Self {
        Self::with(root, except, |paths, folder| paths.add(folder, RecursiveMode::NonRecursive)).await
    }

    async fn with(root: PathBuf, except: PathBuf, add: Add) -> Self {
        let mut watcher = Self { root, except, events: Arc::default(), seen: None, source: None, add };
        watcher.watch().await;
        watcher
    }

    /// Waits until something has changed and no more events follow.
    pub(super) async fn changed(&mut self) {
        let began = Instant::now();
        loop {
            let happened = tokio::select! {
                () = self.events.happened() => true,
                () = sleep(CHECK) => false,
            };
            let is_due = self.seen.is_some() && self.source.is_none() && began.elapsed() >= POLL;
            // The last call may have been cancelled before it watched new directories.
            if happened || is_due || self.is_lost() || self.events.has_grown() {
                break;
            }
        }
        let latest = Instant::now() + LONGEST_DELAY;
        while let Ok(()) = timeout_at(latest.min(Instant::now() + QUIET), self.events.happened()).await {}
        // The caller scans the directory after this; later changes are events again.
        if self.is_lost() {
            self.watch().await;
        } else if self.events.has_grown() {
            self.extend().await;
        }
    }

    /// Whether all directories must be watched again. Inodes are reused, so that a removal is also known from its event.
    fn is_lost(&self) -> bool {
        self.events.are_lost() || identity(&self.root) != self.seen
    }

    /// Watches the directory that stands there now.
    async fn watch(&mut self) {
        // Cancelled here, nothing is watched, and the next call starts from the beginning.
        (self.source, self.seen, self.events) = (None, None, Arc::default());
        let Some(seen) = identity(&self.root) else { return };
        let (root, except, events, add) =
            (self.root.clone(), self.except.clone(), Arc::clone(&self.events), self.add);
        let begun = spawn_blocking(move || follow(begin(except, Arc::clone(&events))?, &root, &events, add));
        self.settle(seen, begun).await;
    }

    /// Watches the directories that have come since, too.
    async fn extend(&mut self) {
        let (Some(source), Some(seen)) = (self.source.take(), self.seen.take()) else { return };
        let (root, events, add) = (self.root.clone(), Arc::clone(&self.events), self.add);
        events.catch_up();
        self.settle(seen, spawn_blocking(move || follow(source, &root, &events, add))).await;
    }

    async fn settle(&mut self, seen: Identity, begun: JoinHandle<notify::Result<RecommendedWatcher>>) {
        match begun.await {
            Ok(Ok(source)) => self.source = Some(source),
            Ok(Err(error)) => tracing::warn!(
                "the system delivers no events for the directory ({error}): it is scanned every {} s",
                POLL.as_secs()
            ),
            Err(error) => tracing::error!("cannot watch the directory: {error}"),
        }
        if self.source.is_none() {
            // The events of a part of the directory are of no use.
            self.events = Arc::default();
        }
        self.seen = Some(seen);
    }
}

fn begin(except: PathBuf, events: Arc<FolderEvents>) -> notify::Result<RecommendedWatcher> {
    let config = Config::default().with_follow_symlinks(false);
    RecommendedWatcher::new(move |event| events.record(event, &except), config)
}

/// Has the system watch each directory that a listing looks into and that is not watched yet.
fn follow(
    mut source: RecommendedWatcher,
    root: &Path,
    events: &FolderEvents,
    add: Add,
) -> notify::Result<RecommendedWatcher> {
    let mut failure = None;
    let mut paths = source.paths_mut();
    let mut each = |folder: &Path| {
        // Recorded before it is watched, so that its first event finds it.
        if failure.is_none()
            && events.watch(folder)
            && let Err(error) = add(&mut *paths, folder)
        {
            events.forget(folder);
            failure = Some(error).filter(|error| !is_passing(error));
        }
    };
    Folder::open(root).and_then(|folder| folder.enter(&mut each)).map_err(notify::Error::io)?;
    paths.commit()?;
    failure.map_or(Ok(source), Err)
}

/// A directory that is gone, or cannot be read, has no events; if that changes, its parent has one.
fn is_passing(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => matches!(error.kind(), Io::NotFound | Io::PermissionDenied),
        _ => false,
    }
}

fn identity(root: &Path) -> Option<Identity> {
    let metadata = std::fs::metadata(root).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests;
