//! A schema to a validator. Nothing is ever fetched.

use std::error::Error;

use jsonschema::{Draft, PatternOptions, Retrieve, Uri, Validator};
use serde_json::Value;

use super::violation::place;
use crate::wire::error::excerpt;

/// Steps a pattern with look-around may take on one value; without, patterns take linear time.
const MOST_BACKTRACKS: usize = 100_000;

/// A validator, if the schema is one; otherwise what is wrong with it. Nothing is ever fetched.
pub(crate) fn compile(schema: &Value) -> Result<Validator, String> {
    if !schema.is_object() {
        return Err("a schema must be a JSON object".to_owned());
    }
    let draft = match schema
        .get("$schema")
        .map(|dialect| dialect.as_str().unwrap_or_default().trim_end_matches('#'))
    {
        None | Some("https://json-schema.org/draft/2020-12/schema") => Draft::Draft202012,
        Some("http://json-schema.org/draft-07/schema" | "https://json-schema.org/draft-07/schema") => {
            Draft::Draft7
        }
        Some(other) => {
            return Err(format!("the dialect {} is not supported: use 2020-12 or draft-07", excerpt(other)));
        }
    };
    if !can_be_checked(schema) {
        return Err(format!("it has over {MOST_PARTS} parts, too many to be checked"));
    }
    if let Some(reference) = reference_loop(schema) {
        return Err(format!("the `$ref` {} leads back to itself", excerpt(reference)));
    }
    jsonschema::options()
        .with_draft(draft)
        .with_retriever(Offline)
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(MOST_BACKTRACKS))
        .build(schema)
        .map_err(|error| match error.schema_path().as_str() {
            "" => error.to_string(),
            _ => format!("{error} (at {})", place(error.instance_path().as_str())),
        })
}

/// The most parts a schema may have: somebody else's can be made to take for ever.
const MOST_PARTS: usize = 10_000;

/// Whether a schema has no more objects, arrays and values than allowed.
pub(super) fn can_be_checked(schema: &Value) -> bool {
    let mut todo = vec![schema];
    let mut count = 0;
    while let Some(part) = todo.pop() {
        count += 1;
        if count > MOST_PARTS {
            return false;
        }
        match part {
            Value::Object(members) => todo.extend(members.values()),
            Value::Array(items) => todo.extend(items),
            _ => {}
        }
    }
    true
}

/// A reference that leads to nothing but references, and back to itself.
fn reference_loop(schema: &Value) -> Option<&str> {
    let target = |reference: &str| reference.strip_prefix('#').and_then(|pointer| schema.pointer(pointer));
    let reference = |schema: &'_ Value| schema.get("$ref").and_then(Value::as_str).map(str::to_owned);
    let mut todo = vec![schema];
    while let Some(part) = todo.pop() {
        let mut seen = Vec::new();
        let mut next = reference(part);
        while let Some(name) = next {
            if seen.contains(&name) {
                return part.get("$ref").and_then(Value::as_str);
            }
            next = target(&name).and_then(reference);
            seen.push(name);
        }
        match part {
            Value::Object(members) => todo.extend(members.values()),
            Value::Array(items) => todo.extend(items),
            _ => {}
        }
    }
    None
}

/// Answers every reference out of a schema with a refusal.
struct Offline;

impl Retrieve for Offline {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        Err(format!("{uri} is not fetched: a schema may only refer to its own parts").into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::compile;

    #[test]
    fn bad_schemas_are_refused_with_a_reason() {
        for (schema, reason) in [
            (json!({"type": "objekt"}), "objekt"),
            (json!({"$ref": "http://127.0.0.1:1/schema"}), "127.0.0.1"),
            (json!({"$schema": "http://json-schema.org/draft-03/schema#"}), "use 2020-12 or draft-07"),
            (json!({"properties": {"a": {"pattern": "("}}}), "("),
            (json!(true), "must be a JSON object"),
        ] {
            let problem = compile(&schema).unwrap_err();
            assert!(problem.contains(reason), "{schema}: {problem}");
        }
    }

    #[test]
    fn the_dialect_decides() {
        // In draft-07 `items` may be an array; in 2020-12 that is `prefixItems`.
        let tuple = json!({"properties": {"a": {"items": [{"type": "integer"}]}}});
        assert!(compile(&tuple).is_err());
        let mut draft7 = tuple;
        draft7["$schema"] = json!("http://json-schema.org/draft-07/schema#");
        let validator = compile(&draft7).unwrap();
        assert!(!validator.is_valid(&json!({"a": ["x"]})));
        assert!(validator.is_valid(&json!({"a": [1]})));
    }
}
