//! How a conversation opens, in both eras.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
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
    pub(super) fn speaking(&self, params: &Params<'_>, link: &Link) -> Result<Speaking, RpcError> {
        let Some(meta) = &params.meta else { return Ok(legacy_or_nothing(link)) };
        let Some(asked) = meta.protocol_version()? else { return Ok(legacy_or_nothing(link)) };
        let revision = match Revision::parse(&asked) {
            Some(revision) if !revision.opens_with_handshake() => revision,
            _ => return Err(self.unsupported(&asked)),
        };
        meta.client_capabilities()?;
        // Whatever is asked for: a level that does not exist is refused alike by all methods.
        meta.log_level()?;
        link.note_modern(revision);
        Ok(Speaking::Modern(revision))
    }

    pub(super) fn initialize(
        &self,
        to: &ReplyTo,
        params: &Params<'_>,
        link: &Arc<Link>,
    ) -> Result<(), RpcError> {
        let revision = agree(params)?;
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
            supported_versions: self.supported_versions(),
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

    fn supported_versions(&self) -> Vec<&'static str> {
        self.revisions.iter().map(|revision| revision.as_str()).collect()
    }

    /// The error for a request whose `_meta` names a revision in which no request stands alone.
    fn unsupported(&self, asked: &str) -> RpcError {
        let has_sessions = Revision::parse(asked).is_some_and(|revision| self.revisions.contains(&revision));
        let way_out =
            if has_sessions { "open with `initialize` to speak it" } else { "choose a supported one" };
        let message = format!("unsupported protocol version {} in `_meta`: {way_out}", excerpt(asked));
        let requested: String = asked.chars().take(120).collect();
        RpcError::new(UNSUPPORTED_PROTOCOL_VERSION, message)
            .with_data(json!({"supported": self.supported_versions(), "requested": requested}))
    }
}

/// What `initialize` leads to. People type it by hand, and leave out what they do not know: without a version the newest
/// revision that has sessions is agreed.
fn agree(params: &Params<'_>) -> Result<Revision, RpcError> {
    match params.protocol_version.map(RawValue::get) {
        None | Some("null") => {
            let revision = Revision::NEWEST_LEGACY;
            tracing::warn!(
                "`initialize` without `params.protocolVersion`: {revision} is agreed; a client should name its own"
            );
            Ok(revision)
        }
        Some(asked) => {
            serde_json::from_str::<String>(asked).map(|asked| Revision::negotiate(&asked)).map_err(|_| {
                let example = Revision::NEWEST_LEGACY;
                RpcError::invalid_params(format!(
                    "`params.protocolVersion` of `initialize` must be a string such as \"{example}\""
                ))
            })
        }
    }
}

fn legacy_or_nothing(link: &Link) -> Speaking {
    link.legacy_request().map_or(Speaking::Nothing, Speaking::Legacy)
}

fn oldest() -> Revision {
    Revision::ALL.into_iter().min().unwrap_or(Revision::NEWEST_LEGACY)
}
