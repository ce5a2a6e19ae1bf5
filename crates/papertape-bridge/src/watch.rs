//! Subscriptions to resources: what hosts watch is watched on the servers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use papertape::client::{Change, SubscriptionFilter};
use papertape::server::Resources;
use tokio::task::JoinSet;

use crate::member::Member;

/// Watches on the servers what hosts watch, as long as they do.
pub(crate) async fn watch(resources: Resources, members: Vec<Arc<Member>>) {
    let mut known = BTreeSet::new();
    // Dropped, they unsubscribe.
    let mut subscriptions: BTreeMap<String, JoinSet<()>> = BTreeMap::new();
    loop {
        known = resources.watched(&known).await;
        subscriptions.retain(|uri, _| known.contains(uri));
        for uri in &known {
            subscriptions.entry(uri.clone()).or_insert_with(|| {
                let mut tasks = JoinSet::new();
                for member in &members {
                    tasks.spawn(follow(Arc::clone(member), uri.clone(), resources.clone()));
                }
                tasks
            });
        }
    }
}

/// Passes on the changes of one resource of one server.
async fn follow(member: Arc<Member>, uri: String, resources: Resources) {
    let mut last = None;
    loop {
        let upstream = member.first_after(last).await;
        last = Some(upstream.id);
        let watches = upstream.client.capabilities().resources.as_ref();
        if !watches.is_some_and(|resources| resources.subscribe) {
            continue;
        }
        let mut changes = match upstream.client.listen(SubscriptionFilter::new().resource(&uri)).await {
            Ok(changes) => changes,
            // Another server may have it.
            Err(error) => {
                tracing::info!(server = member.name(), uri, "a resource is not watched: {error}");
                continue;
            }
        };
        // It may have changed between the host's subscription and this one.
        resources.updated(&uri);
        loop {
            match changes.next().await {
                Ok(Some(Change::Resource(changed))) => resources.updated(&changed),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => {
                    if !upstream.client.is_closed() {
                        member.warn(format_args!("{uri} is not watched any more: {error}"));
                    }
                    break;
                }
            }
        }
    }
}
