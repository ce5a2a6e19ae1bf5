//! Resources: what a server lets its client read.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::content::{Annotations, Icon, ResourceLink};

/// A resource as it is listed: the same as a link to it.
pub type Resource = ResourceLink;

/// A family of resources whose addresses have blanks to fill in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct ResourceTemplate {
    /// An address with `{blanks}` (RFC 6570).
    pub uri_template: String,
    /// For programs.
    pub name: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What all of them hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Pictures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Anything else.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}
