//! Parses the YAML front matter of a Markdown file, between `---` lines at its beginning, to a JSON object.
//!
//! The text may be untrusted, so its size, its depth and the expansion of its aliases are bounded.

#![cfg_attr(docsrs, feature(doc_cfg))]

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number, Value};

/// The most bytes of YAML.
const MOST_BYTES: usize = 64 * 1024;

/// Lists and mappings inside each other.
const MOST_DEPTH: usize = 32;

/// The largest size of all values in bytes, roughly, with aliases expanded: see [`size`].
const MOST_SIZE: usize = 1024 * 1024;

/// The size of a value besides its text.
const NODE: usize = 16;

const KEY_IS_SCALAR: &str = "a key must be a scalar, not a list or a mapping";

/// Parses the front matter of a Markdown file.
///
/// ```
/// let read = papertape_front_matter::read("---\ntitle: A day\n---\nText").unwrap();
/// assert_eq!(read["title"], "A day");
/// ```
///
/// # Errors
/// If it is missing, is not YAML that JSON can represent, or exceeds a limit of size or depth.
pub fn read(markdown: &str) -> Result<Map<String, Value>, String> {
    let (yaml, _) = parts(markdown)?;
    match read_yaml(yaml)? {
        Value::Object(members) => Ok(members),
        _ => Err("the front matter is not a mapping of names to values".to_owned()),
    }
}

/// Splits a Markdown file into its front matter, as YAML, and its body; `None` without front matter.
///
/// ```
/// let parts = papertape_front_matter::split("---\ntitle: A day\n---\nText");
/// assert_eq!(parts, Some(("title: A day\n", "Text")));
/// ```
#[must_use]
pub fn split(markdown: &str) -> Option<(&str, &str)> {
    parts(markdown).ok()
}

/// The YAML and the body.
fn parts(markdown: &str) -> Result<(&str, &str), String> {
    let text = markdown.strip_prefix('\u{feff}').unwrap_or(markdown);
    let inside = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"));
    let Some(inside) = inside else {
        return Err("it must begin with a line `---`, as front matter does".to_owned());
    };
    let mut length = 0;
    for line in inside.split_inclusive('\n') {
        if line.strip_prefix("---").is_some_and(|rest| rest.trim().is_empty()) {
            let (yaml, rest) = inside.split_at_checked(length).unwrap_or_default();
            return Ok((yaml, rest.strip_prefix(line).unwrap_or_default()));
        }
        length += line.len();
        if length > MOST_BYTES {
            return Err(format!("its front matter has more than {MOST_BYTES} bytes, or no end"));
        }
    }
    Err("its front matter has no end: a line `---` is missing".to_owned())
}

fn read_yaml(yaml: &str) -> Result<Value, String> {
    let mut reading = JsonBuilder::default();
    // A pull parser: deep nesting in the text does not use stack.
    for event in Parser::new_from_str(yaml) {
        let (event, span) = event.map_err(|error| format!("the front matter is not valid YAML: {error}"))?;
        reading
            .take(event)
            .map_err(|problem| format!("the front matter, line {}: {problem}", span.start.line()))?;
    }
    reading.root.ok_or_else(|| "the front matter is empty".to_owned())
}

/// A value that is not complete.
enum Open {
    List { items: Vec<Value>, anchor: usize },
    Mapping { members: Map<String, Value>, key: Option<String>, anchor: usize },
}

#[derive(Default)]
struct JsonBuilder {
    open: Vec<Open>,
    root: Option<Value>,
    documents: usize,
    /// The values of anchors, for aliases.
    anchored: HashMap<usize, Value>,
    size: usize,
}

