//! Results that have no list.

use papertape::wire::error::shortened;
use papertape::wire::shown;
use serde_json::Value;

use crate::code::definitions::PT0419;
use crate::evidence::Evidence;
use crate::finding::Finding;
use crate::hosts;

/// Results of list requests without an array of entries.
pub(super) fn inspect(results: &[(&'static str, Value)]) -> Vec<Finding> {
    let findings = results.iter().map(|(method, result)| {
        let member = match *method {
            "tools/list" => "tools",
            "resources/list" => "resources",
            "resources/templates/list" => "resourceTemplates",
            _ => "prompts",
        };
        let why = match result.get(member) {
            None => format!("has no `{member}`"),
            Some(value) => format!(
                "has {} as `{member}`, which is not an array",
                shown::json(shortened(&value.to_string()))
            ),
        };
        Finding::new(PT0419, format!("the result of {method} {why}"))
            .subject(*method)
            .evidence(Evidence::fact(format!("the result: {}", shown::json(shortened(&result.to_string())))))
            .remedy(format!(
                "answer with `{{\"{member}\": [..]}}`, and with an empty array if there are none"
            ))
            .affects(hosts::affected(PT0419.name()))
    });
    findings.collect()
}
