//! What happens in a folder to the news that something did, once it is quiet again.

mod news;

use std::io::ErrorKind as Io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{Config, ErrorKind, PathsMut, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, timeout_at};

use crate::blog::folder::Folder;
use news::News;

/// Nothing more has happened for so long: whoever saves a file, or many, is done.
const QUIET: Duration = Duration::from_millis(200);

/// So long at most is waited for quiet.
const LONGEST_NOISE: Duration = Duration::from_secs(2);

/// How often to look whether the folder is still the same one.
const LOOK: Duration = Duration::from_secs(1);

/// How often to go through the folder if the system will not tell.
const POLL: Duration = Duration::from_secs(5);

/// Watches a folder, and the folders within that its files are looked for in.
#[derive(Debug)]
pub(super) struct Watcher {
    root: PathBuf,
    /// What of it does not count: the index itself.
    except: PathBuf,
    news: Arc<News>,
    /// The folder that was there when it was last looked at: another one may be put in its place.
    seen: Option<Identity>,
    /// What tells of it, if the system does.
    teller: Option<RecommendedWatcher>,
    /// How a folder gets its place in the system's list.
    add: Add,
}

type Add = fn(&mut dyn PathsMut, &Path) -> notify::Result<()>;

/// Which folder it is, whatever its name.
type Identity = (u64, u64);

impl Watcher {
    /// Hears of what happens from now on.
    pub(super) async fn new(root: PathBuf, except: PathBuf) -> Self {
        Self::with(root, except, |paths, folder| paths.add(folder, RecursiveMode::NonRecursive)).await
    }

    async fn with(root: PathBuf, except: PathBuf, add: Add) -> Self {
        let mut watcher = Self { root, except, news: Arc::default(), seen: None, teller: None, add };
        watcher.watch().await;
        watcher
    }

    /// Waits until something has happened and it is quiet again.
    pub(super) async fn changed(&mut self) {
        let began = Instant::now();
        loop {
            let happened = tokio::select! {
                () = self.news.happened() => true,
                () = sleep(LOOK) => false,
            };
            let is_due = self.seen.is_some() && self.teller.is_none() && began.elapsed() >= POLL;
            // Whoever stopped waiting for the last change may have left something to do.
            if happened || is_due || self.is_lost() || self.news.has_grown() {
                break;
            }
        }
        let latest = Instant::now() + LONGEST_NOISE;
        while let Ok(()) = timeout_at(latest.min(Instant::now() + QUIET), self.news.happened()).await {}
        // Whoever asked looks through the folder now: what comes later is heard of.
        if self.is_lost() {
            self.watch().await;
        } else if self.news.has_grown() {
            self.extend().await;
        }
    }

    /// The number of a folder that was removed may be given to the next one.
    fn is_lost(&self) -> bool {
        self.news.are_lost() || identity(&self.root) != self.seen
    }

    /// Watches the folder that stands there now.
    async fn watch(&mut self) {
        // Whoever stops waiting for this has nothing watched, and the next one begins anew.
        (self.teller, self.seen, self.news) = (None, None, Arc::default());
        let Some(seen) = identity(&self.root) else { return };
        let (root, except, news, add) =
            (self.root.clone(), self.except.clone(), Arc::clone(&self.news), self.add);
        let begun = spawn_blocking(move || follow(begin(except, Arc::clone(&news))?, &root, &news, add));
        self.settle(seen, begun).await;
    }

    /// Watches the folders that have come since, too.
    async fn extend(&mut self) {
        let (Some(teller), Some(seen)) = (self.teller.take(), self.seen.take()) else { return };
        let (root, news, add) = (self.root.clone(), Arc::clone(&self.news), self.add);
        news.catch_up();
        self.settle(seen, spawn_blocking(move || follow(teller, &root, &news, add))).await;
    }

    async fn settle(&mut self, seen: Identity, begun: JoinHandle<notify::Result<RecommendedWatcher>>) {
        match begun.await {
            Ok(Ok(teller)) => self.teller = Some(teller),
            Ok(Err(error)) => tracing::warn!(
                "the system does not tell what changes in the folder ({error}): it is looked through every {} s",
                POLL.as_secs()
            ),
            Err(error) => tracing::error!("cannot watch the folder: {error}"),
        }
        if self.teller.is_none() {
            // What was told of a part of the folder says nothing any more.
            self.news = Arc::default();
        }
        self.seen = Some(seen);
    }
}

fn begin(except: PathBuf, news: Arc<News>) -> notify::Result<RecommendedWatcher> {
    let config = Config::default().with_follow_symlinks(false);
    RecommendedWatcher::new(move |event| news.hear(event, &except), config)
}

/// Gives each folder that a listing looks into, and that has none yet, a place in the system's list.
fn follow(
    mut teller: RecommendedWatcher,
    root: &Path,
    news: &News,
    add: Add,
) -> notify::Result<RecommendedWatcher> {
    let mut failure = None;
    let mut paths = teller.paths_mut();
    let mut each = |folder: &Path| {
        // Known before it is watched: whatever is told of it then is understood.
        if failure.is_none()
            && news.watch(folder)
            && let Err(error) = add(&mut *paths, folder)
        {
            news.forget(folder);
            failure = Some(error).filter(|error| !is_passing(error));
        }
    };
    Folder::open(root).and_then(|folder| folder.enter(&mut each)).map_err(notify::Error::io)?;
    paths.commit()?;
    failure.map_or(Ok(teller), Err)
}

/// A folder that has gone, or cannot be read, is nothing to hear of; if that changes, the folder it is in tells.
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
