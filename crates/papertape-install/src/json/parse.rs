//! JSON with comments and trailing commas to a tree of places in its text.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::edit::part;
use crate::error::Fault;
use crate::hosts::Beyond;

/// The deepest nesting that is read.
const DEEPEST: usize = 200;

/// A document: its value, if it has one, and where it first has what plain JSON does not have.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) root: Option<Node>,
    pub(crate) beyond: Vec<(usize, Beyond)>,
}

/// A value, and where it is in the text.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) range: Range<usize>,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    String(String),
    /// A number, a boolean or null.
    Other,
}

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) key_range: Range<usize>,
    pub(crate) value: Node,
}

impl Node {
    pub(crate) fn members(&self) -> Option<&[Member]> {
        match &self.kind {
            Kind::Object(members) => Some(members),
            _ => None,
        }
    }

    pub(crate) fn member(&self, key: &str) -> Option<&Member> {
        self.members()?.iter().find(|member| member.key == key)
    }

    /// What is between its braces or brackets.
    pub(crate) fn interior(&self) -> Range<usize> {
        self.range.start + 1..self.range.end.saturating_sub(1)
    }

    pub(crate) fn to_value(&self, text: &str) -> Value {
        match &self.kind {
            Kind::Object(members) => {
                let members = members.iter().map(|member| (member.key.clone(), member.value.to_value(text)));
                Value::Object(members.collect::<Map<_, _>>())
            }
            Kind::Array(items) => items.iter().map(|item| item.to_value(text)).collect(),
            Kind::String(string) => Value::String(string.clone()),
            // A number beyond what a double holds is no string, list or object, which is all that matters.
            Kind::Other => serde_json::from_str(part(text, self.range.clone())).unwrap_or_default(),
        }
    }
}

impl Member {
    /// From its key to the end of its value.
    pub(crate) fn range(&self) -> Range<usize> {
        self.key_range.start..self.value.range.end
    }
}

/// Reads a document. One without a value, such as an empty file, is valid.
pub(crate) fn parse(text: &str) -> Result<Document, Fault> {
    let mut parser = Parser { text, at: 0, beyond: Vec::new() };
    if text.starts_with('\u{feff}') {
        parser.note(0, Beyond::ByteOrderMark);
        parser.at = '\u{feff}'.len_utf8();
    }
    parser.skip()?;
    let root = if parser.peek().is_none() { None } else { Some(parser.value(0)?) };
    parser.skip()?;
    match parser.peek() {
        None => Ok(Document { root, beyond: parser.beyond }),
        Some(_) => Err(parser.expected("the end of the file")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    beyond: Vec<(usize, Beyond)>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        part(self.text, self.at..self.text.len())
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn fault(&self, problem: impl Into<String>) -> Fault {
        Fault::new(self.at, problem)
    }

    /// Keeps the first place of each.
    fn note(&mut self, at: usize, beyond: Beyond) {
        if !self.beyond.iter().any(|(_, known)| *known == beyond) {
            self.beyond.push((at, beyond));
        }
    }

    fn expected(&self, what: &str) -> Fault {
        match self.rest().chars().next() {
            Some(found) => self.fault(format!("there is {found:?} in place of {what}")),
            None => self.fault(format!("the file ends in place of {what}")),
        }
    }

    /// Passes white space and comments.
    fn skip(&mut self) -> Result<(), Fault> {
        loop {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
                self.at += 1;
            }
            let rest = self.rest();
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let end = comment.find("*/").ok_or_else(|| self.fault("the comment is not closed by */"))?;
                end + "/**/".len()
            } else {
                return Ok(());
            };
            self.note(self.at, Beyond::Comments);
            self.at += length;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Fault> {
        if depth > DEEPEST {
            return Err(self.fault(format!("more than {DEEPEST} objects and lists are within each other")));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Kind::String(self.string()?),
            _ => self.other()?,
        };
        Ok(Node { range: start..self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Result<Kind, Fault> {
        let mut members: Vec<Member> = Vec::new();
        self.at += 1;
        loop {
            self.skip()?;
            if self.eat(b'}') {
                return Ok(Kind::Object(members));
            }
            if self.peek() != Some(b'"') {
                return Err(self.expected(if members.is_empty() {
                    "a name in quotes or '}'"
                } else {
                    "a name in quotes"
                }));
            }
            let start = self.at;
            let key = self.string()?;
            let key_range = start..self.at;
            self.skip()?;
            if !self.eat(b':') {
                return Err(self.expected("':'"));
            }
            self.skip()?;
            let value = self.value(depth + 1)?;
            members.push(Member { key, key_range, value });
            if self.ends(b'}', "',' or '}'")? {
                return Ok(Kind::Object(members));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Kind, Fault> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.skip()?;
            if self.eat(b']') {
                return Ok(Kind::Array(items));
            }
            items.push(self.value(depth + 1)?);
            if self.ends(b']', "',' or ']'")? {
                return Ok(Kind::Array(items));
            }
        }
    }

    /// After a value: whether the object or list ends, also after a trailing comma.
    fn ends(&mut self, close: u8, expected: &str) -> Result<bool, Fault> {
        self.skip()?;
        if self.eat(close) {
            return Ok(true);
        }
        let comma = self.at;
        if !self.eat(b',') {
            return Err(self.expected(expected));
        }
        self.skip()?;
        if self.peek() == Some(close) {
            self.note(comma, Beyond::TrailingCommas);
        }
        Ok(self.eat(close))
    }

    fn string(&mut self) -> Result<String, Fault> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    let length = match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 1,
                        Some(b'u')
                            if self.rest().bytes().skip(1).take(4).filter(u8::is_ascii_hexdigit).count()
                                == 4 =>
                        {
                            5
                        }
                        _ => return Err(self.fault("the string has an escape that JSON does not have")),
                    };
                    self.at += length;
                }
                None => return Err(Fault::new(start, "the string is not closed")),
                Some(0..=0x1f) => {
                    return Err(self.fault("the string has a control character, such as the end of a line, which must be escaped"));
                }
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        let token = part(self.text, start..self.at);
        // Half of a surrogate pair is valid JSON, but no Rust string.
        Ok(serde_json::from_str(token).unwrap_or_else(|_| token.to_owned()))
    }

    fn other(&mut self) -> Result<Kind, Fault> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)).unwrap_or(rest.len());
        let token = part(rest, 0..end);
        if !matches!(token, "true" | "false" | "null") && !is_number(token) {
            return Err(match token {
                "" => self.expected("a value"),
                _ => self.fault(format!("{token:?} is not a value of JSON")),
            });
        }
        self.at += end;
        Ok(Kind::Other)
    }
}

