//! The server that the host sees.

use std::collections::BTreeMap;
use std::sync::Arc;

use papertape::protocol::apps::APPS;
use papertape::protocol::capabilities::{
    Implementation, ListCapability, ResourcesCapability, ServerCapabilities, TASKS,
};
use papertape::protocol::{RawJson, ResourceContents};
use papertape::server::ToolErrorKind;
use papertape::{Cx, Server, ToolError};

use crate::bridge::GRACE;
use crate::filter::Filter;
use crate::handlers::{call, other, prompt, read};
use crate::lists::{LIST_TIMEOUT, Lists};
use crate::member::Member;
use crate::notices::Notices;
use crate::watch::watch;

/// How the server that the host sees is made.
pub(crate) struct Facade {
    /// There are several servers behind it.
    pub(crate) several: bool,
    /// The server process is started again when it exits: all that it has may change.
    pub(crate) restarts: bool,
    pub(crate) filter: Filter,
    pub(crate) notices: Notices,
}

/// What the servers have, or may have, if some are not connected yet.
struct Offered<'a> {
    members: &'a [Arc<Member>],
    /// Servers are connected again, or for the first time, while the host is served.
    may_change: bool,
    is_complete: bool,
}

impl Offered<'_> {
    fn has(&self, has: fn(&ServerCapabilities) -> bool) -> bool {
        !self.is_complete || self.members.iter().any(|member| member.offers(has))
    }

    fn may_change(&self, changes: fn(&ServerCapabilities) -> bool) -> bool {
        self.may_change || self.has(changes)
    }

    /// What may change of it.
    fn changes(&self) -> ServerCapabilities {
        let mut declared = ServerCapabilities::default();
        let mut tools = ListCapability::default();
        tools.list_changed =
            self.may_change(|offered| offered.tools.as_ref().is_some_and(|list| list.list_changed));
        let mut prompts = ListCapability::default();
        prompts.list_changed =
            self.may_change(|offered| offered.prompts.as_ref().is_some_and(|list| list.list_changed));
        let mut resources = ResourcesCapability::default();
        resources.list_changed =
            self.may_change(|offered| offered.resources.as_ref().is_some_and(|list| list.list_changed));
        resources.subscribe = self.has(has_subscriptions);
        (declared.tools, declared.prompts, declared.resources) =
            (Some(tools), Some(prompts), Some(resources));
        declared
    }
}

fn has_tools(offered: &ServerCapabilities) -> bool {
    offered.tools.is_some()
}

fn has_prompts(offered: &ServerCapabilities) -> bool {
    offered.prompts.is_some()
}

fn has_resources(offered: &ServerCapabilities) -> bool {
    offered.resources.is_some()
}

fn has_subscriptions(offered: &ServerCapabilities) -> bool {
    offered.resources.as_ref().is_some_and(|resources| resources.subscribe)
}

impl Facade {
    /// A server that offers what the servers behind it offer.
    pub(crate) async fn server(self, members: &[Arc<Member>]) -> Server {
        let Self { several, restarts, filter, notices } = self;
        let is_complete = members.iter().all(|member| member.first().is_some());
        let offered = Offered { members, may_change: several || restarts, is_complete };
        let only = members.first().filter(|_| !several).and_then(|member| member.first());
        let mut server = match only {
            Some(upstream) => described(upstream.client.server()),
            None => Server::new("papertape-bridge", env!("CARGO_PKG_VERSION")),
        };
        if let Some(text) = instructions(several, members) {
            server = server.instructions(text);
        }
        if offered.has(|offered| offered.logging.is_some()) {
            server = server.logging();
        }
        for upstream in members.iter().filter_map(|member| member.first()) {
            let declared = upstream.client.capabilities().extensions.clone().unwrap_or_default();
            // These two are declared by what uses them.
            for (name, settings) in declared.into_iter().filter(|(name, _)| name != APPS && name != TASKS) {
                server = server.extension(name, settings);
            }
        }
        let tools = offered.has(has_tools).then(|| server.tools());
        let prompts = offered.has(has_prompts).then(|| server.prompts());
        let resources = offered.has(has_resources).then(|| server.resources());
        let filtered = !filter.is_empty();
        let lists = Lists::new((tools, prompts, resources.clone()), filter, notices, members);
        // One of several may be connected, and still not list anything.
        let copied = lists.copy_all(if several { GRACE } else { LIST_TIMEOUT }).await;
        server = server.announce_at_most(&offered.changes());
        for (member, copied) in members.iter().zip(copied) {
            member.exchange.set_notifier(server.notifier());
            let (lists, member) = (lists.clone(), Arc::clone(member));
            server = server.background(move |_| lists.clone().follow(Arc::clone(&member), copied));
        }
        if let Some(resources) = resources.filter(|_| offered.has(has_subscriptions)) {
            let members = members.to_vec();
            server = server.background(move |_| watch(resources.clone(), members.clone()));
        }
        with_fallbacks(server, &offered, filtered)
    }
}

