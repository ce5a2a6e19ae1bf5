//! Which rows are listed.

use std::collections::HashSet;

use crate::index::Index;
use crate::row::{Kind, Row};

/// What the page asks for; empty members match everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Filter {
    /// Text in names or bytes, in any case.
    pub(crate) text: String,
    /// Letters: `>`, `<`, `!` and `*` for where it was seen, `r` requests, `e` errors, `f` findings.
    pub(crate) only: String,
    pub(crate) method: String,
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
}

impl Filter {
    /// The rows, by their index. `found` has the numbers of the records whose bytes have the text.
    pub(crate) fn rows(&self, index: &Index, found: Option<&HashSet<u64>>) -> Vec<u32> {
        let all = 0..u32::try_from(index.rows.len()).unwrap_or(u32::MAX);
        let listed = index.rows.iter().zip(all);
        listed.filter(|(row, _)| self.matches(index, row, found)).map(|(_, at)| at).collect()
    }

    fn matches(&self, index: &Index, row: &Row, found: Option<&HashSet<u64>>) -> bool {
        let lanes = || self.only.chars().filter(|letter| "><!*".contains(*letter));
        if lanes().next().is_some() && !lanes().any(|sign| sign == row.lane.sign()) {
            return false;
        }
        let is = |letter| self.only.contains(letter);
        if (is('r') && !matches!(row.kind, Kind::Request(_)))
            || (is('e') && !index.is_error(row))
            || (is('f') && row.findings == 0)
        {
            return false;
        }
        let time = row.place.time.map(|time| time.as_secs_f64());
        if self.from.is_some_and(|from| time.is_none_or(|time| time < from))
            || self.to.is_some_and(|to| time.is_none_or(|time| time > to))
        {
            return false;
        }
        let (method, name) = index.names(row);
        if !self.method.is_empty() && method != Some(&self.method) {
            return false;
        }
        self.text.is_empty()
            || found.is_some_and(|found| found.contains(&row.place.first) || found.contains(&row.place.last))
            || [method, name].into_iter().flatten().any(|text| contains(text, &self.text))
    }
}

fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}
