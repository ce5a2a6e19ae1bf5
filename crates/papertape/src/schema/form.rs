//! The schema of a form that a user fills in: flat, with plain values.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::portable::unwrap_description;

/// The schema of a type, with all its parts where they belong.
fn inlined<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    unwrap_descriptions(&mut schema);
    schema
}

fn unwrap_descriptions(schema: &mut Value) {
    schema.as_object_mut().map(unwrap_description);
    papertape_schema::change_subschemas(schema, &mut unwrap_descriptions);
}

/// The schema of a form: a flat object of plain values.
pub(crate) fn of_form<T: JsonSchema>() -> Result<Value, String> {
    let mut schema = inlined::<T>();
    let Some(root) = schema.as_object_mut().filter(|root| root.get("type") == Some(&Value::from("object")))
    else {
        return Err("its type must be a struct".to_owned());
    };
    // A form has these members and no others.
    root.retain(|member, _| ["type", "properties", "required"].contains(&member.as_str()));
    let properties = root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    for (name, property) in properties.as_object_mut().into_iter().flatten() {
        make_plain(property).map_err(|problem| format!("{name:?} {problem}"))?;
    }
    Ok(schema)
}

/// A value that may be missing is one that is not required, and not one that may be null.
fn make_plain(property: &mut Value) -> Result<(), String> {
    unwrap_optional(property);
    let Some(members) = property.as_object_mut() else { return Err("can be anything".to_owned()) };
    // A choice of one.
    if let Some(only) = members.shift_remove("const") {
        members.insert("enum".to_owned(), Value::Array(vec![only]));
    }
    if members.get("default").is_some_and(Value::is_null) {
        members.shift_remove("default");
    }
    if let Some(Value::Array(kinds)) = members.get("type") {
        let kinds: Vec<Value> = kinds.iter().filter(|kind| *kind != "null").cloned().collect();
        if let [kind] = &kinds[..] {
            members.insert("type".to_owned(), kind.clone());
        }
    }
    if let Some(Value::Array(values)) = members.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    // Only those formats have a meaning in a form.
    let known = ["email", "uri", "date", "date-time"];
    if !members
        .get("format")
        .is_none_or(|format| format.as_str().is_some_and(|format| known.contains(&format)))
    {
        members.shift_remove("format");
    }
    match members.get("type").and_then(Value::as_str) {
        Some("string" | "number" | "integer" | "boolean") => Ok(()),
        Some("array") => make_choices(members),
        _ if members.get("oneOf").is_some() || members.get("enum").is_some() => {
            members.insert("type".to_owned(), "string".into());
            for choice in members.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
                spell_out_choice(choice);
            }
            Ok(())
        }
        _ => Err("is not a string, number, boolean or enumeration".to_owned()),
    }
}

/// Of some things a user may choose several: a `Vec` of an enum.
fn make_choices(members: &mut Map<String, Value>) -> Result<(), String> {
    let problem = "is a list, but not of plain choices";
    let Some(items) = members.get_mut("items") else { return Err(problem.to_owned()) };
    make_plain(items)?;
    let Some(items) = items.as_object_mut() else { return Err(problem.to_owned()) };
    if let Some(choices) = items.shift_remove("oneOf") {
        items.insert("anyOf".to_owned(), choices);
        items.shift_remove("type");
    } else if !items.contains_key("enum") {
        return Err(problem.to_owned());
    }
    Ok(())
}

/// What may be missing is written as one of itself and null.
fn unwrap_optional(property: &mut Value) {
    let Some(Value::Array(ways)) = property.get("anyOf") else { return };
    let mut ways = ways.iter().filter(|way| way.get("type") != Some(&Value::from("null")));
    let (Some(Value::Object(only)), None) = (ways.next().cloned(), ways.next()) else { return };
    if let Some(members) = property.as_object_mut() {
        members.shift_remove("anyOf");
        for (name, value) in only {
            members.entry(name).or_insert(value);
        }
    }
}

/// A choice has a value and a title.
fn spell_out_choice(choice: &mut Value) {
    let Some(members) = choice.as_object_mut() else { return };
    let title = members.get("description").or(members.get("const")).cloned().unwrap_or_default();
    members.entry("title").or_insert(title);
    members.retain(|member, _| ["const", "title"].contains(&member.as_str()));
}
