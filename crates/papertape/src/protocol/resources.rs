//! Resources and resource templates.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::content::{Annotations, Icon, ResourceLink};

/// The definition of a resource, as it is listed: the same as a link to it.
pub type ResourceDefinition = ResourceLink;

/// The definition of a resource template (RFC 6570), as it is listed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
#[non_exhaustive]
pub struct ResourceTemplateDefinition {
    /// The URI template (RFC 6570).
    pub uri_template: String,
    /// The name, as an identifier.
    pub name: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The MIME type, if all of its resources have the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Icons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}
