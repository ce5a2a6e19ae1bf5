//! The headers of a stateless request, which must say what its body says (`Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`).

use data_encoding::BASE64;
use http::{HeaderMap, HeaderValue};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::protocol::error_code::HEADER_MISMATCH;
use crate::protocol::method;
use crate::server::features::tool::RegisteredTool;
use crate::server::pipeline::{HeaderCheck, Params, read_object};
use crate::transport::http::headers;
use crate::wire::RpcError;
use crate::wire::error::excerpt;
use crate::wire::message;

/// The headers of a stateless request.
pub(crate) struct MirrorHeaders<'a>(pub(crate) &'a HeaderMap);

impl HeaderCheck for MirrorHeaders<'_> {
    fn check_body(&self, method: &str, params: &Params<'_>) -> Result<(), RpcError> {
        let meta = params.meta.as_ref().ok_or_else(|| {
            RpcError::invalid_params("the request needs `params._meta`, which names its protocol version")
        })?;
        let version = meta.protocol_version()?.ok_or_else(|| {
            let key = crate::protocol::meta::PROTOCOL_VERSION;
            RpcError::invalid_params(format!("the request needs `params._meta[\"{key}\"]`"))
        })?;
        meta.client_capabilities()?;
        compare(self.0, headers::PROTOCOL_VERSION, &version, "`_meta` says", PLAIN)?;
        compare(self.0, headers::METHOD, method, "the method is", PLAIN)?;
        let text = |raw: Option<&RawValue>| raw.and_then(message::string).map(std::borrow::Cow::into_owned);
        let name = match method {
            method::TOOLS_CALL | method::PROMPTS_GET => text(params.name),
            method::RESOURCES_READ => text(params.uri),
            method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => text(params.task_id),
            _ => None,
        };
        match name {
            Some(name) => compare(self.0, headers::NAME, &name, "the request is about", WRAPPED),
            None => Ok(()),
        }
    }

    fn check_arguments(
        &self,
        tool: &RegisteredTool,
        params: &Params<'_>,
        tree: usize,
    ) -> Result<(), RpcError> {
        if tool.mirrored().is_empty() {
            return Ok(());
        }
        let arguments = Value::Object(read_object("params.arguments", params.arguments, tree)?);
        for (header, path) in tool.mirrored() {
            let name = format!("{}{header}", headers::PARAM);
            match (headers::param_value(&arguments, path), self.0.contains_key(&name)) {
                (Some(value), _) => {
                    let member = path.iter().try_fold(&arguments, |value, member| value.get(member));
                    let same = if member.is_some_and(Value::is_number) { same_number } else { same_text };
                    compare(self.0, &name, &value, "the argument is", HeaderRule { same, ..WRAPPED })?;
                }
                (None, true) => {
                    let message = format!("`{name}` mirrors an argument that is not there");
                    return Err(RpcError::new(HEADER_MISMATCH, message));
                }
                (None, false) => {}
            }
        }
        Ok(())
    }
}

/// How a header is read and compared with the body.
#[derive(Clone, Copy)]
struct HeaderRule {
    text: fn(&HeaderValue) -> Result<String, Undecodable>,
    /// Whether the header says what the body says.
    same: fn(&str, &str) -> bool,
}

/// Letter for letter. The Base64 form is not decoded: `Mcp-Method: =?base64?..?=` would pass a gateway that allows methods by
/// their names.
const PLAIN: HeaderRule = HeaderRule { text: plain, same: same_text };

/// As it is, or in the Base64 form that `Mcp-Name` and `Mcp-Param-*` may have.
const WRAPPED: HeaderRule = HeaderRule { text: decode, same: same_text };

/// Why the value of a header cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum Undecodable {
    #[error("it has bytes that are not ASCII text")]
    NotText,
    #[error("it has bytes that are not ASCII text: encode it as =?base64?..?= with the base64 of its UTF-8")]
    NotAscii,
    #[error("what stands between =?base64? and ?= is not base64")]
    NotBase64,
    #[error("what stands between =?base64? and ?= is not the base64 of UTF-8")]
    NotUtf8,
}

/// The text of a header that is never base64: a gateway that routes by it must see the same value as the server.
fn plain(value: &HeaderValue) -> Result<String, Undecodable> {
    let text = value.to_str().map_err(|_| Undecodable::NotText)?;
    Ok(text.trim_matches([' ', '\t']).to_owned())
}

/// The text of `Mcp-Name` or `Mcp-Param-*`, the only headers that may be base64.
fn decode(value: &HeaderValue) -> Result<String, Undecodable> {
    let text = plain(value).map_err(|_| Undecodable::NotAscii)?;
    let wrapped = text.strip_prefix(headers::OPEN).and_then(|rest| rest.strip_suffix(headers::CLOSE));
    let Some(base64) = wrapped else { return Ok(text) };
    let bytes = BASE64.decode(base64.as_bytes()).map_err(|_| Undecodable::NotBase64)?;
    String::from_utf8(bytes).map_err(|_| Undecodable::NotUtf8)
}

/// One header must be there once, and say what the body says.
fn compare(
    headers: &HeaderMap,
    name: &str,
    body: &str,
    says: &str,
    reading: HeaderRule,
) -> Result<(), RpcError> {
    let mismatch = |problem: String| RpcError::new(HEADER_MISMATCH, format!("the header `{name}` {problem}"));
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Err(mismatch(format!("is missing: {says} {}", excerpt(body))));
    };
    if values.next().is_some() {
        return Err(mismatch("is there more than once".to_owned()));
    }
    let value = (reading.text)(value).map_err(|why| mismatch(format!("cannot be read: {why}")))?;
    if (reading.same)(&value, body) {
        return Ok(());
    }
    Err(mismatch(format!("says {}, but {says} {}", excerpt(&value), excerpt(body))))
}

fn same_text(header: &str, body: &str) -> bool {
    header == body
}

/// `42.0` is 42, as long as a float can represent every integer of that size.
fn same_number(header: &str, body: &str) -> bool {
    const MOST: f64 = 9_007_199_254_740_991.0;
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.abs() <= MOST);
    header == body || number(body).is_some_and(|body| number(header) == Some(body))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{Undecodable, decode};
    use crate::transport::http::headers;

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
    fn what_only_looks_like_base64_is_taken_as_it_is() {
        for text in ["=?BASE64?eA==?=", "=?base64?="] {
            assert_eq!(decode(&HeaderValue::from_static(text)).as_deref(), Ok(text));
        }
    }

    proptest! {
        #[test]
        fn any_text_round_trips(text in any::<String>()) {
            let value = headers::encode(&text);
            prop_assert!(value.to_str().is_ok());
            prop_assert_eq!(decode(&value).unwrap(), text);
        }
    }
}
