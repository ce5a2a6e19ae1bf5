//! A member into an object, in the style of the file.

use std::ops::Range;

use super::{Member, Node};
use crate::edit::{Inserted, Surroundings, last_indentation, newline, part};
use crate::entry::Data;

/// How members are laid out.
struct Layout<'a> {
    newline: &'a str,
    /// Each member on a line of its own, with this indentation; `None` for all on one line.
    indentation: Option<String>,
    /// One more level.
    unit: String,
    colon: &'static str,
    comma: &'static str,
}

/// An empty object into a document without a value; comments stay before it.
pub(crate) fn insert_root(text: &str) -> Inserted {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let replaced = part(text, start..text.len()).to_owned();
    let (kept, newline) = (replaced.trim_end(), newline(text));
    let before = if kept.is_empty() { String::new() } else { format!("{kept}{newline}") };
    let surroundings =
        Surroundings { before, after: newline.to_owned(), replaced: replaced.clone(), alone: true };
    surroundings.insert(text, start..text.len(), "{}")
}

/// A member at the end of an object, which is within `root`.
pub(crate) fn insert_member(text: &str, root: &Node, object: &Node, key: &str, value: &Data) -> Inserted {
    let node = |layout: &Layout<'_>| format!("{}{}{}", quoted(key), layout.colon, layout.written(value));
    match object.members().and_then(<[Member]>::last) {
        Some(last) => {
            let layout = Layout::of_member(text, root, object, last);
            let (range, surroundings) = after(text, object, last, &layout);
            surroundings.insert(text, range, &node(&layout))
        }
        None => {
            let layout = Layout::of_empty(text, root, object);
            let (range, surroundings) = within(text, object, &layout);
            surroundings.insert(text, range, &node(&layout))
        }
    }
}

/// Another value for a member, in the style of the file.
pub(crate) fn replace_value(text: &str, root: &Node, object: &Node, member: &Member, value: &Data) -> String {
    Layout::of_member(text, root, object, member).written(value)
}

/// What comes around a member after the last one.
fn after(text: &str, object: &Node, last: &Member, layout: &Layout<'_>) -> (Range<usize>, Surroundings) {
    let (comma, end_of_line) = rest_of_line(text, last.value.range.end);
    let (end, separator) = match &layout.indentation {
        // Behind the comments that belong to the last member.
        Some(indentation) => (end_of_line, format!("{}{indentation}", layout.newline)),
        None => (comma.unwrap_or(last.value.range.end), space_before(text, object, last, layout)),
    };
    let range = last.value.range.end..end;
    let replaced = part(text, range.clone()).to_owned();
    // A comma after the last member is the style of the file, and is kept.
    let (comma, trailing) = if comma.is_some() { ("", ",") } else { (",", "") };
    let before = format!("{comma}{replaced}{separator}");
    (range, Surroundings { before, after: trailing.to_owned(), replaced, alone: false })
}

/// What comes around the only member of an object; comments stay before it.
fn within(text: &str, object: &Node, layout: &Layout<'_>) -> (Range<usize>, Surroundings) {
    let interior = object.interior();
    let inside = part(text, interior.clone());
    let comments = inside.trim_end();
    let replaced = inside.to_owned();
    let Some(indentation) = &layout.indentation else {
        let before = comments.to_owned();
        return (interior, Surroundings { before, after: String::new(), replaced, alone: true });
    };
    let base = indentation.strip_suffix(&layout.unit).unwrap_or_default();
    let before = format!("{comments}{}{indentation}", layout.newline);
    (interior, Surroundings { before, after: format!("{}{base}", layout.newline), replaced, alone: true })
}

/// What separates members on one line.
fn space_before(text: &str, object: &Node, last: &Member, layout: &Layout<'_>) -> String {
    let only = object.members().is_none_or(|members| members.len() == 1);
    let before = part(text, 0..last.key_range.start);
    let space = part(before, before.trim_end_matches([' ', '\t']).len()..before.len());
    if only { layout.comma.trim_start_matches(',').to_owned() } else { space.to_owned() }
}

