//! Starts an HTTP exchange for every queued message, and limits how many run at once.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use super::CLOSE_TIMEOUT;
use super::legacy_session::{LegacySession, NOTIFICATION_TIMEOUT};
use super::outgoing_message::{self, OutgoingMessage};
use super::sender::HttpSender;
use crate::protocol::method;
use crate::sync::lock;
use crate::transport::streams::client::EndWhenDropped;
use crate::wire::frame::{OUTBOX, Outgoing};

/// How many requests may be in flight, each on a connection of its own; more are queued. Subscriptions do not count.
const MOST_REQUESTS: usize = 256;

/// The same for notifications and responses.
const MOST_NOTIFICATIONS: usize = 64;

/// Sends every message of a session as an HTTP request of its own.
pub(super) struct Dispatcher {
    pub(super) sender: HttpSender,
    pub(super) legacy: LegacySession,
    /// Tasks that belong to no request, such as the notification stream.
    pub(super) background: Mutex<JoinSet<()>>,
}

/// The exchanges that are running, and the messages that are queued for one.
#[derive(Default)]
struct InFlight {
    requests: JoinSet<()>,
    queued_requests: VecDeque<OutgoingMessage>,
    /// Notifications and responses.
    notifications: JoinSet<()>,
    queued_notifications: VecDeque<OutgoingMessage>,
    /// Cancellations of tasks, which are sent even if the session closes.
    cancellations: JoinSet<()>,
    subscriptions: JoinSet<()>,
}

impl InFlight {
    fn queued_bytes(&self) -> usize {
        self.queued_requests.iter().chain(&self.queued_notifications).map(|sent| sent.body.len()).sum()
    }
}

impl Dispatcher {
    /// Runs until the session is to close.
    pub(super) async fn run(self: Arc<Self>) {
        let _ended = EndWhenDropped(Arc::clone(&self.sender.session));
        let _background = AbortBackground(Arc::clone(&self));
        let mut in_flight = InFlight::default();
        let limit = tokio::select! {
            biased;
            limit = self.sender.session.close_requested() => limit,
            () = self.dispatch(&mut in_flight) => Duration::ZERO,
        };
        in_flight.requests.abort_all();
        in_flight.subscriptions.abort_all();
        drop(timeout(limit.min(CLOSE_TIMEOUT), self.finish(in_flight)).await);
    }

    /// Dispatches messages, for ever.
    async fn dispatch(self: &Arc<Self>, in_flight: &mut InFlight) {
        loop {
            if in_flight.queued_bytes() < OUTBOX {
                for sent in self.outgoing() {
                    if sent.is(method::INITIALIZED) {
                        self.initialized(&sent).await;
                    } else if sent.is(method::LISTEN) {
                        self.start(&mut in_flight.subscriptions, sent);
                    } else if sent.is(method::TASKS_CANCEL)
                        && in_flight.cancellations.len() < MOST_NOTIFICATIONS
                    {
                        self.start(&mut in_flight.cancellations, sent);
                    } else if sent
                        .id
                        .is_some_and(|id| !sent.is(method::UNSUBSCRIBE) || self.sender.session.is_pending(id))
                    {
                        in_flight.queued_requests.push_back(sent);
                    } else {
                        // A notification, a response, or an `unsubscribe` whose response is ignored.
                        in_flight.queued_notifications.push_back(sent);
                    }
                }
            }
            while in_flight.requests.len() < MOST_REQUESTS
                && let Some(sent) = in_flight.queued_requests.pop_front()
            {
                self.start(&mut in_flight.requests, sent);
            }
            while in_flight.notifications.len() < MOST_NOTIFICATIONS
                && let Some(sent) = in_flight.queued_notifications.pop_front()
            {
                let this = Arc::clone(self);
                in_flight.notifications.spawn(async move {
                    if timeout(NOTIFICATION_TIMEOUT, this.notify(&sent)).await.is_err() {
                        tracing::warn!("sending {} timed out", sent.method);
                    }
                });
            }
            tokio::select! {
                biased;
                () = self.sender.session.wake.notified() => {}
                Some(_) = in_flight.requests.join_next() => {}
                Some(_) = in_flight.notifications.join_next() => {}
                Some(_) = in_flight.cancellations.join_next() => {}
                Some(_) = in_flight.subscriptions.join_next() => {}
            }
        }
    }

    /// Takes the queued messages of the session.
    fn outgoing(&self) -> Vec<OutgoingMessage> {
        let mut outgoing = Outgoing::default();
        self.sender.session.take(&mut outgoing);
        let frames = outgoing_message::split(&mut outgoing);
        frames.iter().map(|body| OutgoingMessage::read(body, &self.sender.session)).collect()
    }

    /// Starts the exchange of a request, if it is still pending.
    fn start(self: &Arc<Self>, requests: &mut JoinSet<()>, sent: OutgoingMessage) {
        let Some(id) = sent.id else { return };
        let Some(responded) = self.sender.session.begin_exchange(id) else { return };
        let this = Arc::clone(self);
        let task = requests.spawn(async move {
            if let Err(failure) = this.request(&sent, id, &responded).await {
                this.sender.session.fail_request(id, failure);
            }
        });
        self.sender.session.set_exchange_task(id, task);
    }

    /// Sends the remaining notifications and cancellations of tasks, and ends the session.
    async fn finish(self: &Arc<Self>, in_flight: InFlight) {
        let InFlight { mut notifications, queued_notifications, mut cancellations, .. } = in_flight;
        let last = self.outgoing().into_iter();
        let last = last.filter(|sent| sent.id.is_none() || sent.is(method::TASKS_CANCEL));
        for sent in queued_notifications.into_iter().chain(last).take(MOST_NOTIFICATIONS) {
            let this = Arc::clone(self);
            notifications.spawn(async move { this.notify(&sent).await });
        }
        while notifications.join_next().await.is_some() {}
        while cancellations.join_next().await.is_some() {}
        self.end_session().await;
    }

    /// Spawns a task that belongs to no request; it is aborted when the session ends.
    pub(super) fn spawn_background(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut background = lock(&self.background);
        while background.try_join_next().is_some() {}
        background.spawn(task)
    }
}

/// Aborts the background tasks, which hold references to the dispatcher.
struct AbortBackground(Arc<Dispatcher>);

impl Drop for AbortBackground {
    fn drop(&mut self) {
        *lock(&self.0.background) = JoinSet::new();
    }
}
