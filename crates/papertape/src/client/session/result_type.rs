//! The `resultType` of a result: complete, `input_required`, a task, or unknown.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Failure;
use crate::client::error::ErrorKind;
use crate::wire::error::excerpt;

/// A result with which the server requests input.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::client) struct InputRequired<'a> {
    #[serde(borrow, default)]
    result_type: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(in crate::client) input_requests: Option<BTreeMap<String, InputRequest<'a>>>,
    pub(in crate::client) request_state: Option<String>,
}

#[derive(Deserialize)]
pub(in crate::client) struct InputRequest<'a> {
    pub(in crate::client) method: String,
    #[serde(borrow, default)]
    pub(in crate::client) params: Option<&'a RawValue>,
}

/// What a result is.
pub(in crate::client) enum ResultType<'a> {
    Complete,
    InputRequired(InputRequired<'a>),
    /// A task, in place of the result of a call.
    Task,
}

/// The type of a result.
pub(in crate::client) fn read(raw: &RawValue) -> Result<ResultType<'_>, Box<Failure>> {
    let result: InputRequired<'_> = serde_json::from_str(raw.get()).map_err(|error| {
        Box::new(Failure::protocol(format!("the result is invalid: {error}"), raw.get().as_bytes()))
    })?;
    match result.result_type.map(RawValue::get) {
        None | Some("\"complete\"") => Ok(ResultType::Complete),
        Some("\"input_required\"") => Ok(ResultType::InputRequired(result)),
        Some(TASK) => Ok(ResultType::Task),
        Some(other) => Err(not_allowed(other, raw)),
    }
}

/// Whether the result of a tool says that it failed.
pub(super) fn is_error(raw: &RawValue) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Failed {
        #[serde(default)]
        is_error: bool,
    }
    serde_json::from_str::<Failed>(raw.get()).is_ok_and(|result| result.is_error)
}

/// The failure of a request whose result cannot be a task, or whose client does not declare tasks.
pub(in crate::client) fn not_a_task(raw: &RawValue) -> Box<Failure> {
    not_allowed(TASK, raw)
}

const TASK: &str = "\"task\"";

/// The result types of MCP and its extensions.
const KNOWN: [&str; 3] = ["\"complete\"", "\"input_required\"", TASK];

/// Rejects a result of a stateless revision that is not complete.
pub(in crate::client) fn check_complete(raw: &RawValue) -> Result<(), Box<Failure>> {
    check(raw, &KNOWN[..1])
}

/// Rejects a result of an unknown type; the known ones are for the caller to handle.
pub(in crate::client) fn check_known(raw: &RawValue) -> Result<(), Box<Failure>> {
    check(raw, &KNOWN)
}

fn check(raw: &RawValue, allowed: &[&str]) -> Result<(), Box<Failure>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Typed<'a> {
        #[serde(borrow, default)]
        result_type: Option<&'a RawValue>,
    }
    // A result that is not an object has no type; the caller rejects it.
    let result_type = serde_json::from_str::<Typed<'_>>(raw.get()).ok().and_then(|result| result.result_type);
    match result_type.map(RawValue::get) {
        Some(result_type) if !allowed.contains(&result_type) => Err(not_allowed(result_type, raw)),
        _ => Ok(()),
    }
}

fn not_allowed(result_type: &str, raw: &RawValue) -> Box<Failure> {
    let quoted = match serde_json::from_str::<String>(result_type) {
        Ok(text) => excerpt(&text),
        Err(_) => excerpt(result_type).trim_matches('"').to_owned(),
    };
    let kind = ErrorKind::ResultType(quoted);
    Box::new(Failure { kind, ..Failure::protocol(String::new(), raw.get().as_bytes()) })
}
