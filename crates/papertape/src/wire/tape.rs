//! The tape: a text file with one line per frame, which preserves every byte.
//!
//! ```text
//! papertape 1
//! # A comment.
//! 1 > 0.000000 line {"jsonrpc":"2.0","id":1,"method":"ping"}
//! 2 < 0.000125 line {"jsonrpc":"2.0","id":1,"result":{}}
//! 3 > 0.731002 raw half a mess⟦ff fe⟧
//! ```
//!
//! Number, direction (`>` to the server, `<` to the client), seconds since the start (`-` where time does not matter),
//! form, bytes.
//! The form says what surrounds the bytes: `line` a line end after them, `length` a plain `Content-Length` header
//! before them, `event` the line of a server-sent event that has nothing but data, `raw` nothing.
//! Bytes that are not [shown] as text stand as hexadecimal between `⟦` and `⟧`, rare enough that JSON needs no escapes.
//! A reader takes any bytes either way, so that tapes of older versions, which escaped fewer characters, are tapes too.

use std::fmt::Write as _;
use std::time::Duration;

use super::shown;

/// The first line of every tape.
pub const HEADER: &str = "papertape 1";

const OPEN: char = '⟦';
const CLOSE: char = '⟧';

/// The direction of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
}

/// One frame on a tape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its number, counted over both directions.
    pub number: u64,
    /// Its direction.
    pub direction: Direction,
    /// Time since the start of the tape, to the microsecond.
    pub time: Option<Duration>,
    /// The exact bytes.
    pub bytes: Vec<u8>,
}

/// One line of a tape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A frame.
    Frame(Record),
    /// A comment, or an empty line: the text.
    Comment(String),
}

/// Why a text is not a tape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TapeError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// Appends one frame as a line of tape.
pub fn write(tape: &mut String, number: u64, direction: Direction, time: Option<Duration>, bytes: &[u8]) {
    let arrow = match direction {
        Direction::ToServer => '>',
        Direction::ToClient => '<',
    };
    // Writing to a `String` cannot fail.
    let _ = write!(tape, "{number} {arrow} ");
    match time {
        Some(time) => {
            let _ = write!(tape, "{}.{:06} ", time.as_secs(), time.subsec_micros());
        }
        None => tape.push_str("- "),
    }
    let (form, payload) = if let Some(body) = plain_length_body(bytes) {
        ("length", body)
    } else if let Some(data) = plain_event_data(bytes) {
        ("event", data)
    } else if let Some(line) = bytes.strip_suffix(b"\n") {
        ("line", line)
    } else {
        ("raw", bytes)
    };
    tape.push_str(form);
    if !payload.is_empty() {
        tape.push(' ');
        escape(tape, payload);
    }
    tape.push('\n');
}

/// Reads a tape.
///
/// # Errors
/// If a line is neither a frame nor a comment; the error names the line.
pub fn read(tape: &str) -> Result<Vec<Entry>, TapeError> {
    let mut lines = tape.split('\n').enumerate();
    match lines.next() {
        Some((_, HEADER)) => {}
        _ => return Err(TapeError { line: 1, problem: format!("a tape begins with the line \"{HEADER}\"") }),
    }
    let mut entries = Vec::new();
    for (index, line) in lines {
        if line.is_empty() || line.starts_with('#') {
            entries.push(Entry::Comment(line.to_owned()));
        } else {
            let record = read_line(line).map_err(|problem| TapeError { line: index + 1, problem })?;
            entries.push(Entry::Frame(record));
        }
    }
    // The text after the last line end is not a line.
    if entries.last() == Some(&Entry::Comment(String::new())) {
        entries.pop();
    }
    Ok(entries)
}

