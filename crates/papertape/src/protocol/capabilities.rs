//! What servers and clients offer, and who they are.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::content::Icon;

/// What a server offers: only what is there is announced.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct ServerCapabilities {
    /// There are tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ListCapability>,
    /// There are resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesCapability>,
    /// There are prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<ListCapability>,
    /// Arguments can be completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<Map<String, Value>>,
    /// Logs can be sent to the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<Map<String, Value>>,
    /// What no revision knows yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Map<String, Value>>,
    /// Extensions by name, with their settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Map<String, Value>>,
}

/// A list a server offers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct ListCapability {
    /// Whether changes of the list are announced.
    #[serde(default)]
    pub list_changed: bool,
}

/// The resources a server offers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct ResourcesCapability {
    /// Whether changes of a single resource can be subscribed to.
    #[serde(default)]
    pub subscribe: bool,
    /// Whether changes of the list are announced.
    #[serde(default)]
    pub list_changed: bool,
}

/// What a client can be asked: only what it answers is announced.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ClientCapabilities {
    /// Where the user's files are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<Nothing>,
    /// A model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// The user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
}

/// What a client's model can do.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SamplingCapability {
    /// Use tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Nothing>,
}

/// What a client says it can be asked, in whatever revision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Its user, with a form.
    pub form: bool,
    /// Its user, with a page to visit.
    pub url: bool,
    /// A model.
    pub sampling: bool,
    /// A model that can use tools.
    pub sampling_tools: bool,
    /// Where the user's files are.
    pub roots: bool,
    /// It can wait for tasks.
    pub tasks: bool,
}

impl Abilities {
    /// What the JSON of a client's capabilities says. What makes no sense says nothing.
    #[must_use]
    pub fn read(capabilities: &str) -> Self {
        // No honest client has more to say about itself, and a tree takes a hundred times its text.
        if capabilities.len() > 64 * 1024 {
            return Self::default();
        }
        let Ok(Value::Object(declared)) = serde_json::from_str(capabilities) else { return Self::default() };
        let elicitation = declared.get("elicitation").and_then(Value::as_object);
        let url = elicitation.is_some_and(|ways| ways.get("url").is_some_and(Value::is_object));
        let form = elicitation.is_some_and(|ways| ways.get("form").is_some_and(Value::is_object));
        let tasks =
            declared.get("extensions").and_then(|known| known.get(TASKS)).is_some_and(Value::is_object);
        Self {
            // An empty object is what declared forms before there was anything else.
            form: form || (elicitation.is_some() && !url),
            url,
            sampling: declared.get("sampling").is_some_and(Value::is_object),
            sampling_tools: declared
                .get("sampling")
                .and_then(|model| model.get("tools"))
                .is_some_and(Value::is_object),
            roots: declared.get("roots").is_some_and(Value::is_object),
            tasks,
        }
    }

    /// All of it in one byte.
    #[must_use]
    pub fn to_bits(self) -> u8 {
        let abilities = [self.form, self.url, self.sampling, self.sampling_tools, self.roots, self.tasks];
        abilities.into_iter().rev().fold(0, |bits, able| bits << 1 | u8::from(able))
    }

    /// What [`Abilities::to_bits`] said.
    #[must_use]
    pub fn from_bits(bits: u8) -> Self {
        let bit = |at: u8| bits >> at & 1 == 1;
        Self {
            form: bit(0),
            url: bit(1),
            sampling: bit(2),
            sampling_tools: bit(3),
            roots: bit(4),
            tasks: bit(5),
        }
    }

    /// Whether it can be asked anything.
    #[must_use]
    pub fn can_be_asked(self) -> bool {
        self.form || self.url || self.sampling || self.roots
    }
}

/// The extension by which calls go on after they are answered.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";

/// The extension by which servers offer skills.
pub const SKILLS: &str = "io.modelcontextprotocol/skills";

/// How the user can be asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ElicitationCapability {
    /// With a form to fill in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<Nothing>,
    /// With a page to visit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Nothing>,
}

/// A capability that says all by being there: `{}`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Nothing {}

/// A server or a client, as it introduces itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct Implementation {
    /// For programs.
    pub name: String,
    /// Its version.
    pub version: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where to read more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// Pictures of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}
