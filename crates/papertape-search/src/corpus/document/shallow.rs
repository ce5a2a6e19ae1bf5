//! Markdown to Markdown of the same length in which nothing is nested deeper than people do.
//!
//! The parser looks at every open quotation and list item for every line, so that a file of many of both would take hours.

use std::borrow::Cow;
use std::ops::Range;

use super::mdx::blank;

/// The most marks of quotations and list items that a line begins with.
const MOST_MARKS: usize = 48;

/// How far into a line such marks may stand: items nested line by line are further in each time.
const MOST_INDENT: usize = 192;

/// The same text; marks of quotations and lists become blanks where there are too many of them.
pub(super) fn shallow(markdown: &str) -> Cow<'_, str> {
    let mut deep: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for line in markdown.split_inclusive('\n') {
        let line = line.as_bytes();
        let allowed = marks(line, MOST_MARKS, MOST_INDENT);
        if line.get(allowed..).is_some_and(|rest| mark(rest) > 0) {
            deep.push(start + allowed..start + marks(line, usize::MAX, usize::MAX));
        }
        start += line.len();
    }
    if deep.is_empty() { Cow::Borrowed(markdown) } else { Cow::Owned(blank(markdown, &deep)) }
}

/// How much of a line is marks and the blanks around them, as far as so many of them, and so far into it.
fn marks(line: &[u8], most: usize, indent: usize) -> usize {
    let (mut at, mut count) = (0, 0);
    while let Some(rest) = line.get(at..) {
        let Some(first) = rest.first() else { break };
        let length = match first {
            b' ' | b'\t' => 1,
            _ if count >= most || at >= indent => break,
            _ => mark(rest),
        };
        if length == 0 {
            break;
        }
        count += usize::from(!matches!(first, b' ' | b'\t'));
        at += length;
    }
    at
}

/// How long the mark is that a line begins with.
fn mark(line: &[u8]) -> usize {
    let digits = line.iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
    let length = match line.get(digits) {
        Some(b'>') if digits == 0 => return 1,
        Some(b'-' | b'*' | b'+') if digits == 0 => 1,
        Some(b'.' | b')') if digits > 0 => digits + 1,
        // What follows the label of a footnote is nested, too.
        Some(b'[') if digits == 0 && line.get(1) == Some(&b'^') => return footnote(line),
        _ => return 0,
    };
    if line.get(length).is_none_or(u8::is_ascii_whitespace) { length } else { 0 }
}

fn footnote(line: &[u8]) -> usize {
    const LONGEST: usize = 64;
    let end = line.iter().take(LONGEST).position(|byte| *byte == b']');
    end.filter(|end| line.get(end + 1) == Some(&b':')).map_or(0, |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::shallow;

    #[test]
    fn what_people_write_stays() {
        for text in [
            "",
            "> - 1. a\n",
            &"-".repeat(500),
            &format!("{}a\n", "> ".repeat(48)),
            &format!("{}a - b > c\n", " ".repeat(500)),
            &"a > b - c ".repeat(100),
        ] {
            assert_eq!(shallow(text), text);
        }
    }

    #[test]
    fn marks_beyond_the_bounds_become_blanks() {
        for mark in ["> ", ">", "- ", "1. ", "+\t", "> 9) ", "[^a]: "] {
            let text = format!("x\n{}word > y\r\n", mark.repeat(500));
            let read = shallow(&text);
            assert_eq!(read.len(), text.len());
            assert!(read.ends_with(" word > y\r\n"), "{read}");
            assert!(read.split_whitespace().count() < 110 && read.matches('>').count() < 50, "{read}");
        }
        let indented = format!("{}- - word\n", " ".repeat(300));
        assert_eq!(shallow(&indented).trim(), "word");
    }
}
