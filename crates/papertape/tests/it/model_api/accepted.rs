//! What each API accepts as a schema of arguments, as far as its documentation and its errors say so. What it does not accept
//! is a panic. interop/model_apis checks the same with the official packages.

use papertape_schema::Draft;
use serde_json::{Map, Value};

/// OpenAI and Anthropic: JSON Schema with an object at the root, and no alternatives beside it.
pub(super) fn plain(schema: &Value) {
    let root = schema.as_object().expect("an object");
    assert_eq!(root["type"], "object");
    assert!(root["properties"].is_object(), "{schema}");
    for keyword in ["anyOf", "oneOf", "allOf", "enum", "not", "$ref"] {
        assert!(!root.contains_key(keyword), "{keyword} at the root: {schema}");
    }
    papertape_schema::Validator::new(schema, Draft::Draft202012).expect("a valid schema");
    no_references(schema);
    arrays_have_items(schema);
}

fn no_references(value: &Value) {
    match value {
        Value::Object(map) => {
            let is_reference = map.get("$ref").is_some_and(Value::is_string);
            assert!(!is_reference, "{value}");
            map.iter().filter(|(name, _)| !["default", "enum"].contains(&name.as_str())).for_each(
                |(_, it)| {
                    no_references(it);
                },
            );
        }
        Value::Array(list) => list.iter().for_each(no_references),
        _ => {}
    }
}

fn arrays_have_items(schema: &Value) {
    let Some(map) = schema.as_object() else { panic!("not a schema: {schema}") };
    if map.get("type") == Some(&"array".into()) {
        assert!(map["items"].is_object(), "{schema}");
    }
    each_part(map, &mut arrays_have_items);
}

/// The schemas right within a schema.
fn each_part(map: &Map<String, Value>, see: &mut dyn FnMut(&Value)) {
    map.get("properties").and_then(Value::as_object).into_iter().flatten().for_each(|(_, part)| see(part));
    map.get("anyOf").and_then(Value::as_array).into_iter().flatten().for_each(&mut *see);
    map.get("items").into_iter().for_each(&mut *see);
    map.get("additionalProperties").filter(|it| it.is_object()).into_iter().for_each(see);
}

/// OpenAI's strict mode.
pub(super) fn strict(schema: &Value) {
    assert!(schema.get("anyOf").is_none(), "{schema}");
    strict_part(schema, 1);
    plain(schema);
}

fn strict_part(schema: &Value, depth: usize) {
    const KNOWN: [&str; 17] = [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "anyOf",
        "enum",
        "description",
        "pattern",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    ];
    assert!(depth <= 12, "too deep");
    let map = schema.as_object().expect("an object");
    for key in map.keys() {
        assert!(KNOWN.contains(&key.as_str()), "{key}: {schema}");
    }
    assert!(map.contains_key("type") || map.contains_key("anyOf"), "{schema}");
    if map.get("type") == Some(&"object".into()) {
        assert_eq!(map["additionalProperties"], false);
        let properties: Vec<&str> =
            map["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let required: Vec<&str> =
            map["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(properties, required);
    }
    each_part(map, &mut |part| strict_part(part, depth + 1));
}

/// Anthropic also limits the names of arguments.
pub(super) fn anthropic(schema: &Value) {
    plain(schema);
    for name in schema["properties"].as_object().unwrap().keys() {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        assert!((1..=64).contains(&name.len()) && name.chars().all(is_allowed), "{name:?}");
    }
}

/// Gemini; `null` stands for no arguments.
pub(super) fn gemini(schema: &Value) {
    if !schema.is_null() {
        assert_eq!(schema["type"], "OBJECT");
        gemini_part(schema);
    }
}

fn gemini_part(schema: &Value) {
    const KNOWN: [&str; 17] = [
        "type",
        "format",
        "description",
        "nullable",
        "enum",
        "items",
        "properties",
        "required",
        "anyOf",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "minimum",
    ];
    let map = schema.as_object().expect("an object");
    for key in map.keys() {
        assert!(KNOWN.contains(&key.as_str()) || key == "maximum", "{key}: {schema}");
    }
    let kind = map.get("type").and_then(Value::as_str);
    match (kind, map.get("anyOf")) {
        (Some(kind), None) => {
            let kinds = ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"];
            assert!(kinds.contains(&kind), "{schema}");
        }
        (None, Some(Value::Array(alternatives))) => assert!(!alternatives.is_empty()),
        _ => panic!("a type or alternatives: {schema}"),
    }
    if let Some(values) = map.get("enum") {
        assert_eq!(kind, Some("STRING"), "{schema}");
        let values = values.as_array().unwrap();
        assert!(!values.is_empty() && values.iter().all(|it| it.as_str().is_some_and(|it| !it.is_empty())));
    }
    assert!(kind != Some("ARRAY") || map.contains_key("items"), "{schema}");
    if let Some(properties) = map.get("properties") {
        assert!(!properties.as_object().unwrap().is_empty(), "{schema}");
    }
    for name in map.get("required").and_then(Value::as_array).into_iter().flatten() {
        assert!(map["properties"].get(name.as_str().unwrap()).is_some(), "{schema}");
    }
    if let Some(format) = map.get("format").and_then(Value::as_str) {
        assert!(["date-time", "int32", "int64", "float", "double"].contains(&format), "{format}");
    }
    each_part(map, &mut gemini_part);
}
