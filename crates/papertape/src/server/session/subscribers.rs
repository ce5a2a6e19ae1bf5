//! The sessions that are notified when something changes: a list of the server, a resource, a task.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use tokio::sync::watch;

use super::Session;
use super::subscriptions::ChangingList;
use crate::protocol::{LogLevel, RawJson, method};
use crate::server::catalog::visibility::VisibleResources;
use crate::sync::lock;

/// The sessions that are notified of changes.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    /// Changes when a session watches other resources than before.
    watching: watch::Sender<u64>,
    sessions: Mutex<Vec<Weak<Session>>>,
    /// Which resources their principals see. The service has it: a [`Notifier`] may be part of
    /// what handlers share, which would keep itself otherwise.
    ///
    /// [`Notifier`]: crate::server::Notifier
    visible: OnceLock<Weak<VisibleResources>>,
}

impl Subscribers {
    /// Notifies sessions only of resources that their principals see.
    pub(crate) fn restrict(&self, visible: &Arc<VisibleResources>) {
        // A server is built once.
        drop(self.visible.set(Arc::downgrade(visible)));
    }

    /// A session watches other resources than before.
    pub(crate) fn watches_others(&self) {
        self.watching.send_modify(|number| *number += 1);
    }

    /// Waits until other resources are watched than those that are known, and returns them.
    pub(crate) async fn watched(&self, known: &BTreeSet<String>) -> BTreeSet<String> {
        let mut changes = self.watching.subscribe();
        loop {
            changes.mark_unchanged();
            let mut watched = BTreeSet::new();
            self.notify(|session| session.add_watched(&mut watched));
            if watched != *known {
                return watched;
            }
            // The sender is part of this.
            drop(changes.changed().await);
        }
    }

    pub(crate) fn add(&self, session: &Arc<Session>) {
        let mut sessions = lock(&self.sessions);
        // Ended sessions are looked for when there is no room for another, which is seldom.
        if sessions.len() == sessions.capacity() {
            sessions.retain(|session| session.strong_count() > 0);
        }
        sessions.push(Arc::downgrade(session));
    }

    pub(crate) fn list_changed(&self, list: ChangingList) {
        self.notify(|session| session.list_changed(list));
    }

    pub(crate) fn resource_updated(&self, uri: &str) {
        self.notify(|session| {
            let allows = |visible: &Weak<VisibleResources>| {
                visible
                    .upgrade()
                    .is_some_and(|visible| visible.allow(uri, session.latest_principal().as_deref()))
            };
            // Few of the sessions have subscribed to it, and what they see takes longer to find out.
            if session.watches(uri) && self.visible.get().is_none_or(allows) {
                session.resource_updated(uri);
            }
        });
    }

    /// A task has changed, and is this JSON now.
    pub(crate) fn task_changed(&self, id: &str, task: &str) {
        self.notify(|session| session.task_changed(id, task));
    }

    /// Sends a notification to all clients with a session.
    pub(crate) fn send(&self, method: &str, params: &RawJson) {
        self.notify(|session| session.notify_opened(method, params));
    }

    /// Sends a log message to all clients with a session that have requested its level.
    pub(crate) fn log(&self, level: LogLevel, params: &RawJson) {
        self.notify(|session| {
            if session.log_level().is_some_and(|wanted| level >= wanted) {
                session.notify_opened(method::LOG_MESSAGE, params);
            }
        });
    }

    fn notify(&self, mut notify: impl FnMut(&Session)) {
        lock(&self.sessions).retain(|session| {
            let Some(session) = session.upgrade() else { return false };
            notify(&session);
            true
        });
    }
}
