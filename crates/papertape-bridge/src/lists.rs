//! The lists of the servers behind the bridge, as the host sees them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use papertape::client::{ClientError, SubscriptionFilter};
use papertape::protocol::{
    CallToolResult, Completion, PromptResult, RawJson, Reference, ResourceContents, ToolDefinition,
};
use papertape::server::{
    CompletionRequest, Prompt, Prompts, Resource, ResourceTemplate, Resources, SetupError, Tool, Tools,
};
use papertape::{Cx, ToolError};
use serde_json::{Map, Value};

use crate::failure::pass_on;
use crate::filter::Filter;
use crate::member::Member;
use crate::relay::{Output, Request};

pub(crate) async fn call(
    member: Arc<Member>,
    tool: String,
    arguments: RawJson,
    cx: Cx,
) -> Result<CallToolResult, ToolError> {
    match member.relay(Request::Call(tool, arguments), &cx).await? {
        Output::Called(result) => Ok(result),
        _ => Err(unlike()),
    }
}

pub(crate) async fn read(
    member: Arc<Member>,
    uri: String,
    cx: Cx,
) -> Result<Vec<ResourceContents>, ToolError> {
    match member.relay(Request::Read(uri), &cx).await? {
        Output::Contents(contents) => Ok(contents),
        _ => Err(unlike()),
    }
}

pub(crate) async fn prompt(
    member: Arc<Member>,
    name: String,
    values: BTreeMap<String, String>,
    cx: Cx,
) -> Result<PromptResult, ToolError> {
    match member.relay(Request::Prompt(name, values), &cx).await? {
        Output::Prompt(result) => Ok(result),
        _ => Err(unlike()),
    }
}

pub(crate) async fn other(
    member: Arc<Member>,
    method: String,
    params: RawJson,
    cx: Cx,
) -> Result<RawJson, ToolError> {
    match member.relay(Request::Other(method, params), &cx).await? {
        Output::Other(result) => Ok(result),
        _ => Err(unlike()),
    }
}

/// A request has the result of its kind.
fn unlike() -> ToolError {
    ToolError::internal("a result of another kind")
}

async fn complete(
    member: Arc<Member>,
    of: Reference,
    argument: String,
    request: CompletionRequest,
) -> Result<Completion, ToolError> {
    let upstream = match request.cx() {
        Some(cx) => member.of(cx).await?,
        None => member.first(),
    };
    let known: Map<String, Value> =
        request.known.into_iter().map(|(name, value)| (name, value.into())).collect();
    let completed = upstream.client.complete(of, &argument, &request.value, known).await;
    completed.map_err(|error| pass_on(&error))
}

/// Handles of the lists that can change while they are served.
#[derive(Clone)]
pub(crate) struct Lists {
    pub(crate) tools: Option<Tools>,
    pub(crate) prompts: Option<Prompts>,
    pub(crate) resources: Option<Resources>,
}

impl Lists {
    /// Lists what the servers list. The names of one member are unique; of two resources with one URI the first is read.
    pub(crate) async fn copy(&self, members: &[Arc<Member>], filter: &Filter) {
        if let Some(tools) = &self.tools {
            log("tools", copy_tools(tools, members, filter).await);
        }
        if let Some(prompts) = &self.prompts {
            log("prompts", copy_prompts(prompts, members).await);
        }
        if let Some(resources) = &self.resources {
            log("resources", copy_resources(resources, members).await);
        }
    }

