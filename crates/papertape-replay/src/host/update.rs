//! A tape with the new responses in the place of those that differ. Every other byte of it stays.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};

use papertape::wire::Framing;
use papertape::wire::tape::{Content, Entry, Record};

use super::report::Report;
use crate::script::{Frame, Script, write_frame};

/// What was written to a tape.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Updated {
    /// How many responses were replaced.
    pub responses: usize,
    /// The numbers of the responses that could not be: members of batches, and parts of records.
    pub left: Vec<u64>,
}

/// Copies a tape, with the responses of a report in the place of those that differ.
///
/// # Errors
/// If it cannot be read or written.
pub fn update(
    script: &Script,
    report: &Report,
    mut tape: impl BufRead,
    mut out: impl Write,
) -> io::Result<Updated> {
    let mut updated = Updated::default();
    let mut by_offset: HashMap<u64, (&Frame, &str)> = HashMap::new();
    for new in report.requests.iter().filter_map(|request| request.update.as_ref()) {
        let recorded = script.messages.get(new.response);
        let Some(frame) = recorded.and_then(|recorded| script.frames.get(recorded.frame)) else { continue };
        if frame.is_batch || !frame.is_alone {
            updated.left.push(frame.number);
        } else {
            by_offset.insert(frame.offset, (frame, &new.text));
        }
    }
    let (mut offset, mut line) = (0, Vec::new());
    // The numbers of the records whose bytes are in the first one now, and their source.
    let mut rest: Option<(u64, Option<u64>, &Frame)> = None;
    while tape.read_until(b'\n', &mut line)? > 0 {
        let entry =
            std::str::from_utf8(&line).ok().and_then(|line| Entry::read(line.strip_suffix('\n')?).ok());
        let here = by_offset.remove(&offset);
        offset += line.len() as u64;
        let new = match (entry, here) {
            (Some(Entry::Record(record)), Some((frame, text))) => {
                updated.responses += 1;
                rest = Some((frame.last, record.exchange, frame));
                Some(written(&record, frame.with_body(text)))
            }
            (Some(Entry::Record(record)), None) => match (&rest, record.as_frame()) {
                (Some((last, exchange, frame)), Some((direction, _)))
                    if record.number <= *last
                        && record.exchange == *exchange
                        && direction == frame.direction =>
                {
                    Some(written(&record, Vec::new()))
                }
                _ => None,
            },
            _ => None,
        };
        out.write_all(new.as_deref().map_or(&line, str::as_bytes))?;
        line.clear();
    }
    out.flush()?;
    Ok(updated)
}

/// The line of a record with other bytes.
fn written(record: &Record<'_>, bytes: Vec<u8>) -> String {
    let mut line = String::new();
    let direction = match &record.content {
        Content::Frame(direction, _) => *direction,
        _ => papertape::wire::tape::Direction::ToClient,
    };
    let content = Content::Frame(direction, bytes.into());
    Record { number: record.number, exchange: record.exchange, time: record.time, content }.write(&mut line);
    line
}

impl Frame {
    /// The bytes of the frame with another body.
    fn with_body(&self, text: &str) -> Vec<u8> {
        let mut new = Vec::new();
        match self.framing {
            Framing::ContentLength => write_frame(&mut new, text, self.framing),
            Framing::Line => {
                new.extend_from_slice(self.bytes.get(..self.body.start).unwrap_or_default());
                let body = |byte: u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte };
                new.extend(text.bytes().map(body));
                new.extend_from_slice(self.bytes.get(self.body.end..).unwrap_or_default());
            }
        }
        new
    }
}
