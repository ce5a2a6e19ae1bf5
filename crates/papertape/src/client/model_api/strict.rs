//! Schemas for OpenAI's strict mode: every member is required, and no others are valid. What it does not accept is told in
//! the description, or makes strict mode impossible.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::losses::{Losses, note};
use super::schema::{Members, Others, Schema, Shape};
use crate::protocol::RawJson;

/// The limits of strict mode.
const DEEPEST: usize = 10;
const MOST_PROPERTIES: usize = 5_000;
const MOST_VALUES: usize = 1_000;
/// Of the names of properties and the values of enumerations together, in characters.
const MOST_TEXT: usize = 120_000;
/// Of the values of an enumeration with more than [`MANY_VALUES`].
const MOST_TEXT_OF_MANY: usize = 15_000;
const MANY_VALUES: usize = 250;

/// The formats that strict mode accepts.
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// The constraints that it accepts, besides `pattern` and `format`.
const ACCEPTED: [&str; 7] =
    ["multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"];

/// The schema of a tool's arguments; an error is why strict mode is not possible.
pub(super) fn arguments(members: &Members, losses: &mut Losses) -> Result<Value, String> {
    let mut writer = Writer { properties: 0, values: 0, text: 0, losses };
    writer.object(members, 1).map(Value::Object)
}

struct Writer<'a> {
    properties: usize,
    values: usize,
    text: usize,
    losses: &'a mut Losses,
}

impl Writer<'_> {
    fn object(&mut self, members: &Members, depth: usize) -> Result<Map<String, Value>, String> {
        if matches!(members.others, Others::Valid(_)) {
            return Err("an object has members of any name (`additionalProperties`)".to_owned());
        }
        if members.properties.is_empty() && members.others == Others::Unspecified && depth > 1 {
            return Err("an object does not say which members it has".to_owned());
        }
        self.properties += members.properties.len();
        if self.properties > MOST_PROPERTIES {
            return Err(format!("it has more than {MOST_PROPERTIES} members"));
        }
        let mut properties = Map::new();
        for (name, schema) in &members.properties {
            self.count_text(name.chars().count())?;
            self.losses.enter(name);
            let optional = !members.required.contains(name);
            let written = self.write(schema, schema.nullable || optional, depth + 1);
            self.losses.leave();
            properties.insert(name.clone(), written?);
        }
        let required: Vec<Value> = properties.keys().map(|name| name.as_str().into()).collect();
        let object = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        });
        Ok(match object {
            Value::Object(object) => object,
            _ => Map::new(),
        })
    }

    fn count_text(&mut self, characters: usize) -> Result<(), String> {
        self.text += characters;
        if self.text <= MOST_TEXT {
            return Ok(());
        }
        Err(format!("its names and enumerations have more than {MOST_TEXT} characters"))
    }

    fn write(&mut self, schema: &Schema, nullable: bool, depth: usize) -> Result<Value, String> {
        if depth > DEEPEST {
            return Err(format!("it is nested more than {DEEPEST} levels deep"));
        }
        let mut description = schema.description.clone();
        let mut json = match &schema.shape {
            Shape::Any => return Err("an argument can be anything".to_owned()),
            Shape::Object(members) => self.object(members, depth)?,
            Shape::Array(items) => {
                let items = self.write(items, items.nullable, depth + 1)?;
                [("type".to_owned(), "array".into()), ("items".to_owned(), items)].into_iter().collect()
            }
            Shape::Union(alternatives) => {
                let mut written: Vec<Value> = Vec::new();
                for alternative in alternatives {
                    written.push(self.write(alternative, false, depth)?);
                }
                written.extend(nullable.then(|| json!({"type": "null"})));
                [("anyOf".to_owned(), written.into())].into_iter().collect()
            }
            shape => {
                let name = match shape {
                    Shape::Boolean => "boolean",
                    Shape::Integer => "integer",
                    Shape::Number => "number",
                    Shape::String => "string",
                    _ => "null",
                };
                let is_null = nullable && name != "null";
                let kind = if is_null { json!([name, "null"]) } else { name.into() };
                let mut json = Map::new();
                json.insert("type".to_owned(), kind);
                if let Some(values) = &schema.values {
                    self.values += values.len();
                    if self.values > MOST_VALUES {
                        return Err(format!("its enumerations have more than {MOST_VALUES} values"));
                    }
                    let text = values.iter().filter_map(Value::as_str).map(|text| text.chars().count()).sum();
                    if values.len() > MANY_VALUES && text > MOST_TEXT_OF_MANY {
                        return Err(format!(
                            "an enumeration of more than {MANY_VALUES} values has more than {MOST_TEXT_OF_MANY} characters"
                        ));
                    }
                    self.count_text(text)?;
                    let values = values.iter().cloned().chain(is_null.then_some(Value::Null));
                    json.insert("enum".to_owned(), values.collect());
                }
                json
            }
        };
        for (keyword, value) in &schema.constraints {
            if is_accepted(keyword, value) {
                json.insert(keyword.clone(), value.clone());
            } else {
                note(&mut description, self.losses, keyword, value);
            }
        }
        if nullable && matches!(schema.shape, Shape::Object(_) | Shape::Array(_)) {
            json = [("anyOf".to_owned(), json!([json, {"type": "null"}]))].into_iter().collect();
        }
        if let Some(description) = description {
            json.insert("description".to_owned(), description.into());
        }
        Ok(Value::Object(json))
    }
}

