//! A folder to an index that is there and fresh, for as long as the server runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use papertape::Resources;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::situation::Work;
use super::watcher::Watcher;
use super::{catalogue, words};
use crate::blog::folder::Folder;
use crate::blog::ingest::{self, Progress, Report};
use crate::blog::library::Library;
use crate::blog::options::Options;
use crate::blog::store::StoreError;

/// What fails is tried again after a while, which grows.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How many warnings of one run are logged.
const MOST_WARNINGS: usize = 20;

/// Does everything that nobody waits for, until it is dropped: indexes the folder, keeps the list of resources. `filled` hears
/// when that list has been made.
pub(super) async fn run(
    options: Options,
    library: Library,
    work: watch::Sender<Work>,
    resources: Resources,
    filled: watch::Sender<bool>,
) {
    let mut tasks = JoinSet::new();
    tasks.spawn(catalogue::keep(library.clone(), resources, filled));
    match options.folder() {
        Some(folder) => index(&folder, &options, &library, &work).await,
        None => drop(work.send_replace(Work::Done)),
    }
    while tasks.join_next().await.is_some() {}
}

/// Indexes the folder, and again whenever something changes in it if it is watched.
async fn index(root: &Path, options: &Options, library: &Library, work: &watch::Sender<Work>) {
    let mut watcher = match options.watch {
        true => Some(Watcher::new(absolute(root), absolute(&options.index())).await),
        false => None,
    };
    let mut pause = FIRST_PAUSE;
    loop {
        match once(root, library, work).await {
            Ok(report) => {
                told(&report);
                work.send_replace(Work::Done);
                pause = FIRST_PAUSE;
                match &mut watcher {
                    Some(watcher) => watcher.changed().await,
                    None => return,
                }
            }
            Err(why) => {
                work.send_replace(Work::Failed(why));
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

/// One run over the folder; if it fails, why, in words for clients.
async fn once(root: &Path, library: &Library, work: &watch::Sender<Work>) -> Result<Report, String> {
    let folder = Folder::open(root).map_err(|error| {
        tracing::warn!("{}: {error}", root.display());
        format!("the folder {} cannot be read: {error}", name(root))
    })?;
    let progress = |progress: Progress| {
        work.send_if_modified(|work| {
            let next = after(work, &progress);
            let is_news = next.is_some();
            *work = next.unwrap_or_else(|| work.clone());
            is_news
        });
    };
    let store = &**library.store();
    let embedder = library.embedder().map(|embedder| &**embedder);
    let report = match ingest::run(&folder, store, embedder, &progress).await {
        // Vectors of two models do not mix, but words can be kept fresh; searches say that meaning is left out, and why.
        Err(StoreError::Mismatch(why)) => {
            tracing::warn!("{why}");
            ingest::run(&folder, store, None, &progress).await
        }
        report => report,
    };
    report.map_err(|error| {
        tracing::warn!("{error}");
        words::in_words(&error)
    })
}

/// What a step of a run makes of the situation, if it makes anything of it. Who has seen all files once need not wait when
/// some change later.
fn after(work: &Work, progress: &Progress) -> Option<Work> {
    match (work, progress) {
        (Work::Done, _) => None,
        (_, Progress::Scanning) => Some(Work::Beginning),
        (_, Progress::Reading { done, of }) => Some(Work::Reading { done: *done, of: *of }),
        // Words are there before their vectors are made.
        (_, Progress::Embedding { .. } | Progress::Calibrating) => Some(Work::Done),
        (_, Progress::Writing) => None,
    }
}

fn told(report: &Report) {
    let Report { added, changed, removed, unchanged, warnings, .. } = report;
    for warning in warnings.iter().take(MOST_WARNINGS) {
        tracing::warn!("{warning}");
    }
    if warnings.len() > MOST_WARNINGS {
        tracing::warn!("and {} more: `papertape index` tells them all", warnings.len() - MOST_WARNINGS);
    }
    tracing::info!(added, changed, removed, unchanged, "the folder is indexed");
}

/// The last part of its path, which tells a client enough.
fn name(root: &Path) -> String {
    let whole = absolute(root);
    format!("{:?}", whole.file_name().unwrap_or_default().to_string_lossy())
}

/// The path that events about it come with.
fn absolute(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (whole.canonicalize(), whole.parent(), whole.file_name()) {
        (Ok(path), _, _) => path,
        // What is not there yet will be in a folder that is.
        (Err(_), Some(parent), Some(name)) => {
            parent.canonicalize().map_or(whole.clone(), |parent| parent.join(name))
        }
        _ => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_run_makes_anybody_wait() {
        let reading = Progress::Reading { done: 1, of: 2 };
        assert_eq!(after(&Work::Beginning, &reading), Some(Work::Reading { done: 1, of: 2 }));
        assert_eq!(after(&Work::Beginning, &Progress::Embedding { done: 0, of: 9 }), Some(Work::Done));
        assert_eq!(after(&Work::Failed(String::new()), &Progress::Scanning), Some(Work::Beginning));
        for progress in [Progress::Scanning, reading, Progress::Writing, Progress::Calibrating] {
            assert_eq!(after(&Work::Done, &progress), None);
        }
    }
}
