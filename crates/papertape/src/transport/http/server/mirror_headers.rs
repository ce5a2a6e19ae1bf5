//! The headers of a stateless request, which must say what its body says (`Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`).

use http::{HeaderMap, HeaderValue};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::protocol::error_code::HEADER_MISMATCH;
use crate::protocol::method;
use crate::server::features::tool::RegisteredTool;
use crate::server::pipeline::{HeaderCheck, Params, arguments};
use crate::transport::http::headers::{self, Undecodable};
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
        let arguments = Value::Object(arguments::read("params.arguments", params.arguments, tree)?);
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
const PLAIN: HeaderRule = HeaderRule { text: headers::plain, same: same_text };

/// As it is, or in the Base64 form that `Mcp-Name` and `Mcp-Param-*` may have.
const WRAPPED: HeaderRule = HeaderRule { text: headers::decode, same: same_text };

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
