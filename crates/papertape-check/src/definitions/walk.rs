//! A schema to its parts.

use papertape_schema::{pointer_step, subschemas};
use serde_json::{Map, Value};

/// Keywords whose schemas say something about the same value as the schema that they stand in.
const IN_PLACE: [&str; 9] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependencies", "dependentSchemas"];

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
        format!("{}/{}", self.pointer, pointer_step(keyword))
    }
}

/// A schema and all schemas in it, each before its parts. The depth of JSON is limited where it is read.
pub(crate) fn parts(schema: &Value) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut todo = vec![Part { pointer: String::new(), schema, in_place: false }];
    while let Some(part) = todo.pop() {
        todo.extend(subschemas(part.schema).into_iter().rev().map(|(steps, schema)| {
            let in_place = steps.split('/').nth(1).is_some_and(|keyword| IN_PLACE.contains(&keyword));
            Part { pointer: format!("{}{steps}", part.pointer), schema, in_place }
        }));
        parts.push(part);
    }
    parts
}
