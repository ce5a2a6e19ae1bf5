//! The bytes of stdout to pieces: messages, and whatever else is there. Together the pieces are all of the bytes.

use serde::Deserialize;
use serde_json::Value;

use crate::stdio::recording::Recording;
use crate::stdio::scan_refused::{self, Refused};
use crate::stdio::scan_utf16::Utf16;

/// A value over several lines is looked for in so many bytes.
const LONGEST_PRETTY: usize = 4 * 1024 * 1024;

/// Text before a message, on its line, is no longer than this.
const LONGEST_PREFIX: usize = 4096;

/// How many braces are tried as the beginning of a message that follows text.
const BRACES: usize = 64;

/// A stream has no more pieces than this; the last is all that follows.
const PIECES: usize = 200_000;

/// Headers of `Content-Length` framing are no longer than this, all together.
const LONGEST_HEADERS: usize = 1024;

/// Some of the bytes of stdout.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    /// Where it begins.
    pub(crate) start: usize,
    /// Where the next one begins.
    pub(crate) end: usize,
    /// What it is.
    pub(crate) kind: Kind,
}

/// What a piece is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// A message, or a batch of them.
    Message(Message),
    /// JSON that is not a message.
    Json,
    /// A line of text, or what shares the line of a message.
    Text(Place),
    /// `Content-Length` and other headers, with the empty line after them.
    Headers,
    /// A byte order mark.
    Mark,
    /// An empty line.
    Blank,
    /// What was not read to its end, because it is too much.
    Unread,
}

/// Where text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// On a line of its own.
    OwnLine,
    /// On the line of a message, before it.
    Before,
    /// After it.
    After,
}

/// A message, and how it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Message {
    /// The message; null among the pieces of [`scan`].
    pub(crate) value: Value,
    /// It is an array of messages.
    pub(crate) batch: bool,
    /// What follows it.
    pub(crate) end: LineEnd,
    /// It takes several lines.
    pub(crate) pretty: bool,
    /// It follows the headers of `Content-Length` framing.
    pub(crate) framed: bool,
    /// Its bytes are not valid UTF-8.
    pub(crate) invalid: bool,
    /// It is in UTF-16.
    pub(crate) utf16: bool,
    /// It has `NaN` or `Infinity`, which JSON has not; they are null here.
    pub(crate) not_a_number: bool,
    /// It has something that is JSON, but is refused.
    pub(crate) refused: Option<Refused>,
}

/// What follows a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnd {
    /// A line feed, as it should be.
    Lf,
    /// A carriage return and a line feed.
    CrLf,
    /// Something else on the same line, or the body of a frame ends here.
    Other,
    /// Nothing, until the end.
    Missing,
}

/// Whether a value is meant as a message of JSON-RPC, or as a batch of them.
fn is_message(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.contains_key("jsonrpc")
                || (members.contains_key("id")
                    && (members.contains_key("result") || members.contains_key("error")))
        }
        Value::Array(items) => {
            !items.is_empty() && items.iter().all(|item| item.is_object() && is_message(item))
        }
        _ => false,
    }
}

/// All of a stream that has ended, in pieces, whose messages are not kept: they may take much more memory than their bytes.
pub(crate) fn scan(bytes: &[u8]) -> Vec<Piece> {
    let mut scanner = Scanner::default();
    let mut pieces = Vec::new();
    while let Some(mut piece) = scanner.next(bytes, true) {
        if let Kind::Message(message) = &mut piece.kind {
            message.value = Value::Null;
        }
        pieces.push(piece);
    }
    pieces
}

/// [`scan`] of what was kept of a stream. A line whose end was not kept is not read.
pub(crate) fn scan_kept(recording: &Recording) -> Vec<Piece> {
    let bytes = &recording.bytes;
    let end = recording.cut_line().map_or(bytes.len(), |(start, _)| start);
    let mut pieces = scan(bytes.get(..end).unwrap_or(bytes));
    if end < bytes.len() {
        pieces.push(Piece { start: end, end: bytes.len(), kind: Kind::Unread });
    }
    pieces
}

/// How far a stream has been scanned.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scanner {
    at: usize,
    /// The length of the body that follows headers.
    body: Option<usize>,
    /// A message stands before this on the same line.
    in_line: bool,
    utf16: Option<Utf16>,
    pieces: usize,
}

impl Scanner {
    /// The next piece of a stream that begins with these bytes; nothing if more of them must arrive first. Once the stream has
    /// `ended`, there is a piece until all bytes are used up.
    pub(crate) fn next(&mut self, bytes: &[u8], ended: bool) -> Option<Piece> {
        let rest = bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        if self.pieces >= PIECES {
            let start = self.at;
            self.at = bytes.len();
            return Some(Piece { start, end: self.at, kind: Kind::Unread });
        }
        let (length, kind) = self.take(rest, ended)?;
        self.pieces += 1;
        let length = length.clamp(1, rest.len());
        self.in_line = match &kind {
            Kind::Message(message) => message.end == LineEnd::Other && !message.framed,
            Kind::Text(Place::Before) => self.in_line,
            _ => false,
        };
        let start = self.at;
        self.at = start.saturating_add(length);
        Some(Piece { start, end: self.at, kind })
    }

