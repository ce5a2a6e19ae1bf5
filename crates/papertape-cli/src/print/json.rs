//! JSON as it was sent, in coloured lines of a width: no byte is added, left out or moved.

use anstyle::Style;
use unicode_width::UnicodeWidthChar;

use super::{Look, style};

/// A run of text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Run {
    style: Style,
    text: String,
}

/// Lines that are at most `width` wide, of any text: JSON is coloured, and broken between members where it can be.
/// Lines after the first are indented by one, inside the first brace.
pub(crate) fn lines(text: &str, look: Look, width: usize) -> Vec<String> {
    let mut lines = Lines { look, width: width.max(8), done: Vec::new(), line: String::new(), used: 0 };
    for member in members(runs(text)) {
        lines.member(&member);
    }
    lines.done.push(lines.line);
    lines.done
}

/// The whole text on one line.
pub(crate) fn line(text: &str, look: Look) -> String {
    runs(text).iter().map(|run| look.paint(run.style, &run.text)).collect()
}

/// Pretty-prints JSON with a member on each line, in its own order.
pub(crate) fn laid_out(text: &str) -> Vec<String> {
    let tokens: Vec<String> = runs(text).into_iter().map(|run| run.text.trim().to_owned()).collect();
    let mut lines = vec![String::new()];
    let mut depth = 0;
    let mut before = "";
    for token in tokens.iter().map(String::as_str).filter(|token| !token.is_empty()) {
        let opened = matches!(before, "{" | "[");
        let closes = matches!(token, "}" | "]");
        depth -= usize::from(closes && depth > 0);
        if before == "," || opened != closes && (opened || closes) {
            lines.push("  ".repeat(depth));
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(token);
            line.push_str(if token == ":" { " " } else { "" });
        }
        depth += usize::from(matches!(token, "{" | "["));
        before = token;
    }
    lines
}

/// What is not broken if it fits into a line: `"name":`, a word, and the braces that close after it.
type Unit = Vec<Run>;

/// What is not broken either, up to a comma.
type Member = Vec<Unit>;

struct Lines {
    look: Look,
    width: usize,
    done: Vec<String>,
    line: String,
    used: usize,
}

impl Lines {
    fn member(&mut self, member: &Member) {
        let whole: usize = member.iter().map(unit_width).sum();
        // What fits into a line of its own gets one; what is longer begins here, unless there is hardly room to begin.
        if whole > self.left() && (whole < self.width || self.left() < self.width / 3) {
            self.end_line();
        }
        for unit in member {
            if unit_width(unit) > self.left() {
                self.end_line();
            }
            for run in unit {
                self.run(run);
            }
        }
    }

    /// Puts a part where there is room, to the last column if need be.
    fn run(&mut self, run: &Run) {
        let mut rest = run.text.as_str();
        while width(rest) > self.left() {
            let (head, tail) = split(rest, self.left());
            self.push(run.style, head);
            self.end_line();
            rest = tail;
        }
        self.push(run.style, rest);
    }

    fn push(&mut self, style: Style, text: &str) {
        self.line.push_str(&self.look.paint(style, text));
        self.used += width(text);
    }

    fn left(&self) -> usize {
        self.width.saturating_sub(self.used)
    }

    fn end_line(&mut self) {
        // A line that has nothing but its indentation is as good as a new one.
        if self.used > 1 {
            self.done.push(std::mem::replace(&mut self.line, " ".to_owned()));
            self.used = 1;
        }
    }
}

/// The most of a text that fits.
fn split(text: &str, room: usize) -> (&str, &str) {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > room
    });
    text.split_at(end.map_or(text.len(), |(at, _)| at))
}

fn unit_width(unit: &Unit) -> usize {
    unit.iter().map(|run| width(&run.text)).sum()
}

/// Character by character, as `split` counts.
fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// Members end after a comma; units also after a space and where an object or a list begins.
fn members(runs: Vec<Run>) -> Vec<Member> {
    let mut members = vec![vec![Unit::new()]];
    for run in runs {
        let (ends_member, begins) = (run.text == ",", matches!(run.text.as_str(), "{" | "["));
        for word in run.text.split_inclusive(' ') {
            let Some(unit) = members.last_mut().and_then(|member| member.last_mut()) else { continue };
            unit.push(Run { style: run.style, text: word.to_owned() });
            if let Some(member) = members.last_mut()
                && (begins || word.ends_with(' '))
            {
                member.push(Unit::new());
            }
        }
        if ends_member {
            members.push(vec![Unit::new()]);
        }
    }
    members
}

