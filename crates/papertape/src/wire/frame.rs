//! Bytes to frames and back, in two framings, which are detected from the peer's first bytes.
//!
//! MCP's stdio framing is one JSON message per line.
//! Some hosts and servers put LSP's `Content-Length` headers before each message instead; both are read here, bounded,
//! and the decoder resynchronises after a frame that is invalid or too long.
//! Every byte that goes in comes out in exactly one [`Piece`], so that a tape is complete.
//!
//! The other way round, messages become frames in an `Outbox`, and wait there to be written from a `WriteBuffer`.

use std::fmt;
use std::ops::Range;

use super::error::excerpt;

/// How messages are delimited on a byte stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    /// One message per line.
    #[default]
    Line,
    /// `Content-Length: N`, an empty line, N bytes.
    ContentLength,
}

impl Framing {
    /// Turns the bytes of `out` from `start` on into one frame.
    pub fn seal(self, out: &mut Vec<u8>, start: usize) {
        match self {
            Framing::Line => out.push(b'\n'),
            Framing::ContentLength => {
                let header = format!("Content-Length: {}\r\n\r\n", out.len().saturating_sub(start));
                out.splice(start..start, header.into_bytes());
            }
        }
    }
}

/// The maximum size of a header block.
const MOST_HEADER_BYTES: usize = 8 * 1024;

/// A `Content-Length` frame over the limit is skipped if it is at most this many times the limit; a peer that
/// announces more is not waited for.
const MOST_SKIPPED_LIMITS: u64 = 16;

/// The capacity of the buffer that is kept after a large frame.
const MOST_ROOM_KEPT: usize = 4 * 1024 * 1024;

/// The capacity that is reserved for each read.
const READ_SIZE: usize = 64 * 1024;

/// A run of the peer's bytes, classified.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The exact bytes.
    pub raw: &'a [u8],
    /// How the peer frames its messages, as far as it is known.
    pub framing: Framing,
    /// Their class.
    pub kind: PieceKind<'a>,
}

/// The class of a run of bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum PieceKind<'a> {
    /// One frame, without its line end or headers.
    Frame(&'a [u8]),
    /// The input ended before the end of the line; it may be a complete message nevertheless.
    Unfinished(&'a [u8]),
    /// White space.
    Blank,
    /// The rest of a frame that was rejected already.
    Skipped,
    /// An invalid frame.
    Broken(FrameError),
}

/// Why bytes are not a valid frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameError {
    /// Over the limit; the rest of it is skipped.
    TooLong {
        /// The limit in bytes.
        limit: usize,
        /// Whether the next frame cannot be found.
        fatal: bool,
    },
    /// The header block is invalid, so the next frame cannot be found.
    Header(String),
    /// The input ended inside a `Content-Length` frame.
    Truncated,
}

impl FrameError {
    /// Whether nothing more can be read from this peer.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        matches!(
            self,
            FrameError::TooLong { fatal: true, .. } | FrameError::Header(_) | FrameError::Truncated
        )
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::TooLong { limit, .. } => {
                write!(f, "the frame is too large: the limit is {limit} bytes")
            }
            FrameError::Header(why) => write!(f, "broken Content-Length framing: {why}"),
            FrameError::Truncated => f.write_str("the input ended inside a Content-Length frame"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the beginning of a frame.
    Ready,
    /// Inside a line that was rejected.
    SkippingLine,
    /// Inside a `Content-Length` frame that was rejected: bytes to skip.
    SkippingBody(u64),
    /// The next frame cannot be found.
    Lost,
}

/// Decodes a byte stream into frames.
#[derive(Debug)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Where the bytes not yet handed out begin.
    start: usize,
    /// How far a line end has been looked for.
    scanned: usize,
    framing: Option<Framing>,
    state: State,
    limit: usize,
}

/// A [`Piece`] as positions in the buffer, so that the buffer can be borrowed once it is known.
struct Cut {
    raw: Range<usize>,
    kind: CutKind,
}

enum CutKind {
    Frame(Range<usize>),
    Unfinished,
    Blank,
    Skipped,
    Broken(FrameError),
}

