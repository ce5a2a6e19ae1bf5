//! The directory to an index that is there and up to date.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::vectors::REJECTED_PAUSE;
use super::watchers::Watchers;
use super::{FIRST_PAUSE, IndexState, LONGEST_PAUSE, warn};
use crate::corpus::folder::Folder;
use crate::index::{self, IndexError, Progress, Report};
use crate::query::Searcher;
use crate::store::StoreError;
use crate::{Options, Warnings};

/// Indexes the directory again and again, and says so through `indexed`. Ends after the first time if the directory is
/// not watched.
pub(super) async fn keep(
    options: &Options,
    searcher: &Searcher,
    state: &watch::Sender<IndexState>,
    indexed: &watch::Sender<()>,
) {
    let folders = options.folders();
    let mut watcher = match options.watch {
        true => {
            let roots = folders.iter().map(|folder| absolute(folder));
            Some(Watchers::new(roots, &absolute(&options.index())).await)
        }
        false => None,
    };
    let mut pause = FIRST_PAUSE;
    let mut rivals = Rivals::default();
    // The warnings of the last run; nothing before there was one.
    let mut logged: Option<Vec<String>> = None;
    loop {
        let warnings_logged = logged.is_some();
        // An index that was once of this directory follows it, whatever becomes of its files, except if a disk goes away.
        let is_elsewhere = options.is_elsewhere();
        // Of several directories, others than that of the index may go away.
        let never_empty = is_elsewhere || folders.len() > 1;
        let same_folder_only = is_elsewhere && !warnings_logged;
        let run =
            index::Options { warnings_logged, same_folder_only, never_empty, ..index::Options::default() };
        match run_once(options, run, searcher, state).await {
            Ok(report) => {
                log(&report, logged.as_deref().unwrap_or_default());
                logged = Some(report.warnings);
                let is_complete = report.absent.is_empty();
                state.send_replace(match is_complete {
                    true => IndexState::Ready,
                    false => IndexState::Failed(report.absent.join("; ")),
                });
                indexed.send_replace(());
                if is_complete {
                    pause = FIRST_PAUSE;
                }
                match &mut watcher {
                    Some(watcher) => tokio::select! {
                        () = watcher.changed() => {}
                        replaced = lost(searcher) => if replaced {
                            sleep(rivals.pause()).await;
                        },
                    },
                    None if is_complete => return,
                    // What is away may come back.
                    None => {
                        sleep(pause).await;
                        pause = (pause * 2).min(LONGEST_PAUSE);
                    }
                }
            }
            Err(failure) => {
                state.send_modify(|state| *state = state.after_failure(failure));
                match &mut watcher {
                    Some(watcher) => tokio::select! {
                        () = sleep(pause) => {}
                        () = watcher.changed() => {}
                    },
                    None => sleep(pause).await,
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// A process with another key that follows the same directory and makes the index again whenever this one has. Without a
/// growing pause, two of them would do nothing else, and have all vectors made each time.
#[derive(Debug, Default)]
pub(super) struct Rivals {
    last: Option<Instant>,
    pause: Duration,
}

impl Rivals {
    /// How long to leave an index that has replaced ours: not at all, unless that has happened lately.
    pub(super) fn pause(&mut self) -> Duration {
        let lately = self.last.is_some_and(|last| last.elapsed() < 4 * REJECTED_PAUSE);
        self.pause =
            if lately { (self.pause * 2).clamp(FIRST_PAUSE, REJECTED_PAUSE) } else { Duration::ZERO };
        self.last = Some(Instant::now());
        self.pause
    }
}

/// Waits until the index is gone, or has been replaced with one that this user has not sealed: whether it was replaced.
async fn lost(searcher: &Searcher) -> bool {
    let mut generations = searcher.store().generations();
    loop {
        match searcher.store().summary().await {
            Err(StoreError::Unsealed { .. }) => return true,
            Err(error) if error.is_absence() => return false,
            _ => {}
        }
        if generations.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// One indexing run over the directory; if it fails, the state after it.
async fn run_once(
    options: &Options,
    run: index::Options,
    searcher: &Searcher,
    state: &watch::Sender<IndexState>,
) -> Result<Report, IndexState> {
    let folders = options.folders();
    let folder = open(options, &folders).map_err(|(folder, error)| {
        tracing::warn!("{}: {error}", folder.display());
        IndexState::Failed(format!("the directory {} cannot be read: {error}", name(folder)))
    })?;
    let progress = |progress: Progress| {
        state.send_if_modified(|state| {
            let next = state.after(&progress, run.same_folder_only);
            let changed = next.is_some();
            *state = next.unwrap_or_else(|| state.clone());
            changed
        });
    };
    // Another writer is most likely the one that adds our own vectors, and not for long.
    let run = index::Options { wait_for_writer: true, ..run };
    index::lexical(&folder, &**searcher.store(), run, &progress).await.map_err(|error| match error {
        IndexError::OtherFolder(why) => {
            tracing::warn!("{why}");
            IndexState::OtherFolder(why)
        }
        IndexError::NoFiles(why) => {
            tracing::warn!("{why}");
            IndexState::Failed(why)
        }
        IndexError::Store(error) => {
            tracing::warn!("{error}");
            IndexState::Failed(error.public_message())
        }
    })
}

/// Every run warns of what it leaves out; the log gets what is new since the last one.
fn log(report: &Report, logged: &[String]) {
    let Report { added, changed, removed, unchanged, warnings, .. } = report;
    warn(&not_logged(warnings, logged));
    tracing::info!(added, changed, removed, unchanged, "the directory is indexed");
}

/// The warnings that were not logged. The count of further ones is logged after a new one only.
pub(super) fn not_logged(warnings: &[String], logged: &[String]) -> Vec<String> {
    let logged: HashSet<&String> = logged.iter().collect();
    let (lines, count) = warnings.split_at(warnings.len().min(Warnings::MOST));
    let mut new: Vec<String> = lines.iter().filter(|warning| !logged.contains(warning)).cloned().collect();
    if !new.is_empty() {
        new.extend_from_slice(count);
    }
    new
}

/// The directories, or one that must be there and is not.
fn open<'a>(options: &Options, folders: &'a [PathBuf]) -> Result<Folder, (&'a Path, std::io::Error)> {
    let first = folders.first().map(PathBuf::as_path).unwrap_or(Path::new("."));
    // No index is made in a place that has gone, such as a disk that is not mounted.
    let home = if options.is_elsewhere() { Ok(()) } else { Folder::open(first).map(drop) };
    home.and_then(|()| Folder::open_all(folders)).map_err(|error| (first, error))
}

/// The last part of the directory's path, which is enough for a client.
fn name(root: &Path) -> String {
    let whole = absolute(root);
    format!("{:?}", whole.file_name().unwrap_or_default().to_string_lossy())
}

/// The path that file-system events come with.
fn absolute(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (whole.canonicalize(), whole.parent(), whole.file_name()) {
        (Ok(path), _, _) => path,
        // What does not exist yet will be in a directory that does.
        (Err(_), Some(parent), Some(name)) => {
            parent.canonicalize().map_or(whole.clone(), |parent| parent.join(name))
        }
        _ => whole,
    }
}
