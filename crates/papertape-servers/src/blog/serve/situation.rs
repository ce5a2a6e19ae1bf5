//! How far the index is, and how long somebody who asks waits for it.

use std::sync::Arc;
use std::time::Duration;

use papertape::{Cx, ToolError};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::words;
use crate::blog::library::Library;
use crate::blog::store::StoreError;

/// How long a question waits for an index that is being made for the first time: half of what most hosts wait for a tool.
/// Somebody who starts the server for this one question has no other chance.
const FOR_THE_FIRST: Duration = Duration::from_secs(30);

/// How long it waits for what is new, if there is an index already and nobody says otherwise.
const FOR_NEWS: Duration = Duration::from_secs(1);

/// How the index gets on with what is in the folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Work {
    /// The folder is being compared with the index.
    #[default]
    Beginning,
    /// The same, and it is not known yet whether the index is of this folder.
    Checking,
    /// The index is of another folder, and nothing is read from it: what to do, in words for clients. It is tried again from
    /// time to time.
    Refused(String),
    /// Files are read that cannot be found yet.
    Reading {
        /// Files done.
        done: u64,
        /// Files to do.
        of: u64,
    },
    /// Every word can be found.
    Done,
    /// It did not work, for this reason; it is tried again from time to time.
    Failed(String),
}

impl Work {
    fn is_settled(&self) -> bool {
        matches!(self, Work::Done | Work::Failed(_) | Work::Refused(_))
    }

    /// Why nothing may be read from the index, if that is so.
    pub(super) fn objection(&self) -> Option<String> {
        match self {
            Work::Checking => {
                Some("the folder is being compared with the index: ask again in a moment".to_owned())
            }
            Work::Refused(why) => Some(why.clone()),
            Work::Beginning | Work::Reading { .. } | Work::Done | Work::Failed(_) => None,
        }
    }

    /// " (3 of 10 files)".
    fn how_far(&self) -> String {
        match self {
            Work::Reading { done, of } if *of > 0 => format!(" ({done} of {of} files)"),
            _ => String::new(),
        }
    }

    /// What to know about an answer from the index as it is now.
    fn caution(&self) -> Option<String> {
        match self {
            Work::Done => None,
            Work::Failed(why) => Some(format!("the index may be out of date: {why}")),
            Work::Refused(why) => Some(why.clone()),
            Work::Beginning | Work::Checking | Work::Reading { .. } => {
                Some(format!("the index is being brought up to date{}", self.how_far()))
            }
        }
    }

    /// Why there is no answer, if the store has none.
    fn excuse(&self, error: &StoreError) -> String {
        match (error, self) {
            (error, Work::Failed(why) | Work::Refused(why)) if error.is_absence() => why.clone(),
            (error, Work::Beginning | Work::Checking | Work::Reading { .. }) if error.is_absence() => {
                format!("the index is being made{}: ask again in a moment", self.how_far())
            }
            _ => words::in_words(error),
        }
    }
}

/// Where those who answer find the library, and see how far its index is.
#[derive(Debug, Clone)]
pub(super) struct Desk {
    library: Library,
    work: watch::Receiver<Work>,
    /// Hears that somebody asks something.
    wanted: Arc<Notify>,
    /// How long a question waits for what is new.
    for_news: Duration,
    /// What is done in the background, which ends when nobody can ask any more.
    _upkeep: Arc<JoinSet<()>>,
}

/// The library as it is for one question.
#[derive(Debug, Clone)]
pub(super) struct Opened {
    /// What answers.
    pub(super) library: Library,
    work: Work,
}

impl Opened {
    /// What to know about an answer.
    pub(super) fn caution(&self) -> Option<String> {
        self.work.caution()
    }

    /// What to tell the caller when the library has no answer.
    pub(super) fn failed(&self, error: &StoreError) -> ToolError {
        ToolError::failed(self.work.excuse(error))
    }
}

impl Desk {
    pub(super) fn new(
        library: Library,
        work: watch::Receiver<Work>,
        wanted: Arc<Notify>,
        upkeep: JoinSet<()>,
    ) -> Self {
        Self { library, work, wanted, for_news: FOR_NEWS, _upkeep: Arc::new(upkeep) }
    }

    /// The same, with questions that wait so long for what is new, if that is said.
    pub(super) fn waiting(self, for_news: Option<Duration>) -> Self {
        Self { for_news: for_news.unwrap_or(FOR_NEWS), ..self }
    }

    /// The library, when all that was in the folder at the start can be found, or when that takes too long.
    ///
    /// # Errors
    /// If its index is of another folder, or may be.
    pub(super) async fn open(&self, cx: Option<&Cx>) -> Result<Opened, ToolError> {
        self.wanted.notify_one();
        let work = self.settled(cx).await;
        // Who has no index yet is told how far it is by the question itself.
        let is_indexed = async || !self.library.summary().await.is_err_and(|error| error.is_absence());
        match work.objection() {
            Some(why) if is_indexed().await => Err(ToolError::failed(why)),
            _ => Ok(Opened { library: self.library.clone(), work }),
        }
    }

    async fn settled(&self, cx: Option<&Cx>) -> Work {
        let mut news = self.work.clone();
        let began = Instant::now();
        loop {
            let now = news.borrow_and_update().clone();
            if now.is_settled() {
                return now;
            }
            if let (Some(cx), Work::Reading { done, of }) = (cx, &now) {
                cx.progress(to_f64(*done), to_f64(*of), "files indexed");
            }
            let is_indexed = self.library.summary().await.is_ok_and(|summary| summary.files > 0);
            // What may be of another folder is no answer, however long it takes to find out.
            let patience =
                if is_indexed && now.objection().is_none() { self.for_news } else { FOR_THE_FIRST };
            match timeout_at(began + patience, news.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return now,
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of files are far below 2^53")]
fn to_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blog::Options;

    #[test]
    fn what_is_said_while_the_index_is_made() {
        let missing = StoreError::Missing { place: "x".into() };
        let reading = Work::Reading { done: 3, of: 10 };
        assert_eq!(
            reading.excuse(&missing),
            "the index is being made (3 of 10 files): ask again in a moment"
        );
        assert_eq!(Work::Beginning.excuse(&missing), "the index is being made: ask again in a moment");
        assert!(Work::Done.excuse(&missing).starts_with("there is no index yet"));
        let failed = Work::Failed("there is no folder \"x\"".into());
        assert_eq!(failed.excuse(&missing), "there is no folder \"x\"");
        let other = StoreError::Unreachable("it is down".into());
        assert_eq!(reading.excuse(&other), "the database cannot be reached: it is down");
        assert_eq!(Work::Done.caution(), None);
        assert_eq!(reading.caution().unwrap(), "the index is being brought up to date (3 of 10 files)");
        assert_eq!(failed.caution().unwrap(), "the index may be out of date: there is no folder \"x\"");
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_waits_for_the_index_but_not_for_ever() {
        let nowhere = Options { index: Some("/no/such/index".into()), ..Options::default() };
        let (sender, receiver) = watch::channel(Work::default());
        let desk = Desk::new(nowhere.open().unwrap(), receiver, Arc::default(), JoinSet::new());
        let began = Instant::now();
        assert_eq!(desk.open(None).await.unwrap().work, Work::Beginning);
        assert!(began.elapsed() >= FOR_THE_FIRST);
        let asking = tokio::spawn({
            let desk = desk.clone();
            async move { desk.open(None).await.unwrap().work }
        });
        tokio::task::yield_now().await;
        let failed = Work::Failed("there is no folder".into());
        sender.send_replace(failed.clone());
        assert_eq!(asking.await.unwrap(), failed);
    }
}
