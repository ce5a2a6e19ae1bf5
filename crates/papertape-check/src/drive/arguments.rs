//! Input schemas to arguments: the required ones only, with values that the schema itself suggests.

use papertape_schema::{Draft, Validator};
use serde_json::{Map, Value, json};

/// How deep a schema is followed.
const DEPTH: usize = 16;

/// The longest string that is made, and the most items of an array.
const LONGEST: u64 = 4096;

/// Arguments that a tool accepts, by its schema. Nothing if they cannot be made.
pub(crate) fn valid(schema: &Value) -> Option<Value> {
    let validator = validator(schema)?;
    let arguments = value(schema, schema, 0)?;
    (arguments.is_object() && validator.is_valid(&arguments)).then_some(arguments)
}

/// A schema to a validator, if it is valid.
pub(crate) fn validator(schema: &Value) -> Option<Validator> {
    Validator::new(schema, Draft::Draft202012).ok()
}

/// Arguments that a schema does not accept, made from those that it accepts: without a required one, and with one of another
/// type. Each with what is wrong.
pub(crate) fn invalid(schema: &Value, valid: &Value) -> Vec<(Fault, String, Value)> {
    let Some(validator) = validator(schema) else { return Vec::new() };
    let mut made = Vec::new();
    let required = schema.get("required").and_then(Value::as_array);
    let first = required.into_iter().flatten().find_map(Value::as_str);
    let properties = schema.get("properties").and_then(Value::as_object);
    // The type is wrong whatever else may be: an object where a scalar is wanted, which nothing converts.
    let scalar = |name: &&String| {
        let kind = properties.and_then(|properties| properties.get(*name)?.get("type")?.as_str());
        kind.is_some_and(|kind| matches!(kind, "string" | "integer" | "number" | "boolean"))
    };
    let names = valid.as_object().into_iter().flat_map(Map::keys);
    let typed = names.clone().find(scalar).or_else(|| properties.and_then(|all| all.keys().find(scalar)));
    if let Some(name) = typed {
        made.push((Fault::WrongType, name.clone(), with(valid, name, Some(json!({"check": true})))));
    }
    if let Some(name) = first {
        made.push((Fault::Missing, name.to_owned(), with(valid, name, None)));
    }
    made.retain(|(_, _, arguments)| !validator.is_valid(arguments));
    made
}

/// What is wrong with arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A required argument is missing.
    Missing,
    /// An argument is an object, and should be a string, a number or a boolean.
    WrongType,
}

fn with(arguments: &Value, name: &str, value: Option<Value>) -> Value {
    let mut arguments = arguments.clone();
    if let Some(members) = arguments.as_object_mut() {
        match value {
            Some(value) => members.insert(name.to_owned(), value),
            None => members.remove(name),
        };
    }
    arguments
}

fn value(schema: &Value, root: &Value, depth: usize) -> Option<Value> {
    if depth > DEPTH {
        return None;
    }
    let schema = schema.as_object()?;
    if let Some(reference) = schema.get("$ref") {
        let target = root.pointer(reference.as_str()?.strip_prefix('#')?)?;
        return value(target, root, depth + 1);
    }
    if let Some(suggested) = suggested(schema) {
        return Some(suggested);
    }
    if let Some(choices) = ["anyOf", "oneOf"].iter().find_map(|name| schema.get(*name)?.as_array())
        && !schema.contains_key("properties")
    {
        return choices.iter().filter(|choice| !is_null(choice)).find_map(|one| value(one, root, depth + 1));
    }
    if let Some([only]) = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice)
        && !schema.contains_key("type")
    {
        return value(only, root, depth + 1);
    }
    match kind(schema)? {
        "object" => object(schema, root, depth),
        "array" => {
            let count = bound(schema, "minItems").unwrap_or(0);
            let item = || value(schema.get("items").unwrap_or(&json!({"type": "string"})), root, depth + 1);
            (count <= LONGEST / 64)
                .then(|| (0..count).map(|_| item()).collect::<Option<Vec<_>>>())?
                .map(Value::Array)
        }
        "string" => string(schema).map(Value::String),
        "integer" => number(schema).map(|number| json!(number)),
        "number" => number(schema).map(|number| json!(number)),
        "boolean" => Some(json!(false)),
        "null" => Some(Value::Null),
        _ => None,
    }
}

/// The value that a schema names itself.
fn suggested(schema: &Map<String, Value>) -> Option<Value> {
    let first = |name: &str| schema.get(name)?.as_array()?.first().cloned();
    let default = schema.get("default").filter(|default| !default.is_null()).cloned();
    schema.get("const").cloned().or_else(|| first("examples")).or(default).or_else(|| first("enum"))
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
}

fn kind(schema: &Map<String, Value>) -> Option<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => Some(kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        _ if schema.contains_key("properties") => Some("object"),
        _ if schema.contains_key("items") => Some("array"),
        _ => None,
    }
}

fn object(schema: &Map<String, Value>, root: &Value, depth: usize) -> Option<Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let mut members = Map::new();
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        let property = properties.and_then(|properties| properties.get(name))?;
        members.insert(name.to_owned(), value(property, root, depth + 1)?);
    }
    Some(Value::Object(members))
}

