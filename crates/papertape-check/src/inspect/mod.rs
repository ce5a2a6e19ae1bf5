//! What was recorded to findings.

pub(crate) mod behaviour;
pub(crate) mod capabilities;
pub(crate) mod messages;
pub(crate) mod missing;
pub(crate) mod newer_fields;
pub(crate) mod opening;
pub(crate) mod reads;
pub(crate) mod results;
pub(crate) mod shutdown;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod stderr;
pub(crate) mod stdout;

use std::time::Duration;

use crate::evidence::{Evidence, Stream};
use crate::stdio::recording::Recording;

/// Bytes of stdout as evidence; in hexadecimal, too, if not all of them can be seen.
fn stdout_bytes(recording: &Recording, start: usize, end: usize) -> Evidence {
    bytes(Stream::Stdout, recording, start, end)
}

fn bytes(stream: Stream, recording: &Recording, start: usize, end: usize) -> Evidence {
    let bytes = recording.bytes.get(start..end).unwrap_or_default();
    let mut evidence = Evidence::bytes(stream, u64::try_from(start).unwrap_or(u64::MAX), bytes);
    let seen = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if !std::str::from_utf8(bytes).is_ok_and(|text| text.bytes().all(|byte| !byte.is_ascii() || seen(&byte)))
    {
        evidence = evidence.in_hex();
    }
    match recording.time_of(start) {
        Some(time) => evidence.at(time),
        None => evidence,
    }
}

/// "412 ms", "3.1 s".
pub(crate) fn time(duration: Duration) -> String {
    match duration.as_millis() {
        short @ 0..=999 => format!("{short} ms"),
        _ => format!("{:.1} s", duration.as_secs_f64()),
    }
}

/// "1 byte", "3 bytes".
pub(crate) fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Some text in a sentence: without escape sequences, and not too long.
pub(crate) fn quote(text: &str) -> String {
    const LONGEST: usize = 160;
    let text = crate::stdio::recording::plain(text.trim());
    let short: String = text.trim().chars().take(LONGEST).collect();
    if short.len() < text.trim().len() { format!("`{short}...`") } else { format!("`{short}`") }
}
