//! The JSON-RPC error object.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Id, shown};

pub use crate::protocol::error_code::{
    INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR,
};

/// The error of a request that cannot be served.
///
/// A peer's code may be written as `-32601.0` or `1e10`: that is the same integer. One that takes more than 64 bits
/// becomes -32603, and `message` names it, so that the error is not lost.
///
/// ```
/// use papertape::client::ClientOptions;
/// use papertape::wire::RpcError;
///
/// // What a client responds to a server that wants to sample.
/// let options = ClientOptions::new().on_sampling(async |_| Err(RpcError::new(1001, "the user has said no")));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "AsSent")]
#[non_exhaustive]
pub struct RpcError {
    /// One of the codes of JSON-RPC or MCP.
    pub code: i64,
    /// The cause and the remedy, in one sentence.
    pub message: String,
    /// Data for programs. Data with a number that no [`Value`] can hold is its JSON text, as a string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// An error object as peers send it.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct AsSent {
    code: Box<RawValue>,
    message: String,
    data: Option<Box<RawValue>>,
}

impl TryFrom<AsSent> for RpcError {
    type Error = String;

    fn try_from(sent: AsSent) -> Result<Self, String> {
        let data = sent
            .data
            .map(|data| serde_json::from_str(data.get()).unwrap_or_else(|_| Value::from(data.get())));
        match Id::parse(sent.code.get()) {
            Ok(Id::Integer(code)) => Ok(Self { code, message: sent.message, data }),
            Ok(Id::BigInteger(digits)) => {
                let message = format!("{} [code {}]", sent.message, shortened(&digits));
                Ok(Self { code: INTERNAL_ERROR, message, data })
            }
            _ => Err(format!("`code` must be an integer, got {}", shortened(sent.code.get()))),
        }
    }
}

impl RpcError {
    /// An error of any code.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
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

    /// The parameters are invalid (-32602).
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// An internal error of the server (-32603).
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

/// How many characters of a peer's text are quoted.
const EXCERPT: usize = 120;

/// The beginning of a peer's text, quoted and escaped, so that messages have a bounded size.
#[must_use]
pub fn excerpt(text: &str) -> String {
    let mut chars = text.escape_debug();
    let head: String = chars.by_ref().take(EXCERPT).collect();
    let ellipsis = if chars.next().is_some() { "…" } else { "" };
    let mut quoted = String::from("\"");
    for (c, is_shown) in shown::characters(&head) {
        match is_shown {
            true => quoted.push(c),
            false => quoted.extend(c.escape_unicode()),
        }
    }
    quoted + ellipsis + "\""
}

/// The beginning of a peer's text, as it is.
#[must_use]
pub fn shortened(text: &str) -> &str {
    text.char_indices().nth(EXCERPT).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::{RpcError, excerpt};

    #[test]
    fn an_error_is_read_whatever_its_code_is() {
        let read = |json: &str| {
            let error: RpcError = serde_json::from_str(json).unwrap();
            (error.code, error.message)
        };
        for (code, right) in [
            ("-32601", -32601),
            ("-32601.0", -32601),
            ("1e10", 10_000_000_000),
            ("2147483648", 2_147_483_648),
            ("-9223372036854775808", i64::MIN),
        ] {
            let json = format!(r#"{{"code":{code},"message":"m","data":{{"a":1}}}}"#);
            assert_eq!(read(&json), (right, "m".to_owned()), "{code}");
        }
        let large = "9223372036854775808";
        let json = format!(r#"{{"code":{large},"message":"m"}}"#);
        assert_eq!(read(&json), (-32603, format!("m [code {large}]")));
        for code in ["1.5", "\"ENOENT\"", "true", "{}"] {
            let json = format!(r#"{{"code":{code},"message":"m"}}"#);
            let error = serde_json::from_str::<RpcError>(&json).unwrap_err().to_string();
            assert!(error.contains("`code` must be an integer"), "{error}");
        }
        let error: RpcError = serde_json::from_str(r#"{"code":1,"message":"m","data":[1e999]}"#).unwrap();
        assert_eq!(error.data, Some("[1e999]".into()));
        assert!(
            serde_json::from_str::<RpcError>("[]").is_err() && serde_json::from_str::<RpcError>("5").is_err()
        );
    }

    #[test]
    fn invisible_characters_are_escaped() {
        assert_eq!(
            excerpt("a\u{e0041}\n\u{202e}\u{3164}é\u{fe01}\""),
            r#""a\u{e0041}\n\u{202e}\u{3164}é\u{fe01}\"""#
        );
    }

    #[test]
    fn a_long_method_is_quoted_in_part() {
        let error = RpcError::method_not_found(&"é\n".repeat(1 << 20));
        assert!(error.message.chars().count() <= 200, "{}", error.message);
        assert!(error.message.ends_with("…\""));
    }
}
