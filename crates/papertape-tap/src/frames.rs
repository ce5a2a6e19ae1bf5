//! The bytes of a stream to its frames, and what is held back until a frame is complete.

use std::time::Instant;

use crate::item::Parts;

/// The largest header block in front of a message.
const MOST_HEADER_BYTES: usize = 8 * 1024;

/// What begins a message with a header block.
const HEADER: &[u8] = b"content-";

/// Divides the bytes of a stream into frames. All that goes in comes out again, in its order.
#[derive(Debug)]
pub(crate) struct Frames {
    parts: Parts,
    held: Vec<u8>,
    /// How far no end was found in what is held.
    scanned: usize,
    /// What is missing of a message with a `Content-Length` whose beginning was given out.
    missing: u64,
    /// When the last bytes came.
    pub(crate) since: Instant,
}

/// How a message is delimited.
enum Delimiter {
    LineEnd,
    /// A header block with the size of the message, with the block.
    Size(u64),
    /// The header block is incomplete.
    Unknown,
}

impl Frames {
    pub(crate) fn new(parts: Parts, now: Instant) -> Self {
        Self { parts, held: Vec::new(), scanned: 0, missing: 0, since: now }
    }

    /// Whether bytes are held back.
    pub(crate) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether the next byte begins a frame.
    pub(crate) fn is_between_frames(&self) -> bool {
        self.held.is_empty() && self.missing == 0
    }

    /// Gives out the frames that are complete with these bytes, and what is more than `most` of a frame that is not.
    pub(crate) fn push(&mut self, bytes: &[u8], most: usize, mut out: impl FnMut(&[u8])) {
        if self.held.is_empty() {
            let length = self.give_out(bytes, most, &mut out);
            self.held.extend_from_slice(bytes.get(length..).unwrap_or_default());
            return;
        }
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(bytes);
        let length = self.give_out(&held, most, &mut out);
        held.drain(..length);
        self.held = held;
    }

    /// Gives out everything that is held back.
    pub(crate) fn flush(&mut self, mut out: impl FnMut(&[u8])) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            self.give_out_part(&held, &mut out);
        }
    }

    /// After bytes that are not known, a frame begins wherever the next byte is.
    pub(crate) fn forget(&mut self) {
        self.missing = 0;
    }

    /// How many bytes it has given out.
    fn give_out(&mut self, bytes: &[u8], most: usize, out: &mut impl FnMut(&[u8])) -> usize {
        let mut rest = bytes;
        while let Some((frame, after)) =
            self.frame_length(rest).and_then(|length| rest.split_at_checked(length))
        {
            out(frame);
            self.scanned = 0;
            rest = after;
        }
        if rest.len() > most {
            self.give_out_part(rest, out);
            rest = &[];
        }
        bytes.len() - rest.len()
    }

    fn give_out_part(&mut self, part: &[u8], out: &mut impl FnMut(&[u8])) {
        let size = match self.missing {
            0 if self.parts == Parts::Messages => match delimiter(part) {
                Delimiter::Size(size) => size,
                Delimiter::LineEnd | Delimiter::Unknown => 0,
            },
            missing => missing,
        };
        self.missing = size.saturating_sub(part.len() as u64);
        self.scanned = 0;
        out(part);
    }

    /// The length of the first frame, if it is complete.
    fn frame_length(&mut self, bytes: &[u8]) -> Option<usize> {
        if bytes.is_empty() {
            return None;
        }
        match self.parts {
            Parts::Whole => None,
            Parts::Lines => self.line_length(bytes),
            Parts::Events => self.event_length(bytes),
            Parts::Messages => {
                let size = match self.missing {
                    0 => match delimiter(bytes) {
                        Delimiter::LineEnd => return self.line_length(bytes),
                        Delimiter::Unknown => return None,
                        Delimiter::Size(size) => size,
                    },
                    missing => missing,
                };
                let length = usize::try_from(size).ok().filter(|length| *length <= bytes.len())?;
                self.missing = 0;
                Some(length)
            }
        }
    }

    fn line_length(&mut self, bytes: &[u8]) -> Option<usize> {
        let end = bytes.get(self.scanned..).and_then(|rest| memchr::memchr(b'\n', rest));
        let length = end.map(|end| self.scanned + end + 1);
        self.scanned = if length.is_some() { 0 } else { bytes.len() };
        length
    }

    /// An event ends with an empty line. Lines that end with CR alone are not divided.
    fn event_length(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut from = self.scanned;
        while let Some(end) = bytes.get(from..).and_then(|rest| memchr::memchr(b'\n', rest)) {
            let length = from + end + 1;
            let before = bytes.get(..from + end).unwrap_or_default();
            let before = before.strip_suffix(b"\r").unwrap_or(before);
            if before.is_empty() || before.ends_with(b"\n") {
                return Some(length);
            }
            from = length;
        }
        // What comes before the last line end was looked at.
        self.scanned = from;
        None
    }
}

