//! A schema to those that apply to a value: what it is composed of, and where references lead.

use serde_json::{Map, Value};

/// How many schemas may apply to one value before the others are not looked at.
const MOST_APPLICABLE: usize = 256;

/// All schemas that may apply to the same value as this one: itself, where `$ref` leads, and what it is composed of.
pub(super) fn applicable<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let mut found: Vec<&Value> = Vec::new();
    let mut todo = vec![schema];
    while let Some(schema) = todo.pop() {
        if found.len() == MOST_APPLICABLE || found.iter().any(|known| std::ptr::eq(*known, schema)) {
            continue;
        }
        found.push(schema);
        todo.extend(target(root, schema));
        for keyword in ["allOf", "anyOf", "oneOf"] {
            todo.extend(schema.get(keyword).and_then(Value::as_array).into_iter().flatten().rev());
        }
        todo.extend(["then", "else"].into_iter().filter_map(|keyword| schema.get(keyword)));
    }
    found
}

/// Where the `$ref` of a schema leads, if it has one that leads to a place in the same document.
pub(super) fn target<'a>(root: &'a Value, schema: &Value) -> Option<&'a Value> {
    let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
    root.pointer(pointer).or_else(|| {
        let decoded = percent_encoding::percent_decode_str(pointer).decode_utf8().ok()?;
        root.pointer(&decoded)
    })
}

/// The schemas of a member of an object, or of an item of an array, that the schema has for it.
pub(super) fn step<'a>(root: &'a Value, schemas: &[&'a Value], step: &str) -> Vec<&'a Value> {
    let mut found = Vec::new();
    for schema in schemas.iter().flat_map(|schema| applicable(root, schema)) {
        let named = schema.get("properties").and_then(|properties| properties.get(step));
        let at = || schema.get("prefixItems")?.get(step.parse::<usize>().ok()?);
        let other =
            || schema.get("items").or(schema.get("additionalProperties")).filter(|part| part.is_object());
        found.extend(named.or_else(at).or_else(other));
    }
    found.truncate(MOST_APPLICABLE);
    found
}

/// The schemas for the value at a JSON pointer.
pub(super) fn at_pointer<'a>(root: &'a Value, pointer: &str) -> Vec<&'a Value> {
    pointer
        .split('/')
        .skip(1)
        .fold(vec![root], |schemas, name| step(root, &schemas, &name.replace("~1", "/").replace("~0", "~")))
}

/// The names that `required` lists.
pub(super) fn required(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}
