//! The messages in the body of an HTTP request or response: JSON or server-sent events.
//!
//! Which of them it is, is seen from its first bytes, so that a body is read whose head is not on the tape.

use papertape::wire::sse;

use crate::LONGEST;
use crate::joiner::{Part, Pending, Whole};
use crate::json_end::JsonEnd;
use crate::message::Form;

/// Joins the parts of one body.
#[derive(Debug, Default)]
pub(crate) struct Body {
    kind: Kind,
    /// The bytes of an incomplete message, unless they are in the decoder of events.
    bytes: Vec<u8>,
    /// Where the message begins.
    start: usize,
    /// How far its bytes have been looked at.
    seen: usize,
    pending: Pending,
}

#[derive(Debug, Default)]
enum Kind {
    /// Between two messages.
    #[default]
    Unknown,
    Json(JsonEnd),
    Events(sse::Decoder),
}

/// What a body begins with.
enum Beginning {
    Blank,
    Json,
    Events,
    /// Too short to say.
    Undecided,
    Other,
}

impl Body {
    /// How many bytes wait for more.
    pub(crate) fn waiting(&self) -> usize {
        match &self.kind {
            Kind::Events(decoder) => decoder.unfinished().len(),
            _ => self.bytes.len() - self.start,
        }
    }

    /// Adds the bytes of a record.
    pub(crate) fn push(&mut self, part: Part, bytes: &[u8]) {
        self.pending.add(part, bytes.len());
        match &mut self.kind {
            Kind::Events(decoder) => decoder.push(bytes),
            _ => {
                self.bytes.drain(..self.start);
                self.seen -= self.start;
                self.start = 0;
                self.bytes.extend_from_slice(bytes);
            }
        }
    }

    /// The next message, if it is complete.
    pub(crate) fn next(&mut self) -> Option<Whole> {
        match &mut self.kind {
            Kind::Unknown => self.next_unknown(),
            Kind::Json(end) => {
                let unseen = self.bytes.get(self.seen..).unwrap_or_default();
                let Some(length) = end.feed(unseen) else {
                    self.seen = self.bytes.len();
                    return if self.waiting() > LONGEST { self.finish() } else { None };
                };
                let after = unseen.get(length..).unwrap_or_default();
                let spaces = after.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                let end = self.seen + length + spaces;
                let message = self.bytes.get(self.start..end).unwrap_or_default();
                let whole = self.pending.take(message, 0..message.len() - spaces, Form::Body);
                self.kind = Kind::Unknown;
                (self.start, self.seen) = (end, end);
                Some(whole)
            }
            Kind::Events(decoder) => match decoder.next_block() {
                Ok(Some(block)) => {
                    let Some(data) = block.event.data else {
                        return Some(self.pending.take(block.raw, 0..0, Form::Blank));
                    };
                    let mut whole = self.pending.take(block.raw, 0..0, Form::Event);
                    whole.joined = Some(data.into_owned());
                    Some(whole)
                }
                Ok(None) => {
                    if decoder.unfinished().is_empty() {
                        self.kind = Kind::Unknown;
                    }
                    None
                }
                Err(_) => self.finish(),
            },
        }
    }

    fn next_unknown(&mut self) -> Option<Whole> {
        let rest = self.bytes.get(self.start..).filter(|rest| !rest.is_empty())?;
        let (body, form) = match beginning(rest) {
            Beginning::Undecided => return None,
            Beginning::Json => {
                self.kind = Kind::Json(JsonEnd::default());
                return self.next();
            }
            Beginning::Events => {
                let mut decoder = sse::Decoder::new(LONGEST);
                decoder.push(rest);
                self.kind = Kind::Events(decoder);
                (self.bytes, self.start, self.seen) = (Vec::new(), 0, 0);
                return self.next();
            }
            Beginning::Blank => (0..0, Form::Blank),
            Beginning::Other => (0..rest.len(), Form::Other),
        };
        let whole = self.pending.take(rest, body, form);
        self.start = self.bytes.len();
        self.seen = self.start;
        Some(whole)
    }

    /// Returns what is incomplete.
    pub(crate) fn finish(&mut self) -> Option<Whole> {
        let rest = match &self.kind {
            Kind::Events(decoder) => decoder.unfinished(),
            _ => self.bytes.get(self.start..).unwrap_or_default(),
        };
        let whole = (!rest.is_empty()).then(|| self.pending.take(rest, 0..rest.len(), Form::Unterminated));
        *self = Self::default();
        whole
    }
}

fn beginning(bytes: &[u8]) -> Beginning {
    const FIELDS: [&[u8]; 5] = [b"data", b"event", b"id", b"retry", b""];
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match bytes.trim_ascii_start().first() {
        None => return Beginning::Blank,
        Some(b'{' | b'[') => return Beginning::Json,
        Some(_) => {}
    }
    let name_end = bytes.iter().position(|byte| matches!(byte, b':' | b'\n' | b'\r'));
    let name = bytes.get(..name_end.unwrap_or(bytes.len())).unwrap_or_default();
    match name_end {
        Some(_) if FIELDS.contains(&name) => Beginning::Events,
        None if FIELDS.iter().any(|field| field.starts_with(name)) => Beginning::Undecided,
        _ => Beginning::Other,
    }
}
