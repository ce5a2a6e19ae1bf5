//! What a server asks back: of the user, of the client's model, of the user's files.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::content::Role;
use super::tools::ToolDefinition;

/// A form for the user to fill in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FormRequest {
    /// What to say to the user.
    pub message: String,
    /// A JSON Schema of the answer: a flat object of strings, numbers, booleans and choices.
    pub requested_schema: Value,
}

/// A page for the user to visit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UrlRequest {
    /// What to say to the user.
    pub message: String,
    /// The page. It is not to be opened without the user's consent, and never by a shell.
    pub url: String,
    /// Names the request in revisions that announce its completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
}

/// What the user did about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ElicitResult {
    /// Whether the user agreed.
    pub action: ElicitAction,
    /// The form's values, if the user agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
}

/// Whether the user agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// Yes.
    Accept,
    /// No.
    Decline,
    /// Neither: the question was closed.
    Cancel,
}

impl ElicitResult {
    /// The user agreed, with these values.
    #[must_use]
    pub fn accept(content: Map<String, Value>) -> Self {
        Self { action: ElicitAction::Accept, content: Some(content) }
    }

    /// The user agreed to visit the page.
    #[must_use]
    pub fn visit() -> Self {
        Self { action: ElicitAction::Accept, content: None }
    }

    /// The user said no.
    #[must_use]
    pub fn decline() -> Self {
        Self { action: ElicitAction::Decline, content: None }
    }

    /// The user said nothing.
    #[must_use]
    pub fn cancel() -> Self {
        Self { action: ElicitAction::Cancel, content: None }
    }
}

/// Something for the client's model to go on with.
///
/// Sampling is deprecated in 2026-07-28 (SEP-2577) and still works in every revision. Instead, call the API of a model
/// provider from the handler.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SamplingRequest {
    /// What was said so far.
    pub messages: Vec<SamplingMessage>,
    /// The most tokens the answer may have.
    pub max_tokens: u64,
    /// What the model is told beforehand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// What kind of model is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<Value>,
    /// How daring the model may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Where the model stops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// The tools that the model may use. Only for clients that say that their model can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// Whether it must: `{"mode": "auto"}`, `required` or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    /// Whatever the model's vendor understands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// One message to or from a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SamplingMessage {
    /// Who says it.
    pub role: Role,
    /// One block of content, or an array of them.
    pub content: Value,
}

/// What a model said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SamplingResult {
    /// Who says it.
    pub role: Role,
    /// One block of content, or an array of them.
    pub content: Value,
    /// Which model it was.
    pub model: String,
    /// Why it stopped, such as `endTurn` or `maxTokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

/// A folder or file of the user's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// A `file:` URI.
    pub uri: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
