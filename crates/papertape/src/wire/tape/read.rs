//! Lines to records.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::value::RawValue;

use super::escape::unescape;
use super::{Content, Direction, Entry, HEADER, Record};

/// Why a text is not a tape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TapeError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// Reads a tape.
///
/// # Errors
/// If a line is neither a record nor a comment; the error names the line.
pub fn read(tape: &str) -> Result<Vec<Entry>, TapeError> {
    let mut lines = tape.split('\n').enumerate();
    match lines.next() {
        Some((_, HEADER)) => {}
        _ => return Err(TapeError { line: 1, problem: format!("a tape begins with the line \"{HEADER}\"") }),
    }
    let mut entries = Vec::new();
    for (index, line) in lines {
        entries.push(Entry::read(line).map_err(|problem| TapeError { line: index + 1, problem })?);
    }
    // The text after the last line end is not a line.
    if entries.last() == Some(&Entry::Comment(String::new())) {
        entries.pop();
    }
    Ok(entries)
}

impl Entry {
    /// Reads one line after the first, without its line end.
    ///
    /// # Errors
    /// What is wrong with it, if it is neither a record nor a comment.
    pub fn read(line: &str) -> Result<Self, String> {
        if line.is_empty() || line.starts_with('#') {
            Ok(Self::Comment(line.to_owned()))
        } else {
            read_record(line).map(Self::Record)
        }
    }
}

fn read_record(line: &str) -> Result<Record<'static>, String> {
    let mut fields = line.splitn(5, ' ');
    let mut field = |name| fields.next().ok_or(format!("the {name} is missing"));
    let number = field("number")?;
    let number = number.parse().map_err(|_| format!("\"{number}\" is not a frame number"))?;
    let (source, exchange) = read_source(field("direction")?)?;
    let time = match field("time")? {
        "-" => None,
        time => Some(
            read_time(time)
                .ok_or(format!("\"{time}\" is not a time: write seconds with six decimals, or -"))?,
        ),
    };
    let form = field("form")?;
    let payload = unescape(fields.next().unwrap_or_default())?;
    Ok(Record { number, exchange, time, content: read_content(source, form, payload)? })
}

fn read_source(text: &str) -> Result<(char, Option<u64>), String> {
    let wrong = || {
        format!(
            "\"{text}\" is not a direction: > goes to the server, < to the client, ! is stderr, * an event, \
             and the number of an HTTP request may follow"
        )
    };
    let mut characters = text.chars();
    let source =
        characters.next().filter(|source| ['>', '<', '!', '*'].contains(source)).ok_or_else(wrong)?;
    let exchange = characters.as_str();
    if exchange.is_empty() {
        return Ok((source, None));
    }
    let digits = exchange.bytes().all(|b| b.is_ascii_digit());
    let exchange = exchange.parse().ok().filter(|_| digits).ok_or_else(wrong)?;
    Ok((source, Some(exchange)))
}

fn read_content(source: char, form: &str, payload: Vec<u8>) -> Result<Content<'static>, String> {
    let direction = match source {
        '*' => return read_event(form, payload),
        '!' => return Ok(Content::Stderr(Cow::Owned(read_stderr(form, payload)?))),
        '>' => Direction::ToServer,
        _ => Direction::ToClient,
    };
    let bytes = match form {
        "line" => [&payload[..], b"\n"].concat(),
        "length" => [format!("Content-Length: {}\r\n\r\n", payload.len()).as_bytes(), &payload].concat(),
        "event" => [b"data: ", &payload[..], b"\n\n"].concat(),
        "head" => {
            let head = [&payload[..], b"\r\n\r\n"].concat();
            return Ok(Content::Head(direction, Cow::Owned(head)));
        }
        "raw" => payload,
        other => {
            return Err(format!("\"{other}\" is not a form: it is line, length, event, head or raw"));
        }
    };
    Ok(Content::Frame(direction, Cow::Owned(bytes)))
}

fn read_stderr(form: &str, payload: Vec<u8>) -> Result<Vec<u8>, String> {
    match form {
        "line" => Ok([&payload[..], b"\n"].concat()),
        "raw" => Ok(payload),
        other => Err(format!("\"{other}\" is not a form of stderr: it is line or raw")),
    }
}

fn read_event(name: &str, payload: Vec<u8>) -> Result<Content<'static>, String> {
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') {
        return Err(format!("\"{name}\" is not the name of an event: it has lower-case letters and hyphens"));
    }
    let is_object = |text: &&RawValue| text.get().starts_with('{');
    if serde_json::from_slice::<&RawValue>(&payload).ok().filter(is_object).is_none() {
        return Err(format!("what follows the event \"{name}\" is not a JSON object"));
    }
    let detail = String::from_utf8(payload).map_err(|_| "it is not UTF-8".to_owned())?;
    Ok(Content::Event { name: Cow::Owned(name.to_owned()), detail: Cow::Owned(detail) })
}

fn read_time(text: &str) -> Option<Duration> {
    let (seconds, micros) = text.split_once('.')?;
    if micros.len() != 6 || !micros.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(Duration::from_secs(seconds.parse().ok()?) + Duration::from_micros(micros.parse().ok()?))
}
