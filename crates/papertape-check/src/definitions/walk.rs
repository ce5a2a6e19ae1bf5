//! A schema to its parts.

use serde_json::{Map, Value};

/// Keywords whose value is an object of schemas.
const MAPS: [&str; 5] = ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];
/// Keywords whose value is a list of schemas. (`items` was one before 2020-12.)
const LISTS: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
/// Keywords whose value is a schema.
const SINGLES: [&str; 12] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contentSchema",
    "not",
    "if",
    "then",
    "else",
];

/// Keywords whose schemas say something about the same value as the schema that they stand in.
const IN_PLACE: [&str; 8] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];

/// A part of a schema.
pub(crate) struct Part<'a> {
    /// Where it is, as a JSON pointer.
    pub(crate) pointer: String,
    pub(crate) schema: &'a Value,
    /// It is about the same value as the schema around it.
    pub(crate) in_place: bool,
}

impl<'a> Part<'a> {
    /// Its keywords; nothing if it is `true` or `false`.
    pub(crate) fn members(&self) -> Option<&'a Map<String, Value>> {
        self.schema.as_object()
    }

    /// The pointer of a keyword of it.
    pub(crate) fn at(&self, keyword: &str) -> String {
        format!("{}/{}", self.pointer, escaped(keyword))
    }
}

/// A schema and all schemas in it, each before its parts. The depth of JSON is limited where it is read.
pub(crate) fn parts(schema: &Value) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut todo = vec![Part { pointer: String::new(), schema, in_place: false }];
    while let Some(part) = todo.pop() {
        for (keyword, value) in part.members().into_iter().flatten().rev() {
            let in_place = IN_PLACE.contains(&keyword.as_str());
            let base = part.at(keyword);
            let inner =
                |step: &str, schema| Part { pointer: format!("{base}/{}", escaped(step)), schema, in_place };
            match value {
                Value::Object(members) if MAPS.contains(&keyword.as_str()) => {
                    todo.extend(members.iter().rev().map(|(name, schema)| inner(name, schema)));
                }
                Value::Array(items) if LISTS.contains(&keyword.as_str()) => {
                    let numbered = items.iter().enumerate().rev();
                    todo.extend(numbered.map(|(at, schema)| inner(&at.to_string(), schema)));
                }
                value if SINGLES.contains(&keyword.as_str()) => {
                    todo.push(Part { pointer: base, schema: value, in_place });
                }
                _ => {}
            }
        }
        parts.push(part);
    }
    parts
}

/// A name as a step of a JSON pointer.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
