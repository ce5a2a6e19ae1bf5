//! How far the index has followed its directory.

use crate::index::Progress;
use crate::store::StoreError;

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
    pub(super) fn is_settled(&self) -> bool {
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
    pub(super) fn note(&self) -> Option<String> {
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
    pub(super) fn explain(&self, error: &StoreError) -> String {
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
    pub(super) fn after(&self, progress: &Progress, same_folder_only: bool) -> Option<Self> {
        match (self, progress) {
            (Self::Ready, _) | (Self::OtherFolder(_), Progress::Scanning) => None,
            (_, Progress::Scanning) if same_folder_only => Some(Self::Checking),
            (_, Progress::Scanning) => Some(Self::Comparing),
            (_, Progress::Reading { done, of }) => Some(Self::Reading { done: *done, of: *of }),
            (_, Progress::Writing | Progress::Embedding { .. } | Progress::Calibrating) => None,
        }
    }

    /// The state after a run that failed. An index of another directory stays one when the next run fails before it has
    /// compared them.
    pub(super) fn after_failure(&self, failure: Self) -> Self {
        match (self, failure) {
            (Self::OtherFolder(why), Self::Failed(_)) => Self::OtherFolder(why.clone()),
            (_, failure) => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_while_the_index_is_made() {
        let missing = StoreError::Missing { place: "x".into() };
        let reading = IndexState::Reading { done: 3, of: 10 };
        assert_eq!(
            reading.explain(&missing),
            "the index is being made (3 of 10 files): try again in a moment"
        );
        let comparing = IndexState::Comparing;
        assert_eq!(comparing.explain(&missing), "the index is being made: try again in a moment");
        assert!(IndexState::Ready.explain(&missing).starts_with("there is no index yet"));
        let failed = IndexState::Failed("there is no directory \"x\"".into());
        assert_eq!(failed.explain(&missing), "there is no directory \"x\"");
        let other = StoreError::Unreachable("it is down".into());
        assert_eq!(reading.explain(&other), "the database cannot be reached: it is down");
        assert_eq!(IndexState::Ready.note(), None);
        assert_eq!(reading.note().unwrap(), "the index is being brought up to date (3 of 10 files)");
        assert_eq!(failed.note().unwrap(), "the index may be out of date: there is no directory \"x\"");
    }

    #[test]
    fn queries_wait_for_the_first_run_only() {
        let reading = Progress::Reading { done: 1, of: 2 };
        assert_eq!(
            IndexState::Comparing.after(&reading, false),
            Some(IndexState::Reading { done: 1, of: 2 })
        );
        let failed = IndexState::Failed(String::new());
        assert_eq!(failed.after(&Progress::Scanning, false), Some(IndexState::Comparing));
        for progress in [Progress::Scanning, reading, Progress::Writing, Progress::Calibrating] {
            assert_eq!(IndexState::Ready.after(&progress, false), None);
        }
    }

    #[test]
    fn an_index_is_not_read_before_its_folder_is_known() {
        let failed = || IndexState::Failed("the directory is gone".into());
        let other = || IndexState::OtherFolder("it is of another directory".into());
        assert_eq!(failed().after(&Progress::Scanning, true), Some(IndexState::Checking));
        // A query need not wait for the same error again.
        assert_eq!(other().after(&Progress::Scanning, true), None);
        let reading = Progress::Reading { done: 0, of: 2 };
        for before in [IndexState::Checking, other()] {
            assert_eq!(before.after(&reading, true), Some(IndexState::Reading { done: 0, of: 2 }));
            assert!(before.objection().is_some());
        }
        assert_eq!(other().after_failure(failed()), other());
        assert_eq!(IndexState::Checking.after_failure(failed()), failed());
        assert_eq!(failed().after_failure(other()), other());
    }
}
