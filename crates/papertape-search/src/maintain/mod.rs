//! An index that follows its directory while it is searched.
//!
//! - `lexical`: indexes the directory, again whenever it changes
//! - `vectors`: has vectors made for what was indexed
//! - `watcher` (with `events`): waits for changes in a directory; `watchers`: in several
//! - [`IndexState`]: how far the index has followed

mod events;
mod lexical;
mod vectors;
mod watcher;
mod watchers;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use crate::Options;
use crate::index::Progress;
use crate::query::Searcher;
use crate::store::StoreError;

/// How long a query waits for an index that is made for the first time: half of what most hosts wait for a tool. In a
/// process that was started for this one query there is no later one.
const FIRST_INDEX_WAIT: Duration = Duration::from_secs(30);

/// How long a query waits for changed files, unless an option says otherwise.
const FRESHNESS_WAIT: Duration = Duration::from_secs(1);

/// What fails is tried again after a pause, which doubles each time up to the second one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A searcher whose index follows its directory in the background, until the last clone is dropped.
#[derive(Debug, Clone)]
pub struct LiveIndex {
    searcher: Searcher,
    state: watch::Receiver<IndexState>,
    /// Starts indexing that was deferred.
    queried: Arc<Notify>,
    freshness_wait: Duration,
    _tasks: Arc<JoinSet<()>>,
}

/// The index as one query sees it.
#[derive(Debug, Clone)]
pub struct Ready {
    /// Searches it.
    pub searcher: Searcher,
    state: IndexState,
}

impl Ready {
    /// Why results may be incomplete, if they may.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        self.state.note()
    }

    /// The message for a client whose query failed with this error.
    #[must_use]
    pub fn explain(&self, error: &StoreError) -> String {
        self.state.explain(error)
    }
}

impl LiveIndex {
    /// Opens the index and begins to follow its directory, on the runtime in which this is called. Where no option names
    /// a directory and there is no index yet, the first query begins it: a client that only lists the tools leaves no
    /// files there.
    ///
    /// # Errors
    /// If an option is invalid, such as the URL of the database.
    pub async fn start(options: Options) -> Result<Self, StoreError> {
        let searcher = options.open()?;
        let deferred = options.is_implied()
            && !options.watch
            && searcher.summary().await.is_err_and(|error| error.is_absence());
        let (sender, state) = watch::channel(if deferred { IndexState::Deferred } else { first(&options) });
        let freshness_wait = options.freshness_wait.unwrap_or(FRESHNESS_WAIT);
        let queried = Arc::new(Notify::new());
        let mut tasks = JoinSet::new();
        tasks.spawn({
            let (queried, searcher) = (Arc::clone(&queried), searcher.clone());
            async move {
                if deferred {
                    queried.notified().await;
                    sender.send_replace(first(&options));
                }
                maintain(options, searcher, sender).await;
            }
        });
        Ok(Self { searcher, state, queried, freshness_wait, _tasks: Arc::new(tasks) })
    }

    /// Searches the index as it is, without waiting.
    #[must_use]
    pub fn searcher(&self) -> &Searcher {
        &self.searcher
    }

    /// How far the index has followed, now and whenever that changes.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<IndexState> {
        self.state.clone()
    }

    /// Waits until every file that was in the directory at the start can be found, or until that takes too long.
    /// `progress` gets the number of files read and the number to read.
    ///
    /// # Errors
    /// The message for the client, if the index was made from another directory, or may have been.
    pub async fn ready(&self, progress: impl Fn(u64, u64)) -> Result<Ready, String> {
        self.queried.notify_one();
        let state = self.settled(progress).await;
        // Without an index, the error of the query itself reports the progress.
        let is_indexed = async || !self.searcher.summary().await.is_err_and(|error| error.is_absence());
        match state.objection() {
            Some(why) if is_indexed().await => Err(why),
            _ => Ok(Ready { searcher: self.searcher.clone(), state }),
        }
    }

    async fn settled(&self, progress: impl Fn(u64, u64)) -> IndexState {
        let mut states = self.state.clone();
        let began = Instant::now();
        loop {
            let now = states.borrow_and_update().clone();
            if now.is_settled() {
                return now;
            }
            if let IndexState::Reading { done, of } = &now {
                progress(*done, *of);
            }
            let is_indexed = self.searcher.summary().await.is_ok_and(|summary| summary.files > 0);
            // An index that may be of another directory is not searched, however long the check takes.
            let wait = match now.objection() {
                None if is_indexed => self.freshness_wait,
                _ => FIRST_INDEX_WAIT,
            };
            match timeout_at(began + wait, states.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return now,
            }
        }
    }
}

fn first(options: &Options) -> IndexState {
    if options.is_elsewhere() { IndexState::Checking } else { IndexState::Comparing }
}

