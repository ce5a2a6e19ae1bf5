//! Records to lines.

use std::fmt::Write as _;

use super::escape::escape;
use super::{Content, Direction, Record};

impl Record<'_> {
    /// Appends the record as a line of tape.
    pub fn write(&self, tape: &mut String) {
        let source = match &self.content {
            Content::Frame(Direction::ToServer, _) | Content::Head(Direction::ToServer, _) => '>',
            Content::Frame(Direction::ToClient, _) | Content::Head(Direction::ToClient, _) => '<',
            Content::Stderr(_) => '!',
            Content::Event { .. } => '*',
        };
        // Writing to a `String` cannot fail.
        let _ = write!(tape, "{} {source}", self.number);
        if let Some(exchange) = self.exchange {
            let _ = write!(tape, "{exchange}");
        }
        match self.time {
            Some(time) => {
                let _ = write!(tape, " {}.{:06} ", time.as_secs(), time.subsec_micros());
            }
            None => tape.push_str(" - "),
        }
        let (form, payload) = match &self.content {
            Content::Frame(_, bytes) => frame_form(bytes),
            Content::Head(_, bytes) => match bytes.strip_suffix(b"\r\n\r\n") {
                Some(lines) => ("head", lines),
                // Without its end, it is bytes like any other.
                None => frame_form(bytes),
            },
            Content::Stderr(bytes) => match bytes.strip_suffix(b"\n") {
                Some(line) => ("line", line),
                None => ("raw", &bytes[..]),
            },
            Content::Event { name, detail } => (name.as_ref(), detail.as_bytes()),
        };
        tape.push_str(form);
        if !payload.is_empty() {
            tape.push(' ');
            escape(tape, payload);
        }
        tape.push('\n');
    }
}

fn frame_form(bytes: &[u8]) -> (&'static str, &[u8]) {
    if let Some(body) = plain_length_body(bytes) {
        ("length", body)
    } else if let Some(data) = plain_event_data(bytes) {
        ("event", data)
    } else if let Some(line) = bytes.strip_suffix(b"\n") {
        ("line", line)
    } else {
        ("raw", bytes)
    }
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