impl Decoder {
    /// A decoder for frames of at most `limit` bytes that detects the framing.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, scanned: 0, framing: None, state: State::Ready, limit }
    }

    /// The buffer to append the next bytes to, with room for them.
    pub fn space(&mut self) -> &mut Vec<u8> {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.scanned = 0;
            self.start = 0;
            // The memory that a very large frame took is released.
            if self.buffer.capacity() > MOST_ROOM_KEPT {
                self.buffer = Vec::new();
            }
        } else if self.start > READ_SIZE {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
        self.buffer.reserve(READ_SIZE);
        &mut self.buffer
    }

    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.space().extend_from_slice(bytes);
    }

    /// The beginning of an incomplete piece.
    #[must_use]
    pub fn unfinished(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// The next piece, if it is complete.
    pub fn next_piece(&mut self) -> Option<Piece<'_>> {
        let cut = self.cut()?;
        self.hand_out(cut)
    }

    /// The last piece, when [`Decoder::next_piece`] returns `None` and the input has ended.
    pub fn finish(&mut self) -> Option<Piece<'_>> {
        let raw = self.start..self.buffer.len();
        if raw.is_empty() {
            return None;
        }
        let rest = self.buffer.get(raw.clone()).unwrap_or_default();
        let kind = match (self.state, self.framing) {
            (State::Ready, _) if is_blank(rest) => CutKind::Blank,
            (State::Ready, Some(Framing::ContentLength)) => CutKind::Broken(FrameError::Truncated),
            (State::Ready, _) => CutKind::Unfinished,
            _ => CutKind::Skipped,
        };
        self.hand_out(Cut { raw, kind })
    }

    fn hand_out(&mut self, cut: Cut) -> Option<Piece<'_>> {
        self.start = cut.raw.end;
        self.scanned = self.scanned.max(self.start);
        let raw = self.buffer.get(cut.raw)?;
        let kind = match cut.kind {
            CutKind::Frame(body) => PieceKind::Frame(self.buffer.get(body)?),
            CutKind::Unfinished => PieceKind::Unfinished(raw),
            CutKind::Blank => PieceKind::Blank,
            CutKind::Skipped => PieceKind::Skipped,
            CutKind::Broken(error) => PieceKind::Broken(error),
        };
        Some(Piece { raw, framing: self.framing.unwrap_or_default(), kind })
    }

    fn cut(&mut self) -> Option<Cut> {
        if self.start == self.buffer.len() {
            return None;
        }
        match self.state {
            State::Ready => match self.framing {
                None => self.cut_unknown(),
                Some(Framing::Line) => self.cut_line(),
                Some(Framing::ContentLength) => self.cut_headed(),
            },
            State::SkippingLine => {
                let end = self.find_newline();
                if end.is_some() {
                    self.state = State::Ready;
                }
                Some(self.skipped(end.unwrap_or(self.buffer.len())))
            }
            State::SkippingBody(left) => {
                let here = (self.buffer.len() - self.start) as u64;
                let taken = left.min(here);
                self.state = if taken == left { State::Ready } else { State::SkippingBody(left - taken) };
                Some(self.skipped(self.start + usize::try_from(taken).unwrap_or(usize::MAX)))
            }
            State::Lost => Some(self.skipped(self.buffer.len())),
        }
    }

    fn skipped(&self, end: usize) -> Cut {
        Cut { raw: self.start..end, kind: CutKind::Skipped }
    }

    /// The position after the next line end, looking at no byte twice.
    fn find_newline(&mut self) -> Option<usize> {
        let from = self.scanned.max(self.start);
        let found = memchr::memchr(b'\n', self.buffer.get(from..)?).map(|at| from + at + 1);
        self.scanned = found.unwrap_or(self.buffer.len());
        found
    }

    /// The first byte that is not white space decides the framing, or the first few.
    fn cut_unknown(&mut self) -> Option<Cut> {
        const HEADER: &[u8] = b"content-";
        let rest = self.buffer.get(self.start..).unwrap_or_default();
        let Some(first) = rest.iter().position(|&b| !is_space(b)) else {
            // Blank lines may come first; an unfinished one is waited for, but not without end.
            let end = memchr::memrchr(b'\n', rest)
                .map(|at| at + 1)
                .or((rest.len() > self.limit).then_some(rest.len()))?;
            return Some(Cut { raw: self.start..self.start + end, kind: CutKind::Blank });
        };
        let word = rest.iter().skip(first).take(HEADER.len());
        let alike = word.clone().zip(HEADER).all(|(a, b)| a.eq_ignore_ascii_case(b));
        if alike && word.len() < HEADER.len() {
            return None;
        }
        if alike {
            self.framing = Some(Framing::ContentLength);
            return self.cut_headed();
        }
        self.framing = Some(Framing::Line);
        self.cut_line()
    }

    fn cut_line(&mut self) -> Option<Cut> {
        let Some(end) = self.find_newline() else {
            if self.buffer.len() - self.start <= self.limit {
                return None;
            }
            self.state = State::SkippingLine;
            let kind = CutKind::Broken(FrameError::TooLong { limit: self.limit, fatal: false });
            return Some(Cut { raw: self.start..self.buffer.len(), kind });
        };
        let raw = self.start..end;
        let body = self.start..end - 1;
        let kind = if body.len() > self.limit {
            CutKind::Broken(FrameError::TooLong { limit: self.limit, fatal: false })
        } else if is_blank(self.buffer.get(body.clone()).unwrap_or_default()) {
            CutKind::Blank
        } else {
            CutKind::Frame(body)
        };
        Some(Cut { raw, kind })
    }

    fn cut_headed(&mut self) -> Option<Cut> {
        let rest = self.buffer.get(self.start..).unwrap_or_default();
        // Some writers put a line end after the body.
        let spaces = rest.iter().take_while(|&&b| is_space(b)).count();
        if spaces > 0 {
            return Some(Cut { raw: self.start..self.start + spaces, kind: CutKind::Blank });
        }
        match read_headers(rest) {
            Headers::Incomplete if rest.len() <= MOST_HEADER_BYTES => None,
            Headers::Incomplete => Some(self.lost(FrameError::Header(format!(
                "the header block is longer than {MOST_HEADER_BYTES} bytes"
            )))),
            Headers::Broken(why) => Some(self.lost(FrameError::Header(why))),
            Headers::Complete { size, length } if length > self.limit as u64 => {
                let fatal = length > (self.limit as u64).saturating_mul(MOST_SKIPPED_LIMITS);
                let error = FrameError::TooLong { limit: self.limit, fatal };
                if fatal {
                    return Some(self.lost(error));
                }
                self.state = State::SkippingBody(length);
                Some(Cut { raw: self.start..self.start + size, kind: CutKind::Broken(error) })
            }
            Headers::Complete { size, length } => {
                let body = self.start + size;
                let end = body + usize::try_from(length).ok()?;
                (end <= self.buffer.len())
                    .then_some(Cut { raw: self.start..end, kind: CutKind::Frame(body..end) })
            }
        }
    }

    fn lost(&mut self, error: FrameError) -> Cut {
        self.state = State::Lost;
        Cut { raw: self.start..self.buffer.len(), kind: CutKind::Broken(error) }
    }
}

