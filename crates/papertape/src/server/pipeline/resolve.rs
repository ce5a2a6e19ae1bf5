//! Resolution: the method, name and URI of a request to what it addresses. This happens once per request.

use std::collections::BTreeMap;
use std::sync::Arc;

use papertape_oauth::Principal;
use serde_json::Value;

use super::opening;
use super::{DecodedRequest, LONGEST_URI, Mode};
use crate::protocol::{Reference, Revision, method};
use crate::server::catalog::registry::{Listed, Registry};
use crate::server::features::completion::Completers;
use crate::server::features::method::RegisteredMethod;
use crate::server::features::prompt::RegisteredPrompt;
use crate::server::features::resource::{RegisteredResource, RegisteredTemplate};
use crate::server::features::skills::ListedSkill;
use crate::server::features::tool::RegisteredTool;
use crate::server::handler::middleware::Middleware;
use crate::server::service::ServiceCore;
use crate::wire::RpcError;
use crate::wire::error::excerpt;
use crate::wire::message;

/// What a request addresses.
#[derive(Debug)]
pub(crate) enum Target {
    // What a handler of the author's serves.
    Tool(Arc<RegisteredTool>),
    Resource(String, ResourceMatch),
    Prompt(Arc<RegisteredPrompt>),
    Completion(CompletionTarget),
    Method(Arc<RegisteredMethod>),
    /// A task, if the request names one, and what is to be done with it.
    Task(TaskOperation, Option<String>),
    // What the server serves by itself.
    List(List),
    Skill(Arc<ListedSkill>),
    /// A directory of a skill, by its URI.
    Directory(String),
    /// The resource that a session-based client subscribes to.
    Subscription(String, ResourceMatch),
    Unsubscription(String),
    /// The resources of `subscriptions/listen`.
    Listen(Vec<ResourceMatch>),
    LogLevel,
    Initialize,
    Discover,
    Ping,
}

/// A list of the server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum List {
    Tools,
    Resources,
    Templates,
    Prompts,
    Skills,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskOperation {
    Get,
    Update,
    Cancel,
}

/// What a URI leads to.
#[derive(Debug)]
pub(crate) enum ResourceMatch {
    Resource(Arc<RegisteredResource>),
    /// All templates that match, with the values of their variables: if the handler of the first cannot read its values,
    /// the next is tried.
    Templates(Vec<(Arc<RegisteredTemplate>, BTreeMap<String, String>)>),
}

/// The prompt or resource template whose argument is completed.
#[derive(Debug)]
pub(crate) struct CompletionTarget {
    pub(crate) name: String,
    pub(crate) completers: Completers,
    pub(crate) middleware: Vec<Middleware>,
    scopes: Vec<String>,
}

impl Target {
    /// The scopes that a principal needs.
    pub(super) fn scopes(&self) -> Vec<String> {
        match self {
            Target::Tool(tool) => tool.scopes().to_vec(),
            Target::Prompt(prompt) => prompt.scopes().to_vec(),
            Target::Method(method) => method.scopes.clone(),
            Target::Resource(_, found) | Target::Subscription(_, found) => found.scopes(),
            Target::Listen(found) => found.iter().flat_map(ResourceMatch::scopes).collect(),
            // The values of an argument belong to what it is an argument of.
            Target::Completion(completion) => completion.scopes.clone(),
            _ => Vec::new(),
        }
    }
}

impl ResourceMatch {
    fn scopes(&self) -> Vec<String> {
        match self {
            ResourceMatch::Resource(resource) => resource.scopes().to_vec(),
            ResourceMatch::Templates(templates) => {
                templates.iter().flat_map(|(template, _)| template.scopes()).cloned().collect()
            }
        }
    }
}

