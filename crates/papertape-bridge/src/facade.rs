//! The server that the host sees.

use std::collections::BTreeMap;
use std::sync::Arc;

use papertape::protocol::apps::APPS;
use papertape::protocol::capabilities::{Implementation, TASKS};
use papertape::protocol::{RawJson, ResourceContents};
use papertape::server::ToolErrorKind;
use papertape::{Cx, Server, ToolError};
use serde::de::IgnoredAny;

use crate::filter::Filter;
use crate::handlers::{call, other, prompt, read};
use crate::lists::{self, Lists};
use crate::member::Member;
use crate::watch::watch;

/// A server that offers what the servers behind it offer.
pub(crate) async fn facade(several: bool, members: &[Arc<Member>], filter: Filter) -> Server {
    let has = |offers: fn(&Member) -> bool| members.iter().any(|member| offers(member));
    let mut server = match members {
        [member] if !several => described(member.first().client.server()),
        _ => Server::new("papertape-bridge", env!("CARGO_PKG_VERSION")),
    };
    if let Some(text) = instructions(several, members) {
        server = server.instructions(text);
    }
    if has(|member| member.capabilities().logging.is_some()) {
        server = server.logging();
    }
    for member in members {
        let declared = member.capabilities().extensions.clone().unwrap_or_default();
        // These two are declared by what uses them.
        for (name, settings) in declared.into_iter().filter(|(name, _)| name != APPS && name != TASKS) {
            server = server.extension(name, settings);
        }
    }
    for (member, template) in lists::templates(members).await {
        server = server.resource_template(template, move |_: IgnoredAny, cx: Cx| {
            let uri = cx.uri().unwrap_or_default().to_owned();
            read(Arc::clone(&member), uri, cx)
        });
    }
    let has_tools = has(|member| member.capabilities().tools.is_some());
    let has_prompts = has(|member| member.capabilities().prompts.is_some());
    let has_resources = has(|member| member.capabilities().resources.is_some());
    let tools = has_tools.then(|| server.tools());
    let prompts = has_prompts.then(|| server.prompts());
    let lists = Lists::new(tools, prompts, has_resources.then(|| server.resources()));
    lists.copy(members, &filter).await;
    for member in members {
        member.first().exchange.set_notifier(server.notifier());
        let (lists, member, members, filter) =
            (lists.clone(), Arc::clone(member), members.to_vec(), filter.clone());
        server = server
            .background(move |_| lists.clone().follow(Arc::clone(&member), members.clone(), filter.clone()));
    }
    let watching: Vec<_> = members.iter().filter(|member| member.watches_resources()).cloned().collect();
    if let Some(resources) = lists.resources.clone().filter(|_| !watching.is_empty()) {
        server = server.background(move |_| watch(resources.clone(), watching.clone()));
    }
    with_fallbacks(server, members, &filter)
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
        let upstream = member.first();
        let text = upstream.client.instructions()?;
        let title = member.prefixed("*");
        Some(if several { format!("# {title}\n\n{text}") } else { text.to_owned() })
    });
    let all: Vec<String> = each.collect();
    (!all.is_empty()).then(|| all.join("\n\n"))
}

/// What is not listed goes to the server all the same, which may know it; unless the host is to see only some tools.
fn with_fallbacks(server: Server, members: &[Arc<Member>], filter: &Filter) -> Server {
    let (for_tools, for_prompts, for_uris) = (members.to_vec(), members.to_vec(), members.to_vec());
    let notified = members.to_vec();
    let server = server
        .fallback_prompt(move |name: String, values: BTreeMap<String, String>, cx: Cx| {
            let found = owner(&for_prompts, &name);
            async move {
                let (member, original) = found.ok_or_else(|| unknown("prompt", &name))?;
                prompt(member, original, values, cx).await
            }
        })
        .fallback_resource(move |uri: String, cx: Cx| {
            let members = for_uris.clone();
            async move { read_anywhere(&members, uri, &cx).await }
        })
        .fallback_notification(move |name: String, params: RawJson, cx: Cx| {
            let members = notified.clone();
            async move { notify(&members, &name, &params, &cx).await }
        });
    if !filter.is_empty() {
        return server;
    }
    let server = server.fallback_tool(move |name: String, arguments: RawJson, cx: Cx| {
        let found = owner(&for_tools, &name);
        async move {
            let (member, original) = found.ok_or_else(|| unknown("tool", &name))?;
            call(member, original, arguments, cx).await
        }
    });
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
    for member in members.iter().filter(|member| member.capabilities().resources.is_some()) {
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
        let upstream = member.of(cx).await?;
        if name == "notifications/initialized" {
            upstream.exchange.set_host(cx);
        } else if let Err(error) = upstream.client.notify(name, params.clone()) {
            tracing::warn!(server = member.name(), name, "a notification was not passed on: {error}");
        }
    }
    Ok(())
}
