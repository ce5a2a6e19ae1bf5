//! The values of MCP's own HTTP headers, encoded and decoded.

use data_encoding::BASE64;
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

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// Why the value of a header cannot be decoded.
#[cfg(any(test, feature = "http-server"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Undecodable {
    #[error("it has bytes that are not ASCII text")]
    NotText,
    #[error("it has bytes that are not ASCII text: encode it as =?base64?..?= with the base64 of its UTF-8")]
    NotAscii,
    #[error("what stands between =?base64? and ?= is not base64")]
    NotBase64,
    #[error("what stands between =?base64? and ?= is not the base64 of UTF-8")]
    NotUtf8,
}

/// Text as the value of a header: as it is, or as base64 if a header cannot represent it.
#[cfg(any(test, feature = "http-client"))]
pub(crate) fn encode(text: &str) -> HeaderValue {
    let plain = text.bytes().all(|b| b == b' ' || b.is_ascii_graphic())
        && !text.starts_with(' ')
        && !text.ends_with(' ')
        && wrapped(text).is_none();
    let value = if plain {
        HeaderValue::from_str(text)
    } else {
        HeaderValue::from_str(&format!("{OPEN}{}{CLOSE}", BASE64.encode(text.as_bytes())))
    };
    // Both forms are valid header values.
    value.unwrap_or(HeaderValue::from_static(""))
}

/// The text of a header that is never base64: a gateway that routes by it must see the same value as the server.
#[cfg(any(test, feature = "http-server"))]
pub(crate) fn plain(value: &HeaderValue) -> Result<String, Undecodable> {
    let text = value.to_str().map_err(|_| Undecodable::NotText)?;
    Ok(text.trim_matches([' ', '\t']).to_owned())
}

/// The text of `Mcp-Name` or `Mcp-Param-*`, the only headers that may be base64.
#[cfg(any(test, feature = "http-server"))]
pub(crate) fn decode(value: &HeaderValue) -> Result<String, Undecodable> {
    let text = plain(value).map_err(|_| Undecodable::NotAscii)?;
    let Some(base64) = wrapped(&text) else { return Ok(text) };
    let bytes = BASE64.decode(base64.as_bytes()).map_err(|_| Undecodable::NotBase64)?;
    String::from_utf8(bytes).map_err(|_| Undecodable::NotUtf8)
}

/// The text between the base64 markers, if they are present (case-sensitive).
fn wrapped(text: &str) -> Option<&str> {
    text.strip_prefix(OPEN)?.strip_suffix(CLOSE)
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

#[cfg(all(test, feature = "http-client", feature = "http-server"))]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use serde_json::json;

    use super::{Undecodable, decode, encode, param_value};

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
            let encoded = encode(text);
            assert_eq!(encoded, value, "{text:?}");
            assert_eq!(decode(&encoded).as_deref(), Ok(text));
        }
    }

    #[test]
    fn undecodable_values_are_rejected_with_a_reason() {
        let of = |bytes: &[u8]| decode(&HeaderValue::from_bytes(bytes).unwrap());
        assert_eq!(of(b"\t plain \t"), Ok("plain".to_owned()));
        assert_eq!(of(b"\xc3\xa9"), Err(Undecodable::NotAscii));
        for bad in [&b"=?base64?eA?="[..], b"=?base64?e A==?=", b"=?base64?eA-_?=", b"=?base64?eB==?="] {
            assert_eq!(of(bad), Err(Undecodable::NotBase64), "{bad:?}");
        }
        assert_eq!(of(b"=?base64?/w==?="), Err(Undecodable::NotUtf8));
        assert_eq!(of(b"=?base64??="), Ok(String::new()));
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

    proptest! {
        #[test]
        fn any_text_round_trips(text in any::<String>()) {
            let value = encode(&text);
            prop_assert!(value.to_str().is_ok());
            prop_assert_eq!(decode(&value).unwrap(), text);
        }
    }
}
