//! A tape to a tape without secrets.

mod names;
mod parameters;
mod shapes;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, VecDeque};

use fancy_regex::Regex;
use papertape::wire::tape::{Content, Direction, Entry, Record};
use serde_json::Value;

use crate::{Form, Joiner, Line, Message};
use text::{TextRedactor, replaced};

/// How many bytes of frames are held back, because a message is not complete.
const MOST_HELD: usize = 64 * 1024 * 1024;

/// Makes a copy of a tape without secrets: each is replaced by `[redacted KIND]`.
///
/// Secrets are the values of headers, parameters, members, options and environment variables whose names say so, what the
/// shapes of well-known keys and tokens fit, and what else the user names. Frames that are JSON stay JSON. A message that
/// crossed in parts and has secrets is written with its last part; its other parts are empty.
#[derive(Debug, Default)]
pub struct Redactor {
    text: TextRedactor,
    joiner: Joiner,
    /// Lines that cannot be written yet, or only after others.
    held: VecDeque<Held>,
    /// How many lines are no longer held.
    written: usize,
    /// The frames of each source that have bytes whose message is not complete, counted over all lines.
    open: HashMap<(bool, Option<u64>), VecDeque<usize>>,
    held_bytes: usize,
    counts: Counts,
}

/// How many secrets of each kind were replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    fn add(&mut self, kind: &'static str) {
        *self.0.entry(kind).or_default() += 1;
    }

    /// The kinds, such as `cookie`, and how often each was replaced.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().map(|(kind, count)| (*kind, *count))
    }

    /// All of them together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

#[derive(Debug)]
enum Held {
    /// A line as it will be written.
    Done(String),
    Frame {
        record: Record<'static>,
        /// How many bytes are in messages that are complete.
        covered: usize,
        redacted: Vec<u8>,
    },
}

impl Redactor {
    /// A redactor that knows nothing of the user's own secrets.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same redactor, which also replaces what a regular expression matches in texts, in strings of JSON and in numbers.
    ///
    /// # Errors
    /// If it is not a regular expression.
    pub fn also(mut self, pattern: &str) -> Result<Self, String> {
        self.text.also.push(Regex::new(pattern).map_err(|error| error.to_string())?);
        Ok(self)
    }

    /// How many secrets were replaced so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Adds a line, and appends the lines to `tape` that can be written now.
    pub fn push(&mut self, line: Line, tape: &mut String) {
        match line.entry {
            Entry::Comment(comment) => {
                let comment = self.text.plain(&comment, &mut self.counts).unwrap_or(comment);
                self.held.push_back(Held::Done(format!("{comment}\n")));
            }
            Entry::Record(record) => self.push_record(line.offset, record),
        }
        if self.held_bytes > MOST_HELD {
            self.finish(tape);
        }
        self.write(tape);
    }

    /// Ends the tape: appends all that is left.
    pub fn finish(&mut self, tape: &mut String) {
        self.joiner.finish();
        self.take_messages();
        self.write(tape);
    }