/// What a request addresses, if its method is served in its revision and what it names exists.
pub(super) fn resolve(service: &ServiceCore, request: &DecodedRequest<'_>) -> Result<Target, RpcError> {
    let DecodedRequest { method, params, mode, revision, .. } = request;
    match (*method, mode) {
        (method, Mode::Unopened) => opening::resolve_unopened(service, method),
        (method::TOOLS_CALL, _) => {
            let name = params.name(method);
            let find = |name: &str| service.tools.find(name).or_else(|| service.custom.fallbacks.tool(name));
            let found = name.as_ref().ok().and_then(|name| find(name));
            match found.filter(|tool| service.shows(&**tool, request.principal())) {
                Some(tool) => Ok(Target::Tool(tool)),
                None if service.offers_tools() => Err(unknown(service, request, &service.tools, &name?)),
                None => Err(RpcError::method_not_found(method)),
            }
        }
        (method::RESOURCES_READ, _) if service.offers_resources() => {
            let uri = params.uri(method)?;
            let found = resource(service, request.principal(), &uri)
                .ok_or_else(|| unknown_resource(&uri, *revision))?;
            Ok(Target::Resource(uri, found))
        }
        (method::PROMPTS_GET, _) if service.offers_prompts() => {
            let name = params.name(method)?;
            match service.prompts.find(&name).or_else(|| service.custom.fallbacks.prompt(&name)) {
                Some(prompt) if service.shows(&*prompt, request.principal()) => Ok(Target::Prompt(prompt)),
                _ => Err(unknown(service, request, &service.prompts, &name)),
            }
        }
        (method::COMPLETE, _) if service.offers_completions() => {
            completion(service, request).map(Target::Completion)
        }
        (method::TOOLS_LIST, _) if service.offers_tools() => Ok(Target::List(List::Tools)),
        (method::RESOURCES_LIST, _) if service.offers_resources() => Ok(Target::List(List::Resources)),
        (method::TEMPLATES_LIST, _) if service.offers_resources() => Ok(Target::List(List::Templates)),
        (method::PROMPTS_LIST, _) if service.offers_prompts() => Ok(Target::List(List::Prompts)),
        (method::SUBSCRIBE, Mode::Session) if service.changing.watched => {
            let uri = params.uri(method)?;
            let found = resource(service, request.principal(), &uri)
                .ok_or_else(|| unknown_resource(&uri, *revision))?;
            Ok(Target::Subscription(uri, found))
        }
        (method::UNSUBSCRIBE, Mode::Session) if service.changing.watched => {
            params.uri(method).map(Target::Unsubscription)
        }
        (method::SET_LEVEL, Mode::Session) if service.logs => Ok(Target::LogLevel),
        (method::PING, Mode::Session) => Ok(Target::Ping),
        (method::INITIALIZE, Mode::Session) => Err(RpcError::invalid_request(format!(
            "this session has been opened with `initialize` already and speaks {revision}"
        ))),
        (method::TASKS_GET, Mode::Stateless) if service.offers_tasks() => {
            Ok(Target::Task(TaskOperation::Get, task_id(request)))
        }
        (method::TASKS_UPDATE, Mode::Stateless) if service.offers_tasks() => {
            Ok(Target::Task(TaskOperation::Update, task_id(request)))
        }
        (method::TASKS_CANCEL, Mode::Stateless) if service.offers_tasks() => {
            Ok(Target::Task(TaskOperation::Cancel, task_id(request)))
        }
        (method::SKILLS_LIST, Mode::Stateless) if service.offers_skills() => Ok(Target::List(List::Skills)),
        (method::SKILLS_GET, Mode::Stateless) if service.offers_skills() => {
            skill(service, request, &params.uri(method)?).map(Target::Skill)
        }
        (method::DIRECTORY_READ, Mode::Stateless) if service.offers_skills() => {
            directory(service, request, params.uri(method)?).map(Target::Directory)
        }
        (method::DISCOVER, Mode::Stateless) => Ok(Target::Discover),
        (method::LISTEN, Mode::Stateless) => Ok(Target::Listen(subscribed(service, request))),
        (other, _) => {
            custom(service, other).map(Target::Method).ok_or_else(|| RpcError::method_not_found(other))
        }
    }
}

