//! The schemas of the arguments of tools.

use std::collections::BTreeMap;

use papertape::wire::error::{excerpt, shortened};
use papertape::wire::shown;
use serde_json::Value;

use super::entry::Entry;
use super::hits::Hits;
use super::schema::{ProblemKind, problems};
use super::walk;
use crate::code::definitions::{PT0402, PT0403, PT0404, PT0405, PT0406};
use crate::finding::{Finding, Severity};

const AS_OBJECT: &str = "write `\"inputSchema\": {\"type\": \"object\", \"properties\": {..}}`; of a tool without arguments, \
                         `{\"type\": \"object\", \"properties\": {}}`";

/// What is wrong with input schemas.
pub(super) fn inspect(tools: &[Entry<'_>]) -> Vec<Finding> {
    let mut found = shape(tools);
    let mut invalid: BTreeMap<String, Hits<'_>> = BTreeMap::new();
    let (mut flags, mut references, mut patterns, mut unknown) =
        (Hits::default(), Hits::default(), Hits::default(), Hits::default());
    let mut cycles = Hits::default();
    for tool in tools {
        let Some(schema) = tool.get("inputSchema").filter(|schema| schema.is_object()) else { continue };
        for problem in problems(schema) {
            let value = schema.pointer(&problem.pointer);
            let pointer = format!("/inputSchema{}", problem.pointer);
            match problem.kind {
                // That of the root is found by its shape.
                ProblemKind::Invalid if problem.pointer == "/type" => {}
                // A tuple of draft-07 is a matter of portability.
                ProblemKind::Invalid
                    if problem.pointer.ends_with("/items") && value.is_some_and(Value::is_array) => {}
                ProblemKind::Invalid => {
                    invalid.entry(problem.message).or_default().push(*tool, pointer, value);
                }
                ProblemKind::RequiredFlag => flags.push(*tool, pointer, value),
                ProblemKind::Reference => references.push(*tool, pointer, value),
                ProblemKind::Cycle => cycles.push(*tool, pointer, value),
                ProblemKind::Pattern => patterns.push(*tool, pointer, value),
            }
        }
        for (pointer, name) in undefined(schema) {
            unknown.push(*tool, format!("/inputSchema{pointer}"), Some(name));
        }
    }
    for (message, hits) in invalid {
        found.extend(hits.finding(
            PT0403,
            &format!("`inputSchema` is not a valid JSON Schema: {message}"),
            "correct the keyword: JSON Schema 2020-12 says what it may be",
        ));
    }
    found.extend(flags.finding(
        PT0405,
        "`required` is a boolean in a property",
        "name the required arguments beside `properties`: `\"required\": [\"a\", \"b\"]`",
    ));
    found.extend(references.finding(
        PT0404,
        "a `$ref` of `inputSchema` leads nowhere",
        "bring the definition along in `$defs` of the same schema, or write it where it is used: hosts do not fetch schemas",
    ));
    let cycle = cycles.finding(
        PT0404,
        "a `$ref` of `inputSchema` leads back to itself, so that it says nothing",
        "write what the argument is where the `$ref` is, or let the definition say it: `{\"type\": \"string\"}`",
    );
    found.extend(cycle.map(|finding| finding.severity(Severity::Warning).affects(Vec::new())));
    let pattern = patterns.finding(
        PT0403,
        "a `pattern` of `inputSchema` is not a regular expression of ECMAScript (JSON Schema)",
        "write it in the syntax of ECMAScript: for example, without `(?P<name>..)` and `(?i)`",
    );
    found.extend(pattern.map(|finding| finding.severity(Severity::Warning)));
    found.extend(unknown.finding(
        PT0406,
        "`required` names an argument that is not in `properties`",
        "add the argument to `properties`, or remove it from `required`",
    ));
    found
}

/// Schemas that are not of an object.
fn shape(tools: &[Entry<'_>]) -> Vec<Finding> {
    let mut causes: BTreeMap<String, Hits<'_>> = BTreeMap::new();
    for tool in tools.iter().filter(|tool| tool.members().is_some()) {
        let schema = tool.get("inputSchema");
        let (cause, pointer, value) = match (schema, schema.and_then(|schema| schema.get("type"))) {
            (None, _) => ("`inputSchema` is missing".to_owned(), "", None),
            (Some(Value::Object(_)), Some(kind)) if kind == "object" => continue,
            (Some(Value::Object(_)), None) => {
                ("`inputSchema` has no `type`".to_owned(), "/inputSchema", schema)
            }
            (Some(Value::Object(_)), Some(kind)) => {
                let shown = kind
                    .as_str()
                    .map_or_else(|| shown::json(shortened(&kind.to_string())).into_owned(), excerpt);
                (
                    format!("`type` of `inputSchema` is not \"object\" but {shown}"),
                    "/inputSchema/type",
                    Some(kind),
                )
            }
            (Some(_), _) => ("`inputSchema` is not an object".to_owned(), "/inputSchema", schema),
        };
        causes.entry(cause).or_default().push(*tool, pointer.to_owned(), value);
    }
    causes.into_iter().filter_map(|(cause, hits)| hits.finding(PT0402, &cause, AS_OBJECT)).collect()
}

/// The names in `required` that are not in `properties`. Where other keywords may define properties, it cannot be told.
fn undefined(schema: &Value) -> Vec<(String, &Value)> {
    const ELSEWHERE: [&str; 9] = [
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "$ref",
        "$dynamicRef",
        "patternProperties",
        "dependentSchemas",
        "not",
    ];
    let mut found = Vec::new();
    let parts = walk::parts(schema);
    for part in parts.iter().filter(|part| !part.in_place) {
        let Some(members) = part.members() else { continue };
        let is_open = ELSEWHERE.iter().any(|keyword| members.contains_key(*keyword))
            || members.get("additionalProperties").is_some_and(|it| it != &Value::Bool(false));
        let Some(properties) = members.get("properties").and_then(Value::as_object).filter(|_| !is_open)
        else {
            continue;
        };
        // Parts of a schema that is composed are about the same value as the others.
        if part.pointer.contains("/allOf/")
            || part.pointer.contains("$defs/")
            || part.pointer.contains("definitions/")
        {
            continue;
        }
        let names = members.get("required").and_then(Value::as_array).into_iter().flatten().enumerate();
        for (at, name) in names {
            if name.as_str().is_some_and(|name| !properties.contains_key(name)) {
                found.push((format!("{}/{at}", part.at("required")), name));
            }
        }
    }
    found
}
