//! What `schemars` writes to what every known host reads.
//!
//! Frameworks turn a schema into types of their own or into the dialect of a model's API, and one keyword that they do not
//! know can cost a user the whole server. So: an optional member is one that is not in `required`, and not one that may be
//! `null`; a choice of strings is an `enum`; a value is of one type, or of one of several written as `anyOf`.

use serde_json::{Map, Value, json};

use super::walk;

/// Which way the JSON goes that a schema is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// It is read: an optional member may be left out, so that it need not be `null`.
    In,
    /// It is written: a member may be `null`, and hosts hold what they get against the schema.
    Out,
}

/// Makes a schema of a type's portable.
pub(super) fn make_portable(schema: &mut Value, direction: Direction) {
    if let Some(root) = schema.as_object_mut() {
        // 2020-12 is what MCP assumes, and the type's name says nothing to a model.
        root.shift_remove("$schema");
        root.shift_remove("title");
    }
    simplify(schema, direction);
    // An enum of structs is an object whichever variant it is, which its schema says only of each.
    if variants_are_objects(schema)
        && let Some(root) = schema.as_object_mut()
    {
        let place = usize::from(root.contains_key("description"));
        root.shift_insert(place, "type".to_owned(), json!("object"));
    }
}

fn variants_are_objects(schema: &Value) -> bool {
    let variants = schema.get("anyOf").and_then(Value::as_array);
    let is_object = |variant: &Value| variant.get("type") == Some(&Value::from("object"));
    schema.get("type").is_none() && variants.is_some_and(|variants| variants.iter().all(is_object))
}

fn simplify(schema: &mut Value, direction: Direction) {
    if let Some(members) = schema.as_object_mut() {
        unwrap_description(members);
        drop_format_of_rust(members);
        spell_out_choices(members);
        if direction == Direction::In {
            require_values(members);
            // What a type does not have is refused in any case; a host need not know, and google-genai 3.1 cannot
            // read it.
            for keyword in ["additionalProperties", "unevaluatedProperties"] {
                if members.get(keyword) == Some(&Value::Bool(false)) {
                    members.shift_remove(keyword);
                }
            }
        }
        if members.get("default").is_some_and(Value::is_null) {
            members.shift_remove("default");
        }
        split_types(members);
    }
    papertape_schema::change_subschemas(schema, &mut |part| simplify(part, direction));
    spell_out_anything(schema);
}

/// `true` is a schema too, but many frameworks read objects alone.
fn spell_out_anything(schema: &mut Value) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(Map::values_mut) {
        if property == &Value::Bool(true) {
            *property = json!({});
        }
    }
    if let Some(items) = schema.get_mut("items").filter(|items| **items == Value::Bool(true)) {
        *items = json!({});
    }
}

/// Doc comments are wrapped for the source's sake; a description is not. Empty lines between paragraphs stay. It comes first,
/// where a person looks for it.
pub(super) fn unwrap_description(members: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = members.get("description") {
        let paragraphs: Vec<String> =
            text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect();
        members.shift_insert(0, "description".to_owned(), paragraphs.join("\n\n").into());
    }
}

/// `uint8` and the like are formats that only Rust knows, and that strict clients complain about.
fn drop_format_of_rust(members: &mut Map<String, Value>) {
    let is_rusty = |format: &str| {
        format.strip_prefix('u').unwrap_or(format).starts_with("int") || ["float", "double"].contains(&format)
    };
    if members.get("format").and_then(Value::as_str).is_some_and(is_rusty) {
        members.shift_remove("format");
    }
}

/// A choice of documented constants to an `enum` whose description explains each value; any other `oneOf`, whose
/// variants exclude each other, to `anyOf`; a single constant to an `enum` of one.
fn spell_out_choices(members: &mut Map<String, Value>) {
    if let Some(only) = members.shift_remove("const") {
        members.insert("enum".to_owned(), json!([only]));
    }
    let Some(Value::Array(variants)) = members.get("oneOf") else { return };
    let Some(choices) = variants.iter().map(constants).collect::<Option<Vec<_>>>() else {
        if let Some(variants) = members.shift_remove("oneOf").filter(|_| !members.contains_key("anyOf")) {
            members.insert("anyOf".to_owned(), variants);
        }
        return;
    };
    let meanings: Vec<String> =
        choices.iter().filter_map(|(values, meaning)| described(values, meaning.as_deref()?)).collect();
    let values: Vec<Value> = choices.into_iter().flat_map(|(values, _)| values).collect();
    let kind = variants.first().and_then(|variant| variant.get("type")).cloned();
    members.shift_remove("oneOf");
    if !meanings.is_empty() {
        let said = members.get("description").and_then(Value::as_str).map(|said| format!("{said}\n\n"));
        let description = said.unwrap_or_default() + &meanings.join("\n");
        members.shift_insert(0, "description".to_owned(), description.into());
    }
    if let Some(kind) = kind {
        members.insert("type".to_owned(), kind);
    }
    members.insert("enum".to_owned(), Value::Array(values));
}

