//! The calls in a model's response.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::declarations::{Declarations, DeclaredTool};
use super::{ModelApi, strict};
use crate::protocol::RawJson;
use crate::wire::error::excerpt;

/// A call of a tool by a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The id that the model has given it, which the result repeats; empty if it has none, as Gemini's may.
    pub id: String,
    /// The name of the tool, as its server or [`Clients`](crate::client::Clients) has it.
    pub name: String,
    /// The arguments, or why they cannot be used: a text for the model.
    pub arguments: Result<RawJson, String>,
    /// The name that it was declared by.
    pub(super) declared: String,
}

impl Declarations {
    /// The calls in a response, in its order: the body of the HTTP response, or the model's message in it.
    #[must_use]
    pub fn calls(&self, response: &Value) -> Vec<ToolCall> {
        let places: &[&str] = match self.api {
            ModelApi::OpenAiChat => &["/choices/0/message/tool_calls", "/tool_calls"],
            ModelApi::OpenAiResponses => &["/output"],
            ModelApi::Anthropic => &["/content"],
            ModelApi::Gemini => &["/candidates/0/content/parts", "/parts"],
        };
        let found = places.iter().find_map(|place| response.pointer(place)?.as_array());
        found.into_iter().flatten().filter_map(|item| self.call(item)).collect()
    }

    /// The call in an item of `tool_calls` (Chat Completions), `output` (Responses), `content` (Anthropic) or `parts`
    /// (Gemini); `None` if the item is something else.
    #[must_use]
    pub fn call(&self, item: &Value) -> Option<ToolCall> {
        let is_of = |kind: &str| item.get("type").and_then(Value::as_str) == Some(kind);
        let (id, call, arguments) = match self.api {
            ModelApi::OpenAiChat => (item.get("id"), item.get("function")?, "arguments"),
            ModelApi::OpenAiResponses if is_of("function_call") => (item.get("call_id"), item, "arguments"),
            ModelApi::Anthropic if is_of("tool_use") => (item.get("id"), item, "input"),
            ModelApi::Gemini => {
                let call = item.get("functionCall")?;
                (call.get("id"), call, "args")
            }
            _ => return None,
        };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let declared = text(call.get("name"));
        let tool = self.tool(&declared);
        let arguments = match tool {
            Some(tool) => read(call.get(arguments)).map(|arguments| restored(tool, arguments)),
            // The server may have it: one that is not for models, or that the program has left out.
            None => Err(self.undeclared(&declared)),
        };
        let name = tool.map_or(&declared, |tool| &tool.name).clone();
        Some(ToolCall { id: text(id), name, arguments, declared })
    }
}

/// The arguments, which are JSON within a string at OpenAI, and JSON itself at the others.
fn read(arguments: Option<&Value>) -> Result<RawJson, String> {
    let json = match arguments {
        None | Some(Value::Null) => return Ok(Map::new().into()),
        // What some endpoints send for no arguments.
        Some(Value::String(text)) if text.trim().is_empty() => return Ok(Map::new().into()),
        Some(Value::String(text)) => RawJson::new(text.trim()).map_err(|error| {
            format!(
                "the arguments are not valid JSON ({error}): repeat the call with one complete JSON object"
            )
        })?,
        Some(value) => RawJson::from(value),
    };
    if json.get() == "null" {
        return Ok(Map::new().into());
    }
    match json.is_object() {
        true => Ok(json),
        false => Err(format!(
            "the arguments must be a JSON object, not {}: repeat the call with one",
            excerpt(json.get())
        )),
    }
}

/// The arguments as the server declares them.
fn restored(tool: &DeclaredTool, arguments: RawJson) -> RawJson {
    if tool.strict.is_none() && tool.renamed.is_empty() {
        return arguments;
    }
    // Not as a `Value`, which would round numbers.
    let Ok(mut members) = arguments.parse::<BTreeMap<String, RawJson>>() else { return arguments };
    if let Some(declared) = &tool.strict {
        strict::without_nulls(declared, &mut members);
    }
    let original = |name: String| tool.renamed.get(&name).cloned().unwrap_or(name);
    let members: BTreeMap<String, RawJson> =
        members.into_iter().map(|(name, value)| (original(name), value)).collect();
    RawJson::write(&members).unwrap_or(arguments)
}