    /// How many bytes have been scanned.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    fn take(&mut self, rest: &[u8], ended: bool) -> Option<(usize, Kind)> {
        if let Some(encoding) = self.utf16 {
            // PowerShell and Python write a mark before each line.
            return if Utf16::has_mark(rest) { Some((2, Kind::Mark)) } else { encoding.take(rest, ended) };
        }
        if self.at == 0 {
            if rest.len() < 2 && !ended {
                return None;
            }
            self.utf16 = Utf16::detect(rest);
            if let Some(encoding) = self.utf16 {
                return if Utf16::has_mark(rest) {
                    Some((2, Kind::Mark))
                } else {
                    encoding.take(rest, ended)
                };
            }
        }
        if let Some(length) = self.body {
            return self.take_body(rest, length, ended);
        }
        if rest.starts_with(b"\xef\xbb\xbf") {
            return Some((3, Kind::Mark));
        }
        if is_header(rest) {
            match headers(rest) {
                Headers::End { length, body } => {
                    self.body = Some(body);
                    return Some((length, Kind::Headers));
                }
                Headers::Unfinished if !ended => return None,
                Headers::Unfinished | Headers::Invalid => {}
            }
        }
        self.take_line(rest, ended)
    }

    fn take_body(&mut self, rest: &[u8], length: usize, ended: bool) -> Option<(usize, Kind)> {
        if let Some((value, form)) = rest.get(..length).and_then(parse) {
            self.body = None;
            // A line end after the body belongs to it.
            let end = length + usize::from(rest.get(length) == Some(&b'\n'));
            return Some((end, kind_of(value, LineEnd::Other, Form { framed: true, ..form })));
        }
        if rest.len() < length && !ended {
            return None;
        }
        // The length is wrong, or the body is.
        self.body = None;
        self.take_line(rest, ended)
    }

    fn take_line(&self, rest: &[u8], ended: bool) -> Option<(usize, Kind)> {
        let line_end = memchr::memchr(b'\n', rest);
        if line_end.is_none() && !ended {
            return None;
        }
        let length = line_end.map_or(rest.len(), |at| at + 1);
        let line = rest.get(..line_end.unwrap_or(rest.len())).unwrap_or_default();
        let end = match (line_end, line.ends_with(b"\r")) {
            (None, _) => LineEnd::Missing,
            (Some(_), true) => LineEnd::CrLf,
            (Some(_), false) => LineEnd::Lf,
        };
        let text = line.trim_ascii();
        if text.is_empty() {
            // White space after a message on its line is nothing to report.
            return Some((length, Kind::Blank));
        }
        if let Some((value, form)) = parse(text) {
            return Some((length, kind_of(value, end, form)));
        }
        if text.first() == Some(&b'{') || text.first() == Some(&b'[') {
            match pretty(rest, ended) {
                Pretty::Value(length, value) => {
                    return Some((length, kind_of(value, end, Form { pretty: true, ..Form::default() })));
                }
                Pretty::Unfinished => return None,
                Pretty::None => {}
            }
        }
        if let Some(value) = without_nan(text) {
            return Some((length, kind_of(value, end, Form { not_a_number: true, ..Form::default() })));
        }
        if let Some((begin, length, value)) = inside(line) {
            if begin > 0 {
                return Some((begin, Kind::Text(if self.in_line { Place::After } else { Place::Before })));
            }
            // More follows on the line, or it would have been parsed as a whole.
            return Some((length, kind_of(value, LineEnd::Other, Form::default())));
        }
        Some((length, Kind::Text(if self.in_line { Place::After } else { Place::OwnLine })))
    }
}

#[derive(Clone, Copy, Default)]
struct Form {
    pretty: bool,
    framed: bool,
    invalid: bool,
    not_a_number: bool,
    refused: Option<Refused>,
}

fn kind_of(value: Value, end: LineEnd, form: Form) -> Kind {
    if !is_message(&value) {
        return Kind::Json;
    }
    let Form { pretty, framed, invalid, not_a_number, refused } = form;
    Kind::Message(Message {
        batch: value.is_array(),
        value,
        end,
        pretty,
        framed,
        invalid,
        utf16: false,
        not_a_number,
        refused,
    })
}

/// A whole value, and what is odd about its bytes.
fn parse(text: &[u8]) -> Option<(Value, Form)> {
    let first = text.trim_ascii_start().first();
    if first != Some(&b'{') && first != Some(&b'[') {
        return None;
    }
    match serde_json::from_slice(text) {
        Ok(value) => Some((value, Form::default())),
        Err(_) if std::str::from_utf8(text).is_err() => {
            let value = serde_json::from_str(&String::from_utf8_lossy(text)).ok()?;
            Some((value, Form { invalid: true, ..Form::default() }))
        }
        Err(_) => {
            let (value, why) = scan_refused::read(text)?;
            Some((value, Form { refused: Some(why), ..Form::default() }))
        }
    }
}

