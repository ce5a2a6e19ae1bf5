//! MCP's own HTTP headers: their names, and the values that a client gives them.

#[cfg(any(test, feature = "http-client"))]
use data_encoding::BASE64;
#[cfg(any(test, feature = "http-client"))]
use http::HeaderValue;
use serde_json::Value;

/// The revision of a message.
pub(crate) const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The session id, in session-based revisions.
pub(crate) const SESSION_ID: &str = "mcp-session-id";
/// The method of a request.
pub(crate) const METHOD: &str = "mcp-method";
/// The name of the tool or prompt, the URI of the resource, or the id of the task.
pub(crate) const NAME: &str = "mcp-name";
/// The prefix of headers that repeat an argument.
pub(crate) const PARAM: &str = "mcp-param-";

/// What stands before and after a value in base64 (case-sensitive).
pub(crate) const OPEN: &str = "=?base64?";
pub(crate) const CLOSE: &str = "?=";

/// Text as the value of a header: as it is, or as base64 if a header cannot represent it.
#[cfg(any(test, feature = "http-client"))]
pub(crate) fn encode(text: &str) -> HeaderValue {
    let plain = text.bytes().all(|b| b == b' ' || b.is_ascii_graphic())
        && !text.starts_with(' ')
        && !text.ends_with(' ')
        && text.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE)).is_none();
    let value = if plain {
        HeaderValue::from_str(text)
    } else {
        HeaderValue::from_str(&format!("{OPEN}{}{CLOSE}", BASE64.encode(text.as_bytes())))
    };
    // Both forms are valid header values.
    value.unwrap_or(HeaderValue::from_static(""))
}

/// The argument at a path, as text; `None` if it is absent, null, an array or an object.
pub(crate) fn param_value(arguments: &Value, path: &[String]) -> Option<String> {
    match path.iter().try_fold(arguments, |value, member| value.get(member))? {
        Value::String(text) => Some(text.clone()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(match number.as_f64() {
            // `42.0` is the integer 42.
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
                format!("{float:.0}")
            }
            _ => number.to_string(),
        }),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{encode, param_value};

    #[test]
    fn valid_header_values_are_not_encoded() {
        for (text, value) in [
            ("us-west1", "us-west1"),
            ("", ""),
            ("two words", "two words"),
            (" lead", "=?base64?IGxlYWQ=?="),
            ("trail ", "=?base64?dHJhaWwg?="),
            ("a\tb", "=?base64?YQli?="),
            ("é", "=?base64?w6k=?="),
            ("a\r\nb", "=?base64?YQ0KYg==?="),
            ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
            ("=?BASE64?eA==?=", "=?BASE64?eA==?="),
            ("=?base64?=", "=?base64?="),
        ] {
            assert_eq!(encode(text), value, "{text:?}");
        }
    }

    #[test]
    fn only_scalar_arguments_have_a_value() {
        let arguments = json!({"a": {"b": "x"}, "i": -7, "f": 42.0, "t": true, "n": null, "l": [1]});
        let of = |path: &[&str]| {
            param_value(&arguments, &path.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(of(&["a", "b"]).as_deref(), Some("x"));
        assert_eq!(of(&["i"]).as_deref(), Some("-7"));
        assert_eq!(of(&["f"]).as_deref(), Some("42"));
        assert_eq!(of(&["t"]).as_deref(), Some("true"));
        for nothing in [&["n"][..], &["l"], &["a"], &["a", "b", "c"], &["no"]] {
            assert_eq!(of(nothing), None, "{nothing:?}");
        }
    }
}
