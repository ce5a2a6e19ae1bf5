//! Prompts: templates of messages for a model.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::content::{Content, Icon, Role};

/// The definition of a prompt, as it is listed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
#[non_exhaustive]
pub struct PromptDefinition {
    /// The name, unique within the server.
    pub name: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PromptArgument>,
    /// Icons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Metadata (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
#[non_exhaustive]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it is required.
    #[serde(default)]
    pub required: bool,
}

/// A prompt with its arguments filled in.
///
/// ```
/// use papertape::protocol::{PromptMessage, PromptResult};
///
/// let mut prompt = PromptResult::new(vec![PromptMessage::user("Summarise notes.md.")]);
/// prompt.description = Some("A summary of one file".to_owned());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
#[non_exhaustive]
pub struct PromptResult {
    /// A description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages.
    pub messages: Vec<PromptMessage>,
    /// Metadata (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// One message of a prompt.
///
/// ```
/// use papertape::protocol::{Content, PromptMessage};
///
/// let messages = vec![
///     PromptMessage::user("What is wrong with this file?"),
///     PromptMessage::user(Content::text_resource("file:///main.rs", "text/x-rust", "fn main() {")),
///     PromptMessage::assistant("A brace is missing."),
/// ];
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
#[non_exhaustive]
pub struct PromptMessage {
    /// The role of its author.
    pub role: Role,
    /// The content.
    pub content: Content,
}

impl PromptResult {
    /// A prompt with these messages.
    #[must_use]
    pub fn new(messages: Vec<PromptMessage>) -> Self {
        Self { messages, ..Self::default() }
    }

    /// The text of all its messages that are text, one per line.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.messages.iter().filter_map(|message| message.content.as_text()).collect();
        texts.join("\n")
    }
}

impl PromptMessage {
    /// A message of the user.
    pub fn user(content: impl Into<Content>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }
}