fn is_accepted(keyword: &str, value: &Value) -> bool {
    match (keyword, value.as_str()) {
        // Look-around is not accepted.
        ("pattern", Some(pattern)) => !pattern.contains("(?"),
        ("format", Some(format)) => FORMATS.contains(&format),
        _ => ACCEPTED.contains(&keyword),
    }
}

/// Removes the `null`s that stand for arguments that were left out.
pub(super) fn without_nulls(members: &Members, arguments: &mut BTreeMap<String, RawJson>) {
    arguments.retain(|name, value| {
        let is_left_out = value.get() == "null"
            && !members.required.contains(name)
            && members.get(name).is_some_and(|schema| !schema.nullable);
        !is_left_out
    });
    for (name, value) in arguments {
        if let Some(schema) = members.get(name) {
            within(schema, value);
        }
    }
}

fn within(schema: &Schema, value: &mut RawJson) {
    let replacement = match &schema.shape {
        Shape::Object(members) => value.parse().ok().and_then(|mut object| {
            without_nulls(members, &mut object);
            RawJson::write(&object).ok()
        }),
        Shape::Array(items) => value.parse().ok().and_then(|mut list: Vec<RawJson>| {
            list.iter_mut().for_each(|value| within(items, value));
            RawJson::write(&list).ok()
        }),
        Shape::Union(alternatives) => {
            if let Some(alternative) = alternatives.iter().find(|schema| is_of(schema, value)) {
                within(alternative, value);
            }
            None
        }
        _ => None,
    };
    if let Some(replacement) = replacement {
        *value = replacement;
    }
}

/// Whether a value is that of an alternative: in strict mode, an object has exactly its members.
fn is_of(schema: &Schema, value: &RawJson) -> bool {
    match &schema.shape {
        Shape::Object(members) => value.parse().is_ok_and(|object: BTreeMap<String, RawJson>| {
            object.len() == members.properties.len()
                && members.properties.iter().all(|(name, schema)| {
                    let values = schema.values.as_deref();
                    object.get(name).is_some_and(|value| {
                        values.is_none_or(|values| {
                            value.get() == "null" || values.iter().any(|it| *value == *it)
                        })
                    })
                })
        }),
        Shape::Array(_) => value.get().starts_with('['),
        _ => false,
    }
}