/// The handler of a method that is not MCP's.
pub(super) fn custom(service: &ServiceCore, name: &str) -> Option<Arc<RegisteredMethod>> {
    let fallback = || service.custom.fallbacks.method(name).filter(|_| !method::is_standard(name));
    service.custom.methods.find(name).or_else(fallback)
}

fn find<T: Listed>(
    service: &ServiceCore,
    request: &DecodedRequest<'_>,
    registry: &Registry<T>,
    name: &str,
) -> Result<Arc<T>, RpcError> {
    let found = registry.find(name).filter(|item| service.shows(&**item, request.principal()));
    found.ok_or_else(|| unknown(service, request, registry, name))
}

/// The error for a name that is not in a list, or is hidden from the principal. It names what is in the list of this client.
fn unknown<T: Listed>(
    service: &ServiceCore,
    request: &DecodedRequest<'_>,
    registry: &Registry<T>,
    name: &str,
) -> RpcError {
    let items = registry.snapshot();
    let listed = items.without_apps().filter(|_| !request.abilities().apps).unwrap_or(&items);
    let shown = listed.items.iter().filter(|item| service.shows(&***item, request.principal()));
    let names: Vec<&str> = shown.map(|item| item.key()).take(50).collect();
    let (kind, name) = (T::KIND, excerpt(name));
    RpcError::invalid_params(match names.as_slice() {
        [] => format!("unknown {kind}: {name}; there are none"),
        names => format!("unknown {kind}: {name}; the {kind}s are {}", names.join(", ")),
    })
}

/// The resource with a URI: one that is listed, a file of a skill, one that templates match, or else the fallback. One that is
/// hidden from the principal is not the fallback's.
fn resource(service: &ServiceCore, principal: Option<&Principal>, uri: &str) -> Option<ResourceMatch> {
    let resource = service.resources.find(uri).or_else(|| service.skills.file(uri));
    let mut known = resource.is_some();
    if let Some(resource) = resource.filter(|resource| service.shows(&**resource, principal)) {
        return Some(ResourceMatch::Resource(resource));
    }
    let templates = service.templates.snapshot();
    let matching = templates.items.iter();
    let matching = matching.filter_map(|template| Some((Arc::clone(template), template.match_uri(uri)?)));
    let mut matching: Vec<_> = matching.collect();
    known |= !matching.is_empty();
    matching.retain(|(template, _)| {
        service.shows(&**template, principal)
            && (!template.has_list() || service.visibility.allows_resource_of(template, uri, principal))
    });
    if !matching.is_empty() {
        return Some(ResourceMatch::Templates(matching));
    }
    let fallback = if known { None } else { service.custom.fallbacks.resource(uri) };
    fallback.filter(|resource| service.shows(&**resource, principal)).map(ResourceMatch::Resource)
}

fn completion(service: &ServiceCore, request: &DecodedRequest<'_>) -> Result<CompletionTarget, RpcError> {
    let reference = request.params.reference.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let reference: Reference = reference.ok_or_else(|| {
        RpcError::invalid_params(
            "`completion/complete` needs `params.ref`, such as `{\"type\": \"ref/prompt\", \"name\": ..} or \
             {\"type\": \"ref/resource\", \"uri\": ..}`",
        )
    })?;
    match reference {
        Reference::Prompt { name } => {
            let prompt = find(service, request, &service.prompts, &name)?;
            let (completers, middleware) = (prompt.completers.clone(), prompt.middleware.clone());
            Ok(CompletionTarget { name, completers, middleware, scopes: prompt.scopes().to_vec() })
        }
        Reference::Resource { uri } => match service.templates.find(&uri) {
            Some(template) if service.shows(&*template, request.principal()) => {
                let (completers, middleware) = (template.completers.clone(), template.middleware.clone());
                Ok(CompletionTarget { name: uri, completers, middleware, scopes: template.scopes().to_vec() })
            }
            _ => {
                // A resource has no arguments, so that there is nothing to complete; but its scopes still count.
                let found = Some(&uri).filter(|uri| uri.len() <= LONGEST_URI);
                match found.and_then(|uri| resource(service, request.principal(), uri)) {
                    Some(found) => Ok(CompletionTarget {
                        name: uri,
                        completers: Completers::default(),
                        middleware: Vec::new(),
                        scopes: found.scopes(),
                    }),
                    None => Err(unknown(service, request, &service.templates, &uri)),
                }
            }
        },
    }
}

