//! Escaping of text from a peer, and wrapping of long text.

use std::fmt::Display;

use papertape::wire::tape::escaped;
use textwrap::{Options, WordSplitter};

/// A text that may have lines and tabs of its own, safe for a terminal.
pub(crate) fn safe(text: &str) -> String {
    if text.chars().all(|c| c == '\n' || !is_suspicious(c)) {
        return text.to_owned();
    }
    let mut safe = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let line = line.strip_suffix('\r').unwrap_or(line);
        // A tape escapes tabs and trailing spaces; here they are harmless.
        for (index, part) in line.split('\t').enumerate() {
            if index > 0 {
                safe.push('\t');
            }
            let trimmed = part.trim_end_matches(' ');
            safe.push_str(&escaped(trimmed.as_bytes()));
            safe.extend(std::iter::repeat_n(' ', part.len() - trimmed.len()));
        }
        safe.push_str(end);
    }
    safe
}

fn is_suspicious(c: char) -> bool {
    c.is_control() || !c.is_ascii()
}

/// One line: line ends and runs of space become single spaces.
pub(crate) fn one_line(text: &str) -> String {
    safe(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Wraps lines with a hanging indent.
pub(crate) fn hanging(text: &str, width: usize) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let words = line.trim_start();
        let indent = " ".repeat(line.len() - words.len());
        let further = format!("{indent}  ");
        for wrapped in textwrap::wrap(words, options(width, &indent, &further)) {
            lines.push_str(wrapped.trim_end());
            lines.push('\n');
        }
    }
    lines
}

/// Wraps a line that is safe for a terminal, with these indents of its first line and of the others.
pub(crate) fn indented(line: &str, width: usize, first: &str, others: &str) -> String {
    let wrapped = textwrap::wrap(line, options(width, first, others));
    wrapped.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn options<'a>(width: usize, first: &'a str, others: &'a str) -> Options<'a> {
    // Never breaks at a hyphen in `--option` or in a URL.
    let splitter = WordSplitter::NoHyphenation;
    Options::new(width).initial_indent(first).subsequent_indent(others).word_splitter(splitter)
}

/// Wraps paragraphs, each indented. Line breaks of the author are kept.
pub(crate) fn paragraphs(text: &str, width: usize, indent: &str) -> String {
    let options = options(width, indent, indent);
    let mut lines = String::new();
    for line in safe(text.trim()).lines() {
        // The indentation of the author is kept.
        for wrapped in textwrap::wrap(&line.replace('\t', "    "), &options) {
            lines.push_str(wrapped.trim_end());
            lines.push('\n');
        }
    }
    lines
}

/// "1,234".
pub(crate) fn grouped(number: impl Display) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// "1 tool", "2 tools".
pub(crate) fn counted(number: impl Display, noun: &str) -> String {
    let number = grouped(number);
    format!("{number} {noun}{}", if number == "1" { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::{counted, grouped, hanging, one_line, paragraphs, safe};

    #[test]
    fn terminal_control_characters_are_escaped() {
        assert_eq!(safe("a\tb \nc\u{1b}]0;title\u{7}\n\r\n"), "a\tb \nc⟦1b⟧]0;title⟦07⟧\n\n");
        assert_eq!(safe("éü 日本 \u{202e}x"), "éü 日本 ⟦e2 80 ae⟧x");
        assert_eq!(one_line(" a\n\n  b\u{8}"), "a b⟦08⟧");
    }

    #[test]
    fn long_text_is_wrapped_and_lines_stay_apart() {
        assert_eq!(
            paragraphs("one two three\n\n- four\n日本語日本語", 10, "  "),
            "  one two\n  three\n\n  - four\n  日本語日\n  本語\n"
        );
        assert_eq!(paragraphs("", 10, "  "), "");
        assert_eq!(hanging("one two three\n  a: four five", 9), "one two\n  three\n  a: four\n    five\n");
    }

    #[test]
    fn numbers_are_grouped_and_counted() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(counted(1, "tool"), "1 tool");
        assert_eq!(counted(0, "tool"), "0 tools");
    }
}
