//! What a server offers, and who it is.

use serde::Serialize;

use super::content::Icon;

/// What a server offers: only what is there is announced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerCapabilities {
    /// There are tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ListCapability>,
}

/// A list a server offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListCapability {
    /// Whether changes of the list are announced.
    pub list_changed: bool,
}

/// A server or a client, as it introduces itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}