/// After a value: the end of a comma on its line, and the end of what is on its line beside white space.
fn rest_of_line(text: &str, from: usize) -> (Option<usize>, usize) {
    let (mut comma, mut at, mut end) = (None, from, from);
    loop {
        let rest = part(text, at..text.len());
        at += match rest.as_bytes() {
            [b' ' | b'\t', ..] => {
                at += 1;
                continue;
            }
            [b',', ..] if comma.is_none() => {
                comma = Some(at + 1);
                1
            }
            [b'/', b'/', ..] => rest.split('\n').next().unwrap_or_default().trim_end_matches('\r').len(),
            [b'/', b'*', ..] => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ => return (comma, end),
        };
        end = at;
    }
}

impl<'a> Layout<'a> {
    /// The layout of a member.
    fn of_member(text: &'a str, root: &Node, object: &Node, member: &Member) -> Self {
        let before = part(text, object.range.start..member.key_range.start);
        let on_its_own_line = before.trim_end_matches([' ', '\t']).ends_with('\n');
        let indentation = on_its_own_line.then(|| last_indentation(before).to_owned());
        let tight = member.key_range.end + 1 == member.value.range.start;
        Self::new(text, root, indentation, tight)
    }

    /// The layout of the first member of an object, from that of the objects around it.
    fn of_empty(text: &'a str, root: &Node, object: &Node) -> Self {
        let document = part(text, root.range.clone());
        let has_members = root.members().is_some_and(|members| !members.is_empty());
        let tight = has_members && !document.contains(": ");
        let mut layout = Self::new(text, root, None, tight);
        let comment = part(text, object.interior()).contains("//");
        if !has_members || document.contains('\n') || comment {
            let base = last_indentation(part(text, 0..object.range.start)).trim_start_matches('\u{feff}');
            layout.indentation = Some(format!("{base}{}", layout.unit));
            layout.colon = ": ";
            layout.comma = ", ";
        }
        layout
    }

    fn new(text: &'a str, root: &Node, indentation: Option<String>, tight: bool) -> Self {
        let tight = tight && indentation.is_none();
        let (colon, comma) = if tight { (":", ",") } else { (": ", ", ") };
        let first = root.members().and_then(<[Member]>::first);
        let unit = first.map(|member| part(text, root.range.start..member.key_range.start));
        let unit = unit.filter(|before| before.contains('\n')).map(last_indentation);
        let unit = unit.filter(|unit| !unit.is_empty()).unwrap_or("  ").to_owned();
        Self { newline: newline(text), indentation, unit, colon, comma }
    }

    /// A value as text. Of an object on several lines, each member has one.
    fn written(&self, value: &Data) -> String {
        match (value, &self.indentation) {
            (Data::Members(members), Some(indentation)) if !members.is_empty() => {
                let inner = format!("{}{indentation}{}", self.newline, self.unit);
                let members: Vec<String> = members
                    .iter()
                    .map(|(key, value)| {
                        format!("{inner}{}{}{}", quoted(key), self.colon, self.on_one_line(value))
                    })
                    .collect();
                format!("{{{}{}{indentation}}}", members.join(","), self.newline)
            }
            _ => self.on_one_line(value),
        }
    }

    fn on_one_line(&self, value: &Data) -> String {
        match value {
            Data::Text(text) => quoted(text),
            Data::List(list) => {
                format!("[{}]", list.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(self.comma))
            }
            Data::Members(members) => {
                let members = members
                    .iter()
                    .map(|(key, value)| format!("{}{}{}", quoted(key), self.colon, self.on_one_line(value)));
                format!("{{{}}}", members.collect::<Vec<_>>().join(self.comma))
            }
        }
    }
}

/// A string of JSON.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