fn task_id(request: &DecodedRequest<'_>) -> Option<String> {
    request.params.task_id.and_then(message::string).map(std::borrow::Cow::into_owned)
}

fn skill(
    service: &ServiceCore,
    request: &DecodedRequest<'_>,
    uri: &str,
) -> Result<Arc<ListedSkill>, RpcError> {
    let found = service.skills.list.find(uri).filter(|skill| service.shows(&**skill, request.principal()));
    found.ok_or_else(|| {
        let hint = "`skills/list` has those there are, by the URIs of their SKILL.md";
        RpcError::invalid_params(format!("there is no skill {}: {hint}", excerpt(uri)))
    })
}

fn directory(service: &ServiceCore, request: &DecodedRequest<'_>, uri: String) -> Result<String, RpcError> {
    let shown = service.shows_skills_of(&uri, request.principal());
    if shown && service.skills.directory(&uri).is_some() {
        return Ok(uri);
    }
    let problem = if resource(service, request.principal(), &uri).is_some() {
        "is not a directory"
    } else if uri.ends_with('/') {
        "does not exist: directories have no `/` at the end of their URIs"
    } else {
        "does not exist"
    };
    Err(RpcError::invalid_params(format!("{} {problem}", excerpt(&uri))))
}

/// The resources that a subscription names. URIs that are too long, or too many, are refused later.
fn subscribed(service: &ServiceCore, request: &DecodedRequest<'_>) -> Vec<ResourceMatch> {
    let Some(filter) = &request.params.notifications else { return Vec::new() };
    let uris = filter.resource_subscriptions.iter().take(service.limits.subscriptions);
    let uris = uris.filter(|uri| uri.len() <= LONGEST_URI);
    uris.filter_map(|uri| resource(service, request.principal(), uri)).collect()
}

pub(crate) fn unknown_resource(uri: &str, revision: Revision) -> RpcError {
    resource_not_found(uri, format!("unknown resource: {}", excerpt(uri)), revision)
}

/// The error for a resource that does not exist, with the code of the revision.
pub(crate) fn resource_not_found(uri: &str, message: String, revision: Revision) -> RpcError {
    let uri: String = uri.chars().take(1_000).collect();
    RpcError::new(revision.resource_not_found_code(), message)
        .with_data(Value::Object([("uri".to_owned(), uri.into())].into_iter().collect()))
}

#[cfg(all(test, feature = "skills"))]
mod tests {
    use crate::Server;
    use crate::server::{Skill, Skills};

    #[test]
    fn every_file_of_a_skill_needs_its_scopes() {
        let outer = Skill::new("outer", "d", "b").file("a.txt", "a").scopes(["read"]);
        let inner = Skill::new("inner", "d", "b").under("outer").scopes(["read", "deep"]);
        let server = Server::new("s", "1").skills(Skills::new().skill(outer).skill(inner));
        let service = server.build().unwrap();
        for (path, scopes) in [
            ("SKILL.md", Some(&["read"][..])),
            ("a.txt", Some(&["read"])),
            ("inner/SKILL.md", Some(&["read", "deep"])),
            ("none", None),
        ] {
            let found = super::resource(service.core(), None, &format!("skill://outer/{path}"));
            let found = found.map(|found| found.scopes());
            let scopes: Option<Vec<String>> =
                scopes.map(|scopes| scopes.iter().map(|s| (*s).into()).collect());
            assert_eq!(found, scopes, "{path}");
        }
        let bad = Skill::new("bad", "d", "b").scopes(["two words"]);
        let server = Server::new("s", "1").skills(Skills::new().skill(bad));
        assert!(server.check().unwrap_err().to_string().contains("not a scope"));
    }
}
