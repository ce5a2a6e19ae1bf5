//! The members of `params` and `result` that say what a message is about.

use std::borrow::Cow;

use papertape::protocol::method;
use papertape::wire::Id;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Peer;

/// Members of `params`; those of the wrong type count as absent.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default)]
    task_id: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "ref")]
    reference: Option<&'a RawValue>,
    #[serde(borrow, default)]
    client_info: Option<&'a RawValue>,
    #[serde(borrow, default)]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, default)]
    request_id: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

/// Members of `_meta`.
#[derive(Debug, Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientInfo")]
    client_info: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/serverInfo")]
    server_info: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/subscriptionId")]
    subscription_id: Option<&'a RawValue>,
}

/// Members of `result`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResultMembers<'a> {
    #[serde(borrow, default)]
    is_error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result_type: Option<&'a RawValue>,
    #[serde(borrow, default)]
    server_info: Option<&'a RawValue>,
    #[serde(borrow, default)]
    protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

impl<'a> Params<'a> {
    pub(super) fn read(params: Option<&'a RawValue>) -> Self {
        read(params)
    }

    fn meta(&self) -> Meta<'a> {
        read(self.meta)
    }

    /// What a request of this method addresses.
    pub(super) fn name(&self, called: &str) -> Option<Cow<'a, str>> {
        match called {
            method::TOOLS_CALL | method::PROMPTS_GET => string(self.name),
            method::COMPLETE => {
                let reference: Params<'a> = read(self.reference);
                string(reference.name).or_else(|| string(reference.uri))
            }
            _ if called.starts_with("resources/") || called.starts_with("skills/") => string(self.uri),
            _ if called.starts_with("tasks/") => string(self.task_id),
            _ => None,
        }
    }

    /// The token of a progress notification.
    pub(super) fn progress_token(&self) -> Option<Id> {
        id(self.progress_token)
    }

    /// The token that a request asks to be used in progress notifications.
    pub(super) fn requested_token(&self) -> Option<Id> {
        id(self.meta().progress_token)
    }

    /// The request that is cancelled.
    pub(super) fn request_id(&self) -> Option<Id> {
        id(self.request_id)
    }

    /// The request whose subscription a notification belongs to.
    pub(super) fn subscription_id(&self) -> Option<Id> {
        id(self.meta().subscription_id)
    }

    pub(super) fn client(&self) -> Option<Peer> {
        Peer::read(self.client_info.or_else(|| self.meta().client_info)?)
    }

    /// The revision of a stateless request.
    pub(super) fn declared_revision(&self) -> Option<Cow<'a, str>> {
        string(self.meta().protocol_version)
    }
}

impl<'a> ResultMembers<'a> {
    pub(super) fn read(result: Option<&'a RawValue>) -> Self {
        read(result)
    }

    pub(super) fn is_tool_error(&self) -> bool {
        self.is_error.is_some_and(|value| value.get() == "true")
    }

    pub(super) fn result_type(&self) -> Option<Cow<'a, str>> {
        string(self.result_type)
    }

    pub(super) fn server(&self) -> Option<Peer> {
        Peer::read(self.server_info.or_else(|| read::<Meta<'a>>(self.meta).server_info)?)
    }

    /// The revision that `initialize` has negotiated.
    pub(super) fn negotiated_revision(&self) -> Option<Cow<'a, str>> {
        string(self.protocol_version)
    }
}

/// The members of an object; none of them if it is something else.
fn read<'a, T: Deserialize<'a> + Default>(json: Option<&'a RawValue>) -> T {
    json.filter(|json| json.get().starts_with('{'))
        .and_then(|json| serde_json::from_str(json.get()).ok())
        .unwrap_or_default()
}

fn string(json: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let text = json?.get();
    match text.strip_prefix('"')?.strip_suffix('"')? {
        inner if !inner.contains('\\') => Some(Cow::Borrowed(inner)),
        _ => serde_json::from_str(text).ok().map(Cow::Owned),
    }
}

fn id(json: Option<&RawValue>) -> Option<Id> {
    Id::parse(json?.get()).ok()
}

#[cfg(test)]
mod tests {
    use papertape::protocol::meta::{CLIENT_INFO, PROTOCOL_VERSION, SERVER_INFO, SUBSCRIPTION_ID};

    #[test]
    fn the_names_of_meta_are_those_of_the_protocol() {
        assert_eq!(CLIENT_INFO, "io.modelcontextprotocol/clientInfo");
        assert_eq!(PROTOCOL_VERSION, "io.modelcontextprotocol/protocolVersion");
        assert_eq!(SERVER_INFO, "io.modelcontextprotocol/serverInfo");
        assert_eq!(SUBSCRIPTION_ID, "io.modelcontextprotocol/subscriptionId");
    }
}
