//! The sessions that are notified when something changes: a list of the server, a resource, a task.

use std::sync::{Arc, Mutex, Weak};

use super::Session;
use super::subscriptions::ChangingList;
use crate::sync::lock;

/// The sessions that are notified of changes.
#[derive(Debug, Default)]
pub(crate) struct Subscribers(Mutex<Vec<Weak<Session>>>);

impl Subscribers {
    pub(crate) fn add(&self, session: &Arc<Session>) {
        let mut sessions = lock(&self.0);
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
        self.notify(|session| session.resource_updated(uri));
    }

    /// A task has changed, and is this JSON now.
    pub(crate) fn task_changed(&self, id: &str, task: &str) {
        self.notify(|session| session.task_changed(id, task));
    }

    fn notify(&self, notify: impl Fn(&Session)) {
        lock(&self.0).retain(|session| {
            let Some(session) = session.upgrade() else { return false };
            notify(&session);
            true
        });
    }
}