    /// Copies them again when those of a server have changed.
    pub(crate) async fn follow(self, member: Arc<Member>, members: Vec<Arc<Member>>, filter: Filter) {
        let all = SubscriptionFilter::new().tools().prompts().resources();
        let Ok(mut changes) = member.first().client.listen(all).await else { return };
        loop {
            match changes.next().await {
                Ok(Some(_)) => self.copy(&members, &filter).await,
                Ok(None) => return,
                Err(error) => return tracing::warn!("changes of lists are not followed any more: {error}"),
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

/// The items of a list; of a server that fails, none.
async fn listed<T>(
    member: &Member,
    list: &str,
    items: impl Future<Output = Result<Vec<papertape::client::ListEntry<T>>, ClientError>>,
) -> Vec<T> {
    match items.await {
        Ok(entries) => entries.into_iter().map(|entry| entry.item).collect(),
        Err(error) => {
            tracing::warn!(server = member.name(), "its {list} are left out: {error}");
            Vec::new()
        }
    }
}

async fn copy_tools(tools: &Tools, members: &[Arc<Member>], filter: &Filter) -> Result<(), SetupError> {
    let (mut names, mut all) = (HashSet::new(), Vec::new());
    for member in members.iter().filter(|member| member.capabilities().tools.is_some()) {
        let client = &member.first().client;
        for mut tool in listed(member, "tools", client.tools()).await {
            let (member, original) = (Arc::clone(member), tool.name.clone());
            tool.name = member.prefixed(&original);
            if !is_usable(&tool, filter) || !names.insert(tool.name.clone()) {
                continue;
            }
            let handler =
                move |arguments: RawJson, cx: Cx| call(Arc::clone(&member), original.clone(), arguments, cx);
            all.push((Tool::from(tool).unchecked(), handler));
        }
    }
    tools.replace_all(all)
}

fn is_usable(tool: &ToolDefinition, filter: &Filter) -> bool {
    !tool.name.is_empty() && filter.shows(&tool.name, tool)
}

async fn copy_prompts(prompts: &Prompts, members: &[Arc<Member>]) -> Result<(), SetupError> {
    let (mut names, mut all) = (HashSet::new(), Vec::new());
    for member in members.iter().filter(|member| member.capabilities().prompts.is_some()) {
        let client = &member.first().client;
        for mut definition in listed(member, "prompts", client.prompts()).await {
            let (member, original) = (Arc::clone(member), definition.name.clone());
            definition.name = member.prefixed(&original);
            if definition.name.is_empty() || !names.insert(definition.name.clone()) {
                continue;
            }
            let arguments: Vec<String> = definition.arguments.iter().map(|it| it.name.clone()).collect();
            let mut offered = Prompt::from(definition);
            if member.capabilities().completions.is_some() {
                for argument in arguments {
                    let (member, name) = (Arc::clone(&member), original.clone());
                    let named = argument.clone();
                    offered = offered.complete_raw(argument, move |request| {
                        let of = Reference::Prompt { name: name.clone() };
                        complete(Arc::clone(&member), of, named.clone(), request)
                    });
                }
            }
            let handler = move |values: BTreeMap<String, String>, cx: Cx| {
                prompt(Arc::clone(&member), original.clone(), values, cx)
            };
            all.push((offered, handler));
        }
    }
    prompts.replace_all(all)
}

async fn copy_resources(resources: &Resources, members: &[Arc<Member>]) -> Result<(), SetupError> {
    let (mut uris, mut all) = (HashSet::new(), Vec::new());
    for member in members.iter().filter(|member| member.capabilities().resources.is_some()) {
        let client = &member.first().client;
        for definition in listed(member, "resources", client.resources()).await {
            let (member, uri) = (Arc::clone(member), definition.uri.clone());
            if uri.is_empty() || !uris.insert(uri.clone()) {
                continue;
            }
            let handler = move |cx: Cx| read(Arc::clone(&member), uri.clone(), cx);
            all.push((Resource::from(definition), handler));
        }
    }
    resources.replace_all(all)
}

/// The templates of a server, each with the handler of its resources.
pub(crate) async fn templates(member: &Arc<Member>) -> Vec<ResourceTemplate> {
    let client = &member.first().client;
    let definitions = listed(member, "resource templates", client.resource_templates()).await;
    definitions
        .into_iter()
        .map(|definition| {
            let uri = definition.uri_template.clone();
            let variables = variables(&uri);
            let mut template = ResourceTemplate::from(definition);
            if member.capabilities().completions.is_some() {
                for variable in variables {
                    let (member, uri, named) = (Arc::clone(member), uri.clone(), variable.clone());
                    template = template.complete_raw(variable, move |request| {
                        let of = Reference::Resource { uri: uri.clone() };
                        complete(Arc::clone(&member), of, named.clone(), request)
                    });
                }
            }
            template
        })
        .collect()
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
