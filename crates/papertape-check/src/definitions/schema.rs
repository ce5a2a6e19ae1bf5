//! What is wrong with a JSON Schema.

use papertape::wire::error::excerpt;
use papertape_schema::{Draft, Validator};
use serde_json::Value;

use super::walk;

/// What kind of problem it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProblemKind {
    /// It violates its metaschema.
    Invalid,
    /// `required` is `true` or `false`, as in draft-03 and in the parameters of OpenAPI.
    RequiredFlag,
    /// A `$ref` leads nowhere.
    Reference,
    /// A `$ref` leads back to itself.
    Cycle,
    /// A `pattern` is not a regular expression of ECMAScript.
    Pattern,
}

/// Something wrong with a schema.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) kind: ProblemKind,
    /// Where it is, as a JSON pointer.
    pub(super) pointer: String,
    pub(super) message: String,
}

/// What is wrong with a schema: every `required` that is a boolean, and the first problem of other kinds.
pub(super) fn problems(schema: &Value) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut rest = schema.clone();
    for part in walk::parts(schema) {
        if part.schema.get("required").is_some_and(Value::is_boolean) {
            if let Some(members) = rest.pointer_mut(&part.pointer).and_then(Value::as_object_mut) {
                members.remove("required");
            }
            let message = "`required` is a boolean".to_owned();
            found.push(Problem { kind: ProblemKind::RequiredFlag, pointer: part.at("required"), message });
        }
    }
    found.extend(other(&rest));
    found
}

fn other(schema: &Value) -> Option<Problem> {
    let dialect = schema.get("$schema").and_then(Value::as_str);
    if dialect.is_some_and(|dialect| Draft::of(dialect).is_none()) {
        // Of other dialects it cannot be told.
        return None;
    }
    let error = Validator::new(schema, Draft::Draft202012).err()?;
    let message = error.to_string();
    if let Some(pointer) = error.pointer() {
        let name = schema.pointer(pointer).and_then(Value::as_str).filter(|_| pointer.ends_with("/type"));
        let message = name.map_or(message, |name| format!("there is no type {}", excerpt(name)));
        return Some(Problem { kind: ProblemKind::Invalid, pointer: pointer.to_owned(), message });
    }
    // The error names the keyword and its value, which lead to the place.
    let place = |keyword: &str| {
        let parts = walk::parts(schema);
        let part = parts.iter().find(|part| {
            let value = part.schema.get(keyword).and_then(Value::as_str);
            value.is_some_and(|value| message.contains(&format!("\"{value}\"")))
        });
        part.map(|part| part.at(keyword)).unwrap_or_default()
    };
    if message.starts_with("the `$ref`") {
        let is_cycle = message.ends_with("leads back to itself");
        let kind = if is_cycle { ProblemKind::Cycle } else { ProblemKind::Reference };
        return Some(Problem { kind, pointer: place("$ref"), message });
    }
    // What is left are limits of the validator, such as references that are too many.
    message.starts_with("the pattern").then(|| Problem {
        kind: ProblemKind::Pattern,
        pointer: place("pattern"),
        message: message.clone(),
    })
}