/// How the message is delimited that begins here.
fn delimiter(bytes: &[u8]) -> Delimiter {
    let is_alike = bytes.iter().zip(HEADER).all(|(a, b)| a.eq_ignore_ascii_case(b));
    if !is_alike {
        return Delimiter::LineEnd;
    }
    let (mut size, mut length) = (0, None);
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        size += line.len();
        if size > MOST_HEADER_BYTES {
            return Delimiter::LineEnd;
        }
        let Some(line) = line.strip_suffix(b"\n") else { return Delimiter::Unknown };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return length
                .map_or(Delimiter::LineEnd, |length| Delimiter::Size((size as u64).saturating_add(length)));
        }
        let Some((name, value)) = header(line) else { return Delimiter::LineEnd };
        if name.eq_ignore_ascii_case(b"content-length") {
            let value = std::str::from_utf8(value.trim_ascii()).ok().and_then(|value| value.parse().ok());
            let Some(value) = value else { return Delimiter::LineEnd };
            length = Some(value);
        }
    }
    Delimiter::Unknown
}

fn header(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, value) = line.split_at_checked(memchr::memchr(b':', line)?)?;
    let is_name = name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-' || *byte == b'_');
    is_name.then_some((name, value.get(1..)?))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

    use super::{Frames, Parts};

    fn frames(parts: Parts, most: usize, chunks: &[&[u8]]) -> Vec<String> {
        let mut frames = Frames::new(parts, Instant::now());
        let mut out = Vec::new();
        let mut give = |bytes: &[u8]| out.push(String::from_utf8_lossy(bytes).into_owned());
        for chunk in chunks {
            frames.push(chunk, most, &mut give);
        }
        frames.flush(&mut give);
        out
    }

    #[test]
    fn lines_are_frames() {
        assert_eq!(
            frames(Parts::Messages, 99, &[b"{}\n\r\n{", b"}", b"\nhalf"]),
            ["{}\n", "\r\n", "{}\n", "half"]
        );
        assert_eq!(
            frames(Parts::Messages, 99, &[b"Con: a log line\nCo", b"ntent is fine\n"]),
            ["Con: a log line\n", "Content is fine\n"]
        );
    }

    #[test]
    fn messages_with_headers_are_frames() {
        let chunks: [&[u8]; 4] = [
            b"Content-Len",
            b"gth: 2\r\n\r\n{",
            b"}Content-Length: 3\n\n{\n}\r\ncontent-type: x\r\n",
            b"CONTENT-LENGTH:0\r\n\r\n{}\n",
        ];
        let expected = [
            "Content-Length: 2\r\n\r\n{}",
            "Content-Length: 3\n\n{\n}",
            "\r\n",
            "content-type: x\r\nCONTENT-LENGTH:0\r\n\r\n",
            "{}\n",
        ];
        assert_eq!(frames(Parts::Messages, 99, &chunks), expected);
        // The rest of a frame that is too large belongs to it, with its line ends.
        let chunks: [&[u8]; 3] = [b"Content-Length: 9\r\n\r\n123\n", b"5\n7", b"89{}\n"];
        assert_eq!(
            frames(Parts::Messages, 22, &chunks),
            ["Content-Length: 9\r\n\r\n123\n", "5\n789", "{}\n"]
        );
    }

    #[test]
    fn events_end_with_an_empty_line() {
        let chunks: [&[u8]; 3] = [b"data: a\n\ndata: b\r\n\r", b"\n: c\n", b"\n\ndata"];
        assert_eq!(
            frames(Parts::Events, 99, &chunks),
            ["data: a\n\n", "data: b\r\n\r\n", ": c\n\n", "\n", "data"]
        );
    }

    #[test]
    fn a_body_is_whole() {
        assert_eq!(frames(Parts::Whole, 99, &[b"{\n", b"}\n"]), ["{\n}\n"]);
    }

    proptest! {
        #[test]
        fn all_bytes_come_out_in_their_order(
            parts in prop_oneof![Just(Parts::Messages), Just(Parts::Lines), Just(Parts::Events), Just(Parts::Whole)],
            most in 0..40_usize,
            chunks in prop::collection::vec(
                (prop_oneof![
                    any::<Vec<u8>>(),
                    "(content-length: ?[0-9]{1,3}\r?\n\r?\n?|[{}\r\n]{1,5}){0,4}".prop_map(String::into_bytes),
                ], any::<bool>()),
                0..8,
            ),
        ) {
            let mut frames = Frames::new(parts, Instant::now());
            let mut out = Vec::new();
            for (chunk, flush) in &chunks {
                frames.push(chunk, most, |bytes| out.extend_from_slice(bytes));
                if *flush {
                    frames.flush(|bytes| out.extend_from_slice(bytes));
                }
            }
            frames.flush(|bytes| out.extend_from_slice(bytes));
            prop_assert_eq!(out, chunks.into_iter().flat_map(|(chunk, _)| chunk).collect::<Vec<u8>>());
        }
    }
}
