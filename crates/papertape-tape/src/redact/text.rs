//! Text to text without secrets. JSON in it stays JSON, and need not be complete.

use std::ops::Range;

use fancy_regex::Regex;
use serde::de::IgnoredAny;

use super::{Counts, names, parameters, shapes};

/// JSON within strings of JSON is looked into so deep.
const DEEPEST: usize = 3;

/// How text is redacted.
#[derive(Debug, Default)]
pub(super) struct TextRedactor {
    /// What the user wants to be redacted, too.
    pub(super) also: Vec<Regex>,
}

/// A name whose value is always a secret.
const ANY: &str = "password";

/// What a secret is replaced with.
fn mark(kind: &str) -> String {
    format!("[redacted {kind}]")
}

impl TextRedactor {
    /// The text without secrets, if it has any.
    pub(super) fn redact(&self, text: &str, counts: &mut Counts) -> Option<String> {
        self.within(text, 0, counts)
    }

    /// What is outside the strings of JSON is plain text, or structure; strings are looked into.
    fn within(&self, text: &str, depth: usize, counts: &mut Counts) -> Option<String> {
        if !text.contains('"') {
            return self.plain(text, counts);
        }
        let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
        let mut pass = Pass { redactor: self, counts, is_json, out: String::new(), changed: false };
        let mut rest = text;
        // The name of the member whose value comes next, or the elements of whose value come next.
        let mut key: Option<String> = None;
        // The object is one of secrets, whatever their names are.
        let mut all = false;
        while let Some(quote) = rest.find('"') {
            let (before, from_quote) = rest.split_at(quote);
            let Some(length) = string_length(from_quote) else { break };
            let (string, after) = from_quote.split_at(length);
            pass.between(key.as_deref(), before);
            if before.contains(['{', '}']) {
                let is_object = before.trim() == "{" && key.as_deref().is_some_and(names::is_secret_object);
                all = is_object && is_plain_object(from_quote);
            }
            if !keeps_key(before) {
                key = None;
            }
            let decoded: Option<String> = serde_json::from_str(string).ok();
            let spaces = after.len() - after.trim_start().len();
            if let (Some(name), true, false) =
                (&decoded, after.trim_start().starts_with(':'), before.ends_with('='))
            {
                pass.out.push_str(string);
                key = Some(if all { ANY.to_owned() } else { name.clone() });
                // The colon belongs to the name.
                let (colon, after) = after.split_at(spaces + 1);
                pass.out.push_str(colon);
                rest = after;
                continue;
            }
            pass.string(key.as_deref().or(name_before(before)), string, decoded.as_deref(), depth);
            rest = after;
        }
        pass.between(key.as_deref(), rest);
        pass.changed.then_some(pass.out)
    }

    /// The value of a string, if it has to be replaced.
    fn value(&self, name: Option<&str>, value: &str, depth: usize, counts: &mut Counts) -> Option<String> {
        if let Some(name) = name {
            let is_header = names::HEADERS.iter().any(|header| name.eq_ignore_ascii_case(header));
            if is_header && let Some(found) = parameters::header_value(value, name) {
                return replaced(value, vec![found], counts);
            }
            if names::is_secret(name, value) {
                return replaced(value, vec![(0..value.len(), "secret")], counts);
            }
        }
        match depth < DEEPEST && value.contains('"') {
            true => self.within(value, depth + 1, counts),
            false => self.plain(value, counts),
        }
    }

    /// Text that is not JSON.
    pub(super) fn plain(&self, text: &str, counts: &mut Counts) -> Option<String> {
        let mut found = Vec::new();
        shapes::find(text, &mut found);
        parameters::find(text, &mut found);
        self.find_also(text, &mut found);
        replaced(text, found, counts)
    }

    fn find_also(&self, text: &str, found: &mut Vec<(Range<usize>, &'static str)>) {
        for regex in &self.also {
            // A pattern that takes too many steps matches nothing more.
            let matches = regex.find_iter(text).map_while(Result::ok);
            found.extend(
                matches.filter(|found| !found.as_str().is_empty()).map(|found| (found.range(), "text")),
            );
        }
    }
}

/// One pass over a text with strings in it.
struct Pass<'a> {
    redactor: &'a TextRedactor,
    counts: &'a mut Counts,
    is_json: bool,
    out: String,
    changed: bool,
}

