//! What is wrong with tools.

use serde_json::Value;

use crate::code::definitions::PT0401;
use crate::evidence::Evidence;
use crate::finding::Finding;

/// What is wrong with the tools of a list.
pub(super) fn inspect(tools: &[Value]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (at, tool) in tools.iter().enumerate() {
        if tool.get("name").and_then(Value::as_str).is_none_or(str::is_empty) {
            found.push(
                Finding::new(PT0401, format!("the tool at index {at} of the list has no name"))
                    .evidence(Evidence::fact(tool.to_string().chars().take(200).collect::<String>()))
                    .remedy("give every tool a `name` that is a string and not empty"),
            );
        }
    }
    found
}
