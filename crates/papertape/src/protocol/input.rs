//! Requests of a server to its client: elicitation, sampling and roots.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::content::Role;
use super::tools::ToolDefinition;

/// A form elicitation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FormRequest {
    /// The message for the user.
    pub message: String,
    /// A JSON Schema of the values: a flat object of strings, numbers, booleans and choices.
    pub requested_schema: Value,
}

/// A URL elicitation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UrlRequest {
    /// The message for the user.
    pub message: String,
    /// The URL. It must not be opened without the user's consent, and never through a shell.
    pub url: String,
    /// The id of the elicitation, in session-based revisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
}

/// The result of an elicitation.
///
/// ```
/// use papertape::protocol::ElicitResult;
/// use serde_json::json;
///
/// let submitted = ElicitResult::accept([("row", json!(7)), ("name", json!("Ada"))]);
/// let declined = ElicitResult::decline();
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitResult {
    /// What the user did.
    pub action: ElicitAction,
    /// The values of the form, if the user accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
}

/// What the user did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ElicitAction {
    /// The user accepted.
    Accept,
    /// The user declined.
    Decline,
    /// The user dismissed it without a choice.
    Cancel,
}

impl ElicitResult {
    /// The user accepted, with these values: a `Map`, or pairs of names and values.
    #[must_use]
    pub fn accept<N: Into<String>>(content: impl IntoIterator<Item = (N, Value)>) -> Self {
        let content = content.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Self { action: ElicitAction::Accept, content: Some(content) }
    }

    /// The user agreed to open the URL.
    #[must_use]
    pub fn visit() -> Self {
        Self { action: ElicitAction::Accept, content: None }
    }

    /// The user declined.
    #[must_use]
    pub fn decline() -> Self {
        Self { action: ElicitAction::Decline, content: None }
    }

    /// The user dismissed it without a choice.
    #[must_use]
    pub fn cancel() -> Self {
        Self { action: ElicitAction::Cancel, content: None }
    }
}

/// A sampling request: messages for the client's model.
///
/// Sampling is deprecated in 2026-07-28 (SEP-2577) and still works in every revision. Instead, call the API of a model
/// provider from the handler.
///
/// ```
/// use papertape::protocol::{Role, SamplingMessage, SamplingRequest};
/// use serde_json::json;
///
/// let message = SamplingMessage::new(Role::User, json!({"type": "text", "text": "Summarise."}));
/// let request = SamplingRequest::new(vec![message], 200);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingRequest {
    /// The messages so far.
    pub messages: Vec<SamplingMessage>,
    /// The maximum number of tokens to generate.
    pub max_tokens: u64,
    /// The system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Preferences for the choice of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<Value>,
    /// The sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Sequences that stop the generation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// Tools for the model. Only for clients that declare `sampling.tools`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// Whether it must use them: `{"mode": "auto"}`, `required` or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    /// Metadata for the model's provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

impl SamplingRequest {
    /// A request with messages, and the maximum number of tokens to generate.
    #[must_use]
    pub fn new(messages: Vec<SamplingMessage>, max_tokens: u64) -> Self {
        Self { messages, max_tokens, ..Self::default() }
    }
}

impl SamplingMessage {
    /// A message with one block of content, or an array of them.
    #[must_use]
    pub fn new(role: Role, content: Value) -> Self {
        Self { role, content }
    }
}

impl SamplingResult {
    /// A message that a model has generated.
    pub fn new(role: Role, content: Value, model: impl Into<String>) -> Self {
        Self { role, content, model: model.into(), stop_reason: None }
    }
}

impl Root {
    /// The directory or file at a `file:` URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None }
    }
}

/// One message to or from a model.
///
/// ```
/// use papertape::protocol::{Role, SamplingMessage};
/// use serde_json::json;
///
/// let message = SamplingMessage::new(Role::User, json!({"type": "text", "text": "Summarise this note."}));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SamplingMessage {
    /// The role of its author.
    pub role: Role,
    /// One block of content, or an array of them.
    pub content: Value,
}

/// A message that a model has generated.
///
/// ```
/// use papertape::protocol::{Role, SamplingResult};
/// use serde_json::json;
///
/// let result = SamplingResult::new(Role::Assistant, json!({"type": "text", "text": "In short: tea."}), "my-model");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingResult {
    /// The role of its author.
    pub role: Role,
    /// One block of content, or an array of them.
    pub content: Value,
    /// The name of the model.
    pub model: String,
    /// Why the generation stopped, such as `endTurn` or `maxTokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

/// A directory or file that a server may use.
///
/// ```
/// use papertape::client::ClientOptions;
/// use papertape::protocol::Root;
///
/// let options = ClientOptions::new().roots(vec![Root::new("file:///home/me/project")]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Root {
    /// A `file:` URI.
    pub uri: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