impl Pass<'_> {
    /// What is before, after or between strings.
    fn between(&mut self, key: Option<&str>, text: &str) {
        let (value, tail) = split_scalar(text);
        let is_secret = key.is_some_and(|name| names::is_secret(name, value.trim()) && is_number(value));
        let tail = if is_secret {
            self.mark("secret");
            tail
        } else {
            text
        };
        if self.is_json {
            return self.structure(tail);
        }
        match self.redactor.plain(tail, self.counts) {
            Some(redacted) => {
                self.out.push_str(&redacted);
                self.changed = true;
            }
            None => self.out.push_str(tail),
        }
    }

    /// Braces, commas and numbers. Only numbers can be replaced.
    fn structure(&mut self, text: &str) {
        if self.redactor.also.is_empty() {
            self.out.push_str(text);
            return;
        }
        for token in text.split_inclusive([',', ':', '{', '}', '[', ']']) {
            let number = token.trim_end_matches([',', ':', '{', '}', '[', ']']);
            let mut found = Vec::new();
            if is_number(number) {
                self.redactor.find_also(number, &mut found);
            }
            if found.is_empty() {
                self.out.push_str(token);
            } else {
                self.mark("text");
                self.out.push_str(token.get(number.len()..).unwrap_or_default());
            }
        }
    }

    fn string(&mut self, name: Option<&str>, string: &str, decoded: Option<&str>, depth: usize) {
        let replaced = match decoded {
            Some(value) => self
                .redactor
                .value(name, value, depth, self.counts)
                .map(|value| serde_json::to_string(&value).unwrap_or_default()),
            // It has a lone surrogate, or is not JSON. What is found by its shape has no escapes.
            None => {
                let mut found = Vec::new();
                match name.is_some_and(|name| names::is_secret(name, string)) {
                    true => found.push((1..string.len() - 1, "secret")),
                    false => shapes::find(string, &mut found),
                }
                replaced(string, found, self.counts)
            }
        };
        self.changed |= replaced.is_some();
        self.out.push_str(replaced.as_deref().unwrap_or(string));
    }

    /// A mark in place of a number.
    fn mark(&mut self, kind: &'static str) {
        self.out.push('"');
        self.out.push_str(&mark(kind));
        self.out.push('"');
        self.counts.add(kind);
        self.changed = true;
    }
}

/// A text with marks in place of some of it, if there is any.
pub(super) fn replaced(
    text: &str,
    mut found: Vec<(Range<usize>, &'static str)>,
    counts: &mut Counts,
) -> Option<String> {
    if found.is_empty() {
        return None;
    }
    found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let mut out = String::new();
    let mut at = 0;
    for (range, kind) in found {
        if range.start < at {
            // Of two that overlap, all is replaced.
            at = at.max(range.end);
            continue;
        }
        let before = text.get(at..range.start).unwrap_or_default();
        // A mark is not a secret.
        if text.get(range.clone()).is_some_and(|secret| secret.starts_with("[redacted")) {
            continue;
        }
        out.push_str(before);
        out.push_str(&mark(kind));
        counts.add(kind);
        at = range.end;
    }
    if at == 0 && out.is_empty() {
        return None;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    Some(out)
}

/// The length of the JSON string that a text begins with, if it has an end on its line.
fn string_length(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            b'\n' => return None,
            _ => {}
        }
    }
    None
}

/// Whether what stands between a name and a string leaves the string its value, or an element of it.
fn keeps_key(between: &str) -> bool {
    let between = between.trim();
    between.is_empty() || between.starts_with('[') && !between.contains([']', '{']) || between == ","
}

/// Whether an object, which this is without its brace, is not a JSON Schema.
fn is_plain_object(members: &str) -> bool {
    let members = members.split(['{', '}']).next().unwrap_or_default();
    let of_schema = ["\"type\"", "\"description\"", "\"title\"", "\"anyOf\"", "\"$ref\""];
    !of_schema.iter().any(|name| members.contains(name))
}

/// The name in `name="value"` and in `name: "value"`.
fn name_before(before: &str) -> Option<&str> {
    let (before, is_label) = match before.strip_suffix('=') {
        Some(before) => (before, false),
        None => (before.trim_end().strip_suffix(':')?, true),
    };
    let start =
        before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').map_or(0, |at| at + 1);
    // A text has colons, too: `Unexpected token: "x"`.
    before.get(start..).filter(|name| !name.is_empty() && (!is_label || names::is_secret_label(name, "x")))
}

/// The scalar that a text begins with, and what follows it.
fn split_scalar(text: &str) -> (&str, &str) {
    text.split_at(text.find([',', '}', ']', '{', '[', '\n']).unwrap_or(text.len()))
}

fn is_number(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty()
        && text.parse::<f64>().is_ok()
        && text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
}
