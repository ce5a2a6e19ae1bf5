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
    pub sampling: Option<Nothing>,
    /// The user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
}

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
