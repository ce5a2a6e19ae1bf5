//! JSON Schemas: from types to the form that hosts can read, to validators, and from what these find to sentences.
//!
//! - `portable`: what `schemars` writes to what every known host reads
//! - `unknown`: members that a type does not have
//! - `absent`: `null` for an optional member
//! - `form`: the schema of a form for a user
//! - `compile`: a schema to a validator
//! - `violation` and `variant`: what a validator finds to sentences
//! - `walk`: the schemas that apply to a value

mod absent;
mod compile;
mod form;
mod portable;
mod unknown;
mod variant;
mod violation;
mod walk;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

pub(crate) use compile::compile;
pub(crate) use form::of_form;
pub(crate) use unknown::refuse_unknown;
pub use violation::Violation;
pub(crate) use violation::{Explain, Input, first_violation};

use portable::Direction;

/// The schema of the arguments that a type reads, as it goes to clients. [`refuse_unknown`] makes of it what the arguments
/// are checked against.
pub(crate) fn of_arguments<T: JsonSchema>() -> Value {
    let mut schema = of::<T>(&SchemaSettings::draft2020_12().for_deserialize(), Direction::In);
    // `()` and the like: a tool that takes nothing.
    if schema.get("type") == Some(&Value::from("null")) {
        schema = json!({"type": "object"});
    }
    // OpenAI's API refuses an object without `properties`.
    if schema.get("type") == Some(&Value::from("object"))
        && schema.get("anyOf").is_none()
        && let Some(root) = schema.as_object_mut()
    {
        root.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// The schema of the JSON that a type is written as.
pub(crate) fn of_result<T: JsonSchema>() -> Value {
    of::<T>(&SchemaSettings::draft2020_12().for_serialize(), Direction::Out)
}

fn of<T: JsonSchema>(settings: &SchemaSettings, direction: Direction) -> Value {
    let generate = |inline: bool| {
        let settings = settings.clone().with(|settings| settings.inline_subschemas = inline);
        settings.into_generator().into_root_schema_for::<T>().to_value()
    };
    let mut schema = generate(true);
    // A part that is used very often would be written out as often.
    if !compile::can_be_checked(&schema) {
        schema = generate(false);
    }
    portable::make_portable(&mut schema, direction);
    schema
}

/// `1.0` and `1` are the same number, and some languages cannot tell them apart.
pub(crate) fn spell_numbers_alike(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            // As an integer it would be written without a point.
            let digits = number.as_f64().map(|float| format!("{float}"));
            if let Some(integer) = digits.and_then(|digits| digits.parse::<i64>().ok()) {
                *value = integer.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(spell_numbers_alike),
        Value::Object(members) => members.values_mut().for_each(spell_numbers_alike),
        _ => {}
    }
}