fn bound(schema: &Map<String, Value>, name: &str) -> Option<u64> {
    schema.get(name).and_then(Value::as_u64)
}

/// A string; whether it satisfies a pattern is seen when all arguments are validated.
fn string(schema: &Map<String, Value>) -> Option<String> {
    let mut text = match schema.get("format").and_then(Value::as_str) {
        Some("date") => "2026-01-31",
        Some("date-time") => "2026-01-31T12:00:00Z",
        Some("time") => "12:00:00Z",
        Some("email") => "user@example.com",
        Some("uri" | "url") => "https://example.com/",
        Some("hostname") => "example.com",
        Some("ipv4") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        _ => "example",
    }
    .to_owned();
    let shortest = bound(schema, "minLength").unwrap_or(0);
    if shortest > LONGEST {
        return None;
    }
    while u64::try_from(text.len()).is_ok_and(|length| length < shortest) {
        text.push('e');
    }
    if let Some(longest) = bound(schema, "maxLength") {
        text.truncate(usize::try_from(longest).unwrap_or(usize::MAX).min(text.len()));
    }
    Some(text)
}

/// A whole number, which is a number, too: 1, or the one next to it that the limits allow.
fn number(schema: &Map<String, Value>) -> Option<i64> {
    let limit = |name: &str| schema.get(name).and_then(Value::as_f64);
    let least =
        limit("minimum").map(f64::ceil).or_else(|| limit("exclusiveMinimum").map(|n| n.floor() + 1.0));
    let most = limit("maximum").map(f64::floor).or_else(|| limit("exclusiveMaximum").map(|n| n.ceil() - 1.0));
    let mut number = 1.0_f64.max(least.unwrap_or(1.0)).min(most.unwrap_or(f64::MAX));
    if let Some(step) = limit("multipleOf").filter(|step| *step > 0.0) {
        number = (number / step).ceil() * step;
    }
    #[expect(clippy::cast_possible_truncation, reason = "larger numbers are refused")]
    (number.abs() < 1e15).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Fault, invalid, valid};

    fn of(properties: &Value) -> Option<Value> {
        let required: Vec<&String> = properties.as_object().unwrap().keys().collect();
        valid(&json!({"type": "object", "properties": properties, "required": required}))
    }

    #[test]
    fn only_required_arguments_are_made_and_the_schema_suggests_their_values() {
        let schema = json!({
            "type": "object",
            "properties": {
                "word": {"type": "string", "examples": ["casa"]},
                "tense": {"enum": ["present", "past"]},
                "count": {"type": "integer", "minimum": 5},
                "share": {"type": "number", "exclusiveMaximum": 1},
                "day": {"type": "string", "format": "date"},
                "person": {"$ref": "#/$defs/person"},
                "maybe": {"anyOf": [{"type": "null"}, {"type": "boolean"}]},
                "unused": {"type": "string"},
            },
            "required": ["word", "tense", "count", "share", "day", "person", "maybe"],
            "$defs": {"person": {"type": "object", "properties": {"name": {"const": "Ada"}}, "required": ["name"]}},
        });
        let arguments = json!({
            "word": "casa", "tense": "present", "count": 5, "share": 0, "day": "2026-01-31",
            "person": {"name": "Ada"}, "maybe": false,
        });
        assert_eq!(valid(&schema), Some(arguments));
        assert_eq!(valid(&json!({"type": "object"})), Some(json!({})));
    }

    #[test]
    fn lengths_and_steps_are_kept() {
        assert_eq!(of(&json!({"a": {"type": "string", "maxLength": 2}})), Some(json!({"a": "ex"})));
        assert_eq!(
            of(&json!({"a": {"type": "integer", "multipleOf": 7, "minimum": 8}})),
            Some(json!({"a": 14}))
        );
        let items = json!({"a": {"type": "array", "minItems": 2, "items": {"type": "integer"}}});
        assert_eq!(of(&items), Some(json!({"a": [1, 1]})));
    }

    #[test]
    fn what_cannot_be_made_is_not() {
        assert_eq!(of(&json!({"a": {"type": "string", "pattern": "^[0-9]{4}$"}})), None);
        assert_eq!(of(&json!({"a": {}})), None);
        assert_eq!(of(&json!({"a": {"$ref": "#/properties/a"}})), None);
        assert_eq!(of(&json!({"a": {"type": "string", "minLength": 1_000_000_000}})), None);
        assert_eq!(valid(&json!({"type": "object", "required": ["a"]})), None);
        assert_eq!(valid(&json!({"type": "strin"})), None);
    }

    #[test]
    fn invalid_arguments_are_invalid_in_one_way() {
        let schema = json!({
            "type": "object",
            "properties": {"list": {"type": "array"}, "a": {"type": "integer"}},
            "required": ["list", "a"],
        });
        let made = invalid(&schema, &json!({"list": [], "a": 1}));
        assert_eq!(
            made,
            [
                (Fault::WrongType, "a".to_owned(), json!({"list": [], "a": {"check": true}})),
                (Fault::Missing, "list".to_owned(), json!({"a": 1})),
            ]
        );
        let any = json!({"type": "object", "properties": {"a": {}}});
        assert_eq!(invalid(&any, &json!({})), []);
    }
}