enum Headers {
    Incomplete,
    Broken(String),
    Complete { size: usize, length: u64 },
}

/// Reads a header block: names in any case, unknown names ignored, lines ended by CRLF or LF.
fn read_headers(bytes: &[u8]) -> Headers {
    let mut length = None;
    let mut size = 0;
    for line in bytes.split_inclusive(|&b| b == b'\n') {
        size += line.len();
        if size > MOST_HEADER_BYTES {
            return Headers::Incomplete;
        }
        let Some(line) = line.strip_suffix(b"\n") else { return Headers::Incomplete };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return match length {
                Some(length) => Headers::Complete { size, length },
                None => Headers::Broken("the headers have no Content-Length".to_owned()),
            };
        }
        let Some(colon) = memchr::memchr(b':', line) else {
            return Headers::Broken(format!("{} is not a header", excerpt(&String::from_utf8_lossy(line))));
        };
        let (name, value) = line.split_at(colon);
        // A JSON message in place of a header has a colon, too, but no such name before it.
        if name.is_empty() || !name.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
            return Headers::Broken(format!(
                "{} is not a header name",
                excerpt(&String::from_utf8_lossy(name))
            ));
        }
        if !name.eq_ignore_ascii_case(b"content-length") {
            continue;
        }
        let value = value.strip_prefix(b":").unwrap_or(value).trim_ascii();
        match (parse_length(value), length) {
            (None, _) => {
                return Headers::Broken(format!(
                    "Content-Length is {}",
                    excerpt(&String::from_utf8_lossy(value))
                ));
            }
            (Some(new), Some(old)) if new != old => {
                return Headers::Broken(format!("two Content-Length headers, {old} and {new}"));
            }
            (Some(new), _) => length = Some(new),
        }
    }
    Headers::Incomplete
}

