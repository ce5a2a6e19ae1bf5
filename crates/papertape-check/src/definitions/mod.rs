//! Listed definitions to findings: what is wrong with tools, resources, templates and prompts.
//!
//! - `entry`: an entry of a list; `hits`: the places of one problem, which become one finding
//! - `pages`: the pages of a list, and whether it ends
//! - `names`, `fields`, `descriptions`: what entries of every kind share
//! - `input_schema`, `output_schema`: the schemas of tools, by `schema` (what is wrong with one) and `walk` (its parts)
//! - `uris`, `uri_template`, `prompts`, `size`
//!
//! What is valid, but not portable, is in `portability`.

pub(crate) mod entry;
pub(crate) mod hits;
pub(crate) mod pages;
pub(crate) mod walk;

mod descriptions;
mod fields;
mod input_schema;
mod names;
mod output_schema;
mod prompts;
mod results;
mod schema;
mod size;
mod uri_template;
mod uris;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

use crate::finding::{Finding, Severity};
use crate::portability;
use entry::Entries;

/// What a server lists, as it is on the wire.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Lists {
    /// The entries of `tools/list`, of all pages; the same in memory where several revisions list the same.
    pub(crate) tools: Arc<Vec<Value>>,
    /// Those of `resources/list`.
    pub(crate) resources: Vec<Value>,
    /// Those of `resources/templates/list`.
    pub(crate) templates: Vec<Value>,
    /// Those of `prompts/list`.
    pub(crate) prompts: Vec<Value>,
    /// The size of the results, in bytes.
    pub(crate) bytes: u64,
    /// They were listed in 2026-07-28 or a newer revision, in which an output schema may be of any type.
    pub(crate) is_modern: bool,
    /// Results without an array of entries: the method, and the result.
    pub(crate) invalid: Vec<(&'static str, Value)>,
    /// Cursors that do not lead to another page: the method, and the cursor.
    pub(crate) endless: Vec<(&'static str, Value)>,
    /// What was not read: `` `tools/list` after its first 10000 entries ``.
    pub(crate) cut: Vec<String>,
}

impl Lists {
    /// Whether there is nothing to inspect.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self { is_modern: self.is_modern, ..Self::default() }
    }
}

/// [`inspect`], and what breaks only in a session-based revision, whose lists may differ.
pub(crate) fn inspect_both(newest: &Lists, session_based: Option<&Lists>) -> Vec<Finding> {
    let mut found = inspect(newest);
    for finding in session_based.map(inspect).into_iter().flatten() {
        let is_known =
            found.iter().any(|known| (known.code, &known.message) == (finding.code, &finding.message));
        if finding.severity == Severity::Breaks && !is_known {
            found.push(finding);
        }
    }
    found
}

/// What is wrong with definitions, or not portable.
pub(crate) fn inspect(lists: &Lists) -> Vec<Finding> {
    let entries = Entries::of(lists);
    let mut found = results::inspect(&lists.invalid);
    found.extend(pages::inspect(&lists.endless));
    found.extend(names::inspect(&entries));
    found.extend(fields::inspect(&entries));
    found.extend(input_schema::inspect(&entries.tools));
    found.extend(output_schema::inspect(&entries.tools, lists.is_modern));
    found.extend(uris::inspect(&entries));
    found.extend(prompts::inspect(&entries.prompts));
    found.extend(descriptions::inspect(&entries));
    found.extend(portability::inspect(lists, &entries));
    found.extend(size::inspect(lists));
    found
}
