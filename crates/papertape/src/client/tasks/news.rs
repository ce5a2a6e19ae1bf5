//! Notifications about a task, if the server supports subscriptions to tasks.

use std::future::{Future, pending};
use std::pin::Pin;

use crate::client::Client;
use crate::client::subscriptions::{Change, Subscription, SubscriptionFilter};

/// A subscription to a task.
pub(super) enum News {
    Opening(Pin<Box<dyn Future<Output = Option<Subscription>> + Send>>),
    Open(Subscription),
    /// The server does not support it, or has ended it.
    Closed,
}

impl News {
    /// Begins to subscribe, without waiting for it: servers need not support it.
    pub(super) fn subscribe(client: &Client, id: &str) -> Self {
        let (client, id) = (client.clone(), id.to_owned());
        Self::Opening(Box::pin(async move {
            let subscription = client.listen(SubscriptionFilter::new().task(&*id)).await.ok()?;
            let acknowledged = subscription.acknowledged().includes(&Change::Task(id));
            acknowledged.then_some(subscription)
        }))
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// Waits for a change. True if the task may have changed; false if the subscription has ended.
    pub(super) async fn next(&mut self) -> bool {
        match self {
            Self::Opening(opening) => {
                let opened = opening.await;
                // The task may have changed before.
                let is_open = opened.is_some();
                *self = opened.map_or(Self::Closed, Self::Open);
                is_open
            }
            Self::Open(subscription) => match subscription.next().await {
                Ok(Some(_)) => true,
                Ok(None) | Err(_) => {
                    *self = Self::Closed;
                    false
                }
            },
            Self::Closed => pending().await,
        }
    }
}
