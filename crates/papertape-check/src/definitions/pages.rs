//! The pages of a list, up to the last one or to a cursor that does not lead on.

use std::collections::HashSet;

use papertape::wire::error::shortened;
use papertape::wire::shown;
use serde_json::Value;

use super::Lists;
use crate::code::definitions::PT0420;
use crate::evidence::Evidence;
use crate::finding::{Finding, Severity};

/// How many entries of a list are kept.
const ENTRIES: usize = 10_000;

/// What was read of a list.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// The entries of all pages.
    pub(crate) entries: Vec<Value>,
    cursors: Vec<Value>,
}

impl Pages {
    /// Takes the result of a list request, which has the entries as `member`: whether there is a next page.
    pub(crate) fn take(
        &mut self,
        lists: &mut Lists,
        (method, member): (&'static str, &str),
        result: &Value,
    ) -> bool {
        let next = result.get("nextCursor").filter(|cursor| cursor.is_string());
        let repeats = next.is_some_and(|cursor| self.cursors.contains(cursor));
        if let Some(page) = result.get(member).and_then(Value::as_array) {
            // With a cursor that repeats, it may be the same page again, or the last one.
            let known: HashSet<String> =
                self.entries.iter().filter(|_| repeats).map(Value::to_string).collect();
            let new = page.iter().filter(|entry| !repeats || !known.contains(&entry.to_string()));
            let room = ENTRIES.saturating_sub(self.entries.len());
            self.entries.extend(new.take(room).cloned());
        } else {
            lists.invalid.push((method, result.clone()));
        }
        let Some(next) = next else { return false };
        // One that repeats would never end. Many servers mean the end of the list by an empty one.
        if repeats || next == "" {
            lists.endless.push((method, next.clone()));
            return false;
        }
        self.cursors.push(next.clone());
        true
    }

    /// The cursor of the next page.
    pub(crate) fn cursor(&self) -> Option<&Value> {
        self.cursors.last()
    }
}

/// Cursors that do not lead on.
pub(super) fn inspect(cursors: &[(&'static str, Value)]) -> Vec<Finding> {
    let findings = cursors.iter().map(|(method, cursor)| {
        let is_empty = cursor == "";
        let shown = shown::json(shortened(&cursor.to_string())).to_string();
        let why = if is_empty {
            "has an empty `nextCursor`, which is a cursor like any other in 2026-07-28"
        } else {
            "repeats a cursor, so that the list never ends"
        };
        Finding::new(PT0420, format!("a result of {method} {why}"))
            .severity(if is_empty { Severity::Note } else { Severity::Warning })
            .subject(*method)
            .evidence(Evidence::fact(format!("`nextCursor` is {shown}")))
            .remedy(
                "leave `nextCursor` out of the last page, and use the `cursor` of a request to find its page",
            )
    });
    findings.collect()
}
