//! Differences as lines that a person can read.

use std::fmt;

use papertape::wire::tape::escaped;
use papertape_tape::Difference;
use serde_json::Value;

/// Strings with more characters than this, or with several lines, are compared line by line.
const SHORT: usize = 120;

/// How much of a value is shown.
const MOST_SHOWN: usize = 400;

/// How many lines of a text are shown.
const MOST_LINES: usize = 40;

/// How many lines of two texts are compared with each other.
const MOST_COMPARED: usize = 1_000;

/// How many lines around a difference are shown, and how many characters of a line.
const AROUND: usize = 2;
const CHARACTERS_AROUND: usize = 40;

/// A line of a difference, without the characters that a terminal would interpret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffLine {
    /// Where it is.
    Place(String),
    /// What the tape has.
    Recorded(String),
    /// What the server has responded.
    New(String),
    /// What both have.
    Both(String),
}

/// `- recorded`, `+ new`.
impl fmt::Display for DiffLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DiffLine::Place(text) => f.write_str(text),
            DiffLine::Recorded(text) => write!(f, "  - {text}"),
            DiffLine::New(text) => write!(f, "  + {text}"),
            DiffLine::Both(text) => write!(f, "    {text}"),
        }
    }
}

/// The lines of a difference.
#[must_use]
pub fn lines(difference: &Difference) -> Vec<DiffLine> {
    let mut place = escaped(difference.pointer.as_bytes());
    if place.is_empty() {
        place.push('/');
    }
    if let Some(label) = &difference.label {
        place += &format!(" ({})", shortened(label));
    }
    let mut lines = Vec::new();
    match (&difference.old, &difference.new) {
        (Some(Value::String(old)), Some(Value::String(new))) if is_long(old) || is_long(new) => {
            lines.push(DiffLine::Place(place));
            of_texts(old, new, &mut lines);
        }
        (None, None) => lines.push(DiffLine::Place(format!("{place}: the order differs"))),
        (old, new) => {
            place += match (old, new) {
                (None, _) => ": new",
                (_, None) => ": missing",
                _ => "",
            };
            lines.push(DiffLine::Place(place));
            lines.extend(old.as_ref().map(|old| DiffLine::Recorded(shortened(&old.to_string()))));
            lines.extend(new.as_ref().map(|new| DiffLine::New(shortened(&new.to_string()))));
        }
    }
    lines
}

fn is_long(text: &str) -> bool {
    text.contains('\n') || text.chars().nth(SHORT).is_some()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        None => escaped(text.as_bytes()),
        Some((end, _)) => {
            let beginning = text.get(..end).unwrap_or_default();
            let rest = text.len() - beginning.len();
            format!("{} ... and {rest} more bytes", escaped(beginning.as_bytes()))
        }
    }
}

/// A unified diff of two texts.
fn of_texts(old: &str, new: &str, out: &mut Vec<DiffLine>) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    if let ([old], [new]) = (&old[..], &new[..]) {
        let (old, new) = around(old, new);
        out.extend([DiffLine::Recorded(old), DiffLine::New(new)]);
        return;
    }
    let changes = changes(&old, &new);
    let is_near = |at: usize| {
        let near = changes.get(at.saturating_sub(AROUND)..changes.len().min(at + AROUND + 1));
        near.is_some_and(|near| near.iter().any(|change| !matches!(change, Change::Both(_))))
    };
    let (mut shown, mut left_out) = (0, 0);
    for (at, change) in changes.iter().enumerate() {
        if !is_near(at) || shown >= MOST_LINES {
            left_out += 1;
            continue;
        }
        if left_out > 0 {
            out.push(DiffLine::Both(skipped(left_out)));
            left_out = 0;
        }
        shown += 1;
        out.push(match change {
            Change::Recorded(line) => DiffLine::Recorded(shortened(line)),
            Change::New(line) => DiffLine::New(shortened(line)),
            Change::Both(line) => DiffLine::Both(shortened(line)),
        });
    }
    if left_out > 0 {
        out.push(DiffLine::Both(skipped(left_out)));
    }
}

fn skipped(lines: usize) -> String {
    format!("... {lines} more line{}", if lines == 1 { "" } else { "s" })
}

