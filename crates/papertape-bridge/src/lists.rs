//! The lists of the servers behind the bridge, as the host sees them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::future::{Future, pending};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape::client::{CallOptions, Change, ClientError, ErrorKind, ListEntry, SubscriptionFilter};
use papertape::protocol::capabilities::ServerCapabilities;
use papertape::protocol::{
    PromptDefinition, RawJson, Reference, ResourceDefinition, ResourceTemplateDefinition, ToolDefinition,
};
use papertape::server::{Prompt, Prompts, Resource, ResourceTemplate, Resources, SetupError, Tool, Tools};
use papertape::{Client, Cx, guess};
use serde::Serialize;
use serde::de::IgnoredAny;
use tokio::task::JoinSet;

use crate::filter::Filter;
use crate::handlers::{call, completer, prompt, read};
use crate::lock;
use crate::member::Member;
use crate::notices::Notices;

/// Handles of the lists that can change while they are served.
#[derive(Clone)]
pub(crate) struct Lists {
    pub(crate) tools: Option<Tools>,
    pub(crate) prompts: Option<Prompts>,
    pub(crate) resources: Option<Resources>,
    filter: Filter,
    notices: Notices,
    /// The lists as they were copied last: hosts are notified of real changes only. Locked while a list is copied, so that an
    /// older one does not replace a newer one.
    copied: Arc<tokio::sync::Mutex<Copied>>,
    /// The names of the filter that users have been told of, because no tool has them.
    unmatched: Arc<Mutex<BTreeSet<String>>>,
}

/// The lists as they were copied last.
#[derive(Default)]
struct Copied {
    tools: Listed<ToolDefinition>,
    prompts: Listed<PromptDefinition>,
    resources: Listed<ResourceDefinition>,
    templates: Listed<ResourceTemplateDefinition>,
}

impl Lists {
    pub(crate) fn new(
        (tools, prompts, resources): (Option<Tools>, Option<Prompts>, Option<Resources>),
        filter: Filter,
        notices: Notices,
    ) -> Self {
        let (copied, unmatched) = Default::default();
        Self { tools, prompts, resources, filter, notices, copied, unmatched }
    }

    /// Lists what the servers list. Of two items with one name or URI, the first is listed.
    pub(crate) async fn copy(&self, members: &[Arc<Member>]) {
        self.copy_tools(members).await;
        self.copy_prompts(members).await;
        self.copy_resources(members).await;
    }

    async fn copy_tools(&self, members: &[Arc<Member>]) {
        let Some(tools) = &self.tools else { return };
        let mut copied = self.copied.lock().await;
        let listed = listed_tools(members, &copied.tools).await;
        if replace(&mut copied.tools, &listed) {
            if members.iter().all(|member| member.first().is_some()) {
                self.name_unmatched(&listed);
            }
            log("tools", replace_tools(tools, listed, &self.filter));
        }
    }

    async fn copy_prompts(&self, members: &[Arc<Member>]) {
        let Some(prompts) = &self.prompts else { return };
        let mut copied = self.copied.lock().await;
        let listed = listed_prompts(members, &copied.prompts).await;
        if replace(&mut copied.prompts, &listed) {
            log("prompts", replace_prompts(prompts, listed));
        }
    }

    async fn copy_resources(&self, members: &[Arc<Member>]) {
        let Some(resources) = &self.resources else { return };
        let mut copied = self.copied.lock().await;
        let listed = listed_resources(members, &copied.resources).await;
        if replace(&mut copied.resources, &listed) {
            log("resources", replace_resources(resources, listed));
        }
        let listed = listed_templates(members, &copied.templates).await;
        if replace(&mut copied.templates, &listed) {
            log("resource templates", replace_templates(resources, listed));
        }
    }

    /// Tells users which names of the filter no tool has.
    fn name_unmatched(&self, listed: &Listed<ToolDefinition>) {
        let names: Vec<String> = listed.iter().map(|(member, tool)| member.prefixed(&tool.name)).collect();
        for pattern in self.filter.unmatched(&names) {
            if lock(&self.unmatched).insert(pattern.to_owned()) {
                let hint = guess::hint(pattern, names.iter().map(String::as_str));
                self.notices
                    .say(format_args!("no tool is called {pattern}, which is to be shown or hidden{hint}"));
            }
        }
    }

    /// Copies them again when those of a server have changed, and when it was started or connected again. Those of the session
    /// `copied` have been copied already.
    pub(crate) async fn follow(self, member: Arc<Member>, members: Vec<Arc<Member>>, copied: Option<u64>) {
        let mut last = None;
        loop {
            let upstream = member.first_after(last).await;
            last = Some(upstream.id);
            let all = SubscriptionFilter::new().tools().prompts().resources();
            let mut changes = upstream.client.listen(all).await.ok();
            if changes.is_some() || last != copied {
                // What has changed before is copied, too.
                self.copy(&members).await;
            }
            loop {
                let changed = async {
                    match &mut changes {
                        Some(changes) => changes.next().await,
                        None => pending().await,
                    }
                };
                let changed = tokio::select! {
                    changed = changed => changed,
                    () = upstream.restarted.notified() => {
                        self.copy(&members).await;
                        continue;
                    }
                    () = upstream.client.closed() => break,
                };
                match changed {
                    Ok(Some(Change::Tools)) => self.copy_tools(&members).await,
                    Ok(Some(Change::Prompts)) => self.copy_prompts(&members).await,
                    Ok(Some(Change::Resources)) => self.copy_resources(&members).await,
                    Ok(Some(_)) => {}
                    Ok(None) => changes = None,
                    Err(error) => {
                        if !upstream.client.is_closed() {
                            member.warn(format_args!("its lists are not followed any more: {error}"));
                        }
                        changes = None;
                    }
                }
            }
        }
    }
}

