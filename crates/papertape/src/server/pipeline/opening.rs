//! The opening of a session: `initialize`, `server/discover`, and what can be served before.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::resolve::{self, Target};
use super::respond;
use super::{DecodedRequest, Params};
use crate::protocol::capabilities::{Abilities, Implementation, ServerCapabilities};
use crate::protocol::error_code::UNSUPPORTED_PROTOCOL_VERSION;
use crate::protocol::meta::{CLIENT_CAPABILITIES, PROTOCOL_VERSION};
use crate::protocol::{Revision, method, project};
use crate::server::service::ServiceCore;
use crate::wire::RpcError;
use crate::wire::error::excerpt;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InitializeResult<'a> {
    protocol_version: &'static str,
    capabilities: ServerCapabilities,
    server_info: Implementation,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DiscoverResult<'a> {
    supported_versions: Vec<&'static str>,
    capabilities: ServerCapabilities,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
}

/// The most bytes of the `clientInfo` of a session that are kept.
const MOST_CLIENT_INFO: usize = 8 * 1024;

/// What can be served before a session has been opened.
pub(super) fn resolve_unopened(service: &ServiceCore, method: &str) -> Result<Target, RpcError> {
    match method {
        method::INITIALIZE => Ok(Target::Initialize),
        method::PING => Ok(Target::Ping),
        method::DISCOVER
        | method::TOOLS_LIST
        | method::TOOLS_CALL
        | method::RESOURCES_LIST
        | method::TEMPLATES_LIST
        | method::RESOURCES_READ
        | method::PROMPTS_LIST
        | method::PROMPTS_GET
        | method::COMPLETE
        | method::LISTEN => Err(unopened()),
        other if resolve::custom(service, other).is_some() => Err(unopened()),
        other => Err(RpcError::method_not_found(other)),
    }
}

fn unopened() -> RpcError {
    RpcError::invalid_params(format!(
        "the session has not been opened: send `initialize` first (revisions {} to {}), or put \
         `{PROTOCOL_VERSION}` (\"{}\") and `{CLIENT_CAPABILITIES}` into this request's `params._meta`",
        oldest(),
        Revision::NEWEST_LEGACY,
        Revision::MODERN
    ))
}

pub(super) fn initialize(service: &Arc<ServiceCore>, request: &DecodedRequest<'_>) -> Result<(), RpcError> {
    let DecodedRequest { params, session, .. } = request;
    let revision = negotiate(params)?;
    session.set_legacy(revision);
    service.add_subscriber(session);
    // What is longer is not a name and a version.
    let client = params.client_info.filter(|raw| raw.get().len() <= MOST_CLIENT_INFO);
    session.set_client(client.and_then(|raw| serde_json::from_str(raw.get()).ok()));
    let abilities = Abilities::read(params.capabilities.map_or("{}", RawValue::get));
    session.set_abilities(project::abilities(abilities, revision));
    let result = InitializeResult {
        protocol_version: revision.as_str(),
        capabilities: project::server_capabilities(service.capabilities(), revision),
        server_info: project::implementation(service.identity.clone(), revision),
        instructions: service.instructions.as_deref(),
    };
    respond::result_in(service, request, revision, &result, None);
    Ok(())
}

pub(super) fn discover(service: &ServiceCore, request: &DecodedRequest<'_>) {
    let result = DiscoverResult {
        supported_versions: supported_versions(service),
        capabilities: service.capabilities(),
        instructions: service.instructions.as_deref(),
    };
    respond::result(service, request, &result, Some(service.cache));
}

fn supported_versions(service: &ServiceCore) -> Vec<&'static str> {
    service.revisions.iter().map(|revision| revision.as_str()).collect()
}

/// The error for a request whose `_meta` names a revision that is not stateless, or not known.
pub(super) fn unsupported(service: &ServiceCore, version: &str) -> RpcError {
    let has_sessions = Revision::parse(version).is_some_and(|revision| service.revisions.contains(&revision));
    let remedy = if has_sessions { "open with `initialize` to speak it" } else { "choose a supported one" };
    let message = format!("unsupported protocol version {} in `_meta`: {remedy}", excerpt(version));
    let requested: String = version.chars().take(120).collect();
    RpcError::new(UNSUPPORTED_PROTOCOL_VERSION, message)
        .with_data(json!({"supported": supported_versions(service), "requested": requested}))
}

/// The revision that `initialize` leads to. Requests typed by hand often lack the version: then it is the newest revision
/// that has sessions.
fn negotiate(params: &Params<'_>) -> Result<Revision, RpcError> {
    match params.protocol_version.map(RawValue::get) {
        None | Some("null") => {
            let revision = Revision::NEWEST_LEGACY;
            tracing::warn!(
                "`initialize` without `params.protocolVersion`: {revision} is negotiated; a client should send its own"
            );
            Ok(revision)
        }
        Some(version) => serde_json::from_str::<String>(version)
            .map(|version| Revision::negotiate(&version))
            .map_err(|_| {
                let example = Revision::NEWEST_LEGACY;
                RpcError::invalid_params(format!(
                    "`params.protocolVersion` of `initialize` must be a string such as \"{example}\""
                ))
            }),
    }
}

fn oldest() -> Revision {
    Revision::ALL.into_iter().min().unwrap_or(Revision::NEWEST_LEGACY)
}
