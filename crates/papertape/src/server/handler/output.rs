//! What a tool may return.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::protocol::{CallToolResult, Content, RawJson};
use crate::schema;
use crate::server::handler::error::ToolError;

/// Something a tool can return.
pub trait ToolOutput: Send + 'static {
    /// The JSON Schema of the structured result, if there is one.
    #[must_use]
    fn output_schema() -> Option<Value> {
        None
    }

    /// The result as it goes to the client.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    fn into_result(self) -> Result<CallToolResult, ToolError>;
}

/// A structured result: any serialisable value, with a schema made from its type.
///
/// The client gets it as structured content and, for those that only read text, as the same JSON in a text block.
#[derive(Debug, Clone)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema + Send + 'static> ToolOutput for Json<T> {
    fn output_schema() -> Option<Value> {
        Some(schema::of_result::<T>())
    }

    fn into_result(self) -> Result<CallToolResult, ToolError> {
        // Written from the value itself, so that it keeps the order of its fields and every digit of its numbers.
        let json = RawJson::write(&self.0).map_err(ToolError::internal)?;
        let text = json.get().to_owned();
        Ok(CallToolResult { structured_content: Some(json), ..CallToolResult::text(text) })
    }
}

impl ToolOutput for String {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::text(self))
    }
}

impl ToolOutput for &'static str {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::text(self))
    }
}

/// No content.
impl ToolOutput for () {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::default())
    }
}

impl ToolOutput for Content {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult { content: vec![self], ..CallToolResult::default() })
    }
}

impl ToolOutput for Vec<Content> {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult { content: self, ..CallToolResult::default() })
    }
}

impl ToolOutput for CallToolResult {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(self)
    }
}
