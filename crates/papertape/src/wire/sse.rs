//! Server-sent events: decoding and encoding of event streams.
//!
//! An event is a block of lines up to an empty one. What a block is made of is kept beside what it means, so that the tape
//! has it byte for byte.

use std::borrow::Cow;
use std::ops::Range;

/// What a block of lines says.
///
/// Each member is there only if the block has such a line: an event without data is not a message,
/// but its id and its time to wait count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event<'a> {
    /// The `event` line: what kind of event it is.
    pub name: Option<Cow<'a, str>>,
    /// The `data` lines, with line ends between them.
    pub data: Option<Cow<'a, [u8]>>,
    /// The `id` line, which a client sends as `Last-Event-ID` to resume the stream after this event.
    pub id: Option<Cow<'a, str>>,
    /// The `retry` line: milliseconds to wait before reconnecting.
    pub retry: Option<u64>,
}

/// A block of lines: its exact bytes, and its event.
#[derive(Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// The bytes, with the empty line.
    pub raw: &'a [u8],
    /// The event.
    pub event: Event<'a>,
}

/// A block is longer than the limit; the rest of the stream cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than the limit of {limit} bytes")]
pub struct TooLong {
    /// The maximum size of a block in bytes.
    pub limit: usize,
}

/// Decodes the bytes of a server-sent events stream, in chunks of any size, into events.
///
/// ```
/// use papertape::wire::sse::Decoder;
///
/// let mut decoder = Decoder::new(1024);
/// decoder.push(b"id: 1\ndata: {\"jsonrpc\"");
/// assert!(decoder.next_block().unwrap().is_none());
/// decoder.push(b":\"2.0\"}\n\n");
/// let block = decoder.next_block().unwrap().unwrap();
/// assert_eq!(block.event.data.as_deref(), Some(&b"{\"jsonrpc\":\"2.0\"}"[..]));
/// ```
#[derive(Debug)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Where the block begins that has not ended yet.
    start: usize,
    /// How far its bytes have been looked at.
    looked: usize,
    /// Where its last line begins.
    line: usize,
    /// The byte before was a CR, so that an LF now belongs to the same line end.
    after_cr: bool,
    /// Nothing has come yet, so that a byte order mark may.
    fresh: bool,
    limit: usize,
}

const MARK: &[u8] = b"\xEF\xBB\xBF";

impl Decoder {
    /// A decoder for blocks of at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, looked: 0, line: 0, after_cr: false, fresh: true, limit }
    }

    /// Appends bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.looked -= self.start;
            self.line -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete block, if there is one.
    ///
    /// # Errors
    /// If a block is too long.
    pub fn next_block(&mut self) -> Result<Option<Block<'_>>, TooLong> {
        while let Some(&byte) = self.buffer.get(self.looked) {
            let second_half = byte == b'\n' && self.after_cr;
            self.after_cr = byte == b'\r';
            if second_half {
                self.looked += 1;
                self.line = self.looked;
                continue;
            }
            let rest = self.buffer.get(self.looked..).unwrap_or_default();
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.looked = self.buffer.len();
                break;
            };
            let end = self.looked + end;
            self.after_cr = self.buffer.get(end) == Some(&b'\r');
            let line = self.line..end;
            self.looked = end + 1;
            self.line = self.looked;
            if self.is_empty(line) {
                return self.end_block().map(Some);
            }
        }
        if self.buffer.len() - self.start > self.limit {
            return Err(TooLong { limit: self.limit });
        }
        Ok(None)
    }

    /// The beginning of an incomplete block. At the end of the stream it is discarded: it is not an event.
    #[must_use]
    pub fn unfinished(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    fn is_empty(&self, line: Range<usize>) -> bool {
        let at_the_start = self.fresh && line.start == self.start;
        let text = self.buffer.get(line).unwrap_or_default();
        text.is_empty() || (at_the_start && text == MARK)
    }

    fn end_block(&mut self) -> Result<Block<'_>, TooLong> {
        // If the LF that belongs to the last CR is there already, so much the better.
        if self.after_cr && self.buffer.get(self.looked) == Some(&b'\n') {
            self.looked += 1;
            self.line = self.looked;
            self.after_cr = false;
        }
        let block = self.start..self.looked;
        if block.len() > self.limit {
            return Err(TooLong { limit: self.limit });
        }
        self.start = self.looked;
        let raw = self.buffer.get(block).unwrap_or_default();
        let text = if std::mem::replace(&mut self.fresh, false) {
            raw.strip_prefix(MARK).unwrap_or(raw)
        } else {
            raw
        };
        Ok(Block { raw, event: read(text) })
    }
}

/// What a block says, line by line.
fn read(block: &[u8]) -> Event<'_> {
    let mut event = Event::default();
    for line in block.split(|&b| b == b'\n' || b == b'\r') {
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => {
                let value = line.get(colon + 1..).unwrap_or_default();
                (line.get(..colon).unwrap_or_default(), value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &b""[..]),
        };
        match field {
            b"event" => event.name = Some(String::from_utf8_lossy(value)),
            b"data" => match &mut event.data {
                None => event.data = Some(Cow::Borrowed(value)),
                Some(data) => {
                    let data = data.to_mut();
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
            },
            b"id" if !value.contains(&0) => event.id = Some(String::from_utf8_lossy(value)),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let digits = std::str::from_utf8(value).unwrap_or_default();
                event.retry = Some(digits.parse().unwrap_or(u64::MAX));
            }
            // A comment, or an unknown field.
            _ => {}
        }
    }
    event
}

impl<'a> Event<'a> {
    /// An event with data and nothing else.
    #[must_use]
    pub fn of(data: &'a [u8]) -> Self {
        Self { data: Some(Cow::Borrowed(data)), ..Self::default() }
    }
}

/// Appends an event as a block of lines. A name or an id ends at its first line end.
pub fn write_event(out: &mut Vec<u8>, event: &Event<'_>) {
    let mut line = |field: &str, value: &[u8]| {
        out.extend_from_slice(field.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.push(b'\n');
    };
    let is_end = |b: &u8| matches!(b, b'\n' | b'\r');
    let first = |text: &'_ str| text.split(['\n', '\r']).next().unwrap_or_default().to_owned();
    if let Some(name) = &event.name {
        line("event", first(name).as_bytes());
    }
    if let Some(id) = &event.id {
        line("id", first(id).as_bytes());
    }
    if let Some(retry) = event.retry {
        line("retry", retry.to_string().as_bytes());
    }
    if let Some(data) = &event.data {
        for part in data.split(is_end) {
            line("data", part);
        }
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests;
