//! A schema to the schemas in it, by the keywords that contain some.

use serde_json::Value;

/// How the value of a keyword contains schemas.
enum Form {
    ByName,
    List,
    Single,
}

/// In either dialect. (`items` is a list in draft-07, and a member of `dependencies` may be a list of names.)
fn form(keyword: &str, value: &Value) -> Option<Form> {
    match (keyword, value) {
        (
            "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties"
            | "properties",
            Value::Object(_),
        ) => Some(Form::ByName),
        ("allOf" | "anyOf" | "items" | "oneOf" | "prefixItems", Value::Array(_)) => Some(Form::List),
        (
            "additionalItems"
            | "additionalProperties"
            | "contains"
            | "contentSchema"
            | "else"
            | "if"
            | "items"
            | "not"
            | "propertyNames"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties",
            _,
        ) => Some(Form::Single),
        _ => None,
    }
}

/// The schemas directly within a schema, in its order, each with the steps of the JSON pointer that lead to it.
///
/// The schema may be invalid: what stands in the place of a schema is returned, whatever it is.
///
/// ```
/// use serde_json::json;
///
/// let schema = json!({"properties": {"a/b": {"type": "string"}}, "not": {"required": ["c"]}});
/// let found = papertape_schema::subschemas(&schema);
/// let pointers: Vec<&str> = found.iter().map(|(pointer, _)| pointer.as_str()).collect();
/// assert_eq!(pointers, ["/properties/a~1b", "/not"]);
/// ```
#[must_use]
pub fn subschemas(schema: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        match form(keyword, value) {
            Some(Form::ByName) => {
                let named = value.as_object().into_iter().flatten();
                found.extend(named.map(|(name, part)| (format!("/{keyword}/{}", pointer_step(name)), part)));
            }
            Some(Form::List) => {
                let listed = value.as_array().into_iter().flatten().enumerate();
                found.extend(listed.map(|(at, part)| (format!("/{keyword}/{at}"), part)));
            }
            Some(Form::Single) => found.push((format!("/{keyword}"), value)),
            None => {}
        }
    }
    found
}

/// Changes every schema directly within a schema.
pub fn change_subschemas(schema: &mut Value, change: &mut dyn FnMut(&mut Value)) {
    for (keyword, value) in schema.as_object_mut().into_iter().flatten() {
        match form(keyword, value) {
            Some(Form::ByName) => {
                value.as_object_mut().into_iter().flatten().for_each(|(_, part)| change(part));
            }
            Some(Form::List) => value.as_array_mut().into_iter().flatten().for_each(&mut *change),
            Some(Form::Single) => change(value),
            None => {}
        }
    }
}

/// The name of a member as a step of a JSON pointer, escaped as RFC 6901 says.
#[must_use]
pub fn pointer_step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_changed_is_what_is_found() {
        let mut schema = json!({
            "$defs": {"d": {}},
            "allOf": [{}, true],
            "dependencies": {"a": {}, "b": ["c"]},
            "enum": [{}],
            "items": [{}],
            "not": {},
            "then": [],
        });
        let found: Vec<String> = subschemas(&schema).into_iter().map(|(pointer, _)| pointer).collect();
        let expected = "/$defs/d /allOf/0 /allOf/1 /dependencies/a /dependencies/b /items/0 /not /then";
        assert_eq!(found.join(" "), expected);
        change_subschemas(&mut schema, &mut |part| *part = json!("changed"));
        assert!(found.iter().all(|pointer| schema.pointer(pointer) == Some(&json!("changed"))), "{schema}");
        assert_eq!(schema["enum"], json!([{}]));
    }
}