impl JsonBuilder {
    fn take(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.grow(NODE + text.len())?;
                if let Some(Open::Mapping { key: key @ None, .. }) = self.open.last_mut() {
                    *key = Some(text.clone().into_owned());
                    self.keep(anchor, &Value::String(text.into_owned()))
                } else {
                    let value = scalar(&text, style, tag.as_deref())?;
                    self.place(value, anchor)
                }
            }
            Event::SequenceStart(anchor, tag) => {
                self.begin(Open::List { items: Vec::new(), anchor }, tag.as_deref())
            }
            Event::MappingStart(anchor, tag) => {
                self.begin(Open::Mapping { members: Map::new(), key: None, anchor }, tag.as_deref())
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List { items, anchor }) => self.place(Value::Array(items), anchor),
                Some(Open::Mapping { members, anchor, .. }) => self.place(Value::Object(members), anchor),
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let Some(value) = self.anchored.get(&anchor).cloned() else {
                    return Err("an alias refers to a value that contains it".to_owned());
                };
                self.grow(size(&value))?;
                if let (Some(Open::Mapping { key: key @ None, .. }), Value::String(text)) =
                    (self.open.last_mut(), &value)
                {
                    *key = Some(text.clone());
                    return Ok(());
                }
                self.place(value, 0)
            }
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 { Err("there is more than one document".to_owned()) } else { Ok(()) }
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn begin(&mut self, open: Open, tag: Option<&Tag>) -> Result<(), String> {
        if tag.is_some_and(|tag| !tag.is_yaml_core_schema()) {
            return Err("tags are not supported".to_owned());
        }
        if let Some(Open::Mapping { key: None, .. }) = self.open.last() {
            return Err(KEY_IS_SCALAR.to_owned());
        }
        if self.open.len() >= MOST_DEPTH {
            return Err(format!("lists and mappings are nested deeper than {MOST_DEPTH}"));
        }
        self.grow(NODE)?;
        self.open.push(open);
        Ok(())
    }

    /// Puts a complete value where it belongs.
    fn place(&mut self, value: Value, anchor: usize) -> Result<(), String> {
        self.keep(anchor, &value)?;
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some(Open::List { items, .. }) => items.push(value),
            Some(Open::Mapping { members, key, .. }) => {
                let key = key.take().ok_or(KEY_IS_SCALAR)?;
                if members.contains_key(&key) {
                    return Err(format!("the key {key:?} occurs twice"));
                }
                members.insert(key, value);
            }
        }
        Ok(())
    }

    /// Remembers the value of an anchor.
    fn keep(&mut self, anchor: usize, value: &Value) -> Result<(), String> {
        if anchor > 0 {
            self.grow(size(value))?;
            self.anchored.insert(anchor, value.clone());
        }
        Ok(())
    }

    fn grow(&mut self, more: usize) -> Result<(), String> {
        self.size += more;
        if self.size > MOST_SIZE {
            return Err(format!("with its aliases expanded it is larger than {MOST_SIZE} bytes"));
        }
        Ok(())
    }
}

/// About the bytes of a value in memory.
fn size(value: &Value) -> usize {
    NODE + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(members) => members.iter().map(|(key, value)| NODE + key.len() + size(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// A scalar of YAML 1.2 (core schema) as JSON.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    let plain = style == ScalarStyle::Plain;
    match tag {
        None if plain => {}
        None => return Ok(text.into()),
        Some(tag) if !tag.is_yaml_core_schema() => return Err("tags are not supported".to_owned()),
        Some(tag) if tag.suffix == "str" => return Ok(text.into()),
        Some(_) => {}
    }
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ => number(text)?.map_or_else(|| text.into(), Value::Number),
    })
}

/// The number, if the scalar is one.
fn number(text: &str) -> Result<Option<Number>, String> {
    let radix = |prefix, radix| text.strip_prefix(prefix).and_then(|digits| whole(digits, radix));
    if let Some(number) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return Ok(Some(number.into()));
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(format!("JSON has no number {text}: put it in quotes"));
    }
    let mantissa = unsigned.split(['e', 'E']).next().unwrap_or_default();
    let looks_right = mantissa.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && mantissa.bytes().any(|b| b.is_ascii_digit())
        && unsigned.bytes().all(|b| b.is_ascii_digit() || b".eE+-".contains(&b));
    if !looks_right {
        return Ok(None);
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Ok(Some(whole.into()));
    }
    if let Ok(whole) = text.parse::<u64>() {
        return Ok(Some(whole.into()));
    }
    // JSON has no number that is too large for a float: it stays a string.
    Ok(text.parse::<f64>().ok().and_then(Number::from_f64))
}

fn whole(digits: &str, radix: u32) -> Option<u64> {
    let signed = digits.starts_with(['+', '-']);
    u64::from_str_radix(digits, radix).ok().filter(|_| !signed)
}

#[cfg(test)]
mod tests;

/// The example in the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
