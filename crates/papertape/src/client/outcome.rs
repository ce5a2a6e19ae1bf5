//! What kind of result came: the last word, a question, or one that this client does not know.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::ErrorKind;
use super::session::Trouble;
use crate::wire::error::excerpt;

/// A result that may not be the last word.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome<'a> {
    #[serde(borrow, default)]
    result_type: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) input_requests: Option<BTreeMap<String, Question<'a>>>,
    pub(super) request_state: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Question<'a> {
    pub(super) method: String,
    #[serde(borrow, default)]
    pub(super) params: Option<&'a RawValue>,
}

/// Reads the questions of a result; `None` if it is complete.
pub(super) fn questions(raw: &RawValue) -> Result<Option<Outcome<'_>>, Box<Trouble>> {
    let outcome: Outcome<'_> = serde_json::from_str(raw.get()).map_err(|error| {
        Box::new(Trouble::broken(format!("the result makes no sense: {error}"), raw.get().as_bytes()))
    })?;
    match outcome.result_type.map(RawValue::get) {
        None | Some("\"complete\"") => Ok(None),
        Some("\"input_required\"") => Ok(Some(outcome)),
        Some(other) => Err(unknown(other, raw)),
    }
}

/// The kinds of results that MCP and its extensions know.
const KNOWN: [&str; 3] = ["\"complete\"", "\"input_required\"", "\"task\""];

/// Refuses a result of a stateless revision that is not complete, where no other kind is allowed.
pub(super) fn check_complete(raw: &RawValue) -> Result<(), Box<Trouble>> {
    check(raw, &KNOWN[..1])
}

/// Refuses one of a kind that is known nowhere; the others are for the caller to handle.
pub(super) fn check_known(raw: &RawValue) -> Result<(), Box<Trouble>> {
    check(raw, &KNOWN)
}

fn check(raw: &RawValue, allowed: &[&str]) -> Result<(), Box<Trouble>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Kind<'a> {
        #[serde(borrow, default)]
        result_type: Option<&'a RawValue>,
    }
    // What is not an object has no kind; the caller finds out what it is.
    let kind = serde_json::from_str::<Kind<'_>>(raw.get()).ok().and_then(|kind| kind.result_type);
    match kind.map(RawValue::get) {
        Some(kind) if !allowed.contains(&kind) => Err(unknown(kind, raw)),
        _ => Ok(()),
    }
}

fn unknown(kind: &str, raw: &RawValue) -> Box<Trouble> {
    let kind = match serde_json::from_str::<String>(kind) {
        Ok(text) => excerpt(&text),
        Err(_) => excerpt(kind).trim_matches('"').to_owned(),
    };
    let kind = ErrorKind::ResultType(kind);
    Box::new(Trouble { kind, ..Trouble::broken(String::new(), raw.get().as_bytes()) })
}
