//! A schema to a validator. Nothing is ever fetched.

use papertape_schema::{Draft, Validator};
use serde_json::Value;

use super::violation::place;
use crate::wire::error::excerpt;

/// A validator, if the schema is one; otherwise what is wrong with it. Nothing is ever fetched.
pub(crate) fn compile(schema: &Value) -> Result<Validator, String> {
    if !schema.is_object() {
        return Err("a schema must be a JSON object".to_owned());
    }
    let draft = match schema.get("$schema").map(|dialect| dialect.as_str().unwrap_or_default()) {
        None => Draft::Draft202012,
        Some(dialect) => Draft::of(dialect).ok_or_else(|| {
            format!("the dialect {} is not supported: use 2020-12 or draft-07", excerpt(dialect))
        })?,
    };
    if !can_be_checked(schema) {
        return Err(format!("it has over {MOST_PARTS} parts, too many to be checked"));
    }
    Validator::new(schema, draft).map_err(|error| match error.pointer() {
        None => error.to_string(),
        Some(pointer) => format!("{error} (at {})", place(pointer)),
    })
}

/// The most parts a schema may have: one from a peer can be made to take very long.
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
