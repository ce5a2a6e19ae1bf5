//! How a conversation opens, in both eras.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use super::dispatch::{Params, Service};
use crate::link::{Link, ReplyTo};
use crate::outbox::Reply;
use crate::protocol::capabilities::{Abilities, Implementation, ServerCapabilities};
use crate::protocol::meta::{CLIENT_CAPABILITIES, PROTOCOL_VERSION};
use crate::protocol::{Revision, method, project};
use crate::wire::RpcError;
use crate::wire::error::excerpt;

/// A modern request names a revision that is not spoken here.
pub(crate) const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;

/// The rules a request is served by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaking {
    /// The request stands alone.
    Modern(Revision),
    /// The conversation was opened with `initialize`.
    Legacy(Revision),
    /// Nothing says.
    Nothing,
}

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

impl Service {
    /// Finds out by which rules a request is to be served.
    pub(super) fn speaking(params: &Params<'_>, link: &Link) -> Result<Speaking, RpcError> {
        let Some(meta) = &params.meta else { return Ok(legacy_or_nothing(link)) };
        let Some(asked) = meta.protocol_version()? else { return Ok(legacy_or_nothing(link)) };
        let revision = match Revision::parse(&asked) {
            Some(revision) if !revision.opens_with_handshake() => revision,
            known => return Err(unsupported(&asked, known.is_some())),
        };
        meta.client_capabilities()?;
        link.note_modern(revision);
        Ok(Speaking::Modern(revision))
    }

    pub(super) fn initialize(
        &self,
        to: &ReplyTo,
        params: &Params<'_>,
        link: &Arc<Link>,
    ) -> Result<(), RpcError> {
        let asked = params.protocol_version.map(RawValue::get).unwrap_or_default();
        let Ok(asked) = serde_json::from_str::<String>(asked) else {
            let message = "`initialize` needs `params.protocolVersion`, a string such as \"2025-11-25\"";
            return Err(RpcError::invalid_params(message));
        };
        let revision = Revision::negotiate(&asked);
        link.set_legacy(revision);
        self.keep_told(link);
        let abilities = Abilities::read(params.capabilities.map_or("{}", RawValue::get));
        link.set_abilities(project::abilities(abilities, revision));
        let result = InitializeResult {
            protocol_version: revision.as_str(),
            capabilities: project::server_capabilities(self.capabilities(), revision),
            server_info: project::implementation(self.identity.clone(), revision),
            instructions: self.instructions.as_deref(),
        };
        self.reply(to, &result, None, revision, link);
        Ok(())
    }

    pub(super) fn discover(&self, to: &ReplyTo, revision: Revision, link: &Arc<Link>) {
        let result = DiscoverResult {
            supported_versions: Revision::ALL.iter().map(|revision| revision.as_str()).collect(),
            capabilities: self.capabilities(),
            instructions: self.instructions.as_deref(),
        };
        self.reply(to, &result, Some(self.cache), revision, link);
    }

    /// What can be answered before the conversation has been opened.
    pub(super) fn unopened(
        &self,
        to: &ReplyTo,
        name: &str,
        params: &Params<'_>,
        link: &Arc<Link>,
    ) -> Result<(), RpcError> {
        match name {
            method::INITIALIZE => self.initialize(to, params, link),
            method::PING => {
                link.reply(to, &Reply::Result(&|out| out.extend_from_slice(b"{}")));
                Ok(())
            }
            method::DISCOVER
            | method::TOOLS_LIST
            | method::TOOLS_CALL
            | method::RESOURCES_LIST
            | method::TEMPLATES_LIST
            | method::RESOURCES_READ
            | method::PROMPTS_LIST
            | method::PROMPTS_GET
            | method::COMPLETE
            | method::LISTEN => Err(RpcError::invalid_params(format!(
                "the conversation has not been opened: send `initialize` first (revisions {} to {}), or put \
                     `{PROTOCOL_VERSION}` (\"{}\") and `{CLIENT_CAPABILITIES}` into this request's `params._meta`",
                oldest(),
                Revision::NEWEST_LEGACY,
                Revision::MODERN
            ))),
            other => Err(RpcError::method_not_found(other)),
        }
    }
}

fn legacy_or_nothing(link: &Link) -> Speaking {
    link.legacy_request().map_or(Speaking::Nothing, Speaking::Legacy)
}

fn oldest() -> Revision {
    Revision::ALL.into_iter().min().unwrap_or(Revision::NEWEST_LEGACY)
}

fn unsupported(asked: &str, is_legacy: bool) -> RpcError {
    let way_out = if is_legacy { "open with `initialize` to speak it" } else { "choose a supported one" };
    let message = format!("unsupported protocol version {} in `_meta`: {way_out}", excerpt(asked));
    let supported: Vec<&str> = Revision::ALL.iter().map(|revision| revision.as_str()).collect();
    let requested: String = asked.chars().take(120).collect();
    RpcError::new(UNSUPPORTED_PROTOCOL_VERSION, message)
        .with_data(serde_json::json!({"supported": supported, "requested": requested}))
}
