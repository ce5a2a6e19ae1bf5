//! The lists of the servers behind the bridge, as the host sees them.

use std::collections::{BTreeMap, HashSet};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape::client::{CallOptions, Change, ClientError, ListEntry, SubscriptionFilter};
use papertape::protocol::capabilities::ServerCapabilities;
use papertape::protocol::{
    PromptDefinition, RawJson, Reference, ResourceDefinition, ResourceTemplateDefinition, ToolDefinition,
};
use papertape::server::{Prompt, Prompts, Resource, ResourceTemplate, Resources, SetupError, Tool, Tools};
use papertape::{Client, Cx};
use serde::Serialize;
use tokio::task::JoinSet;

use crate::filter::Filter;
use crate::handlers::{call, completer, prompt, read};
use crate::lock;
use crate::member::Member;

/// Handles of the lists that can change while they are served.
#[derive(Clone)]
pub(crate) struct Lists {
    pub(crate) tools: Option<Tools>,
    pub(crate) prompts: Option<Prompts>,
    pub(crate) resources: Option<Resources>,
    /// The lists as they were copied last, as JSON: hosts are notified of real changes only.
    copied: Arc<Mutex<[String; 3]>>,
    /// Held while a list is copied, so that an older one does not replace a newer one.
    copying: Arc<tokio::sync::Mutex<()>>,
}

impl Lists {
    pub(crate) fn new(tools: Option<Tools>, prompts: Option<Prompts>, resources: Option<Resources>) -> Self {
        let (copied, copying) = Default::default();
        Self { tools, prompts, resources, copied, copying }
    }

    /// Lists what the servers list. Of two items with one name or URI, the first is listed.
    pub(crate) async fn copy(&self, members: &[Arc<Member>], filter: &Filter) {
        self.copy_tools(members, filter).await;
        self.copy_prompts(members).await;
        self.copy_resources(members).await;
    }

    async fn copy_tools(&self, members: &[Arc<Member>], filter: &Filter) {
        let Some(tools) = &self.tools else { return };
        let _copying = self.copying.lock().await;
        let listed = listed_tools(members).await;
        if self.has_changed(0, &listed) {
            log("tools", replace_tools(tools, listed, filter));
        }
    }

    async fn copy_prompts(&self, members: &[Arc<Member>]) {
        let Some(prompts) = &self.prompts else { return };
        let _copying = self.copying.lock().await;
        let listed = listed_prompts(members).await;
        if self.has_changed(1, &listed) {
            log("prompts", replace_prompts(prompts, listed));
        }
    }

    async fn copy_resources(&self, members: &[Arc<Member>]) {
        let Some(resources) = &self.resources else { return };
        let _copying = self.copying.lock().await;
        let listed = listed_resources(members).await;
        if self.has_changed(2, &listed) {
            log("resources", replace_resources(resources, listed));
        }
    }

    fn has_changed<T: Serialize>(&self, list: usize, items: &[(Arc<Member>, T)]) -> bool {
        let items: Vec<(&str, &T)> = items.iter().map(|(member, item)| (member.name(), item)).collect();
        let now = serde_json::to_string(&items).unwrap_or_default();
        match lock(&self.copied).get_mut(list) {
            Some(before) if *before == now => false,
            Some(before) => {
                *before = now;
                true
            }
            None => true,
        }
    }

    /// Copies them again when those of a server have changed.
    pub(crate) async fn follow(self, member: Arc<Member>, members: Vec<Arc<Member>>, filter: Filter) {
        let all = SubscriptionFilter::new().tools().prompts().resources();
        let Ok(mut changes) = member.first().client.listen(all).await else { return };
        // What has changed before is copied, too.
        self.copy(&members, &filter).await;
        loop {
            match changes.next().await {
                Ok(Some(Change::Tools)) => self.copy_tools(&members, &filter).await,
                Ok(Some(Change::Prompts)) => self.copy_prompts(&members).await,
                Ok(Some(Change::Resources)) => self.copy_resources(&members).await,
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(error) => {
                    return member.warn(format_args!("its lists are not followed any more: {error}"));
                }
            }
        }
    }
}

/// A list that cannot be copied stays as it was.
fn log(list: &str, copied: Result<(), SetupError>) {
    if let Err(error) = copied {
        tracing::warn!("the list of {list} is not updated: {error}");
    }
}

/// Whether a server has a list.
type Has = fn(&ServerCapabilities) -> bool;

/// How long a server may take for a list, of which hosts wait.
const LIST_TIMEOUT: Duration = Duration::from_secs(20);

/// The items of the lists of all servers that have one, in the order of the servers; of a server that fails, none.
async fn gather<T, F>(
    members: &[Arc<Member>],
    (list, has): (&'static str, Has),
    get: impl Fn(Client, CallOptions) -> F,
) -> Vec<(Arc<Member>, T)>
where
    T: Send + 'static,
    F: Future<Output = Result<Vec<ListEntry<T>>, ClientError>> + Send + 'static,
{
    let mut getting = JoinSet::new();
    for (index, member) in members.iter().enumerate().filter(|(_, member)| has(member.capabilities())) {
        let options = CallOptions::new().timeout(LIST_TIMEOUT).total_timeout(LIST_TIMEOUT);
        let (items, member) = (get(member.first().client.clone(), options), Arc::clone(member));
        getting.spawn(async move { (index, member, items.await) });
    }
    let mut all = Vec::new();
    while let Some(joined) = getting.join_next().await {
        match joined {
            Ok((index, member, Ok(entries))) => {
                all.extend(entries.into_iter().map(|entry| (index, (Arc::clone(&member), entry.item))));
            }
            Ok((_, member, Err(error))) => {
                member.warn(format_args!("its {list} are left out: {error}"));
            }
            Err(error) => tracing::error!("a list was not read: {error}"),
        }
    }
    // Stable: the items of a server keep their order.
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, item)| item).collect()
}

