//! The lists of all servers as one.

use tokio::task::JoinSet;

use super::member::{Member, Names};
use super::{Clients, ServerFailure};
use crate::client::{CallOptions, Client, ClientError, ListEntry};
use crate::protocol::{
    PromptDefinition, RawJson, ResourceDefinition, ResourceTemplateDefinition, ToolDefinition,
};
use crate::wire::error::excerpt;

/// The lists of all servers as one, in the order of the servers.
#[derive(Debug)]
#[non_exhaustive]
pub struct Merged<T> {
    /// The entries of all servers that returned their list.
    pub entries: Vec<ServerEntry<T>>,
    /// The servers that are connected and did not.
    pub failures: Vec<ServerFailure>,
}

/// An entry of a list, and the server that it is of.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerEntry<T> {
    /// The name of its server.
    pub server: String,
    /// The name, URI or URI template that it has on its server.
    pub name: String,
    /// Its definition, in which the name of a tool or prompt has the prefix.
    pub item: T,
    /// Its JSON as it was received.
    pub raw: RawJson,
    /// Why it is invalid, or cannot be used as one of several; empty if it can.
    pub problems: Vec<String>,
}

type Listed<T> = Result<Vec<ListEntry<T>>, ClientError>;

impl<T> Merged<T> {
    /// The definitions.
    pub fn items(&self) -> impl Iterator<Item = &T> + Clone {
        self.entries.iter().map(|entry| &entry.item)
    }
}

impl Clients {
    /// Lists the tools of all servers at once. A server that does not return its list is one of the
    /// [`failures`](Merged::failures), and delays the list until its timeout.
    pub async fn tools(&self) -> Merged<ToolDefinition> {
        self.tools_with(|_| CallOptions::new()).await
    }

    /// [`Clients::tools`] with the options for each server, given its name.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use papertape::client::{CallOptions, Clients};
    ///
    /// async fn list(clients: &Clients) {
    ///     let soon = Duration::from_secs(5);
    ///     let tools = clients.tools_with(|_| CallOptions::new().timeout(soon).total_timeout(soon)).await;
    ///     println!("{} tools, {} servers failed", tools.entries.len(), tools.failures.len());
    /// }
    /// ```
    pub async fn tools_with(&self, options: impl Fn(&str) -> CallOptions) -> Merged<ToolDefinition> {
        // Old servers may have tools and declare nothing.
        let offers = |client: &Client| {
            let declared = client.capabilities();
            declared.tools.is_some() || declared.resources.is_none() && declared.prompts.is_none()
        };
        let list = |name: &str, client: Client| {
            let options = options(name);
            async move { client.tools_with(options).await }
        };
        let listed = self.listed(offers, list).await;
        named(listed, |member| &member.tools, |item| &mut item.name)
    }

    /// Lists the prompts of all servers at once.
    pub async fn prompts(&self) -> Merged<PromptDefinition> {
        let offers = |client: &Client| client.capabilities().prompts.is_some();
        let listed = self.listed(offers, |_, client| async move { client.prompts().await }).await;
        named(listed, |member| &member.prompts, |item| &mut item.name)
    }

    /// Lists the resources of all servers at once. Of two with one URI, the first is the one that is read.
    pub async fn resources(&self) -> Merged<ResourceDefinition> {
        let listed = self.listed(offers_resources, |_, client| async move { client.resources().await }).await;
        for (member, list) in &listed {
            if let Ok(list) = list {
                member.set_resources(list);
            }
        }
        let mut merged = merged(listed, |item| item.uri.clone());
        let mut first = std::collections::HashMap::new();
        for entry in &mut merged.entries {
            let server: &mut String = first.entry(entry.name.clone()).or_insert_with(|| entry.server.clone());
            if *server != entry.server {
                entry.problems.push(format!(
                    "the server {} has a resource with the same URI, which is the one that is read",
                    excerpt(server)
                ));
            }
        }
        merged
    }

    /// Lists the resource templates of all servers at once.
    pub async fn resource_templates(&self) -> Merged<ResourceTemplateDefinition> {
        let listed =
            self.listed(offers_resources, |_, client| async move { client.resource_templates().await }).await;
        for (member, list) in &listed {
            if let Ok(list) = list {
                member.set_templates(list);
            }
        }
        merged(listed, |item| item.uri_template.clone())
    }

    /// One list of each server that offers it, in the order of the servers.
    async fn listed<T, F>(
        &self,
        offers: impl Fn(&Client) -> bool,
        list: impl Fn(&str, Client) -> F,
    ) -> Vec<(&Member, Listed<T>)>
    where
        T: Send + 'static,
        F: Future<Output = Listed<T>> + Send + 'static,
    {
        let mut listing = JoinSet::new();
        for (index, member) in self.members.iter().enumerate() {
            if let Some(client) = member.client().filter(|client| offers(client)) {
                let list = list(&member.name, client.clone());
                listing.spawn(async move { (index, list.await) });
            }
        }
        let mut lists = Vec::new();
        while let Some(joined) = listing.join_next().await {
            match joined {
                Ok(list) => lists.push(list),
                Err(error) => tracing::error!("listing failed: {error}"),
            }
        }
        lists.sort_by_key(|(index, _)| *index);
        lists.into_iter().filter_map(|(index, list)| Some((self.members.get(index)?, list))).collect()
    }
}

pub(super) fn offers_resources(client: &Client) -> bool {
    client.capabilities().resources.is_some()
}

fn merged<T>(lists: Vec<(&Member, Listed<T>)>, name: impl Fn(&T) -> String) -> Merged<T> {
    let mut merged = Merged { entries: Vec::new(), failures: Vec::new() };
    for (member, list) in lists {
        let server = &member.name;
        match list {
            Ok(list) => merged.entries.extend(list.into_iter().map(|ListEntry { item, raw, problems }| {
                ServerEntry { server: server.clone(), name: name(&item), item, raw, problems }
            })),
            Err(error) => {
                let error = error.of_server(server);
                merged.failures.push(ServerFailure { server: server.clone(), error });
            }
        }
    }
    merged
}

/// The lists with prefixed names.
fn named<T>(
    mut lists: Vec<(&Member, Listed<T>)>,
    names: impl Fn(&Member) -> &Names,
    name: impl Fn(&mut T) -> &mut String,
) -> Merged<T> {
    let mut prefixed = Vec::new();
    for (member, list) in &mut lists {
        if let Ok(list) = list {
            let own: Vec<String> = list.iter_mut().map(|entry| name(&mut entry.item).clone()).collect();
            prefixed.extend(
                own.iter().cloned().zip(member.prefixed(names(member), own.iter().map(String::as_str))),
            );
        }
    }
    let mut merged = merged(lists, |_| String::new());
    for (entry, (own, prefixed)) in merged.entries.iter_mut().zip(prefixed) {
        *name(&mut entry.item) = prefixed;
        entry.name = own;
    }
    merged
}