fn described(identity: &Implementation) -> Server {
    let name = if identity.name.is_empty() { "server" } else { &identity.name };
    let mut server = Server::new(name, &identity.version);
    if let Some(title) = &identity.title {
        server = server.title(title);
    }
    if let Some(description) = &identity.description {
        server = server.description(description);
    }
    if let Some(url) = &identity.website_url {
        server = server.website(url);
    }
    for icon in &identity.icons {
        server = server.icon(icon.clone());
    }
    server
}

/// The instructions of the servers; of several, each below the beginning of its names.
fn instructions(several: bool, members: &[Arc<Member>]) -> Option<String> {
    let each = members.iter().filter_map(|member| {
        let upstream = member.first()?;
        let text = upstream.client.instructions()?;
        let title = member.prefixed("*");
        Some(if several { format!("# {title}\n\n{text}") } else { text.to_owned() })
    });
    let all: Vec<String> = each.collect();
    (!all.is_empty()).then(|| all.join("\n\n"))
}

/// What is not listed goes to the server all the same, which may know it; tools and methods not if the host is to see only some.
fn with_fallbacks(mut server: Server, offered: &Offered<'_>, filtered: bool) -> Server {
    let members = offered.members;
    if offered.has(has_prompts) {
        let members = members.to_vec();
        server = server.fallback_prompt(move |name: String, values: BTreeMap<String, String>, cx: Cx| {
            let found = owner(&members, &name);
            async move {
                let (member, original) = found.ok_or_else(|| unknown("prompt", &name))?;
                prompt(member, original, values, cx).await
            }
        });
    }
    if offered.has(has_resources) {
        let members = members.to_vec();
        server = server.fallback_resource(move |uri: String, cx: Cx| {
            let members = members.clone();
            async move { read_anywhere(&members, uri, &cx).await }
        });
    }
    let notified = members.to_vec();
    server = server.fallback_notification(move |name: String, params: RawJson, cx: Cx| {
        let members = notified.clone();
        async move { notify(&members, &name, &params, &cx).await }
    });
    if filtered {
        return server;
    }
    if offered.has(has_tools) {
        let members = members.to_vec();
        server = server.fallback_tool(move |name: String, arguments: RawJson, cx: Cx| {
            let found = owner(&members, &name);
            async move {
                let (member, original) = found.ok_or_else(|| unknown("tool", &name))?;
                call(member, original, arguments, cx).await
            }
        });
    }
    match members {
        [member] => {
            let member = Arc::clone(member);
            server.fallback_method(move |method: String, params: RawJson, cx: Cx| {
                other(Arc::clone(&member), method, params, cx)
            })
        }
        // Nothing says which of several servers is meant.
        _ => server,
    }
}

/// The server that a name belongs to, and the name that it knows.
fn owner(members: &[Arc<Member>], name: &str) -> Option<(Arc<Member>, String)> {
    members.iter().find_map(|member| Some((Arc::clone(member), member.original(name)?.to_owned())))
}

fn unknown(what: &str, name: &str) -> ToolError {
    ToolError::refused(format!("unknown {what}: {name}"))
}

/// Reads a resource that no server lists from the first one that has it.
async fn read_anywhere(
    members: &[Arc<Member>],
    uri: String,
    cx: &Cx,
) -> Result<Vec<ResourceContents>, ToolError> {
    let mut missing = unknown("resource", &uri);
    for member in members.iter().filter(|member| member.offers(has_resources)) {
        match read(Arc::clone(member), uri.clone(), cx.clone()).await {
            Err(error) if members.len() > 1 && error.kind() != ToolErrorKind::InputRequired => {
                missing = error
            }
            outcome => return outcome,
        }
    }
    Err(missing)
}

/// Passes a notification of the host on to all servers.
async fn notify(members: &[Arc<Member>], name: &str, params: &RawJson, cx: &Cx) -> Result<(), ToolError> {
    for member in members {
        if name == "notifications/initialized" {
            member.exchange.set_host(cx);
        }
        // One that is not connected has nothing to be notified of.
        let Ok(upstream) = member.of(cx).await else { continue };
        if name != "notifications/initialized"
            && let Err(error) = upstream.client.notify(name, params.clone())
        {
            tracing::warn!(server = member.name(), name, "a notification was not passed on: {error}");
        }
    }
    Ok(())
}
