//! What interop/model_apis talks to: one JSON object a line with tools, responses and results, and what becomes of them.

use std::io::{self, BufRead, Write};

use papertape::client::model_api::ModelApi;
use papertape::protocol::{CallToolResult, ToolDefinition};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Input {
    api: String,
    #[serde(default)]
    strict: bool,
    tools: Vec<ToolDefinition>,
    /// The model's response, whose calls all get the result.
    #[serde(default)]
    response: Value,
    #[serde(default)]
    result: CallToolResult,
}

fn main() -> anyhow::Result<()> {
    for line in io::stdin().lock().lines() {
        let input: Input = serde_json::from_str(&line?)?;
        let api = match input.api.as_str() {
            "openai" => ModelApi::OpenAiChat,
            "openai-responses" => ModelApi::OpenAiResponses,
            "anthropic" => ModelApi::Anthropic,
            "gemini" => ModelApi::Gemini,
            other => anyhow::bail!("there is no API {other}"),
        };
        let declared =
            if input.strict { api.declare_strict(&input.tools) } else { api.declare(&input.tools) };
        let calls = declared.calls(&input.response);
        let shown: Vec<Value> = calls
            .iter()
            .map(|call| {
                let arguments = call.arguments.as_ref().map(|arguments| arguments.get());
                json!({"id": call.id, "name": call.name, "arguments": arguments.ok(), "error": arguments.err()})
            })
            .collect();
        let results: Vec<_> = calls.into_iter().map(|call| (call, input.result.clone())).collect();
        let losses: Vec<String> = declared.losses().iter().map(ToString::to_string).collect();
        let output = json!({
            "tools": declared.tools(), "losses": losses, "calls": shown, "messages": declared.results(&results),
        });
        writeln!(io::stdout(), "{output}")?;
    }
    Ok(())
}
