//! Tools and the results of their calls.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::content::{Content, Icon};
use super::raw_json::RawJson;
use crate::wire::message::present_value;

/// The definition of a tool, as it is listed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
#[non_exhaustive]
pub struct ToolDefinition {
    /// The name, unique within the server.
    pub name: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the tool does: models choose tools by this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of the arguments; `null` if the server did not send one.
    #[serde(default)]
    pub input_schema: Value,
    /// The JSON Schema of the structured result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Hints about its behaviour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// Icons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Metadata (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// Hints about the behaviour of a tool, none of which is guaranteed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// The display name (the tool's own title takes precedence).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool does not modify its environment (`readOnlyHint`). False if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The tool may perform destructive updates (`destructiveHint`). True if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Repeating the call with the same arguments has no further effect (`idempotentHint`). False if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool interacts with external systems (`openWorldHint`). True if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// The result of a tool call.
///
/// ```
/// use papertape::protocol::CallToolResult;
///
/// let result = CallToolResult::new("42");
/// assert!(!result.is_error);
/// assert!(CallToolResult::failed("the printer is out of paper").is_error);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
#[non_exhaustive]
pub struct CallToolResult {
    /// The content for a user or a model.
    pub content: Vec<Content>,
    /// The structured result for programs. JSON `null` is a value, not an absent one.
    #[serde(default, deserialize_with = "present_value", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<RawJson>,
    /// Whether the tool failed.
    #[serde(default)]
    pub is_error: bool,
    /// Metadata (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

impl CallToolResult {
    /// A result with one block of content, such as a text.
    ///
    /// ```
    /// use papertape::protocol::CallToolResult;
    /// let result = CallToolResult::new("hello");
    /// assert_eq!(result.text(), "hello");
    /// ```
    pub fn new(content: impl Into<Content>) -> Self {
        Self { content: vec![content.into()], ..Self::default() }
    }

    /// A failure, with a text for the model.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::new(text.into()) }
    }

    /// The text of all its blocks of text, one per line; other blocks are left out.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(Content::as_text).collect();
        texts.join("\n")
    }

    /// Reads a type from the structured content; without that, from the text, as JSON or as a string. So does
    /// [`Client::call_as`](crate::Client::call_as); this is for results that arrive in another way, such as that of a task.
    ///
    /// Look at [`CallToolResult::is_error`] first: the text of a failure is a string, too.
    ///
    /// # Errors
    /// If it is something else.
    ///
    /// ```
    /// use papertape::protocol::CallToolResult;
    ///
    /// let result = CallToolResult::new("42");
    /// assert_eq!(result.parse::<u8>().unwrap(), 42);
    /// assert_eq!(result.parse::<String>().unwrap(), "42");
    /// assert!(result.parse::<Vec<u8>>().is_err());
    /// ```
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        if let Some(structured) = &self.structured_content {
            return structured.parse();
        }
        let text = self.text();
        let is_compound = matches!(text.trim_start().as_bytes().first(), Some(b'{' | b'['));
        let string = || T::deserialize::<StrDeserializer<'_, serde_json::Error>>((*text).into_deserializer());
        let json = || serde_json::from_str(&text);
        // Of the two errors, that about the more likely form tells more.
        if is_compound {
            json().or_else(|error| string().map_err(|_| error))
        } else {
            string().or_else(|error| json().map_err(|_| error))
        }
    }
}