/// "- past: What is over."
fn described(values: &[Value], meaning: &str) -> Option<String> {
    let meaning = meaning.replace('\n', " ");
    match values {
        [Value::String(value)] => Some(format!("- {value}: {meaning}")),
        [value] => Some(format!("- {value}: {meaning}")),
        _ => None,
    }
}

/// The constants of a variant that is nothing else, and what it says about them.
fn constants(variant: &Value) -> Option<(Vec<Value>, Option<String>)> {
    let members = variant.as_object()?;
    let known = ["type", "const", "enum", "description", "title", "deprecated"];
    if !members.keys().all(|keyword| known.contains(&keyword.as_str())) {
        return None;
    }
    let values = match (members.get("const"), members.get("enum")) {
        (Some(only), None) => vec![only.clone()],
        (None, Some(Value::Array(values))) => values.clone(),
        _ => return None,
    };
    let is_plain = |value: &Value| value.is_string() || value.is_i64() || value.is_u64();
    values
        .iter()
        .all(is_plain)
        .then(|| (values, members.get("description").and_then(Value::as_str).map(str::to_owned)))
}

/// A member that may be left out need not be `null` too.
fn require_values(members: &mut Map<String, Value>) {
    let required: Vec<String> = walk::required(members).map(str::to_owned).collect();
    let properties = members.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        if let Some(property) = property.as_object_mut().filter(|_| !required.contains(name)) {
            strip_null(property);
        }
    }
}

/// The schema of a value that is not `null`; the same if there is no other.
fn strip_null(members: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = members.get_mut("type")
        && kinds.iter().any(|kind| kind != "null")
    {
        kinds.retain(|kind| kind != "null");
    }
    if let Some(Value::Array(values)) = members.get_mut("enum")
        && !values.iter().all(Value::is_null)
    {
        values.retain(|value| !value.is_null());
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(variants)) = members.get_mut(keyword) else { continue };
        if variants.iter().all(is_null) {
            continue;
        }
        variants.retain(|variant| !is_null(variant));
        if let [Value::Object(_)] = &variants[..]
            && let Some(Value::Array(mut variants)) = members.shift_remove(keyword)
            && let Some(Value::Object(mut only)) = variants.pop()
        {
            strip_null(&mut only);
            for (keyword, value) in only {
                members.entry(keyword).or_insert(value);
            }
        }
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type") == Some(&Value::from("null"))
        || schema.get("const") == Some(&Value::Null)
        || schema.get("enum") == Some(&json!([null]))
}

/// One of several types is written as `anyOf`: AutoGen 0.7, Semantic Kernel 1.45 and langchain-google-genai 4.4 fail on a
/// list of types.
fn split_types(members: &mut Map<String, Value>) {
    let Some(Value::Array(kinds)) = members.get("type") else { return };
    let kinds = kinds.clone();
    if let [kind] = &kinds[..] {
        members.insert("type".to_owned(), kind.clone());
        return;
    }
    if members.contains_key("anyOf") {
        return;
    }
    // What is said about the value stays; what is demanded of it goes where its type is.
    let said = |keyword: &str| {
        ["description", "title", "default", "examples", "deprecated", "$defs"].contains(&keyword)
    };
    let (said, demanded): (Map<_, _>, Map<_, _>) =
        std::mem::take(members).into_iter().partition(|(keyword, _)| said(keyword));
    let variant = |kind: &Value| {
        if kind == "null" {
            return json!({"type": "null"});
        }
        let mut variant = demanded.clone();
        variant.insert("type".to_owned(), kind.clone());
        if let Some(Value::Array(values)) = variant.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
        Value::Object(variant)
    };
    *members = said;
    members.insert("anyOf".to_owned(), kinds.iter().map(variant).collect());
}

#[cfg(test)]
mod tests;
