//! Valid JSON that this parser refuses, as others do: it is read without what is refused.

use serde::de::IgnoredAny;
use serde_json::Value;

/// Values that are nested deeper are left empty.
const DEEPEST: usize = 100;

/// Why a parser refuses JSON that is valid by its grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// An escape of half a surrogate pair, which is no character.
    Surrogate,
    /// More levels than parsers have room for on their stacks.
    Nesting,
    /// A number that is larger than any of 64 bits.
    Number,
}

impl Refused {
    /// What a message has that is refused.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Refused::Surrogate => "the escape of half a surrogate pair, which is no character",
            Refused::Nesting => "values nested deeper than 128 levels",
            Refused::Number => "a number that is larger than any of 64 bits",
        }
    }
}

/// A value, if need be without what is refused, and the first reason for that.
pub(crate) fn tolerant(text: &[u8]) -> Option<(Value, Option<Refused>)> {
    match serde_json::from_slice(text) {
        Ok(value) => Some((value, None)),
        Err(_) => read(text).map(|(value, why)| (value, Some(why))),
    }
}

/// A value that is refused though it is JSON, read without that, and the first reason.
pub(crate) fn read(text: &[u8]) -> Option<(Value, Refused)> {
    serde_json::from_slice::<IgnoredAny>(text).ok()?;
    let mut repair =
        Repair { rest: std::str::from_utf8(text).ok()?, out: String::new(), why: None, depth: 0 };
    while let Some(letter) = repair.rest.chars().next() {
        repair.value(letter);
    }
    Some((serde_json::from_str(&repair.out).ok()?, repair.why?))
}

struct Repair<'a> {
    rest: &'a str,
    out: String,
    why: Option<Refused>,
    depth: usize,
}

impl<'a> Repair<'a> {
    /// So many bytes of the rest, which is not empty: at least one character.
    fn take(&mut self, length: usize) -> &'a str {
        let length = length.max(self.rest.chars().next().map_or(0, char::len_utf8));
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    fn keep(&mut self, text: &str) {
        if self.depth <= DEEPEST {
            self.out.push_str(text);
        }
    }

    fn refuse(&mut self, why: Refused) {
        self.why = self.why.or(Some(why));
    }

    fn value(&mut self, letter: char) {
        match letter {
            '"' => self.string(),
            '-' | '0'..='9' => {
                let after = |letter: char| !matches!(letter, '-' | '+' | '.' | 'e' | 'E' | '0'..='9');
                let number = self.take(self.rest.find(after).unwrap_or(self.rest.len()));
                if number.parse::<f64>().is_ok_and(f64::is_infinite) {
                    self.refuse(Refused::Number);
                    self.keep("0");
                } else {
                    self.keep(number);
                }
            }
            '{' | '[' => {
                if self.depth == DEEPEST {
                    self.refuse(Refused::Nesting);
                    self.keep(if letter == '{' { "{}" } else { "[]" });
                }
                self.depth += 1;
                let open = self.take(1);
                self.keep(open);
            }
            '}' | ']' => {
                let close = self.take(1);
                self.keep(close);
                self.depth = self.depth.saturating_sub(1);
            }
            _ => {
                let other = self.take(1);
                self.keep(other);
            }
        }
    }

    fn string(&mut self) {
        let quote = self.take(1);
        self.keep(quote);
        loop {
            let plain = self.take_until_special();
            self.keep(plain);
            if !self.rest.starts_with('\\') {
                let quote = self.take(1);
                self.keep(quote);
                return;
            }
            match unit(self.rest) {
                None => {
                    // A backslash, and what it escapes.
                    let backslash = self.take(1);
                    self.keep(backslash);
                    let escaped = self.take(1);
                    self.keep(escaped);
                }
                Some(first) => {
                    let next = self.rest.get(6..).and_then(unit);
                    let pair = (0xd800..0xdc00).contains(&first)
                        && next.is_some_and(|next| (0xdc00..0xe000).contains(&next));
                    let escape = self.take(if pair { 12 } else { 6 });
                    if !pair && (0xd800..0xe000).contains(&first) {
                        self.refuse(Refused::Surrogate);
                        self.keep("\u{fffd}");
                    } else {
                        self.keep(escape);
                    }
                }
            }
        }
    }

    /// What comes before a quote or a backslash.
    fn take_until_special(&mut self) -> &'a str {
        match self.rest.find(['"', '\\']) {
            Some(0) => "",
            Some(at) => self.take(at),
            None => self.take(self.rest.len()),
        }
    }
}

/// The number of an escape with `\u`.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Refused, read};

    #[test]
    fn what_is_refused_is_left_out() {
        for (text, expected, why) in [
            (r#"{"a":"x\ud800y","b":[1]}"#, json!({"a": "x\u{fffd}y", "b": [1]}), Refused::Surrogate),
            (
                r#"["\udc00\ud83d\ude00\\ud800\"\ud83d"]"#,
                json!(["\u{fffd}😀\\ud800\"\u{fffd}"]),
                Refused::Surrogate,
            ),
            (r#"{"a":-1.5,"b":[1e999,"1e999"]}"#, json!({"a": -1.5, "b": [0, "1e999"]}), Refused::Number),
        ] {
            assert_eq!(read(text.as_bytes()), Some((expected, why)), "{text}");
        }
        for (text, refused) in [(r#"{"a":"#, false), ("[1,]", false), ("[1]", false), ("{\"a\":1} x", false)]
        {
            assert_eq!(read(text.as_bytes()).is_some(), refused, "{text}");
        }
    }

    #[test]
    fn deep_values_are_left_empty() {
        let deep = format!(r#"{{"a":1,"b":{}"{}"{},"c":2}}"#, "[".repeat(200_000), "]", "]".repeat(200_000));
        let (value, why) = read(deep.as_bytes()).unwrap();
        assert_eq!((&value["a"], &value["c"], why), (&json!(1), &json!(2), Refused::Nesting));
        let objects = format!("{}1{}", r#"{"a":"#.repeat(5000), "}".repeat(5000));
        assert!(read(objects.as_bytes()).is_some());
    }
}
