//! Capabilities and identities of servers and clients.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::apps::{APPS, client_settings, shows_pages};
use super::content::Icon;

/// The capabilities of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// It has tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ListCapability>,
    /// It has resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesCapability>,
    /// It has prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<ListCapability>,
    /// It completes arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<Map<String, Value>>,
    /// It sends log messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<Map<String, Value>>,
    /// Experimental capabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Map<String, Value>>,
    /// Extensions by name, with their settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Map<String, Value>>,
}

/// A capability with a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
#[non_exhaustive]
pub struct ListCapability {
    /// Whether the server sends `list_changed` notifications.
    #[serde(default)]
    pub list_changed: bool,
}

/// The resources capability of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
#[non_exhaustive]
pub struct ResourcesCapability {
    /// Whether clients can subscribe to updates of a resource.
    #[serde(default)]
    pub subscribe: bool,
    /// Whether the server sends `list_changed` notifications.
    #[serde(default)]
    pub list_changed: bool,
}

/// The capabilities of a client.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClientCapabilities {
    /// It lists roots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<EmptyObject>,
    /// It supports sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// It supports elicitation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// Extensions by name, with their settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Map<String, Value>>,
}

/// As far as flags tell.
impl From<Abilities> for ClientCapabilities {
    fn from(able: Abilities) -> Self {
        let declared = |able: bool| able.then_some(EmptyObject {});
        let extensions = [(able.tasks, TASKS, json!({})), (able.apps, APPS, client_settings())];
        let extensions: Map<String, Value> = extensions
            .into_iter()
            .filter(|known| known.0)
            .map(|(_, name, set)| (name.to_owned(), set))
            .collect();
        Self {
            roots: declared(able.roots),
            sampling: able.sampling.then(|| SamplingCapability { tools: declared(able.sampling_tools) }),
            elicitation: (able.form || able.url)
                .then(|| ElicitationCapability { form: declared(able.form), url: declared(able.url) }),
            extensions: (!extensions.is_empty()).then_some(extensions),
        }
    }
}

/// The sampling capability of a client.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SamplingCapability {
    /// Its model can use tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<EmptyObject>,
}

/// The capabilities of a client as flags, read from any revision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Form elicitation.
    pub form: bool,
    /// URL elicitation.
    pub url: bool,
    /// Sampling.
    pub sampling: bool,
    /// Sampling with tools.
    pub sampling_tools: bool,
    /// Roots.
    pub roots: bool,
    /// The tasks extension.
    pub tasks: bool,
    /// MCP Apps, with pages of HTML.
    pub apps: bool,
}

impl Abilities {
    /// Reads the JSON of a client's capabilities. Invalid members are ignored.
    #[must_use]
    pub fn read(capabilities: &str) -> Self {
        // No useful client declares more, and a JSON tree takes a hundred times the memory of its text.
        if capabilities.len() > 64 * 1024 {
            return Self::default();
        }
        let Ok(Value::Object(declared)) = serde_json::from_str(capabilities) else { return Self::default() };
        let elicitation = declared.get("elicitation").and_then(Value::as_object);
        let url = elicitation.is_some_and(|modes| modes.get("url").is_some_and(Value::is_object));
        let form = elicitation.is_some_and(|modes| modes.get("form").is_some_and(Value::is_object));
        let extension = |name| declared.get("extensions").and_then(|known| known.get(name));
        Self {
            // An empty object declares forms, the only mode before 2025-11-25.
            form: form || (elicitation.is_some() && !url),
            url,
            sampling: declared.get("sampling").is_some_and(Value::is_object),
            sampling_tools: declared
                .get("sampling")
                .and_then(|model| model.get("tools"))
                .is_some_and(Value::is_object),
            roots: declared.get("roots").is_some_and(Value::is_object),
            tasks: extension(TASKS).is_some_and(Value::is_object),
            apps: extension(APPS).is_some_and(shows_pages),
        }
    }

    /// The flags as one byte.
    #[cfg(feature = "http-server")]
    pub(crate) fn to_bits(self) -> u8 {
        let Self { form, url, sampling, sampling_tools, roots, tasks, apps } = self;
        [form, url, sampling, sampling_tools, roots, tasks, apps]
            .into_iter()
            .rev()
            .fold(0, |bits, able| bits << 1 | u8::from(able))
    }

    /// The flags of [`Abilities::to_bits`].
    #[cfg(feature = "http-server")]
    pub(crate) fn from_bits(bits: u8) -> Self {
        let bit = |at: u8| bits >> at & 1 == 1;
        Self {
            form: bit(0),
            url: bit(1),
            sampling: bit(2),
            sampling_tools: bit(3),
            roots: bit(4),
            tasks: bit(5),
            apps: bit(6),
        }
    }

    /// Whether a server can send it any request.
    #[must_use]
    pub fn can_be_asked(self) -> bool {
        self.form || self.url || self.sampling || self.roots
    }
}

/// The tasks extension: calls that continue after their response.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";

/// The skills extension.
pub const SKILLS: &str = "io.modelcontextprotocol/skills";

/// The elicitation capability of a client.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ElicitationCapability {
    /// Form mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<EmptyObject>,
    /// URL mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<EmptyObject>,
}

/// A capability without settings: `{}`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct EmptyObject {}

/// The name and version of a server or a client (`serverInfo`, `clientInfo`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
#[non_exhaustive]
pub struct Implementation {
    /// The name, as an identifier.
    pub name: String,
    /// The version.
    pub version: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The URL of its website.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// Icons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}