/// Cuts a text into the parts of JSON. What is not JSON is left plain.
fn runs(text: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut rest = text;
    // The name of the member whose value comes next.
    let mut key = "";
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            '{' | '}' | '[' | ']' | ',' | ':' => 1,
            '⟦' => rest.find('⟧').map_or(rest.len(), |end| end + '⟧'.len_utf8()),
            _ => rest.find(['"', '{', '}', '[', ']', ',', ':', '⟦']).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        let is_key = first == '"' && after.starts_with(':');
        let style = match first {
            '"' if is_key => key_style(token),
            '"' => value_style(key),
            '⟦' => style::BYTES,
            '{' | '}' | '[' | ']' | ',' | ':' => style::DIM,
            _ if token.trim_start().starts_with(|c: char| c == '-' || c.is_ascii_digit()) => style::NUMBER,
            _ if matches!(token.trim(), "true" | "false" | "null") => match (key, token.trim()) {
                ("\"isError\"", "true") => style::WRONG,
                _ => style::LITERAL,
            },
            _ => Style::new(),
        };
        if is_key {
            key = token;
        } else if first != ':' {
            key = "";
        }
        runs.push(Run { style, text: token.to_owned() });
        rest = after;
    }
    runs
}

fn key_style(key: &str) -> Style {
    match key {
        // The same in every message.
        "\"jsonrpc\"" => style::DIM,
        "\"error\"" => style::WRONG,
        _ => style::KEY,
    }
}

fn value_style(key: &str) -> Style {
    match key {
        "\"jsonrpc\"" => style::DIM,
        "\"method\"" | "\"text\"" | "\"message\"" => style::SUBJECT,
        _ => style::STRING,
    }
}

/// The bytes of the string that a text begins with; all of it if the string has no end.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{laid_out, line, lines, runs, width};
    use crate::print::{Look, style};

    const PLAIN: Look = Look { colour: false, width: 100, terminal: false };

    #[test]
    fn members_stay_whole_where_they_can() {
        let text = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"one two three four five"}]}}"#;
        assert_eq!(
            lines(text, PLAIN, 40),
            [
                r#"{"jsonrpc":"2.0","id":1,"#,
                r#" "result":{"content":[{"type":"text","#,
                r#" "text":"one two three four five"}]}}"#,
            ]
        );
        assert_eq!(
            lines(text, PLAIN, 24),
            [
                r#"{"jsonrpc":"2.0","id":1,"#,
                r#" "result":{"content":[{"#,
                r#" "type":"text","#,
                r#" "text":"one two three "#,
                r#" four five"}]}}"#,
            ]
        );
    }

    #[test]
    fn json_is_laid_out_in_its_own_order() {
        let text = r#"{"z":[{"b":"x, {y}: \"z\"","a":1.5},{}],"e":[],"s": "ñ" , "n":null}"#;
        assert_eq!(
            laid_out(text),
            [
                "{",
                "  \"z\": [",
                "    {",
                r#"      "b": "x, {y}: \"z\"","#,
                "      \"a\": 1.5",
                "    },",
                "    {}",
                "  ],",
                "  \"e\": [],",
                "  \"s\": \"ñ\",",
                "  \"n\": null",
                "}",
            ]
        );
        assert_eq!(laid_out("3"), ["3"]);
    }

    #[test]
    fn the_subject_of_a_message_is_highlighted() {
        let styles: Vec<_> = runs(r#"{"method":"ping","id":-1,"a":[true,"x"]}"#)
            .into_iter()
            .filter(|run| run.style != style::DIM)
            .map(|run| (run.text, run.style))
            .collect();
        let right = [
            ("\"method\"", style::KEY),
            ("\"ping\"", style::SUBJECT),
            ("\"id\"", style::KEY),
            ("-1", style::NUMBER),
            ("\"a\"", style::KEY),
            ("true", style::LITERAL),
            ("\"x\"", style::STRING),
        ];
        assert_eq!(styles, right.map(|(text, style)| (text.to_owned(), style)));
        let coloured = line("{}", Look { colour: true, ..PLAIN });
        assert_eq!(coloured, "\u{1b}[2m{\u{1b}[0m\u{1b}[2m}\u{1b}[0m");
    }

    proptest! {
        #[test]
        fn no_character_is_lost_and_no_line_is_too_long(text in any::<String>(), room in 8usize..60) {
            let lines = lines(&text, PLAIN, room);
            let joined: String = lines
                .iter()
                .enumerate()
                .map(|(index, line)| if index == 0 { line } else { line.strip_prefix(' ').unwrap() })
                .collect();
            prop_assert_eq!(joined, text);
            prop_assert!(lines.iter().all(|line| width(line) <= room), "{:?}", lines);
        }
    }
}
