//! Bytes to frames, in two framings, which are detected from the peer's first bytes.
//!
//! MCP's stdio framing is one JSON message per line.
//! Some hosts and servers put LSP's `Content-Length` headers before each message instead; both are read here, bounded,
//! and the decoder resynchronises after a frame that is invalid or too long.
//! Every byte that goes in comes out in exactly one [`Piece`], so that a tape is complete.

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
#[doc(hidden)]
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
#[doc(hidden)]
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
    #[doc(hidden)]
    pub fn next_piece(&mut self) -> Option<Piece<'_>> {
        let cut = self.cut()?;
        self.hand_out(cut)
    }

    /// The last piece, when [`Decoder::next_piece`] returns `None` and the input has ended.
    #[doc(hidden)]
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

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

    use super::{Decoder, Framing, PieceKind};

    /// What comes out for bytes that come in with cuts at the given places: one word per piece, skipped runs joined.
    fn decode(bytes: &[u8], limit: usize, cuts: &[usize]) -> (Vec<String>, Vec<u8>) {
        let mut decoder = Decoder::new(limit);
        let (mut words, mut raw) = (Vec::<String>::new(), Vec::new());
        let mut note = |piece: super::Piece<'_>| {
            raw.extend_from_slice(piece.raw);
            let word = match piece.kind {
                PieceKind::Frame(body) => format!("frame {}", body.escape_ascii()),
                PieceKind::Unfinished(body) => format!("unfinished {}", body.escape_ascii()),
                PieceKind::Blank | PieceKind::Skipped => return,
                PieceKind::Broken(error) => format!("broken: {error}"),
            };
            words.push(word);
        };
        let mut from = 0;
        for &to in cuts.iter().chain([&bytes.len()]) {
            let to = to.clamp(from, bytes.len());
            decoder.push(&bytes[from..to]);
            while let Some(piece) = decoder.next_piece() {
                note(piece);
            }
            from = to;
        }
        if let Some(piece) = decoder.finish() {
            note(piece);
        }
        (words, raw)
    }

    fn check(bytes: &[u8], expected: &[&str]) {
        let (words, raw) = decode(bytes, 64, &[]);
        assert_eq!(words, expected, "{}", bytes.escape_ascii());
        assert_eq!(raw, bytes);
        for at in 0..bytes.len() {
            assert_eq!(decode(bytes, 64, &[at]).0, expected, "cut at {at}: {}", bytes.escape_ascii());
        }
    }

    #[test]
    fn lines() {
        check(
            b"{}\n[]\r\n\n  \t\n\xEF\xBB\xBF{}\n1",
            &["frame {}", "frame []\\r", "frame \\xef\\xbb\\xbf{}", "unfinished 1"],
        );
        check(b"\n \n{}\n", &["frame {}"]);
        check(b"hello\n", &["frame hello"]);
        check(b"content\n", &["frame content"]);
        check(b"conten", &["unfinished conten"]);
    }

    #[test]
    fn a_long_line_is_refused_once_and_the_next_is_read() {
        let mut bytes = vec![b'x'; 200];
        bytes.extend_from_slice(b"\n{}\n");
        check(&bytes, &["broken: the frame is too large: the limit is 64 bytes", "frame {}"]);
    }

    #[test]
    fn headers() {
        check(b"Content-Length: 2\r\n\r\n{}", &["frame {}"]);
        check(b"content-length:2\n\n{}CONTENT-LENGTH: \t2 \r\n\r\n[]", &["frame {}", "frame []"]);
        check(
            b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\nX-Y: z\r\n\r\n{}\r\nContent-Length: 0\r\n\r\n",
            &["frame {}", "frame "],
        );
        check(b"\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n\xe2\x82\xac", &["frame \\xe2\\x82\\xac"]);
        check(b"{}\nContent-Length: 2\r\n\r\n{}\n", &["frame {}", "frame Content-Length: 2\\r", "frame {}"]);
    }

    #[test]
    fn broken_headers_end_the_stream() {
        for length in ["-5", "abc", "1e3", "0x10", "+5", "", "99999999999999999999"] {
            let bytes = format!("Content-Length: {length}\r\n\r\n{{}}");
            check(
                bytes.as_bytes(),
                &[&format!("broken: broken Content-Length framing: Content-Length is \"{length}\"")],
            );
        }
        check(
            b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            &["broken: broken Content-Length framing: two Content-Length headers, 2 and 3"],
        );
        check(
            b"Content-Type: x\r\n\r\n{}",
            &["broken: broken Content-Length framing: the headers have no Content-Length"],
        );
        check(b"Content-Length: 5\r\n\r\n{}", &["broken: the input ended inside a Content-Length frame"]);
        let endless = [&b"Content-Length: 2\r\nX: "[..], &[b'x'; 9000]].concat();
        let (words, raw) = decode(&endless, 64, &[]);
        assert_eq!(
            words,
            ["broken: broken Content-Length framing: the header block is longer than 8192 bytes"]
        );
        assert_eq!(raw, endless);
    }

    #[test]
    fn a_long_body_is_skipped_and_an_absurd_one_ends_the_stream() {
        let too_large = "broken: the frame is too large: the limit is 64 bytes";
        let long =
            [b"Content-Length: 100\r\n\r\n", &[b'x'; 100][..], b"Content-Length: 2\r\n\r\n{}"].concat();
        check(&long, &[too_large, "frame {}"]);
        check(b"Content-Length: 4294967296\r\n\r\n{}", &[too_large]);
    }

    #[test]
    fn a_frame_is_sealed_in_either_framing() {
        let mut out = b"before".to_vec();
        out.extend_from_slice("\"é\"".as_bytes());
        Framing::ContentLength.seal(&mut out, 6);
        assert_eq!(out, "beforeContent-Length: 4\r\n\r\n\"é\"".as_bytes());
        Framing::Line.seal(&mut out, 0);
        assert!(out.ends_with(b"\"\n"));
    }

    fn streams() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            any::<Vec<u8>>(),
            prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'{'), Just(b'x')], 0..200),
            Just(b"Content-Length: 2\r\n\r\n{}".to_vec()),
            Just(b"content-length: 70\n\n".to_vec()),
            Just(b"{}\n".to_vec()),
            Just(b"\r\n".to_vec()),
        ];
        prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
    }

    use proptest::prelude::Just;

    proptest! {
        #[test]
        fn frames_are_the_same_however_the_bytes_are_split(bytes in streams(), mut cuts in prop::collection::vec(0..900usize, 0..8)) {
            cuts.sort_unstable();
            let (whole, raw) = decode(&bytes, 64, &[]);
            prop_assert_eq!(&raw, &bytes);
            let (split, raw) = decode(&bytes, 64, &cuts);
            prop_assert_eq!(raw, bytes);
            prop_assert_eq!(split, whole);
        }
    }
}
