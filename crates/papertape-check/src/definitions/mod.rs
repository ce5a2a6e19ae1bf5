//! Listed definitions to findings: what is wrong with tools, resources, templates and prompts.

mod tool;

use serde_json::Value;

use crate::finding::Finding;

/// What a server lists, as it is on the wire.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Lists {
    /// The entries of `tools/list`, of all pages.
    pub(crate) tools: Vec<Value>,
    /// Those of `resources/list`.
    pub(crate) resources: Vec<Value>,
    /// Those of `resources/templates/list`.
    pub(crate) templates: Vec<Value>,
    /// Those of `prompts/list`.
    pub(crate) prompts: Vec<Value>,
    /// The size of the results, in bytes.
    pub(crate) bytes: u64,
}

/// What is wrong with definitions, or not portable.
pub(crate) fn inspect(lists: &Lists) -> Vec<Finding> {
    tool::inspect(&lists.tools)
}
