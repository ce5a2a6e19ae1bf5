//! The lists of the servers behind the bridge, as the host sees them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::future::{Future, pending};
use std::mem;
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
use tokio::time::Instant;

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
    members: Vec<Arc<Member>>,
    /// The lists as they were copied last: hosts are notified of real changes only.
    copied: Arc<Mutex<Copied>>,
}

/// The lists as they were copied last.
#[derive(Default)]
struct Copied {
    tools: Listed<ToolDefinition>,
    prompts: Listed<PromptDefinition>,
    resources: Listed<ResourceDefinition>,
    templates: Listed<ResourceTemplateDefinition>,
    /// The names of the servers whose tools have been copied.
    with_tools: BTreeSet<String>,
    /// The names of the filter that users have been told of, because no tool has them.
    unmatched: BTreeSet<String>,
}

impl Lists {
    pub(crate) fn new(
        (tools, prompts, resources): (Option<Tools>, Option<Prompts>, Option<Resources>),
        filter: Filter,
        notices: Notices,
        members: &[Arc<Member>],
    ) -> Self {
        let members = members.to_vec();
        Self { tools, prompts, resources, filter, notices, members, copied: Arc::default() }
    }

    /// Lists what the servers list within a time. Of two items with one name or URI, the first is listed. Of each server the session
    /// whose lists have all been copied.
    pub(crate) async fn copy_all(&self, time: Duration) -> Vec<Option<u64>> {
        let mut copying = JoinSet::new();
        for (index, member) in self.members.iter().enumerate() {
            let Some(upstream) = member.first() else { continue };
            let (lists, member, id) = (self.clone(), Arc::clone(member), upstream.id);
            copying.spawn(async move { (index, lists.copy(&member, time).await.then_some(id)) });
        }
        let mut copied = vec![None; self.members.len()];
        while let Some(joined) = copying.join_next().await {
            if let Ok((index, id)) = joined
                && let Some(of_member) = copied.get_mut(index)
            {
                *of_member = id;
            }
        }
        copied
    }

    /// Copies the lists of one server. False if one of them cannot be read, which stays as it was.
    async fn copy(&self, member: &Arc<Member>, time: Duration) -> bool {
        let end = Instant::now() + time;
        let tools = self.copy_tools(member, end).await;
        let prompts = self.copy_prompts(member, end).await;
        let resources = self.copy_resources(member, end).await;
        tools && prompts && resources
    }

    async fn copy_tools(&self, member: &Arc<Member>, end: Instant) -> bool {
        let Some(tools) = &self.tools else { return true };
        let has: Has = |offered| offered.tools.is_some();
        let get = |client: Client, options| async move { client.tools_with(options).await };
        let Some(items) = list(member, end, ("tools", has), get).await else { return false };
        let mut copied = lock(&self.copied);
        copied.with_tools.insert(member.name().to_owned());
        let is_complete = copied.with_tools.len() >= self.members.len();
        if self.put(&mut copied.tools, member, items) {
            log("tools", replace_tools(tools, copied.tools.clone(), &self.filter));
        }
        if is_complete {
            self.name_unmatched(&mut copied);
        }
        true
    }

    async fn copy_prompts(&self, member: &Arc<Member>, end: Instant) -> bool {
        let Some(prompts) = &self.prompts else { return true };
        let has: Has = |offered| offered.prompts.is_some();
        let get = |client: Client, options| async move { client.prompts_with(options).await };
        let Some(items) = list(member, end, ("prompts", has), get).await else { return false };
        let mut copied = lock(&self.copied);
        if self.put(&mut copied.prompts, member, items) {
            log("prompts", replace_prompts(prompts, copied.prompts.clone()));
        }
        true
    }

    async fn copy_resources(&self, member: &Arc<Member>, end: Instant) -> bool {
        let Some(resources) = &self.resources else { return true };
        let has: Has = |offered| offered.resources.is_some();
        let get = |client: Client, options| async move { client.resources_with(options).await };
        let listed = list(member, end, ("resources", has), get).await;
        let get = |client: Client, options| async move { client.resource_templates_with(options).await };
        let templates = list(member, end, ("resource templates", has), get).await;
        let mut copied = lock(&self.copied);
        let is_complete = listed.is_some() && templates.is_some();
        if let Some(items) = listed
            && self.put(&mut copied.resources, member, items)
        {
            log("resources", replace_resources(resources, copied.resources.clone()));
        }
        if let Some(items) = templates
            && self.put(&mut copied.templates, member, items)
        {
            log("resource templates", replace_templates(resources, copied.templates.clone()));
        }
        is_complete
    }

