//! `null` for an optional member is the same as no member: models in OpenAI's strict mode name every argument.

use serde_json::Value;

use super::walk;

/// Leaves out the members of arguments that are `null`, need not be there, and must not be `null` by their schema.
pub(crate) fn leave_out_nulls(schema: &Value, arguments: &mut Value) {
    if has_null(arguments) {
        leave_out(schema, &[schema], arguments);
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        _ => false,
    }
}

fn leave_out<'a>(root: &'a Value, schemas: &[&'a Value], value: &mut Value) {
    match value {
        Value::Object(members) => {
            let schemas: Vec<&Value> =
                schemas.iter().flat_map(|schema| walk::applicable(root, schema)).collect();
            members.retain(|name, value| !value.is_null() || !may_be_left_out(root, &schemas, name));
            for (name, value) in members.iter_mut().filter(|(_, value)| has_null(value)) {
                leave_out(root, &walk::step(root, &schemas, name), value);
            }
        }
        Value::Array(items) => {
            for (at, value) in items.iter_mut().enumerate().filter(|(_, value)| has_null(value)) {
                leave_out(root, &walk::step(root, schemas, &at.to_string()), value);
            }
        }
        _ => {}
    }
}

/// Whether a schema names this member as optional, and none lets it be `null`.
fn may_be_left_out(root: &Value, schemas: &[&Value], name: &str) -> bool {
    let mut optional = false;
    for schema in schemas {
        let Some(property) = schema.get("properties").and_then(|properties| properties.get(name)) else {
            continue;
        };
        if allows_null(root, property, 0) {
            return false;
        }
        optional |=
            !schema.as_object().is_some_and(|schema| walk::required(schema).any(|known| known == name));
    }
    optional
}

/// References and compositions that are deeper within each other than this are taken to allow anything.
const DEEPEST: usize = 32;

fn allows_null(root: &Value, schema: &Value, depth: usize) -> bool {
    let Some(members) = schema.as_object().filter(|_| depth < DEEPEST) else {
        return schema != &Value::Bool(false);
    };
    let allows = |part: &Value| allows_null(root, part, depth + 1);
    members.iter().all(|(keyword, value)| match (keyword.as_str(), value) {
        ("type", Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
        ("type", kind) => kind == "null",
        ("enum", Value::Array(values)) => values.contains(&Value::Null),
        ("const", value) => value.is_null(),
        ("allOf", Value::Array(parts)) => parts.iter().all(allows),
        ("anyOf" | "oneOf", Value::Array(parts)) => parts.iter().any(allows),
        ("$ref", _) => walk::target(root, schema).is_none_or(allows),
        _ => true,
    })
}
