//! Tools for the APIs of models: declarations, calls and results.

mod accepted;
mod calls;
mod properties;
mod results;
mod schemas;

use papertape::client::model_api::{Declarations, ModelApi};
use papertape::protocol::ToolDefinition;
use serde_json::{Value, json};

const APIS: [ModelApi; 4] =
    [ModelApi::OpenAiChat, ModelApi::OpenAiResponses, ModelApi::Anthropic, ModelApi::Gemini];

fn tool(name: &str, schema: &Value) -> ToolDefinition {
    serde_json::from_value(json!({"name": name, "description": "A tool.", "inputSchema": schema})).unwrap()
}

/// A tool of this schema, declared.
fn declared(api: ModelApi, schema: &Value) -> Declarations {
    api.declare([&tool("t", schema)])
}

fn strict(schema: &Value) -> Declarations {
    ModelApi::OpenAiChat.declare_strict([&tool("t", schema)])
}

/// The schema in a declaration of one tool.
fn parameters(declarations: &Declarations) -> Value {
    let tools = declarations.tools();
    match &declarations_of(&tools)[..] {
        [only] => only.clone(),
        other => panic!("{other:?}"),
    }
}

/// The schemas of all declarations, of any API. Gemini has none for a tool without arguments.
fn declarations_of(tools: &Value) -> Vec<Value> {
    let list = tools.pointer("/0/functionDeclarations").unwrap_or(tools).as_array().unwrap();
    let schema = |tool: &Value| {
        let function = tool.get("function").unwrap_or(tool);
        function.get("parameters").or(function.get("input_schema")).cloned().unwrap_or_default()
    };
    list.iter().map(schema).collect()
}

fn losses(declarations: &Declarations) -> Vec<String> {
    declarations.losses().iter().map(ToString::to_string).collect()
}