    /// Puts the items of a server in place of those before, in the order of the servers. False if they are the same.
    fn put<T: Serialize>(&self, all: &mut Listed<T>, member: &Arc<Member>, items: Vec<T>) -> bool {
        let (own, others): (Listed<T>, Listed<T>) =
            mem::take(all).into_iter().partition(|(of, _)| Arc::ptr_eq(of, member));
        let before: Vec<&T> = own.iter().map(|(_, item)| item).collect();
        let is_same = serde_json::to_string(&before).ok() == serde_json::to_string(&items).ok();
        *all = others;
        all.extend(items.into_iter().map(|item| (Arc::clone(member), item)));
        // Stable: the items of a server keep their order.
        all.sort_by_key(|(of, _)| self.members.iter().position(|member| Arc::ptr_eq(of, member)));
        !is_same
    }

    /// Tells users which names of the filter no tool has.
    fn name_unmatched(&self, copied: &mut Copied) {
        let names = copied.tools.iter().map(|(member, tool)| member.prefixed(&tool.name));
        let names: Vec<String> = names.collect();
        for pattern in self.filter.unmatched(&names) {
            if copied.unmatched.insert(pattern.to_owned()) {
                let hint = guess::hint(pattern, names.iter().map(String::as_str));
                self.notices
                    .say(format_args!("no tool is called {pattern}, which is to be shown or hidden{hint}"));
            }
        }
    }

    /// Copies the lists of a server again when they have changed, and when it was started or connected again. Those of the session
    /// `copied` have been copied already.
    pub(crate) async fn follow(self, member: Arc<Member>, copied: Option<u64>) {
        let mut last = None;
        loop {
            let upstream = member.first_after(last).await;
            last = Some(upstream.id);
            let all = SubscriptionFilter::new().tools().prompts().resources();
            let mut changes = upstream.client.listen(all).await.ok();
            if changes.is_some() || last != copied {
                // What has changed before is copied, too.
                self.copy(&member, LIST_TIMEOUT).await;
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
                        self.copy(&member, LIST_TIMEOUT).await;
                        continue;
                    }
                    () = upstream.client.closed() => break,
                };
                let end = Instant::now() + LIST_TIMEOUT;
                match changed {
                    Ok(Some(Change::Tools)) => drop(self.copy_tools(&member, end).await),
                    Ok(Some(Change::Prompts)) => drop(self.copy_prompts(&member, end).await),
                    Ok(Some(Change::Resources)) => drop(self.copy_resources(&member, end).await),
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

/// A list that cannot be copied stays as it was.
fn log(list: &str, copied: Result<(), SetupError>) {
    if let Err(error) = copied {
        tracing::warn!("the list of {list} is not updated: {error}");
    }
}

/// Whether a server has a list.
type Has = fn(&ServerCapabilities) -> bool;

/// How long a server may take for its lists, of which hosts wait.
pub(crate) const LIST_TIMEOUT: Duration = Duration::from_secs(20);

/// The items of a list of a server, of which there are none if it does not have the list; `None` if it fails.
async fn list<T, F>(
    member: &Member,
    end: Instant,
    (list, has): (&'static str, Has),
    get: impl Fn(Client, CallOptions) -> F,
) -> Option<Vec<T>>
where
    F: Future<Output = Result<Vec<ListEntry<T>>, ClientError>>,
{
    let upstream = member.first()?;
    if !has(upstream.client.capabilities()) {
        return Some(Vec::new());
    }
    let time = end.saturating_duration_since(Instant::now());
    // A server process that was started again may list something else than the last one.
    let options = CallOptions::new().fresh().timeout(time).total_timeout(time);
    match get(upstream.client.clone(), options).await {
        Ok(entries) => Some(entries.into_iter().map(|entry| entry.item).collect()),
        Err(error) => {
            // That a server has exited is said elsewhere.
            if !matches!(error.kind(), ErrorKind::Closed | ErrorKind::Restarting(_)) {
                member.warn(format_args!("its {list} are not listed: {error}"));
            }
            None
        }
    }
}

/// What the servers list, with the server of each item.
type Listed<T> = Vec<(Arc<Member>, T)>;

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