    fn push_record(&mut self, offset: u64, mut record: Record<'static>) {
        let done = |record: &Record<'_>| {
            let mut line = String::new();
            record.write(&mut line);
            Held::Done(line)
        };
        match &mut record.content {
            Content::Frame(direction, bytes) => {
                self.held_bytes += bytes.len();
                if !bytes.is_empty() {
                    let source = (*direction == Direction::ToClient, record.exchange);
                    self.open.entry(source).or_default().push_back(self.written + self.held.len());
                }
                self.joiner.push(offset, &record);
                self.held.push_back(Held::Frame { record, covered: 0, redacted: Vec::new() });
            }
            Content::Head(_, bytes) => {
                if let Some(redacted) = self.head(bytes) {
                    *bytes = Cow::Owned(redacted);
                }
                self.joiner.push(offset, &record);
                self.held.push_back(done(&record));
            }
            Content::Stderr(bytes) => {
                if let Some(redacted) = self.bytes(bytes) {
                    *bytes = Cow::Owned(redacted);
                }
                self.held.push_back(done(&record));
            }
            Content::Event { name, detail } => {
                if name == "start"
                    && let Some(redacted) = self.start(detail)
                {
                    *detail = Cow::Owned(redacted);
                }
                if let Some(redacted) = self.text.redact(detail, &mut self.counts) {
                    *detail = Cow::Owned(redacted);
                }
                self.joiner.push(offset, &record);
                self.held.push_back(done(&record));
            }
        }
        self.take_messages();
    }

    fn take_messages(&mut self) {
        while let Some(message) = self.joiner.next_message() {
            let redacted = self.message(&message);
            self.cover(&message, redacted.as_deref());
        }
    }

    /// Puts the bytes of a message into the records that it crossed in.
    fn cover(&mut self, message: &Message, redacted: Option<&[u8]>) {
        let source = (message.direction == Direction::ToClient, message.exchange);
        let Some(open) = self.open.get_mut(&source) else { return };
        let mut left = message.bytes.len();
        while left > 0 {
            let Some(&index) = open.front() else { return };
            let held = index.checked_sub(self.written).and_then(|index| self.held.get_mut(index));
            let Some(Held::Frame { record, covered, redacted: bytes }) = held else {
                open.pop_front();
                continue;
            };
            let Content::Frame(_, original) = &record.content else { return };
            let count = left.min(original.len() - *covered);
            left -= count;
            match redacted {
                None => bytes.extend_from_slice(original.get(*covered..*covered + count).unwrap_or_default()),
                Some(redacted) if left == 0 => bytes.extend_from_slice(redacted),
                Some(_) => {}
            }
            *covered += count;
            if *covered >= original.len() {
                self.held_bytes = self.held_bytes.saturating_sub(original.len());
                open.pop_front();
            }
        }
        if open.is_empty() {
            self.open.remove(&source);
        }
    }

    /// Appends the lines up to the first that is not complete.
    fn write(&mut self, tape: &mut String) {
        while let Some(held) = self.held.front() {
            match held {
                Held::Frame { record, covered, .. } => {
                    if record.as_frame().is_some_and(|(_, bytes)| *covered < bytes.len()) {
                        return;
                    }
                }
                Held::Done(_) => {}
            }
            match self.held.pop_front() {
                Some(Held::Done(line)) => tape.push_str(&line),
                Some(Held::Frame { mut record, redacted, .. }) => {
                    if let Content::Frame(_, bytes) = &mut record.content {
                        *bytes = Cow::Owned(redacted);
                    }
                    record.write(tape);
                }
                None => {}
            }
            self.written += 1;
        }
    }

    /// The bytes of a message without secrets, if it has any.
    fn message(&mut self, message: &Message) -> Option<Vec<u8>> {
        if message.form == Form::Blank {
            return None;
        }
        // An event of several lines is redacted with its `data:`, which is not a part of any string.
        let Some((before, after)) = message.around_body() else { return self.bytes(&message.bytes) };
        let body = self.bytes(message.body())?;
        let mut redacted =
            if message.form == Form::Frame { with_length(before, body.len()) } else { before.to_vec() };
        redacted.extend_from_slice(&body);
        redacted.extend_from_slice(after);
        Some(redacted)
    }

    /// Text with bytes in it that are not UTF-8.
    fn bytes(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return self.text.redact(text, &mut self.counts).map(String::into_bytes);
        }
        let mut redacted = Vec::new();
        let mut changed = false;
        for chunk in bytes.utf8_chunks() {
            let text = self.text.redact(chunk.valid(), &mut self.counts);
            changed |= text.is_some();
            redacted.extend_from_slice(text.as_deref().unwrap_or(chunk.valid()).as_bytes());
            redacted.extend_from_slice(chunk.invalid());
        }
        changed.then_some(redacted)
    }

    /// The head of an HTTP request or response.
    fn head(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut redacted = Vec::new();
        let mut changed = false;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(line);
            let header = text.split_once(':').filter(|(name, value)| {
                // Some servers take a name with spaces after it.
                let name = name.trim_end();
                !name.contains(' ') && names::is_secret_header(name, value.trim())
            });
            let line_redacted = match header {
                Some((name, value)) => {
                    let found = parameters::header_value(value, name.trim_end());
                    found
                        .and_then(|found| replaced(value, vec![found], &mut self.counts))
                        .map(|value| format!("{name}:{value}").into_bytes())
                }
                None => self.bytes(line),
            };
            changed |= line_redacted.is_some();
            redacted.extend_from_slice(line_redacted.as_deref().unwrap_or(line));
        }
        changed.then_some(redacted)
    }

    /// The command of the event `start`: options whose values are secrets.
    fn start(&mut self, detail: &str) -> Option<String> {
        let mut value: Value = serde_json::from_str(detail).ok()?;
        let mut changed = false;
        for name in ["command", "args"] {
            let Some(Value::Array(arguments)) = value.get_mut(name) else { continue };
            let mut after_option = false;
            for argument in arguments {
                let Value::String(text) = argument else { continue };
                let of_option = std::mem::replace(&mut after_option, names::is_secret_option(text));
                let start = match text.split_once('=') {
                    Some((option, _)) if names::is_secret_option(option) => option.len() + 1,
                    _ if of_option && !text.starts_with('-') => 0,
                    _ => continue,
                };
                if let Some(redacted) = replaced(text, vec![(start..text.len(), "secret")], &mut self.counts)
                {
                    *text = redacted;
                    changed = true;
                }
            }
        }
        changed.then(|| value.to_string())
    }
}

/// The headers of a frame with the length of another body.
fn with_length(headers: &[u8], length: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for line in headers.split_inclusive(|byte| *byte == b'\n') {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        if name.len() < line.len() && name.eq_ignore_ascii_case(b"content-length") {
            out.extend_from_slice(name);
            out.extend_from_slice(format!(": {length}").as_bytes());
            out.extend_from_slice(if line.ends_with(b"\r\n") { b"\r\n" } else { b"\n" });
        } else {
            out.extend_from_slice(line);
        }
    }
    out
}
