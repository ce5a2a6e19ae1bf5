//! Descriptions that are missing.

use serde_json::Value;

use super::entry::{Entries, Entry, Kind};
use super::hits::Hits;
use crate::code::definitions::{PT0408, PT0417, PT0418};
use crate::finding::Finding;

/// Tools, arguments, resources and prompts without a description.
pub(super) fn inspect(entries: &Entries<'_>) -> Vec<Finding> {
    let (mut tools, mut arguments, mut others) = (Hits::default(), Hits::default(), Hits::default());
    for tool in &entries.tools {
        if is_missing(*tool) {
            tools.entry(*tool);
        }
        let properties = tool.value.pointer("/inputSchema/properties").and_then(Value::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            if !describes(schema) {
                let pointer = format!("/inputSchema/properties/{}", papertape_schema::pointer_step(name));
                arguments.push(*tool, pointer, Some(schema));
            }
        }
    }
    for entry in entries.all().filter(|entry| entry.kind != Kind::Tool && is_missing(*entry)) {
        others.entry(entry);
    }
    let findings = [
        tools.finding(
            PT0408,
            "`description` is missing",
            "say in a sentence or two what the tool does and when to use it",
        ),
        arguments.finding(
            PT0417,
            "an argument has no `description`",
            "say what the argument means, its unit or format, and give an example",
        ),
        others.finding(PT0418, "`description` is missing", "say what it contains, or what it is for"),
    ];
    findings.into_iter().flatten().collect()
}

fn is_missing(entry: Entry<'_>) -> bool {
    // A description of another type is a finding of its own.
    let text = |name: &str| entry.get(name).and_then(Value::as_str).map(str::trim);
    entry.members().is_some()
        && entry.get("description").is_none_or(Value::is_string)
        && text("description").unwrap_or_default().is_empty()
}

/// Whether a schema, or one that it is composed of, has a description.
fn describes(schema: &Value) -> bool {
    let own = schema.get("description").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
    // What a reference leads to may have one.
    own || schema.get("$ref").is_some()
        || ["anyOf", "oneOf", "allOf"].iter().any(|keyword| {
            let parts = schema.get(keyword).and_then(Value::as_array);
            parts
                .into_iter()
                .flatten()
                .any(|part| part.get("$ref").is_some() || part.get("description").is_some())
        })
}
