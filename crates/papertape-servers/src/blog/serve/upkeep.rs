//! A folder to an index that is there and fresh, for as long as the server runs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use papertape::Resources;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::situation::Work;
use super::watcher::Watcher;
use super::{catalogue, words};
use crate::blog::embed::EmbedError;
use crate::blog::folder::Folder;
use crate::blog::ingest::{self, Failure, Progress, Refused, Report};
use crate::blog::library::Library;
use crate::blog::options::Options;
use crate::blog::store::StoreError;
use crate::blog::warnings;

/// What fails is tried again after a while, which grows.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The same for a model that says no, or talks nonsense.
const HOPELESS_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_HOPELESS: Duration = Duration::from_secs(3600);

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
    tasks.spawn(catalogue::keep(library.clone(), work.subscribe(), resources, filled));
    match options.folder() {
        Some(folder) => index_on(folder, options, library, work).await,
        None => drop(work.send_replace(Work::Done)),
    }
    while tasks.join_next().await.is_some() {}
}

/// Indexes the folder, and begins again if that broke down: nobody else would.
async fn index_on(folder: PathBuf, options: Options, library: Library, work: watch::Sender<Work>) {
    loop {
        let (folder, options, library, sender) =
            (folder.clone(), options.clone(), library.clone(), work.clone());
        let mut task = JoinSet::new();
        task.spawn(async move { index(&folder, &options, &library, &sender).await });
        match task.join_next().await {
            Some(Err(error)) if error.is_panic() => {
                tracing::error!("indexing broke down, a fault in papertape: {error}");
                work.send_replace(Work::Failed("indexing broke down, a fault in papertape".to_owned()));
                sleep(LONGEST_PAUSE).await;
            }
            _ => return,
        }
    }
}

/// Indexes the folder, and again whenever something changes in it if it is watched. Words and vectors go side by side: a
/// model may take minutes, and what changes meanwhile is to be found.
async fn index(root: &Path, options: &Options, library: &Library, work: &watch::Sender<Work>) {
    let (indexed, news) = watch::channel(());
    let words = async move {
        keep_words(root, options, library, work, &indexed).await;
    };
    tokio::join!(words, keep_vectors(library, news));
}

