//! The schemas of the results of tools.

use std::collections::BTreeMap;

use serde_json::Value;

use super::entry::Entry;
use super::hits::Hits;
use super::schema::{ProblemKind, problems};
use crate::code::definitions::PT0410;
use crate::finding::Finding;

const REMEDY: &str =
    "write a JSON Schema of type \"object\" that is complete in itself, or leave `outputSchema` out";

/// Dialects that a validator of a client refuses.
const OLD: [&str; 2] = ["json-schema.org/draft-03/", "json-schema.org/draft-04/"];

/// What is wrong with output schemas. Since 2026-07-28 they may be of any type.
pub(super) fn inspect(tools: &[Entry<'_>], is_modern: bool) -> Vec<Finding> {
    let mut causes: BTreeMap<String, Hits<'_>> = BTreeMap::new();
    for tool in tools {
        let Some(schema) = tool.get("outputSchema") else { continue };
        for (cause, pointer) in causes_of(schema, is_modern) {
            let value = schema.pointer(&pointer);
            causes.entry(cause).or_default().push(*tool, format!("/outputSchema{pointer}"), value);
        }
    }
    causes.into_iter().filter_map(|(cause, hits)| hits.finding(PT0410, &cause, REMEDY)).collect()
}

fn causes_of(schema: &Value, is_modern: bool) -> Vec<(String, String)> {
    if !schema.is_object() {
        return vec![("`outputSchema` is not an object".to_owned(), String::new())];
    }
    let mut causes: Vec<(String, String)> = problems(schema)
        .into_iter()
        .map(|problem| match problem.kind {
            ProblemKind::Reference => {
                ("a `$ref` of `outputSchema` leads nowhere".to_owned(), problem.pointer)
            }
            ProblemKind::Cycle => {
                ("a `$ref` of `outputSchema` leads back to itself".to_owned(), problem.pointer)
            }
            ProblemKind::Pattern => (
                "a `pattern` of `outputSchema` is not a regular expression of ECMAScript".to_owned(),
                problem.pointer,
            ),
            ProblemKind::Invalid | ProblemKind::RequiredFlag => {
                (format!("`outputSchema` is not a valid JSON Schema: {}", problem.message), problem.pointer)
            }
        })
        .collect();
    let dialect = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    if OLD.iter().any(|old| dialect.contains(old)) {
        causes.push((
            "`outputSchema` is of a dialect that validators do not support".to_owned(),
            "/$schema".to_owned(),
        ));
    }
    let kind = schema.get("type");
    let is_told = causes.iter().any(|(_, pointer)| pointer == "/type");
    if !is_modern && !is_told && kind != Some(&Value::from("object")) {
        causes.push(match kind {
            None => ("`outputSchema` has no `type`".to_owned(), String::new()),
            Some(_) => ("`type` of `outputSchema` is not \"object\"".to_owned(), "/type".to_owned()),
        });
    }
    causes
}