/// What the servers list, with the server of each item.
type Listed<T> = Vec<(Arc<Member>, T)>;

async fn listed_tools(members: &[Arc<Member>]) -> Listed<ToolDefinition> {
    let has: Has = |offered| offered.tools.is_some();
    let get = |client: Client, options| async move { client.tools_with(options).await };
    gather(members, ("tools", has), get).await
}

async fn listed_prompts(members: &[Arc<Member>]) -> Listed<PromptDefinition> {
    let has: Has = |offered| offered.prompts.is_some();
    let get = |client: Client, options| async move { client.prompts_with(options).await };
    gather(members, ("prompts", has), get).await
}

async fn listed_resources(members: &[Arc<Member>]) -> Listed<ResourceDefinition> {
    let has: Has = |offered| offered.resources.is_some();
    let get = |client: Client, options| async move { client.resources_with(options).await };
    gather(members, ("resources", has), get).await
}

fn replace_tools(tools: &Tools, listed: Listed<ToolDefinition>, filter: &Filter) -> Result<(), SetupError> {
    let (mut names, mut all) = (HashSet::new(), Vec::new());
    for (member, mut tool) in listed {
        let original = tool.name.clone();
        tool.name = member.prefixed(&original);
        if tool.name.is_empty() || !names.insert(tool.name.clone()) {
            tracing::warn!(server = member.name(), tool = tool.name, "left out: the name is not unique");
            continue;
        }
        if !filter.shows(&tool.name, &tool) {
            continue;
        }
        let handler =
            move |arguments: RawJson, cx: Cx| call(Arc::clone(&member), original.clone(), arguments, cx);
        all.push((Tool::from(tool).unchecked().may_become_task(), handler));
    }
    let names: Vec<String> = names.into_iter().collect();
    for pattern in filter.unmatched(&names) {
        tracing::warn!("no tool is called {pattern}, which is to be shown or hidden");
    }
    tools.replace_all(all)
}

fn replace_prompts(prompts: &Prompts, listed: Listed<PromptDefinition>) -> Result<(), SetupError> {
    let (mut names, mut all) = (HashSet::new(), Vec::new());
    for (member, mut definition) in listed {
        let original = definition.name.clone();
        definition.name = member.prefixed(&original);
        if definition.name.is_empty() || !names.insert(definition.name.clone()) {
            tracing::warn!(
                server = member.name(),
                prompt = definition.name,
                "left out: the name is not unique"
            );
            continue;
        }
        let arguments: Vec<String> = definition.arguments.iter().map(|it| it.name.clone()).collect();
        let mut offered = Prompt::from(definition);
        if member.capabilities().completions.is_some() {
            for argument in arguments {
                let of = Reference::Prompt { name: original.clone() };
                offered = offered.complete_raw(argument.clone(), completer(&member, of, argument));
            }
        }
        let handler = move |values: BTreeMap<String, String>, cx: Cx| {
            prompt(Arc::clone(&member), original.clone(), values, cx)
        };
        all.push((offered, handler));
    }
    prompts.replace_all(all)
}

fn replace_resources(resources: &Resources, listed: Listed<ResourceDefinition>) -> Result<(), SetupError> {
    let (mut uris, mut all) = (HashSet::new(), Vec::new());
    for (member, definition) in listed {
        let uri = definition.uri.clone();
        if uri.is_empty() || !uris.insert(uri.clone()) {
            continue;
        }
        let handler = move |cx: Cx| read(Arc::clone(&member), uri.clone(), cx);
        all.push((Resource::from(definition), handler));
    }
    resources.replace_all(all)
}

/// The templates of all servers.
pub(crate) async fn templates(members: &[Arc<Member>]) -> Vec<(Arc<Member>, ResourceTemplate)> {
    let has: Has = |offered| offered.resources.is_some();
    let listed = gather(members, ("resource templates", has), |client: Client, options| async move {
        client.resource_templates_with(options).await
    });
    let mut templates = HashSet::new();
    let mut listed = listed.await;
    listed.retain(|(_, definition)| templates.insert(definition.uri_template.clone()));
    let offered = |(member, definition): (Arc<Member>, ResourceTemplateDefinition)| {
        let uri = definition.uri_template.clone();
        let mut template = ResourceTemplate::from(definition);
        if member.capabilities().completions.is_some() {
            for variable in variables(&uri) {
                let of = Reference::Resource { uri: uri.clone() };
                template = template.complete_raw(variable.clone(), completer(&member, of, variable));
            }
        }
        (member, template)
    };
    listed.into_iter().map(offered).collect()
}

/// The variables of a URI template (RFC 6570).
fn variables(template: &str) -> Vec<String> {
    let expressions = template.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    let names = expressions.flat_map(|(expression, _)| {
        expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']).split(',')
    });
    let bare = names.map(|name| name.split_once(':').map_or(name, |(name, _)| name).trim_end_matches('*'));
    bare.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::variables;

    #[test]
    fn variables_of_a_template() {
        assert_eq!(variables("a://{x}/{+path}{?q,r*}{y:3}"), ["x", "path", "q", "r", "y"]);
        assert!(variables("a://b{").is_empty());
    }
}