/// Keeps a list in place of the one before, if it is another.
fn replace<T: Clone + Serialize>(before: &mut Listed<T>, listed: &Listed<T>) -> bool {
    let is_same = {
        let items = |listed: &Listed<T>| {
            let items: Vec<_> =
                listed.iter().map(|(member, item)| (member.name().to_owned(), item)).collect();
            serde_json::to_string(&items).ok()
        };
        items(before) == items(listed)
    };
    if !is_same {
        before.clone_from(listed);
    }
    !is_same
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

/// The items of the lists of all servers that have one, in the order of the servers; of a server that fails, those before.
async fn gather<T, F>(
    members: &[Arc<Member>],
    before: &Listed<T>,
    (list, has): (&'static str, Has),
    get: impl Fn(Client, CallOptions) -> F,
) -> Listed<T>
where
    T: Clone + Send + 'static,
    F: Future<Output = Result<Vec<ListEntry<T>>, ClientError>> + Send + 'static,
{
    let mut getting = JoinSet::new();
    for (index, member) in members.iter().enumerate() {
        let Some(upstream) = member.first() else { continue };
        if !has(upstream.client.capabilities()) {
            continue;
        }
        // A server process that was started again may list something else than the last one.
        let options = CallOptions::new().fresh().timeout(LIST_TIMEOUT).total_timeout(LIST_TIMEOUT);
        let (items, member) = (get(upstream.client.clone(), options), Arc::clone(member));
        getting.spawn(async move { (index, member, items.await) });
    }
    let mut all = Vec::new();
    while let Some(joined) = getting.join_next().await {
        match joined {
            Ok((index, member, Ok(entries))) => {
                all.extend(entries.into_iter().map(|entry| (index, (Arc::clone(&member), entry.item))));
            }
            Ok((index, member, Err(error))) => {
                let kept = before.iter().filter(|(of, _)| Arc::ptr_eq(of, &member));
                all.extend(kept.map(|item| (index, item.clone())));
                // That a server has exited is said elsewhere.
                if !matches!(error.kind(), ErrorKind::Closed | ErrorKind::Restarting(_)) {
                    member.warn(format_args!("its {list} are not listed again: {error}"));
                }
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

async fn listed_tools(members: &[Arc<Member>], before: &Listed<ToolDefinition>) -> Listed<ToolDefinition> {
    let has: Has = |offered| offered.tools.is_some();
    let get = |client: Client, options| async move { client.tools_with(options).await };
    gather(members, before, ("tools", has), get).await
}

async fn listed_prompts(
    members: &[Arc<Member>],
    before: &Listed<PromptDefinition>,
) -> Listed<PromptDefinition> {
    let has: Has = |offered| offered.prompts.is_some();
    let get = |client: Client, options| async move { client.prompts_with(options).await };
    gather(members, before, ("prompts", has), get).await
}

async fn listed_resources(
    members: &[Arc<Member>],
    before: &Listed<ResourceDefinition>,
) -> Listed<ResourceDefinition> {
    let has: Has = |offered| offered.resources.is_some();
    let get = |client: Client, options| async move { client.resources_with(options).await };
    gather(members, before, ("resources", has), get).await
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
        if member.offers(|offered| offered.completions.is_some()) {
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

async fn listed_templates(
    members: &[Arc<Member>],
    before: &Listed<ResourceTemplateDefinition>,
) -> Listed<ResourceTemplateDefinition> {
    let has: Has = |offered| offered.resources.is_some();
    let get = |client: Client, options| async move { client.resource_templates_with(options).await };
    gather(members, before, ("resource templates", has), get).await
}

fn replace_templates(
    resources: &Resources,
    mut listed: Listed<ResourceTemplateDefinition>,
) -> Result<(), SetupError> {
    let mut templates = HashSet::new();
    listed.retain(|(_, definition)| templates.insert(definition.uri_template.clone()));
    let offered = |(member, definition): (Arc<Member>, ResourceTemplateDefinition)| {
        let uri = definition.uri_template.clone();
        let mut template = ResourceTemplate::from(definition);
        if member.offers(|offered| offered.completions.is_some()) {
            for variable in variables(&uri) {
                let of = Reference::Resource { uri: uri.clone() };
                template = template.complete_raw(variable.clone(), completer(&member, of, variable));
            }
        }
        let handler = move |_: IgnoredAny, cx: Cx| {
            let uri = cx.uri().unwrap_or_default().to_owned();
            read(Arc::clone(&member), uri, cx)
        };
        (template, handler)
    };
    resources.replace_all_templates(listed.into_iter().map(offered))
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