/// A message in which numbers are written as JSON does not allow it.
fn without_nan(text: &[u8]) -> Option<Value> {
    const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    let text = std::str::from_utf8(text)
        .ok()
        .filter(|text| text.starts_with('{') && WORDS.iter().any(|word| text.contains(word)))?;
    let mut repaired = String::with_capacity(text.len());
    let (mut in_string, mut escaped, mut rest) = (false, false, text);
    while let Some(letter) = rest.chars().next() {
        let word = if in_string { None } else { WORDS.iter().find(|word| rest.starts_with(**word)) };
        if let Some(word) = word {
            repaired.push_str("null");
            rest = rest.strip_prefix(*word)?;
            continue;
        }
        (in_string, escaped) = match (letter, in_string, escaped) {
            ('"', true, false) => (false, false),
            ('"', false, _) => (true, false),
            ('\\', true, false) => (true, true),
            _ => (in_string, false),
        };
        repaired.push(letter);
        rest = rest.strip_prefix(letter)?;
    }
    serde_json::from_str(&repaired).ok().filter(is_message)
}

/// A value at the beginning of bytes that may go on after it: its length with it.
fn prefix(bytes: &[u8]) -> Result<(usize, Value), serde_json::Error> {
    let mut values = serde_json::Deserializer::from_slice(bytes);
    let value = Value::deserialize(&mut values)?;
    Ok((values.into_iter::<Value>().byte_offset(), value))
}

enum Pretty {
    Value(usize, Value),
    Unfinished,
    None,
}

/// A value that begins on this line and ends on another.
fn pretty(rest: &[u8], ended: bool) -> Pretty {
    let within = rest.get(..LONGEST_PRETTY).unwrap_or(rest);
    let mut values = serde_json::Deserializer::from_slice(within).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => {
            let end = values.byte_offset();
            let value_bytes = within.get(..end).unwrap_or_default();
            let after = within.get(end..).unwrap_or_default();
            let line_end = after.iter().position(|byte| *byte == b'\n').map_or(after.len(), |at| at + 1);
            let blank = after.get(..line_end).is_some_and(|line| line.trim_ascii().is_empty());
            if !value_bytes.contains(&b'\n') || !value.is_object() && !is_message(&value) {
                return Pretty::None;
            }
            Pretty::Value(if blank { end + line_end } else { end }, value)
        }
        Some(Err(error)) if error.is_eof() && !ended && rest.len() < LONGEST_PRETTY => {
            // Part of it, or text that begins like a value: a message after it shows which.
            let later = within.split(|byte| *byte == b'\n').skip(1);
            if later
                .take(64)
                .any(|line| parse(line.trim_ascii()).is_some_and(|(value, _)| is_message(&value)))
            {
                return Pretty::None;
            }
            Pretty::Unfinished
        }
        _ => Pretty::None,
    }
}

/// A message that begins somewhere on a line: where, and how long it is.
fn inside(line: &[u8]) -> Option<(usize, usize, Value)> {
    let near = line.get(..LONGEST_PREFIX).unwrap_or(line);
    let braces = near.iter().enumerate().filter(|(_, byte)| matches!(byte, b'{' | b'[')).map(|(at, _)| at);
    braces.take(BRACES).find_map(|at| {
        let (length, value) = prefix(line.get(at..)?).ok()?;
        is_message(&value).then_some((at, length, value))
    })
}

fn is_header(rest: &[u8]) -> bool {
    [&b"content-length:"[..], b"content-type:"]
        .iter()
        .any(|name| rest.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name)))
}

enum Headers {
    End { length: usize, body: usize },
    Unfinished,
    Invalid,
}

/// Headers up to the empty line after them, and the length of the body that they announce.
fn headers(rest: &[u8]) -> Headers {
    let within = rest.get(..LONGEST_HEADERS).unwrap_or(rest);
    let (mut length, mut body) = (0, None);
    for line in within.split_inclusive(|byte| *byte == b'\n') {
        if !line.ends_with(b"\n") {
            break;
        }
        length += line.len();
        let text = String::from_utf8_lossy(line);
        match text.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                match value.trim().parse() {
                    Ok(announced) => body = Some(announced),
                    Err(_) => return Headers::Invalid,
                }
            }
            Some((name, _)) if name.eq_ignore_ascii_case("content-type") => {}
            None if text.trim().is_empty() => {
                return body.map_or(Headers::Invalid, |body| Headers::End { length, body });
            }
            _ => return Headers::Invalid,
        }
    }
    if rest.len() < LONGEST_HEADERS { Headers::Unfinished } else { Headers::Invalid }
}

#[cfg(test)]
mod tests;
