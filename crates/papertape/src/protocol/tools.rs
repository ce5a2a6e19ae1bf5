//! Tools: what they are called, what they take, what they give.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::content::{Content, Icon};
use super::meta::present_value;
use super::raw_json::RawJson;

/// A tool as it is listed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct ToolDefinition {
    /// Unique within the server.
    pub name: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does: this is what a model chooses by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A JSON Schema of the arguments. `null` if a server did not say.
    #[serde(default)]
    pub input_schema: Value,
    /// A JSON Schema of the structured result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// How it behaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// Pictures of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Anything else.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// How a tool behaves. All of it is a hint, none of it a promise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct ToolAnnotations {
    /// For people (the tool's own title goes first).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// It changes nothing. False if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may destroy something. True if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Twice is as good as once. False if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It reaches into the world outside. True if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// What a call gives back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct CallToolResult {
    /// What a person or a model reads.
    pub content: Vec<Content>,
    /// What a program reads. The JSON `null` is a value, not an absent one.
    #[serde(default, deserialize_with = "present_value", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<RawJson>,
    /// Whether the tool ran and failed.
    #[serde(default)]
    pub is_error: bool,
    /// Anything else.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

impl CallToolResult {
    /// A result that is one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], ..Self::default() }
    }

    /// A failure that the model reads.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}
