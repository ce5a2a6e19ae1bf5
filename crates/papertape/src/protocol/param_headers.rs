//! The arguments of a tool that are repeated in HTTP headers: the `x-mcp-header` annotations of its input schema.

use std::collections::HashSet;

use serde_json::Value;

use crate::wire::error::excerpt;

/// The annotation.
const KEYWORD: &str = "x-mcp-header";

/// The headers of a schema, each with the path to its value; or why the schema is invalid.
pub(crate) fn annotations(schema: &Value) -> Result<Vec<(String, Vec<String>)>, String> {
    let mut problems = Vec::new();
    let found = find(schema, &mut problems);
    if problems.is_empty() { Ok(found) } else { Err(problems.join("; ")) }
}

/// The same with every problem: an annotation must be on a property of a scalar type that is reached through `properties`
/// only, and its name must be unique.
pub(crate) fn find(schema: &Value, problems: &mut Vec<String>) -> Vec<(String, Vec<String>)> {
    let (mut names, mut found) = (HashSet::new(), Vec::new());
    // The path is known as long as only `properties` were followed.
    let mut todo = vec![(schema, Some(Vec::new()))];
    while let Some((schema, path)) = todo.pop() {
        match schema {
            Value::Object(members) => {
                if let Some(header) = members.get(KEYWORD) {
                    match check(header, members.get("type"), path.as_deref(), &mut names) {
                        Ok(annotation) => found.push(annotation),
                        Err(problem) => {
                            problems.push(format!("`{KEYWORD}` {} {problem}", excerpt(&header.to_string())));
                        }
                    }
                }
                for (keyword, value) in members {
                    match (keyword.as_str(), value) {
                        ("properties", Value::Object(properties)) => {
                            todo.extend(properties.iter().map(|(name, property)| {
                                let path = path
                                    .as_ref()
                                    .map(|path| [&path[..], std::slice::from_ref(name)].concat());
                                (property, path)
                            }));
                        }
                        ("enum" | "const" | "default" | "examples" | KEYWORD, _) => {}
                        (_, value) => todo.push((value, None)),
                    }
                }
            }
            Value::Array(items) => todo.extend(items.iter().map(|item| (item, None))),
            _ => {}
        }
    }
    found
}

fn check(
    header: &Value,
    kind: Option<&Value>,
    path: Option<&[String]>,
    names: &mut HashSet<String>,
) -> Result<(String, Vec<String>), &'static str> {
    let is_token = |name: &&str| {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        !name.is_empty() && name.bytes().all(allowed)
    };
    let name = header.as_str().filter(is_token).ok_or("is not a valid header name")?;
    if !names.insert(name.to_ascii_lowercase()) {
        return Err("is used twice");
    }
    if !matches!(kind.and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
        return Err("is on a value that is not a string, integer or boolean");
    }
    let path = path.filter(|path| !path.is_empty());
    let path = path.ok_or("is on a value that is not reached through `properties` only")?;
    Ok((name.to_owned(), path.to_vec()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::annotations;

    #[test]
    fn an_annotation_has_a_path_of_properties() {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"er": {"type": "integer", "x-mcp-header": "Method"}}},
            "x-mcp-header": {"type": "number"},
            "plain": {"default": {"x-mcp-header": "not an annotation"}},
        }});
        let mut found = annotations(&schema).unwrap();
        found.sort();
        let path = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            found,
            [("Method".to_owned(), path(&["deep", "er"])), ("Region".to_owned(), path(&["region"]))]
        );
    }

    #[test]
    fn invalid_annotations_are_rejected_with_a_reason() {
        for (property, problem) in [
            (json!({"type": "string", "x-mcp-header": ""}), "not a valid header name"),
            (json!({"type": "string", "x-mcp-header": "a b"}), "not a valid header name"),
            (json!({"type": "string", "x-mcp-header": "a:b"}), "not a valid header name"),
            (json!({"type": "string", "x-mcp-header": "é"}), "not a valid header name"),
            (json!({"type": "string", "x-mcp-header": "a\n"}), "not a valid header name"),
            (json!({"type": "string", "x-mcp-header": 1}), "not a valid header name"),
            (json!({"type": "string", "x-mcp-header": "OTHER"}), "used twice"),
            (json!({"type": "number", "x-mcp-header": "A"}), "not a string, integer or boolean"),
            (json!({"type": "object", "x-mcp-header": "A"}), "not a string, integer or boolean"),
            (json!({"type": ["string", "null"], "x-mcp-header": "A"}), "not a string, integer or boolean"),
            (json!({"type": "null", "x-mcp-header": "A"}), "not a string, integer or boolean"),
            (json!({"x-mcp-header": "A"}), "not a string, integer or boolean"),
            (
                json!({"items": {"type": "string", "x-mcp-header": "A"}}),
                "not reached through `properties` only",
            ),
            (
                json!({"oneOf": [{"type": "string", "x-mcp-header": "A"}]}),
                "not reached through `properties` only",
            ),
        ] {
            let other = json!({"type": "string", "x-mcp-header": "Other"});
            let schema = json!({"type": "object", "properties": {"a": property, "b": other}});
            let error = annotations(&schema).unwrap_err();
            assert!(error.contains(problem), "{schema}: {error}");
        }
        for (kind, problem) in [
            ("object", "not a string, integer or boolean"),
            ("string", "not reached through `properties` only"),
        ] {
            let error = annotations(&json!({"type": kind, "x-mcp-header": "Root"})).unwrap_err();
            assert!(error.contains(problem), "{kind} at the root: {error}");
        }
    }
}