/// Brings the words up to date, again and again, and tells that they are. Ends when nobody watches the folder.
async fn keep_words(
    root: &Path,
    options: &Options,
    library: &Library,
    work: &watch::Sender<Work>,
    indexed: &watch::Sender<()>,
) {
    let mut watcher = match options.watch {
        true => Some(Watcher::new(absolute(root), absolute(&options.index())).await),
        false => None,
    };
    let mut pause = FIRST_PAUSE;
    let mut rivals = Rivals::default();
    // What the last run said; nothing before there was one.
    let mut said: Option<Vec<String>> = None;
    loop {
        let told = said.is_some();
        // An index that was once of this folder follows it, whatever becomes of its files, but for a disk that goes away.
        let never_empty = options.is_elsewhere();
        let careful = never_empty && !told;
        let run = ingest::Options { told, careful, never_empty, ..ingest::Options::default() };
        match once(root, run, library, work).await {
            Ok(report) => {
                tell(&report, said.as_deref().unwrap_or_default());
                said = Some(report.warnings);
                work.send_replace(Work::Done);
                indexed.send_replace(());
                pause = FIRST_PAUSE;
                match &mut watcher {
                    Some(watcher) => tokio::select! {
                        () = watcher.changed() => {}
                        replaced = gone(library) => if replaced {
                            sleep(rivals.pause()).await;
                        },
                    },
                    None => return,
                }
            }
            Err(trouble) => {
                work.send_modify(|work| *work = troubled(work, trouble));
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

/// A server with another key that keeps the same folder, and makes the index again whenever this one has. Without a pause
/// that grows, two of them would do nothing else, and have all vectors made each time.
#[derive(Debug, Default)]
struct Rivals {
    last: Option<Instant>,
    pause: Duration,
}

impl Rivals {
    /// How long to leave an index that another has put in place of ours: not at all, unless that has happened lately.
    fn pause(&mut self) -> Duration {
        let lately = self.last.is_some_and(|last| last.elapsed() < 4 * HOPELESS_PAUSE);
        self.pause =
            if lately { (self.pause * 2).clamp(FIRST_PAUSE, HOPELESS_PAUSE) } else { Duration::ZERO };
        self.last = Some(Instant::now());
        self.pause
    }
}

/// Waits until the index has been taken away, or replaced with one that is not ours: whether that is so.
async fn gone(library: &Library) -> bool {
    let mut generations = library.store().generations();
    loop {
        match library.store().summary().await {
            Err(StoreError::Unsealed { .. }) => return true,
            Err(error) if error.is_absence() => return false,
            _ => {}
        }
        if generations.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Brings the vectors up to date whenever the words are; what fails is tried again. Ends when no more words can come.
async fn keep_vectors(library: &Library, mut news: watch::Receiver<()>) {
    let Some(embedder) = library.embedder() else { return };
    let mut more = news.changed().await.is_ok();
    let mut pause = FIRST_PAUSE;
    let mut said = Vec::new();
    let mut refused = Refused::default();
    while more {
        let mut longest = LONGEST_PAUSE;
        let done = ingest::vectors(&**library.store(), &**embedder, &mut refused, &|_| ()).await;
        let trouble = match &done {
            Ok(done) => done.failure.as_ref().map(ToString::to_string),
            Err(why) => Some(words::in_words(why)),
        };
        library.set_trouble(trouble);
        match done {
            Ok(done) => {
                // A model that stays away is told of once.
                if done.warnings != said {
                    warned(&done.warnings);
                    said = done.warnings;
                }
                let summary = &done.summary;
                tracing::info!(vectors = summary.vectors, chunks = summary.chunks, "vectors are made");
                match done.failure {
                    None => {
                        pause = FIRST_PAUSE;
                        more = news.changed().await.is_ok();
                        continue;
                    }
                    // It will hardly say anything else soon, and every answer may cost.
                    Some(EmbedError::Lying(_) | EmbedError::Refused(_)) => {
                        longest = LONGEST_HOPELESS;
                        pause = pause.max(HOPELESS_PAUSE);
                    }
                    Some(EmbedError::Unavailable(_)) => {}
                }
            }
            // Vectors of two models do not mix; searches say that meaning is left out, and why.
            Err(why @ StoreError::Mismatch(_)) => {
                tracing::warn!("{why}");
                more = news.changed().await.is_ok();
                continue;
            }
            Err(why) => tracing::warn!("{why}"),
        }
        // Words that come meanwhile shorten the wait; that none can come does not.
        tokio::select! {
            () = sleep(pause) => {}
            Ok(()) = news.changed() => {}
        }
        pause = (pause * 2).min(longest);
    }
}

/// One run over the folder; if it fails, how things stand then.
async fn once(
    root: &Path,
    run: ingest::Options,
    library: &Library,
    work: &watch::Sender<Work>,
) -> Result<Report, Work> {
    let folder = Folder::open(root).map_err(|error| {
        tracing::warn!("{}: {error}", root.display());
        Work::Failed(format!("the folder {} cannot be read: {error}", name(root)))
    })?;
    let progress = |progress: Progress| {
        work.send_if_modified(|work| {
            let next = after(work, &progress, run.careful);
            let is_news = next.is_some();
            *work = next.unwrap_or_else(|| work.clone());
            is_news
        });
    };
    // Whoever writes now is most likely our own vectors, and not for long.
    let run = ingest::Options { patient: true, ..run };
    ingest::words(&folder, &**library.store(), run, &progress).await.map_err(|failure| match failure {
        Failure::OfAnotherFolder(why) => {
            tracing::warn!("{why}");
            Work::Refused(why)
        }
        Failure::NoFiles(why) => {
            tracing::warn!("{why}");
            Work::Failed(why)
        }
        Failure::Store(error) => {
            tracing::warn!("{error}");
            Work::Failed(words::in_words(&error))
        }
    })
}

/// How things stand after a run that failed. An index that is of another folder still is when the next run does not get
/// far enough to see it.
fn troubled(before: &Work, trouble: Work) -> Work {
    match (before, trouble) {
        (Work::Refused(why), Work::Failed(_)) => Work::Refused(why.clone()),
        (_, trouble) => trouble,
    }
}

/// What a step of a run makes of the situation, if it makes anything of it. Who has seen all files once need not wait when
/// some change later.
fn after(work: &Work, progress: &Progress, careful: bool) -> Option<Work> {
    match (work, progress) {
        (Work::Done, _) | (Work::Refused(_), Progress::Scanning) => None,
        (_, Progress::Scanning) if careful => Some(Work::Checking),
        (_, Progress::Scanning) => Some(Work::Beginning),
        (_, Progress::Reading { done, of }) => Some(Work::Reading { done: *done, of: *of }),
        (_, Progress::Writing | Progress::Embedding { .. } | Progress::Calibrating) => None,
    }
}

/// Every run warns of what it leaves out; who reads the log wants to know what that is since the last one.
fn tell(report: &Report, said: &[String]) {
    let Report { added, changed, removed, unchanged, warnings, .. } = report;
    warned(&news(warnings, said));
    tracing::info!(added, changed, removed, unchanged, "the folder is indexed");
}

/// The warnings that were not said. How many more there are is worth saying after another one only.
fn news(warnings: &[String], said: &[String]) -> Vec<String> {
    let said: HashSet<&String> = said.iter().collect();
    let (lines, count) = warnings.split_at(warnings.len().min(warnings::MOST));
    let mut news: Vec<String> = lines.iter().filter(|warning| !said.contains(warning)).cloned().collect();
    if !news.is_empty() {
        news.extend_from_slice(count);
    }
    news
}

fn warned(warnings: &[String]) {
    for warning in warnings {
        tracing::warn!("{warning}");
    }
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
mod tests;