enum Change<'a> {
    Recorded(&'a str),
    New(&'a str),
    Both(&'a str),
}

/// The lines of two texts in one list, by their longest common subsequence.
fn changes<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Change<'a>> {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let ends = old.iter().skip(start).rev().zip(new.iter().skip(start).rev());
    let end = ends.take_while(|(old, new)| old == new).count();
    let middle = |lines: &[&'a str]| lines.get(start..lines.len() - end).unwrap_or_default().to_vec();
    let (old_middle, new_middle) = (middle(old), middle(new));

    let mut changes: Vec<Change<'a>> = old.iter().take(start).map(|line| Change::Both(line)).collect();
    if old_middle.len().max(new_middle.len()) > MOST_COMPARED {
        changes.extend(old_middle.into_iter().map(Change::Recorded));
        changes.extend(new_middle.into_iter().map(Change::New));
    } else {
        aligned(&old_middle, &new_middle, &mut changes);
    }
    changes.extend(old.iter().skip(old.len() - end).map(|line| Change::Both(line)));
    changes
}

fn aligned<'a>(old: &[&'a str], new: &[&'a str], changes: &mut Vec<Change<'a>>) {
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    let length =
        |lengths: &[u32], row: usize, column: usize| lengths.get(row * width + column).copied().unwrap_or(0);
    for (row, old) in old.iter().enumerate().rev() {
        for (column, new) in new.iter().enumerate().rev() {
            let best = if old == new {
                length(&lengths, row + 1, column + 1) + 1
            } else {
                length(&lengths, row + 1, column).max(length(&lengths, row, column + 1))
            };
            if let Some(cell) = lengths.get_mut(row * width + column) {
                *cell = best;
            }
        }
    }
    let (mut row, mut column) = (0, 0);
    loop {
        match (old.get(row), new.get(column)) {
            (Some(one), Some(other)) if one == other => {
                changes.push(Change::Both(one));
                (row, column) = (row + 1, column + 1);
            }
            (Some(one), other)
                if other.is_none()
                    || length(&lengths, row + 1, column) >= length(&lengths, row, column + 1) =>
            {
                changes.push(Change::Recorded(one));
                row += 1;
            }
            (_, Some(other)) => {
                changes.push(Change::New(other));
                column += 1;
            }
            (_, None) => return,
        }
    }
}

/// Two long lines, from a little before their first difference to a little after their last.
fn around(old: &str, new: &str) -> (String, String) {
    let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let ends = old.iter().skip(start).rev().zip(new.iter().skip(start).rev());
    let end = ends.take_while(|(old, new)| old == new).count().saturating_sub(CHARACTERS_AROUND);
    let start = start.saturating_sub(CHARACTERS_AROUND);
    let part = |line: &[char]| {
        let inner: String = line.get(start..line.len() - end).unwrap_or_default().iter().collect();
        let (before, after) = (if start > 0 { "..." } else { "" }, if end > 0 { "..." } else { "" });
        format!("{before}{}{after}", shortened(&inner))
    };
    (part(&old), part(&new))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Difference, lines};

    fn shown(old: Option<Value>, new: Option<Value>) -> String {
        let difference = Difference { pointer: "/result/x".to_owned(), label: None, old, new };
        let lines: Vec<String> = lines(&difference).iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    #[test]
    fn short_values_are_shown_whole() {
        assert_eq!(shown(Some(json!("a")), Some(json!("\u{1b}b"))), "/result/x\n  - \"a\"\n  + \"\\u001bb\"");
        assert_eq!(shown(None, Some(json!([1, {"a": 2}]))), "/result/x: new\n  + [1,{\"a\":2}]");
        assert_eq!(shown(Some(json!(true)), None), "/result/x: missing\n  - true");
        assert_eq!(shown(None, None), "/result/x: the order differs");
        assert!(shown(Some(json!("x".repeat(9999))), None).ends_with(" ... and 9601 more bytes"));
    }

    #[test]
    fn texts_are_compared_line_by_line() {
        let old: Vec<String> = (1..=12).map(|line| format!("line {line}")).collect();
        let mut new = old.clone();
        new[5] = "line \u{202e}six".to_owned();
        new.insert(8, "new".to_owned());
        assert_eq!(
            shown(Some(json!(old.join("\n"))), Some(json!(new.join("\n")))),
            "/result/x\n    ... 3 more lines\n    line 4\n    line 5\n  - line 6\n  + line ⟦e2 80 ae⟧six\n    line 7\n    \
             line 8\n  + new\n    line 9\n    line 10\n    ... 2 more lines"
        );
    }

    #[test]
    fn long_lines_are_shown_around_their_difference() {
        let line = |word: &str| json!(format!("{}{word}{}", "a".repeat(500), "b".repeat(500)));
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        assert_eq!(
            shown(Some(line("one")), Some(line("two!"))),
            format!("/result/x\n  - ...{a}one{b}...\n  + ...{a}two!{b}...")
        );
    }

    #[test]
    fn very_long_texts_are_bounded() {
        let text =
            |first: usize| json!((first..first + 100_000).map(|n| format!("{n}\n")).collect::<String>());
        assert!(shown(Some(text(0)), Some(text(7))).lines().count() < 50);
    }
}
