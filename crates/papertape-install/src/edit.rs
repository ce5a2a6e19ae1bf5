//! Edits of a text, and what is needed to take one back to the byte.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// New text in place of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

/// What was written around something that was inserted, and what was there instead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Surroundings {
    pub(crate) before: String,
    pub(crate) after: String,
    pub(crate) replaced: String,
    /// It was the first of its object, so that there is no comma among these.
    pub(crate) alone: bool,
}

/// A text with something inserted.
#[derive(Debug)]
pub(crate) struct Inserted {
    pub(crate) text: String,
    pub(crate) surroundings: Surroundings,
}

impl Edit {
    pub(crate) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { range: at..at, text: text.into() }
    }

    pub(crate) fn delete(range: Range<usize>) -> Self {
        Self { range, text: String::new() }
    }
}

impl Surroundings {
    /// The text with `node` in place of `range`, inside these surroundings.
    pub(crate) fn insert(self, text: &str, range: Range<usize>, node: &str) -> Inserted {
        let new = format!("{}{node}{}", self.before, self.after);
        Inserted { text: apply(text, vec![Edit { range, text: new }]), surroundings: self }
    }

    /// The edit that takes the insertion back; `None` if the text around it is not the same any more.
    pub(crate) fn undo(&self, text: &str, node: Range<usize>) -> Option<Edit> {
        let fits = part(text, 0..node.start).ends_with(&self.before)
            && part(text, node.end..text.len()).starts_with(&self.after);
        let range = node.start.checked_sub(self.before.len())?..node.end + self.after.len();
        fits.then(|| Edit { range, text: self.replaced.clone() })
    }
}

/// The text with edits that do not overlap.
pub(crate) fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.range.start);
    let (mut new, mut at) = (String::with_capacity(text.len()), 0);
    for edit in edits {
        new += part(text, at..edit.range.start);
        new += &edit.text;
        at = edit.range.end;
    }
    new + part(text, at..text.len())
}

/// A part of a text. The places of a parser are between characters; any other range is empty.
pub(crate) fn part(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

/// The white space at the end of a text that is on its last line.
pub(crate) fn last_indentation(text: &str) -> &str {
    let line = text.rsplit('\n').next().unwrap_or_default();
    let end = line.len() - line.trim_start_matches([' ', '\t']).len();
    part(line, 0..end)
}

/// The line ending of a text: that of its first line.
pub(crate) fn newline(text: &str) -> &'static str {
    match text.split_once('\n') {
        Some((first, _)) if first.ends_with('\r') => "\r\n",
        _ => "\n",
    }
}
