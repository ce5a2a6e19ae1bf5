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

/// How many pages of a list are read.
const PAGES: usize = 100;

/// How many bytes of all lists are read.
const BYTES: u64 = 64 * 1024 * 1024;

/// What was read of a list.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// The entries of all pages.
    pub(crate) entries: Vec<Value>,
    cursors: Vec<Value>,
}

impl Pages {
    /// Takes the entries, which are `member`, out of the result of a list request: whether the next page is to be read.
    pub(crate) fn take(
        &mut self,
        lists: &mut Lists,
        (method, member): (&'static str, &str),
        result: &mut Value,
    ) -> bool {
        let next = result.get("nextCursor").filter(|cursor| cursor.is_string()).cloned();
        let repeats = next.as_ref().is_some_and(|cursor| self.cursors.contains(cursor));
        let mut left = 0;
        if let Some(page) = result.get_mut(member).and_then(Value::as_array_mut) {
            // With a cursor that repeats, it may be the same page again, or the last one.
            let known: HashSet<String> =
                self.entries.iter().filter(|_| repeats).map(Value::to_string).collect();
            let page = std::mem::take(page).into_iter();
            let mut new = page.filter(|entry| !repeats || !known.contains(&entry.to_string()));
            let room = ENTRIES.saturating_sub(self.entries.len());
            self.entries.extend(new.by_ref().take(room));
            left = new.count();
        } else {
            lists.invalid.push((method, result.clone()));
        }
        if left > 0 {
            lists.cut.push(format!("`{method}` after its first {ENTRIES} entries"));
            return false;
        }
        let Some(next) = next else { return false };
        // One that repeats would never end. Many servers mean the end of the list by an empty one.
        if repeats || next == "" {
            lists.endless.push((method, next.clone()));
            return false;
        }
        self.cursors.push(next);
        let after = if self.entries.len() >= ENTRIES {
            format!("{ENTRIES} entries")
        } else if self.cursors.len() >= PAGES {
            format!("{PAGES} pages")
        } else if lists.bytes >= BYTES {
            format!("{BYTES} bytes")
        } else {
            return true;
        };
        lists.cut.push(format!("`{method}` after its first {after}"));
        false
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
