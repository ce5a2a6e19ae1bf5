//! Changes that have arrived for a subscription and were not read yet.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;

use super::{Change, SubscriptionFilter};
use crate::client::error::ErrorKind;
use crate::client::session::{Failure, RequestOutcome, result_type};
use crate::sync::lock;

/// How many changes are queued; beyond that the oldest is dropped.
const MOST_QUEUED: usize = 1_000;

/// Changes that have arrived for a subscription and were not read yet.
pub(in crate::client) struct ChangeQueue {
    contents: Mutex<Contents>,
    changed: Notify,
    /// What the subscription is for.
    #[cfg(unix)]
    requested: SubscriptionFilter,
}

#[derive(Default)]
struct Contents {
    changes: VecDeque<Change>,
    /// The part of the filter that the server has acknowledged.
    acknowledged: Option<SubscriptionFilter>,
    /// What was requested of a server of a session-based revision, of what it offers.
    #[cfg(any(unix, feature = "http-client"))]
    agreed: SubscriptionFilter,
    /// The id of the `subscriptions/listen` request, in stateless revisions.
    id: Option<i64>,
    ended: bool,
    /// Why it has ended, or never began, if that is a failure.
    failure: Option<Failure>,
}

impl ChangeQueue {
    /// A queue with the acknowledged filter, if that is known already.
    pub(super) fn new(acknowledged: Option<SubscriptionFilter>, requested: &SubscriptionFilter) -> Self {
        let contents = Contents { acknowledged, ..Contents::default() };
        #[cfg(not(unix))]
        let _ = requested;
        Self {
            contents: Mutex::new(contents),
            changed: Notify::new(),
            #[cfg(unix)]
            requested: requested.clone(),
        }
    }

    #[cfg(unix)]
    pub(in crate::client) fn requested(&self) -> &SubscriptionFilter {
        &self.requested
    }

    #[cfg(unix)]
    pub(in crate::client) fn has_ended(&self) -> bool {
        self.contents().ended
    }

    pub(super) fn id(&self) -> Option<i64> {
        self.contents().id
    }

    pub(in crate::client) fn set_id(&self, id: i64) {
        self.contents().id = Some(id);
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        lock(&self.contents)
    }

    #[cfg(any(unix, feature = "http-client"))]
    pub(super) fn agreed(&self) -> SubscriptionFilter {
        self.contents().agreed.clone()
    }

    #[cfg(any(unix, feature = "http-client"))]
    pub(super) fn set_agreed(&self, filter: SubscriptionFilter) {
        self.contents().agreed = filter;
    }

    /// The server has acknowledged the subscription, with the JSON of a filter.
    pub(in crate::client) fn acknowledge(&self, filter: &str) {
        self.contents().acknowledged = Some(serde_json::from_str(filter).unwrap_or_default());
        self.changed.notify_one();
    }

    /// Queues a change, unless the same is queued already.
    pub(in crate::client) fn deliver(&self, change: Change) {
        let mut contents = self.contents();
        let expected = contents.acknowledged.as_ref().is_some_and(|filter| filter.includes(&change));
        if !expected || contents.changes.contains(&change) {
            return;
        }
        if contents.changes.len() >= MOST_QUEUED {
            contents.changes.pop_front();
        }
        contents.changes.push_back(change);
        drop(contents);
        self.changed.notify_one();
    }

    /// The request of the subscription has ended, and the subscription with it.
    pub(in crate::client) fn finish(&self, outcome: RequestOutcome) {
        self.contents().failure = match outcome {
            RequestOutcome::Result(raw) => result_type::check_complete(&raw).err().map(|failure| *failure),
            RequestOutcome::Error(error) => Some(Failure::new(ErrorKind::Rpc(error), "the response arrived")),
            RequestOutcome::Failed(failure) => Some(failure),
        };
        self.end();
    }

    pub(in crate::client) fn end(&self) {
        self.contents().ended = true;
        self.changed.notify_one();
    }

    /// Waits for the acknowledgement.
    pub(super) async fn acknowledged(&self) -> Result<SubscriptionFilter, Failure> {
        loop {
            {
                let mut contents = self.contents();
                if let Some(filter) = contents.acknowledged.clone() {
                    return Ok(filter);
                }
                match contents.failure.take() {
                    Some(failure) => return Err(failure),
                    None if contents.ended => {
                        let stage = "the request was sent; it was not acknowledged";
                        return Err(Failure::new(ErrorKind::Closed, stage));
                    }
                    None => {}
                }
            }
            self.changed.notified().await;
        }
    }

    /// Waits for the next change. `None` when the subscription has ended.
    pub(super) async fn next(&self) -> Result<Option<Change>, Failure> {
        loop {
            {
                let mut contents = self.contents();
                if let Some(change) = contents.changes.pop_front() {
                    return Ok(Some(change));
                }
                if contents.ended {
                    return contents.failure.take().map_or(Ok(None), Err);
                }
            }
            self.changed.notified().await;
        }
    }
}
