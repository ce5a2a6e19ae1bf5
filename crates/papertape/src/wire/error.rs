//! The JSON-RPC error object.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The text is not JSON.
pub const PARSE_ERROR: i32 = -32700;
/// The JSON is not a request.
pub const INVALID_REQUEST: i32 = -32600;
/// No such method here.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// The method is known, its parameters are not right.
pub const INVALID_PARAMS: i32 = -32602;
/// The server is at fault.
pub const INTERNAL_ERROR: i32 = -32603;

/// What a peer is told when a request cannot be served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct RpcError {
    /// One of the codes of JSON-RPC or MCP.
    pub code: i32,
    /// The cause and the way out, in one sentence.
    pub message: String,
    /// What a program can act on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// An error of any code.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The text is not JSON (-32700).
    pub fn parse(message: impl Into<String>) -> Self {
        Self::new(PARSE_ERROR, message)
    }

    /// The JSON is not a request (-32600).
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(INVALID_REQUEST, message)
    }

    /// No such method (-32601).
    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("method not found: {}", excerpt(method)))
    }

    /// The parameters are not right (-32602).
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// The server is at fault (-32603).
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(INTERNAL_ERROR, message)
    }

    /// The same error with data for programs.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for RpcError {}

/// The most of a peer's own text that is quoted back at it.
const EXCERPT: usize = 120;

/// The beginning of a peer's text, quoted, so that no message grows with what a peer sent.
#[must_use]
pub fn excerpt(text: &str) -> String {
    let mut chars = text.escape_debug();
    let head: String = chars.by_ref().take(EXCERPT).collect();
    let ellipsis = if chars.next().is_some() { "…" } else { "" };
    format!("\"{head}{ellipsis}\"")
}

/// The beginning of a peer's text, as it is.
#[must_use]
pub fn shortened(text: &str) -> &str {
    text.char_indices().nth(EXCERPT).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::RpcError;

    #[test]
    fn a_long_method_is_quoted_in_part() {
        let error = RpcError::method_not_found(&"é\n".repeat(1 << 20));
        assert!(error.message.chars().count() <= 200, "{}", error.message);
        assert!(error.message.ends_with("…\""));
    }
}
