//! Subscriptions to change notifications.

mod change_queue;
mod filter;
#[cfg(any(unix, feature = "http-client"))]
mod resubscribe;

use std::fmt;
use std::sync::Arc;

use serde_json::json;
use tokio::time::timeout;

pub(super) use change_queue::ChangeQueue;
pub use filter::SubscriptionFilter;

use super::Client;
use super::error::{ClientError, ErrorKind, NOT_SENT};
use super::session::{Failure, Params, Pending, Session};
use crate::protocol::capabilities::ListCapability;
use crate::protocol::method;

/// A change on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The resource with this URI.
    Resource(String),
    /// The task with this id; [`TaskHandle::poll`](crate::client::TaskHandle::poll) reads its state.
    Task(String),
}

impl Change {
    /// The position of a list among those that servers announce changes of.
    pub(super) fn list_index(&self) -> Option<usize> {
        match self {
            Change::Tools => Some(0),
            Change::Prompts => Some(1),
            Change::Resources => Some(2),
            Change::Resource(_) | Change::Task(_) => None,
        }
    }
}

/// A subscription to changes. Dropping it unsubscribes.
pub struct Subscription {
    session: Arc<Session>,
    queue: Arc<ChangeQueue>,
    acknowledged: SubscriptionFilter,
    /// It is a `subscriptions/listen` request, as in stateless revisions.
    is_request: bool,
}

impl Client {
    /// Subscribes to changes.
    ///
    /// # Errors
    /// If the server rejects the subscription, acknowledges nothing of it ([`ErrorKind::NotOffered`]), or does not respond in
    /// time. What it acknowledges in part is in [`Subscription::acknowledged`].
    pub async fn listen(&self, filter: SubscriptionFilter) -> Result<Subscription, ClientError> {
        let failed = |failure| self.session().error("subscribing to changes", failure);
        if self.revision().opens_with_handshake() {
            return self.subscribe_in_session(filter).await;
        }
        let queue = Arc::new(ChangeQueue::new(None, &filter));
        let mut params = Params::new([("notifications", filter.to_json())]);
        params.push_meta(self.meta(false));
        let limit = self.timeouts().total;
        let pending = Pending::Listen(Arc::clone(&queue));
        let timed_out = |stage| failed(Failure::new(ErrorKind::TimedOut(limit), stage));
        let id = match timeout(limit, self.session().send(method::LISTEN, params, pending)).await {
            Ok(sent) => sent.map_err(failed)?,
            Err(_) => return Err(timed_out("the request could not be sent")),
        };
        queue.set_id(id);
        // From here on, dropping this future unsubscribes.
        let mut subscription = Subscription {
            session: Arc::clone(self.session()),
            queue,
            acknowledged: SubscriptionFilter::default(),
            is_request: true,
        };
        match timeout(limit, subscription.queue.acknowledged()).await {
            Ok(acknowledged) => subscription.acknowledged = acknowledged.map_err(failed)?,
            Err(_) => return Err(timed_out("the request was sent; no acknowledgement arrived")),
        }
        subscription.check(&filter, "the server has acknowledged nothing")?;
        Ok(subscription)
    }

    /// In session-based revisions servers announce changes of lists to every client, and updates of a resource to those that
    /// have subscribed to it.
    async fn subscribe_in_session(&self, filter: SubscriptionFilter) -> Result<Subscription, ClientError> {
        let requested = filter.clone();
        // Tasks are an extension of stateless revisions.
        let filter = SubscriptionFilter { task_ids: Vec::new(), ..filter };
        let queue = Arc::new(ChangeQueue::new(Some(filter.clone()), &filter));
        let offered = self.capabilities();
        let announces = |list: &Option<ListCapability>| list.as_ref().is_some_and(|list| list.list_changed);
        let resources = offered.resources.clone().unwrap_or_default();
        let session = Arc::clone(self.session());
        session.add_subscriber(&queue);
        let mut subscription =
            Subscription { session, queue, acknowledged: SubscriptionFilter::default(), is_request: false };
        if resources.subscribe {
            for uri in filter.resource_subscriptions {
                self.request(method::SUBSCRIBE, json!({"uri": uri})).await?;
                subscription.acknowledged.resource_subscriptions.push(uri);
                #[cfg(any(unix, feature = "http-client"))]
                subscription.queue.set_agreed(subscription.acknowledged.clone());
            }
        }
        let acknowledged = &mut subscription.acknowledged;
        acknowledged.tools_list_changed = filter.tools_list_changed && announces(&offered.tools);
        acknowledged.prompts_list_changed = filter.prompts_list_changed && announces(&offered.prompts);
        acknowledged.resources_list_changed = filter.resources_list_changed && resources.list_changed;
        #[cfg(any(unix, feature = "http-client"))]
        subscription.queue.set_agreed(subscription.acknowledged.clone());
        subscription.check(&requested, NOT_SENT)?;
        Ok(subscription)
    }
}

impl Session {
    /// Adds a subscriber to the notifications that belong to no request.
    fn add_subscriber(&self, queue: &Arc<ChangeQueue>) {
        let mut state = self.state();
        state.subscribers.push(Arc::clone(queue));
        if let Some(wanted) = state.stream_wanted.take() {
            wanted.notify_one();
        }
    }
}

impl Subscription {
    /// An error if nothing of what was requested will ever be announced: the program would wait in vain.
    fn check(&self, requested: &SubscriptionFilter, stage: &str) -> Result<(), ClientError> {
        if requested.is_empty() || !self.acknowledged.is_empty() {
            return Ok(());
        }
        let kind = ErrorKind::NotOffered(format!("change notifications for {}", requested.described()));
        Err(self.session.error("subscribing to changes", Failure::new(kind, stage)))
    }

    /// The part of the filter that the server has acknowledged. It may be less than what was requested, as a server need not
    /// announce the changes of every list; if it is nothing at all, [`Client::listen`] fails.
    pub fn acknowledged(&self) -> &SubscriptionFilter {
        &self.acknowledged
    }

    /// The next change. `None` when the server has ended the subscription, or the session has ended.
    ///
    /// A server process may be started again ([`ClientOptions::restart`](crate::client::ClientOptions::restart)); then everything
    /// is reported as changed. On HTTP the connection to a server may break. In session-based revisions it is opened again, in another session if
    /// necessary; a change that may have been missed is then reported as if it had happened.
    ///
    /// # Errors
    /// Once, if the subscription was lost: nothing more will arrive, and the lists and resources may have changed since.
    pub async fn next(&mut self) -> Result<Option<Change>, ClientError> {
        let next = self.queue.next().await;
        next.map_err(|failure| self.session.error("waiting for changes", failure))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if !self.is_request {
            self.session.state().subscribers.retain(|queue| !Arc::ptr_eq(queue, &self.queue));
            for uri in &self.acknowledged.resource_subscriptions {
                self.session
                    .send_and_forget(method::UNSUBSCRIBE, &Params::new([("uri", uri.clone().into())]));
            }
            return;
        }
        // One that is being renewed sees that it has ended.
        self.queue.end();
        self.session.state().suspended_listens.retain(|queue| !Arc::ptr_eq(queue, &self.queue));
        if let Some(id) = self.queue.id() {
            self.session.give_up(id, true);
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("acknowledged", &self.acknowledged).finish_non_exhaustive()
    }
}
