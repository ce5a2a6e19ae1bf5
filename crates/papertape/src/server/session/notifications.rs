//! The notifications of a client whose handlers run one after another.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::task::AbortHandle;

use super::{Session, State};
use crate::server::limits::Limits;
use crate::server::pipeline::{PreparedNotification, run::Call};

/// The notifications that wait for their handlers.
#[derive(Default)]
pub(super) struct NotificationQueue {
    waiting: VecDeque<PreparedNotification>,
    /// The bytes of their params.
    bytes: usize,
    /// The one whose handler runs.
    running: Option<Arc<Call>>,
    task: Option<AbortHandle>,
}

impl NotificationQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.running.is_none()
    }

    /// Stops what runs. What waited is to be dropped without a lock.
    #[must_use = "dropped, it runs code of the author's"]
    pub(super) fn clear(&mut self) -> VecDeque<PreparedNotification> {
        if let Some(task) = self.task.take() {
            task.abort();
        }
        if let Some(running) = self.running.take() {
            running.set_cancelled();
        }
        self.bytes = 0;
        std::mem::take(&mut self.waiting)
    }
}

impl Session {
    /// Runs the handler of a notification after those that came before it. If too many wait already, it is dropped.
    pub(crate) fn enqueue(self: &Arc<Self>, notification: PreparedNotification, limits: &Limits) {
        let owner = self.parent.as_ref().unwrap_or(self);
        let mut state = owner.state();
        let queue = &mut state.notifications;
        if queue.waiting.len() >= limits.in_flight || queue.bytes > limits.bytes_in_flight {
            drop(state);
            let (method, most) = (notification.call.feature.name(), limits.in_flight);
            tracing::warn!(method, most, "dropped a notification: too many of this client wait");
            return;
        }
        queue.bytes += notification.call.bytes;
        queue.waiting.push_back(notification);
        if queue.task.is_none() {
            queue.task = Some(tokio::spawn(Arc::clone(owner).handle_notifications()).abort_handle());
        }
    }

    async fn handle_notifications(self: Arc<Self>) {
        while let Some(notification) = self.next_notification() {
            notification.run().await;
            // Handlers that are ready at once, as fast as a client notifies, leave the thread to others now and then.
            tokio::task::coop::consume_budget().await;
        }
    }

    fn next_notification(&self) -> Option<PreparedNotification> {
        let mut state = self.state();
        let State { notifications: queue, wakeup, .. } = &mut *state;
        let next = queue.waiting.pop_front();
        queue.bytes -= next.as_ref().map_or(0, |next| next.call.bytes);
        queue.running = next.as_ref().map(|next| Arc::clone(&next.call));
        if next.is_none() {
            queue.task = None;
            // The connection may wait for this to end.
            wakeup.wake();
        }
        next
    }

    /// Stops the handlers of notifications. False if none was running or waiting.
    pub(super) fn stop_notifications(&self) -> bool {
        let mut state = self.state();
        let was_running = !state.notifications.is_empty();
        let waiting = state.notifications.clear();
        drop(state);
        drop(waiting);
        was_running
    }
}
