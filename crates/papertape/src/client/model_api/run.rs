//! Running a model's call.

use super::ToolCall;
use crate::client::requests::calling;
use crate::client::{CallOptions, Client, ClientError, Clients};
use crate::protocol::CallToolResult;

impl Client {
    /// Runs a model's call of a tool. Whatever goes wrong is a failed result, with a text that the model can read.
    pub async fn run(&self, call: &ToolCall) -> CallToolResult {
        self.run_with(call, CallOptions::new()).await
    }

    /// [`Client::run`] with options.
    pub async fn run_with(&self, call: &ToolCall, options: CallOptions) -> CallToolResult {
        match &call.arguments {
            Ok(arguments) => call.explained(self.call_with(&call.name, arguments.clone(), options).await),
            Err(problem) => CallToolResult::failed(problem),
        }
    }
}

impl Clients {
    /// Runs a model's call of a tool. Whatever goes wrong is a failed result, with a text that the model can read.
    pub async fn run(&self, call: &ToolCall) -> CallToolResult {
        self.run_with(call, CallOptions::new()).await
    }

    /// [`Clients::run`] with options.
    pub async fn run_with(&self, call: &ToolCall, options: CallOptions) -> CallToolResult {
        match &call.arguments {
            Ok(arguments) => call.explained(self.call_with(&call.name, arguments.clone(), options).await),
            Err(problem) => CallToolResult::failed(problem),
        }
    }
}

impl ToolCall {
    /// The result for the model, which knows the tool by the name that it is declared by.
    fn explained(&self, called: Result<CallToolResult, ClientError>) -> CallToolResult {
        called.unwrap_or_else(|error| {
            CallToolResult::failed(error.of_operation(calling(&self.declared)).to_string())
        })
    }
}
