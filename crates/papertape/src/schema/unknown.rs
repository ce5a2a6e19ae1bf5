//! Members that a type does not have.

use serde_json::Value;

use super::walk;

/// What arguments of a type are checked against: its schema, with members refused that the type does not have. Where the
/// schema says that others are welcome (a map, `serde(flatten)`), they are.
pub(crate) fn refuse_unknown(schema: &Value) -> Value {
    let mut closed = schema.clone();
    if mixes_references(schema) {
        return closed;
    }
    close(&mut closed);
    closed
}

/// Whether a member of an object may be described by a part that is used elsewhere too, where it means something else.
fn mixes_references(schema: &Value) -> bool {
    let mixes = schema.get("properties").is_some()
        && walk::applicable(&Value::Null, schema).iter().any(|part| part.get("$ref").is_some());
    mixes || papertape_schema::subschemas(schema).iter().any(|(_, part)| mixes_references(part))
}

fn close(schema: &mut Value) {
    // What is said about a part there is not said about the value.
    if ["not", "if"].iter().any(|keyword| schema.get(keyword).is_some()) {
        return;
    }
    let is_composed = ["allOf", "anyOf", "oneOf"].iter().any(|keyword| schema.get(keyword).is_some());
    let names_members = schema.get("properties").is_some();
    if !is_open(schema)
        && (names_members || schema.get("allOf").is_some())
        && let Some(members) = schema.as_object_mut()
    {
        let keyword = if is_composed { "unevaluatedProperties" } else { "additionalProperties" };
        members.insert(keyword.to_owned(), Value::Bool(false));
    }
    if is_composed && (names_members || schema.get("allOf").is_some()) {
        close_within(schema);
    } else {
        papertape_schema::change_subschemas(schema, &mut close);
    }
}

/// Closes what is within a schema whose members are those of several parts together.
fn close_within(schema: &mut Value) {
    for (keyword, value) in schema.as_object_mut().into_iter().flatten() {
        match (keyword.as_str(), value) {
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => parts.iter_mut().for_each(close_within),
            ("properties" | "$defs", Value::Object(parts)) => parts.values_mut().for_each(close),
            ("items" | "additionalProperties", part) => close(part),
            _ => {}
        }
    }
}

fn is_open(schema: &Value) -> bool {
    ["additionalProperties", "patternProperties", "unevaluatedProperties"]
        .iter()
        .any(|keyword| schema.get(keyword).is_some())
}