/// Digits and nothing else: no sign, no exponent, no overflow.
fn parse_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_blank(line: &[u8]) -> bool {
    line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).iter().all(|&b| is_space(b))
}

/// Bytes that may wait to be written before nothing more is read.
pub(crate) const OUTBOX: usize = 256 * 1024;

/// Frames that wait to be written.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    framing: Framing,
    frames: Outgoing,
    pushed: u64,
}

/// Frames that wait to be written.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    pub(crate) bytes: Vec<u8>,
    /// Where each frame ends.
    pub(crate) ends: Vec<usize>,
}

#[cfg(feature = "http-server")]
impl Outgoing {
    /// Removes all frames; the memory is reused.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Each frame, with its line end.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let frame = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            frame
        })
    }

    /// Releases the memory: it may take long until it is needed again.
    pub(crate) fn give_back_room(&mut self) {
        *self = Self::default();
    }
}

impl Outbox {
    pub(crate) fn set_framing(&mut self, framing: Framing) {
        self.framing = framing;
    }

    /// Appends one message.
    pub(crate) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let Outgoing { bytes, ends } = &mut self.frames;
        let start = bytes.len();
        write(bytes);
        self.framing.seal(bytes, start);
        ends.push(bytes.len());
        self.pushed += 1;
    }

    /// How many messages have been appended, ever.
    pub(crate) fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Bytes waiting.
    pub(crate) fn pending(&self) -> usize {
        self.frames.bytes.len()
    }

    /// Takes what waits into `outgoing`, which must be empty and whose room is used again.
    pub(crate) fn swap(&mut self, outgoing: &mut Outgoing) {
        std::mem::swap(&mut self.frames, outgoing);
    }
}

/// Frames that are being written.
#[derive(Default)]
pub(crate) struct WriteBuffer {
    frames: Outgoing,
    written: usize,
    /// How many frames have been written in full, and how many bytes those are.
    taped: (usize, usize),
}

impl WriteBuffer {
    /// Whether everything has been written.
    pub(crate) fn is_empty(&self) -> bool {
        self.written == self.frames.bytes.len()
    }

    /// The bytes that are still to be written.
    pub(crate) fn rest(&self) -> &[u8] {
        self.frames.bytes.get(self.written..).unwrap_or_default()
    }

    /// Takes the next frames.
    pub(crate) fn refill(&mut self, take: impl FnOnce(&mut Outgoing)) {
        self.frames.bytes.clear();
        self.frames.ends.clear();
        // Memory that a very large message took is released.
        if self.frames.bytes.capacity() > 16 * OUTBOX {
            self.frames = Outgoing::default();
        }
        self.written = 0;
        self.taped = (0, 0);
        take(&mut self.frames);
    }

    /// Counts `count` more bytes as written, and records every frame that is complete now. Returns how many those are.
    pub(crate) fn advance(&mut self, count: usize, mut record: impl FnMut(&[u8])) -> u64 {
        self.written += count;
        let mut completed = 0;
        let (mut index, mut start) = self.taped;
        while let Some(&end) = self.frames.ends.get(index).filter(|&&end| end <= self.written) {
            record(self.frames.bytes.get(start..end).unwrap_or_default());
            (index, start) = (index + 1, end);
            completed += 1;
        }
        self.taped = (index, start);
        completed
    }

    /// How many frames have not been written in full.
    pub(crate) fn unfinished(&self) -> usize {
        self.frames.ends.len() - self.taped.0
    }

    /// Records the beginning of a frame that will not be written in full.
    pub(crate) fn abandon(&self, record: impl FnOnce(&[u8])) {
        let (_, start) = self.taped;
        if start < self.written {
            record(self.frames.bytes.get(start..self.written).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests;