fn read_line(line: &str) -> Result<Record, String> {
    let mut fields = line.splitn(5, ' ');
    let mut field = |name| fields.next().ok_or(format!("the {name} is missing"));
    let number = field("number")?;
    let number = number.parse().map_err(|_| format!("\"{number}\" is not a frame number"))?;
    let direction = match field("direction")? {
        ">" => Direction::ToServer,
        "<" => Direction::ToClient,
        other => {
            return Err(format!("\"{other}\" is not a direction: > goes to the server, < to the client"));
        }
    };
    let time = match field("time")? {
        "-" => None,
        time => Some(
            read_time(time)
                .ok_or(format!("\"{time}\" is not a time: write seconds with six decimals, or -"))?,
        ),
    };
    let form = field("form")?;
    let payload = unescape(fields.next().unwrap_or_default())?;
    let bytes = match form {
        "line" => [&payload[..], b"\n"].concat(),
        "length" => [format!("Content-Length: {}\r\n\r\n", payload.len()).as_bytes(), &payload].concat(),
        "event" => [b"data: ", &payload[..], b"\n\n"].concat(),
        "raw" => payload,
        other => return Err(format!("\"{other}\" is not a form: it is line, length, event or raw")),
    };
    Ok(Record { number, direction, time, bytes })
}

fn read_time(text: &str) -> Option<Duration> {
    let (seconds, micros) = text.split_once('.')?;
    if micros.len() != 6 || !micros.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(Duration::from_secs(seconds.parse().ok()?) + Duration::from_micros(micros.parse().ok()?))
}

/// The body, if the bytes are one `Content-Length` header as we would write it and exactly that much after it.
fn plain_length_body(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(b"Content-Length: ")?;
    let end = memchr::memmem::find(rest, b"\r\n\r\n")?;
    let (length, body) = (rest.get(..end)?, rest.get(end + 4..)?);
    (length == body.len().to_string().as_bytes()).then_some(body)
}

/// The data, if the bytes are one event as we would write it, with nothing else in it.
fn plain_event_data(bytes: &[u8]) -> Option<&[u8]> {
    let data = bytes.strip_prefix(b"data: ")?.strip_suffix(b"\n\n")?;
    memchr::memchr2(b'\n', b'\r', data).is_none().then_some(data)
}

fn escape(out: &mut String, bytes: &[u8]) {
    let mut hidden: Vec<u8> = Vec::new();
    let mut utf8 = [0; 4];
    let last = bytes.len();
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for (c, is_shown) in shown::characters(chunk.valid()) {
            at += c.len_utf8();
            // A space at the end of a line would not survive every editor.
            if is_shown && c != OPEN && !(c == ' ' && at == last) {
                flush_hidden(out, &mut hidden);
                out.push(c);
            } else {
                hidden.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
            }
        }
        at += chunk.invalid().len();
        hidden.extend_from_slice(chunk.invalid());
    }
    flush_hidden(out, &mut hidden);
}

fn flush_hidden(out: &mut String, hidden: &mut Vec<u8>) {
    if hidden.is_empty() {
        return;
    }
    out.push(OPEN);
    for (i, byte) in hidden.drain(..).enumerate() {
        let _ = write!(out, "{}{byte:02x}", if i == 0 { "" } else { " " });
    }
    out.push(CLOSE);
}

fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        bytes.extend_from_slice(before.as_bytes());
        let (hex, after) = after.split_once(CLOSE).ok_or(format!("{OPEN} has no {CLOSE}"))?;
        for byte in hex.split(' ') {
            let wrong = || {
                format!("\"{byte}\" between {OPEN} and {CLOSE} is not a byte: write two hexadecimal digits")
            };
            if byte.len() != 2 || !byte.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(wrong());
            }
            bytes.push(u8::from_str_radix(byte, 16).map_err(|_| wrong())?);
        }
        rest = after;
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

    use super::{Direction, Entry, HEADER, Record, read, write};

    fn line(bytes: &[u8]) -> String {
        let mut tape = String::new();
        write(&mut tape, 7, Direction::ToServer, Some(Duration::from_micros(1_000_250)), bytes);
        tape
    }

    #[test]
    fn a_tape_is_readable() {
        assert_eq!(line(b"{\"a\":\"\\n\"}\n"), "7 > 1.000250 line {\"a\":\"\\n\"}\n");
        assert_eq!(line("Content-Length: 3\r\n\r\n\"é".as_bytes()), "7 > 1.000250 length \"é\n");
        assert_eq!(
            line(b"Content-Length: 4\r\n\r\n{}"),
            "7 > 1.000250 raw Content-Length: 4⟦0d 0a 0d 0a⟧{}\n"
        );
        assert_eq!(line(b"{}\r\n"), "7 > 1.000250 line {}⟦0d⟧\n");
        assert_eq!(line(b"\xff\xfe\x1b[1m "), "7 > 1.000250 raw ⟦ff fe 1b⟧[1m⟦20⟧\n");
        assert_eq!(line("⟦⟧\n".as_bytes()), "7 > 1.000250 line ⟦e2 9f a6⟧⟧\n");
        assert_eq!(line(b"\n"), "7 > 1.000250 line\n");
        assert_eq!(
            line("a\u{e0041}\u{e0042}\u{61c}b\u{fe01}❤️\n".as_bytes()),
            "7 > 1.000250 line a⟦f3 a0 81 81 f3 a0 81 82 d8 9c⟧b⟦ef b8 81⟧❤️\n"
        );
        assert_eq!(line(b"data: {}\n\n"), "7 > 1.000250 event {}\n");
        assert_eq!(line(b"data: \n\n"), "7 > 1.000250 event\n");
        assert_eq!(line(b"data: a\ndata: b\n\n"), "7 > 1.000250 line data: a⟦0a⟧data: b⟦0a⟧\n");
        assert_eq!(line(b"id: 1\r\n\r\n"), "7 > 1.000250 line id: 1⟦0d 0a 0d⟧\n");
    }

    #[test]
    fn tapes_with_fewer_escapes_are_read() {
        let text = "papertape 1\n1 > - line a\u{e0041}\u{61c}\u{200b}\u{fe0f}b\n";
        let [Entry::Frame(record)] = &read(text).unwrap()[..] else { panic!() };
        assert_eq!(record.bytes, "a\u{e0041}\u{61c}\u{200b}\u{fe0f}b\n".as_bytes());
    }

    #[test]
    fn invalid_tapes_are_rejected_with_the_line() {
        for (text, problem) in [
            ("", "line 1: a tape begins with the line \"papertape 1\""),
            ("papertape 1\nx > - line {}", "line 2: \"x\" is not a frame number"),
            (
                "papertape 1\n1 = - line {}",
                "line 2: \"=\" is not a direction: > goes to the server, < to the client",
            ),
            (
                "papertape 1\n\n1 > 1.0 line {}",
                "line 3: \"1.0\" is not a time: write seconds with six decimals, or -",
            ),
            (
                "papertape 1\n1 > - page {}",
                "line 2: \"page\" is not a form: it is line, length, event or raw",
            ),
            ("papertape 1\n1 > -", "line 2: the form is missing"),
            ("papertape 1\n1 > - raw ⟦0", "line 2: ⟦ has no ⟧"),
            (
                "papertape 1\n1 > - raw ⟦+1⟧",
                "line 2: \"+1\" between ⟦ and ⟧ is not a byte: write two hexadecimal digits",
            ),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), problem);
        }
    }

    fn records() -> impl Strategy<Value = Record> {
        let bytes = prop_oneof![
            any::<Vec<u8>>(),
            any::<String>().prop_map(String::into_bytes),
            any::<String>().prop_map(|s| format!("Content-Length: {}\r\n\r\n{s}", s.len()).into_bytes()),
            "[⟦⟧ a-c\r\n\u{202e}]{0,8}\n?".prop_map(String::into_bytes),
            "data: [⟦⟧ a-c\r\n]{0,8}\n\n".prop_map(String::into_bytes),
        ];
        let direction =
            any::<bool>().prop_map(|up| if up { Direction::ToServer } else { Direction::ToClient });
        (any::<u64>(), direction, prop::option::of(0..10u64.pow(12)), bytes).prop_map(
            |(number, direction, micros, bytes)| Record {
                number,
                direction,
                time: micros.map(Duration::from_micros),
                bytes,
            },
        )
    }

    proptest! {
        #[test]
        fn bytes_to_tape_to_bytes_is_the_identity(records in prop::collection::vec(records(), 0..5)) {
            let mut tape = format!("{HEADER}\n");
            for record in &records {
                write(&mut tape, record.number, record.direction, record.time, &record.bytes);
            }
            prop_assert!(!tape.contains('\r') && tape.lines().count() == records.len() + 1);
            let entries: Vec<Entry> = records.into_iter().map(Entry::Frame).collect();
            prop_assert_eq!(read(&tape).unwrap(), entries);
        }

        #[test]
        fn any_text_is_a_tape_or_an_error(text in any::<String>()) {
            drop(read(&format!("{HEADER}\n{text}")));
        }
    }
}
