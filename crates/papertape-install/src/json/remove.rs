//! A member out of an object, with its comma and its line.

use std::ops::Range;

use super::{Member, Node};
use crate::edit::{Edit, Surroundings, part};

/// The edits that remove a member: those that take its insertion back, if the text around it is still the same, or else
/// those for the member, its comma, and its line if nothing else is on it. Comments stay.
pub(crate) fn remove_member(
    text: &str,
    object: &Node,
    member: &Member,
    inserted: Option<&Surroundings>,
) -> Vec<Edit> {
    let members = object.members().unwrap_or_default();
    let fits = |surroundings: &&Surroundings| surroundings.alone == (members.len() == 1);
    if let Some(undo) = inserted.filter(fits).and_then(|surroundings| surroundings.undo(text, member.range()))
    {
        return vec![undo];
    }
    let index = members.iter().position(|other| other.key_range == member.key_range).unwrap_or_default();
    let previous = index.checked_sub(1).and_then(|index| members.get(index));
    let next = members.get(index + 1);
    let end = next.map_or(object.interior().end, |next| next.key_range.start);
    let own_comma = comma(text, member.value.range.end..end);
    let interior = object.interior();
    let (before, after) =
        (interior.start..member.key_range.start, own_comma.unwrap_or(member.value.range.end)..interior.end);
    if members.len() == 1 && is_blank(part(text, before)) && is_blank(part(text, after)) {
        return vec![Edit::delete(interior)];
    }
    let mut edits = Vec::new();
    let from = previous.map_or(interior.start, |previous| previous.value.range.end);
    let between = part(text, from..member.key_range.start);
    let line = match own_comma {
        // Its own comma goes with it; `a, b` on one line keeps the space before `a`.
        Some(comma) if is_blank(part(text, member.value.range.end..comma - 1)) => {
            let rest = part(text, comma..end);
            let same_line = next.is_some() && is_blank(rest) && !rest.contains('\n');
            let end = if same_line { end } else { comma };
            whole_lines(text, member.key_range.start..end)
        }
        Some(comma) => {
            edits.push(Edit::delete(comma - 1..comma));
            whole_lines(text, member.range())
        }
        None => {
            // The comma before it would be one after the last member.
            let comma_before = comma(text, from..member.key_range.start).filter(|_| previous.is_some());
            let lines = whole_lines(text, member.range());
            match comma_before {
                Some(comma) if is_blank(between.get(comma - from..).unwrap_or_default()) => {
                    comma - 1..lines.end.max(member.value.range.end)
                }
                Some(comma) => {
                    edits.push(Edit::delete(comma - 1..comma));
                    lines
                }
                None => lines,
            }
        }
    };
    edits.push(Edit::delete(line));
    edits
}

/// Whether there is only white space.
pub(crate) fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_whitespace())
}

/// The end of the first comma outside comments.
fn comma(text: &str, range: Range<usize>) -> Option<usize> {
    let mut at = range.start;
    while at < range.end {
        let rest = part(text, at..range.end);
        at += match rest.as_bytes() {
            [b',', ..] => return Some(at + 1),
            [b'/', b'/', ..] => rest.find('\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
    }
    None
}

/// The range with the end of the line before it, if nothing else is on its lines.
fn whole_lines(text: &str, range: Range<usize>) -> Range<usize> {
    let before = part(text, 0..range.start).trim_end_matches([' ', '\t']);
    let after = part(text, range.end..text.len());
    let rest = after.trim_start_matches([' ', '\t']);
    match before.strip_suffix('\n') {
        Some(line) if rest.starts_with('\n') || rest.starts_with("\r\n") => {
            // Spaces at the end of its line were at the end of the line before it.
            line.strip_suffix('\r').unwrap_or(line).len()..range.end
        }
        _ => range,
    }
}
