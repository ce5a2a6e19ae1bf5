//! The size of the lists.

use super::Lists;
use crate::code::definitions::PT0416;
use crate::evidence::Evidence;
use crate::finding::{Finding, Severity};
use crate::hosts;

/// Bytes of JSON for a token, about.
const BYTES_PER_TOKEN: u64 = 4;
/// Claude Code warns of tools with more tokens than this.
const MOST_TOKENS: u64 = 25_000;

/// How much of a model's context the definitions take.
pub(super) fn inspect(lists: &Lists) -> Option<Finding> {
    let count = lists.tools.len();
    if count == 0 {
        return None;
    }
    let sizes: Vec<u64> = lists.tools.iter().map(|tool| tool.to_string().len() as u64).collect();
    let bytes: u64 = sizes.iter().sum();
    let tokens = bytes / BYTES_PER_TOKEN;
    let is_large = tokens > MOST_TOKENS;
    let tools = if count == 1 { "the tool takes".to_owned() } else { format!("the {count} tools take") };
    // It is an estimate.
    let about = if tokens < 1_000 { tokens } else { (tokens + 50) / 100 * 100 };
    let message = format!("{tools} {bytes} bytes of JSON, about {about} tokens of a model's context");
    let largest = lists.tools.iter().zip(&sizes).max_by_key(|(_, size)| **size);
    let mut finding = Finding::new(PT0416, message)
        .evidence(Evidence::fact(format!("all lists together: {} bytes", lists.bytes.max(bytes))))
        .remedy("offer fewer tools at a time, and shorten descriptions and schemas that are long")
        .severity(if is_large { Severity::Warning } else { Severity::Note });
    if let Some((tool, size)) = largest.filter(|_| count > 1) {
        let name = tool.get("name").and_then(serde_json::Value::as_str).unwrap_or_default();
        let name = papertape::wire::error::excerpt(name);
        finding = finding.evidence(Evidence::fact(format!("the largest is {name}: {size} bytes")));
    }
    if is_large {
        finding = finding.affects(hosts::affected(PT0416.name()));
    }
    Some(finding)
}
