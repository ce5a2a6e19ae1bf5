//! Schemas as OpenAI and Anthropic accept them: JSON Schema with an object at the root.

use serde_json::{Map, Value, json};

use super::schema::{Members, Others, Schema, Shape};

/// The schema of a tool's arguments.
pub(super) fn arguments(members: &Members) -> Value {
    Value::Object(object(members))
}

fn object(members: &Members) -> Map<String, Value> {
    let properties = members.properties.iter().map(|(name, schema)| (name.clone(), write(schema)));
    let mut json = Map::new();
    json.insert("type".to_owned(), "object".into());
    json.insert("properties".to_owned(), Value::Object(properties.collect()));
    if !members.required.is_empty() {
        json.insert("required".to_owned(), members.required_names().into());
    }
    match &members.others {
        Others::Unspecified => None,
        Others::Forbidden => json.insert("additionalProperties".to_owned(), false.into()),
        Others::Valid(schema) => json.insert("additionalProperties".to_owned(), write(schema)),
    };
    json
}

fn write(schema: &Schema) -> Value {
    let mut json = match &schema.shape {
        Shape::Any => Map::new(),
        Shape::Object(members) => object(members),
        Shape::Array(items) => of_type("array", [("items", write(items))]),
        Shape::Union(alternatives) => {
            let mut alternatives: Vec<Value> = alternatives.iter().map(write).collect();
            alternatives.extend(schema.nullable.then(null));
            [("anyOf".to_owned(), alternatives.into())].into_iter().collect()
        }
        Shape::Null => of_type("null", []),
        Shape::Boolean => of_type("boolean", []),
        Shape::Integer => of_type("integer", []),
        Shape::Number => of_type("number", []),
        Shape::String => of_type("string", []),
    };
    if let Some(values) = &schema.values {
        json.insert("enum".to_owned(), values.clone().into());
    }
    json.extend(schema.constraints.clone());
    let is_alternative = schema.nullable && !matches!(schema.shape, Shape::Any | Shape::Union(_));
    if is_alternative {
        let default = json.remove("default");
        json = [("anyOf".to_owned(), json!([json, {"type": "null"}]))].into_iter().collect();
        json.extend(default.map(|default| ("default".to_owned(), default)));
    }
    if let Some(description) = &schema.description {
        json.insert("description".to_owned(), description.clone().into());
    }
    Value::Object(json)
}

fn null() -> Value {
    json!({"type": "null"})
}

/// A schema with a type and other members.
fn of_type<const N: usize>(kind: &str, others: [(&str, Value); N]) -> Map<String, Value> {
    let others = others.into_iter().map(|(name, value)| (name.to_owned(), value));
    std::iter::once(("type".to_owned(), kind.into())).chain(others).collect()
}