/// By the grammar alone: any number of digits.
fn is_number(token: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match token.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (token, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Document, parse};
    use crate::hosts::Beyond;

    fn value(text: &str) -> serde_json::Value {
        parse(text).unwrap().root.unwrap().to_value(text)
    }

    #[test]
    fn json_with_comments_is_read() {
        let text = "\u{feff}// a\n{\"a\" /* b */ : [1, -2.5e+3, true, null,], \"\\u0062\": {\"x\": \"é\\n\"}, } // c";
        assert_eq!(value(text), json!({"a": [1, -2500.0, true, null], "b": {"x": "é\n"}}));
        assert_eq!(value(r#"{"a": 1e999}"#), json!({"a": null}));
        assert!(parse("").unwrap().root.is_none());
        assert!(parse("\u{feff} // nothing\n").unwrap().root.is_none());
    }

    #[test]
    fn what_plain_json_does_not_have_is_found() {
        let places = |text| parse(text).unwrap().beyond;
        assert_eq!(places(r#"{"a": [1, 2]}"#), []);
        assert_eq!(
            places("\u{feff}{\"a\": 1, // b\n // c\n}"),
            [(0, Beyond::ByteOrderMark), (12, Beyond::Comments), (10, Beyond::TrailingCommas)]
        );
        assert_eq!(places(r#"{"a": [1,],}"#), [(8, Beyond::TrailingCommas)]);
        assert_eq!(places(r#"["//", "/*"]"#), []);
    }

    #[test]
    fn invalid_text_is_refused_where_it_is_wrong() {
        for (text, at, problem) in [
            ("{", 1, "the file ends in place of a name in quotes or '}'"),
            ("{\"a\": 1", 7, "the file ends in place of ',' or '}'"),
            ("{\"a\": 1 \"b\": 2}", 8, "there is '\"' in place of ',' or '}'"),
            ("{\"a\" 1}", 5, "there is '1' in place of ':'"),
            ("{a: 1}", 1, "there is 'a' in place of a name in quotes or '}'"),
            ("{\"a\": 1,, }", 8, "there is ',' in place of a name in quotes"),
            ("[1 2]", 3, "there is '2' in place of ',' or ']'"),
            ("{} x", 3, "there is 'x' in place of the end of the file"),
            ("{\"a\": nul}", 6, "\"nul\" is not a value of JSON"),
            ("[01]", 1, "\"01\" is not a value of JSON"),
            ("[1.]", 1, "\"1.\" is not a value of JSON"),
            ("[.5]", 1, "\".5\" is not a value of JSON"),
            ("['a']", 1, "there is '\\'' in place of a value"),
            ("[\"a]", 1, "the string is not closed"),
            ("[\"\\x\"]", 3, "the string has an escape"),
            ("[\"\\u00g0\"]", 3, "the string has an escape"),
            ("[\"a\nb\"]", 3, "the string has a control character"),
            ("/* a", 0, "the comment is not closed"),
            ("\u{a0}{}", 0, "there is '\\u{a0}' in place of a value"),
        ] {
            let fault = parse(text).unwrap_err();
            assert_eq!(fault.at, at, "{text}: {}", fault.problem);
            assert!(fault.problem.starts_with(problem), "{text}: {}", fault.problem);
        }
        assert!(parse(&"[".repeat(100_000)).unwrap_err().problem.contains("200"));
        assert!(matches!(parse(&("[".repeat(150) + &"]".repeat(150))), Ok(Document { root: Some(_), .. })));
    }
}
