//! Tools for the APIs of models: OpenAI, Anthropic and Gemini. Definitions become declarations, the model's calls become
//! calls of tools, and their results the messages that the API expects.
//!
//! 1. [`ModelApi::declare`] makes [`Declarations`] of the tools that the model may call: all of a server, or some of them.
//! 2. [`Declarations::tools`] is the `tools` of the request. [`Declarations::losses`] has what the API cannot express.
//! 3. [`Declarations::calls`] reads the calls of a response. A call of a tool that was not declared, or with arguments that
//!    are not JSON, is one that fails with a text for the model.
//! 4. [`Client::run`](crate::Client::run) or [`Clients::run`](crate::client::Clients::run) runs a call.
//! 5. [`Declarations::results`] makes the messages for the next request.
//!
//! [`ModelApi`] has an example.

// Below: `reader` reads JSON Schemas of any kind and size into a small tree, a `Schema`; `plain`, `strict` and `gemini` write
// it as an API accepts it, with what that leaves out as a `Loss`; `declarations` has the names, both ways; `tool_call` and
// `results` have the messages.

mod declarations;
mod gemini;
mod losses;
mod plain;
mod reader;
mod results;
mod run;
mod schema;
mod strict;
mod tool_call;

use crate::protocol::ToolDefinition;
pub use declarations::Declarations;
pub use losses::Loss;
pub use tool_call::ToolCall;

/// An API of models that call tools.
///
/// ```
/// use papertape::client::ClientError;
/// use papertape::client::model_api::ModelApi;
/// use papertape::{Cx, Server, ToolError, memory};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use serde_json::json;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Shout {
///     text: String,
/// }
///
/// async fn shout(args: Shout, _: Cx) -> Result<String, ToolError> {
///     Ok(args.text.to_uppercase())
/// }
///
/// #[tokio::main]
/// async fn main() -> Result<(), ClientError> {
///     let client = memory::connect(Server::new("letters", "1.0.0").tool("shout", shout)).await?;
///     let tools = client.tools().await?;
///     let declared = ModelApi::OpenAiChat.declare(tools.iter().map(|tool| &tool.item));
///     assert_eq!(declared.tools()[0]["function"]["name"], "shout");
///
///     // What the endpoint responds with, given `"tools": declared.tools()`.
///     let response = json!({"choices": [{"message": {"role": "assistant", "tool_calls": [
///         {"id": "c1", "type": "function", "function": {"name": "shout", "arguments": "{\"text\": \"hello\"}"}}
///     ]}}]});
///     let mut results = Vec::new();
///     for call in declared.calls(&response) {
///         let result = client.run(&call).await;
///         results.push((call, result));
///     }
///     assert_eq!(declared.results(&results), [json!({"role": "tool", "tool_call_id": "c1", "content": "HELLO"})]);
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelApi {
    /// OpenAI's Chat Completions (`/v1/chat/completions`), which many other endpoints support too.
    OpenAiChat,
    /// OpenAI's Responses (`/v1/responses`).
    OpenAiResponses,
    /// Anthropic's Messages (`/v1/messages`).
    Anthropic,
    /// Gemini's `generateContent`.
    Gemini,
}

impl ModelApi {
    /// Declares tools: their names and schemas are changed to what the API accepts.
    pub fn declare<'a>(self, tools: impl IntoIterator<Item = &'a ToolDefinition>) -> Declarations {
        Declarations::new(self, false, tools)
    }

    /// [`ModelApi::declare`] in OpenAI's strict mode, in which the model's arguments always fit the schema: for the tools
    /// whose schemas allow it; of the others, [`Declarations::losses`] names the reason. The other APIs have no such mode.
    ///
    /// In strict mode a model gives every argument, and `null` for one that is left out; these are removed again.
    pub fn declare_strict<'a>(self, tools: impl IntoIterator<Item = &'a ToolDefinition>) -> Declarations {
        Declarations::new(self, true, tools)
    }
}
