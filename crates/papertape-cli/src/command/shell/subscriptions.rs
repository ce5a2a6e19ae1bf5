//! The subscriptions of the shell: changes are printed above the line that is being typed.

use std::collections::BTreeMap;
use std::sync::Arc;

use papertape::Client;
use papertape::client::{Change, ClientError, Subscription, SubscriptionFilter};
use tokio::task::JoinHandle;

use super::completer::Known;
use crate::exit;
use crate::print::text::one_line;
use crate::print::{self, Look, style};

/// The subscriptions, by URI, each with the task that prints its changes.
#[derive(Default)]
pub(super) struct Subscriptions {
    resources: BTreeMap<String, Task>,
    lists: Option<Task>,
}

/// A task that ends when it is dropped.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Subscriptions {
    /// Follows the changes of the lists that the server announces.
    pub(super) fn follow_lists(&mut self, client: &Client, known: Arc<Known>) {
        let declared = client.capabilities();
        let mut filter = SubscriptionFilter::new();
        let announced = [
            declared.tools.as_ref().is_some_and(|tools| tools.list_changed),
            declared.prompts.as_ref().is_some_and(|prompts| prompts.list_changed),
            declared.resources.as_ref().is_some_and(|resources| resources.list_changed),
        ];
        let [tools, prompts, resources] = announced;
        if tools {
            filter = filter.tools();
        }
        if prompts {
            filter = filter.prompts();
        }
        if resources {
            filter = filter.resources();
        }
        if !announced.contains(&true) {
            return;
        }
        let client = client.clone();
        let follow = async move {
            match client.listen(filter).await {
                Ok(subscription) => {
                    // The task must not keep the session open.
                    drop(client);
                    print_changes(subscription, |change| {
                        known.forget();
                        Some(change)
                    })
                    .await;
                }
                Err(error) => tracing::debug!("changes of lists are not shown: {error}"),
            }
        };
        self.lists = Some(Task(tokio::spawn(follow)));
    }

    /// Subscribes to a resource.
    pub(super) async fn add(&mut self, client: &Client, uri: &str) -> Result<(), ClientError> {
        let subscription = client.listen(SubscriptionFilter::new().resource(uri)).await?;
        let own = uri.to_owned();
        // In a session every subscription gets the updates of all; the URI of one may be that of a sub-resource.
        let is_own = move |change: Change| match &change {
            Change::Resource(uri) if !uri.starts_with(&own) => None,
            _ => Some(change),
        };
        let task = Task(tokio::spawn(print_changes(subscription, is_own)));
        self.resources.insert(uri.to_owned(), task);
        Ok(())
    }

    /// Ends a subscription; `false` if there is none.
    pub(super) fn remove(&mut self, uri: &str) -> bool {
        self.resources.remove(uri).is_some()
    }

    pub(super) fn uris(&self) -> impl Iterator<Item = &str> {
        self.resources.keys().map(String::as_str)
    }
}

/// Prints the changes that `chosen` lets through, until the subscription ends.
async fn print_changes(mut subscription: Subscription, chosen: impl Fn(Change) -> Option<Change>) {
    loop {
        match subscription.next().await {
            Ok(Some(change)) => {
                if let Some(change) = chosen(change) {
                    print::err(&format!("{}\n", Look::of_stderr().paint(style::DIM, &described(&change))));
                }
            }
            // The end of the session is reported by the command that meets it.
            Ok(None) => return,
            Err(error) => {
                exit::report(&error.into());
                return;
            }
        }
    }
}

fn described(change: &Change) -> String {
    match change {
        Change::Tools => "the list of tools has changed".to_owned(),
        Change::Prompts => "the list of prompts has changed".to_owned(),
        Change::Resources => "the list of resources has changed".to_owned(),
        Change::Resource(uri) => format!("the resource {} has changed", one_line(uri)),
        _ => "the server has announced a change".to_owned(),
    }
}