/// How far the index has followed its directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum IndexState {
    /// Indexing begins with the first query.
    Deferred,
    /// The directory is being compared with the index.
    #[default]
    Comparing,
    /// The same, and the index may have been made from another directory: nothing is read from it yet.
    Checking,
    /// The index was made from another directory, and nothing is read from it: why, and what to do. It is checked again
    /// from time to time.
    OtherFolder(String),
    /// Files are being read that cannot be found yet.
    Reading {
        /// Files read.
        done: u64,
        /// Files to read.
        of: u64,
    },
    /// Every file of the directory can be found by its terms.
    Ready,
    /// Indexing failed, for this reason; it is tried again from time to time.
    Failed(String),
}

impl IndexState {
    /// Whether there is nothing to wait for.
    fn is_settled(&self) -> bool {
        matches!(self, Self::Ready | Self::Failed(_) | Self::OtherFolder(_))
    }

    /// Why nothing may be read from the index, if that is so.
    #[must_use]
    pub fn objection(&self) -> Option<String> {
        match self {
            Self::Checking => {
                Some("the directory is being compared with the index: try again in a moment".to_owned())
            }
            Self::OtherFolder(why) => Some(why.clone()),
            Self::Deferred | Self::Comparing | Self::Reading { .. } | Self::Ready | Self::Failed(_) => None,
        }
    }

    /// " (3 of 10 files)".
    fn progress(&self) -> String {
        match self {
            Self::Reading { done, of } if *of > 0 => format!(" ({done} of {of} files)"),
            _ => String::new(),
        }
    }

    /// Why results may be incomplete, if they may.
    fn note(&self) -> Option<String> {
        match self {
            Self::Ready => None,
            Self::Failed(why) => Some(format!("the index may be out of date: {why}")),
            Self::OtherFolder(why) => Some(why.clone()),
            Self::Deferred | Self::Comparing | Self::Checking | Self::Reading { .. } => {
                Some(format!("the index is being brought up to date{}", self.progress()))
            }
        }
    }

    /// The message for a client whose query failed with this error.
    fn explain(&self, error: &StoreError) -> String {
        match (error, self) {
            (error, Self::Failed(why) | Self::OtherFolder(why)) if error.is_absence() => why.clone(),
            (error, Self::Deferred | Self::Comparing | Self::Checking | Self::Reading { .. })
                if error.is_absence() =>
            {
                format!("the index is being made{}: try again in a moment", self.progress())
            }
            _ => error.public_message(),
        }
    }

    /// The state after a step of an indexing run, if the step changes it. Once all files have been indexed, queries do not
    /// wait for those that change later.
    fn after(&self, progress: &Progress, same_folder_only: bool) -> Option<Self> {
        match (self, progress) {
            (Self::Ready, _) | (Self::OtherFolder(_), Progress::Scanning) => None,
            (_, Progress::Scanning) if same_folder_only => Some(Self::Checking),
            (_, Progress::Scanning) => Some(Self::Comparing),
            (_, Progress::Reading { done, of }) => Some(Self::Reading { done: *done, of: *of }),
            (_, Progress::Writing | Progress::Embedding { .. } | Progress::Judging) => None,
        }
    }

    /// The state after a run that failed. An index of another directory stays one when the next run fails before it has
    /// compared them.
    fn after_failure(&self, failure: Self) -> Self {
        match (self, failure) {
            (Self::OtherFolder(why), Self::Failed(_)) => Self::OtherFolder(why.clone()),
            (_, failure) => failure,
        }
    }
}

/// Indexes the directory, if there is one, and begins again after a panic.
async fn maintain(options: Options, searcher: Searcher, state: watch::Sender<IndexState>) {
    if options.folder().is_none() {
        state.send_replace(IndexState::Ready);
        return;
    }
    loop {
        let (options, searcher, sender) = (options.clone(), searcher.clone(), state.clone());
        let mut task = JoinSet::new();
        task.spawn(async move { follow(&options, &searcher, &sender).await });
        match task.join_next().await {
            Some(Err(error)) if error.is_panic() => {
                tracing::error!("indexing panicked, a bug in papertape: {error}");
                state.send_replace(IndexState::Failed("indexing panicked, a bug in papertape".to_owned()));
                sleep(LONGEST_PAUSE).await;
            }
            _ => return,
        }
    }
}

/// Indexes the directory once, or, if it is watched, whenever it changes. Vectors are made beside that: a model may take
/// minutes, and files that change meanwhile are to be found by their terms.
async fn follow(options: &Options, searcher: &Searcher, state: &watch::Sender<IndexState>) {
    let (indexed, changes) = watch::channel(());
    let lexical = async move {
        lexical::keep(options, searcher, state, &indexed).await;
    };
    tokio::join!(lexical, vectors::keep(searcher, changes));
}

fn warn(warnings: &[String]) {
    for warning in warnings {
        tracing::warn!("{warning}");
    }
}

#[cfg(test)]
mod tests;
