//! Schemas as Gemini accepts them: a subset of OpenAPI's, in which a schema has one type, and only strings have
//! enumerations. What it does not accept is told in the description.

use serde_json::{Map, Value, json};

use super::losses::{Losses, note, note_as};
use super::schema::{Members, Others, Schema, Shape};

/// The `parameters` of a tool; `None` without any, for which Gemini has no form.
pub(super) fn arguments(members: &Members, losses: &mut Losses) -> Option<Value> {
    (!members.properties.is_empty()).then(|| {
        let mut description = None;
        let mut object = object(members, &mut description, losses);
        object.extend(description.map(|text| ("description".to_owned(), text.into())));
        Value::Object(object)
    })
}

fn object(members: &Members, description: &mut Option<String>, losses: &mut Losses) -> Map<String, Value> {
    let mut json = of_type("OBJECT");
    let mut properties = Map::new();
    for (name, schema) in &members.properties {
        losses.enter(name);
        properties.insert(name.clone(), write(schema, losses));
        losses.leave();
    }
    if !properties.is_empty() {
        json.insert("properties".to_owned(), properties.into());
    }
    if !members.required.is_empty() {
        json.insert("required".to_owned(), members.required_names().into());
    }
    if let Others::Valid(_) = members.others {
        losses.add("`additionalProperties` was left out");
        Schema::describe(description, "(Members of other names are valid, too.)");
    }
    json
}

fn write(schema: &Schema, losses: &mut Losses) -> Value {
    let mut description = schema.description.clone();
    let mut json = match &schema.shape {
        Shape::Any => anything(losses),
        Shape::Object(members) => object(members, &mut description, losses),
        Shape::Array(items) => {
            let mut json = of_type("ARRAY");
            losses.enter("*");
            json.insert("items".to_owned(), write(items, losses));
            losses.leave();
            json
        }
        Shape::Union(alternatives) => {
            let alternatives: Vec<Value> = alternatives.iter().map(|schema| write(schema, losses)).collect();
            [("anyOf".to_owned(), alternatives.into())].into_iter().collect()
        }
        Shape::Null => of_type("NULL"),
        Shape::Boolean => of_type("BOOLEAN"),
        Shape::Integer => of_type("INTEGER"),
        Shape::Number => of_type("NUMBER"),
        Shape::String => of_type("STRING"),
    };
    if let Some(values) = &schema.values {
        let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        if schema.shape == Shape::String && values.iter().all(is_text) {
            json.insert("enum".to_owned(), values.clone().into());
        } else {
            let values = values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
            note_as("one of", &mut description, losses, "enum", &values.into());
        }
    }
    for (keyword, value) in &schema.constraints {
        match accepted(&schema.shape, keyword, value) {
            Some((keyword, value)) => drop(json.insert(keyword.to_owned(), value)),
            None => note(&mut description, losses, keyword, value),
        }
    }
    if schema.nullable {
        json.insert("nullable".to_owned(), true.into());
    }
    if let Some(description) = description {
        json.insert("description".to_owned(), description.into());
    }
    Value::Object(json)
}

/// A schema must have a type; the closest to none is the choice of all that need no more.
fn anything(losses: &mut Losses) -> Map<String, Value> {
    losses.add("it can be anything, and is declared as a string, number, boolean or object");
    let alternatives = ["STRING", "NUMBER", "BOOLEAN", "OBJECT"].map(|kind| json!({"type": kind}));
    [("anyOf".to_owned(), json!(alternatives))].into_iter().collect()
}

/// A constraint as Gemini accepts it for a type.
fn accepted<'a>(shape: &Shape, keyword: &'a str, value: &Value) -> Option<(&'a str, Value)> {
    let formats: &[&str] = match shape {
        Shape::String => &["date-time"],
        Shape::Integer => &["int32", "int64"],
        Shape::Number => &["float", "double"],
        _ => &[],
    };
    match (shape, keyword) {
        (_, "format") => formats.contains(&value.as_str()?).then(|| (keyword, value.clone())),
        (Shape::Integer, "exclusiveMinimum") => value.as_i64()?.checked_add(1).map(|n| ("minimum", n.into())),
        (Shape::Integer, "exclusiveMaximum") => value.as_i64()?.checked_sub(1).map(|n| ("maximum", n.into())),
        (
            _,
            "minimum" | "maximum" | "minLength" | "maxLength" | "pattern" | "minItems" | "maxItems"
            | "minProperties" | "maxProperties",
        ) => is_int64(value).then(|| (keyword, value.clone())),
        _ => None,
    }
}

/// Counts are 64-bit integers with a sign.
fn is_int64(value: &Value) -> bool {
    !value.is_u64() || value.as_i64().is_some()
}

fn of_type(kind: &str) -> Map<String, Value> {
    [("type".to_owned(), kind.into())].into_iter().collect()
}
