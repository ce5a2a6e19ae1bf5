//! A tape to an HTTP archive (HAR 1.2), which browsers and HTTP debuggers read.

mod entry;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use papertape::wire::tape::{Content, Direction, Entry, Record};
use serde::Serialize;

use crate::{Line, Reader, Recording};
use entry::HarEntry;

/// Where the exchanges of a tape are. Bodies are read again when the archive is written.
#[derive(Debug, Default)]
pub struct Har {
    /// When the tape began: its comment says so.
    began: Option<u64>,
    /// The URL of the server, if the tape says so.
    url: Option<String>,
    exchanges: BTreeMap<u64, Exchange>,
    /// Requests that were not in an HTTP exchange.
    recording: Recording,
}

/// The records of an HTTP exchange: where their lines begin.
#[derive(Debug, Default)]
struct Exchange {
    request: Vec<u64>,
    response: Vec<u64>,
    times: Times,
}

/// When the parts of an exchange were recorded.
#[derive(Debug, Default, Clone, Copy)]
struct Times {
    request: Option<(Duration, Duration)>,
    response: Option<(Duration, Duration)>,
}

impl Har {
    /// An archive of an empty tape.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a line of the tape.
    pub fn push(&mut self, line: &Line) {
        let record = match &line.entry {
            Entry::Comment(comment) => {
                let time = comment.split_once("unix time ").map(|(_, time)| time.trim());
                self.began = self.began.or_else(|| time?.parse().ok());
                return;
            }
            Entry::Record(record) => record,
        };
        let Some(number) = record.exchange else {
            if let Content::Event { name, detail } = &record.content
                && name == "start"
            {
                let detail: serde_json::Value = serde_json::from_str(detail).unwrap_or_default();
                self.url =
                    detail.get("url").and_then(|url| url.as_str()).map(str::to_owned).or(self.url.take());
            }
            self.recording.push(line.offset, record);
            return;
        };
        let (Content::Frame(direction, _) | Content::Head(direction, _)) = &record.content else { return };
        let exchange = self.exchanges.entry(number).or_default();
        let (offsets, times) = match direction {
            Direction::ToServer => (&mut exchange.request, &mut exchange.times.request),
            Direction::ToClient => (&mut exchange.response, &mut exchange.times.response),
        };
        offsets.push(line.offset);
        if let Some(time) = record.time {
            let first = times.map_or(time, |(first, _)| first);
            *times = Some((first, time));
        }
    }

    /// How many entries the archive has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.exchanges.len() + self.recording.calls().len()
    }

    /// Whether the archive has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the archive; `tape` is the one whose lines were added. `written` is called after each entry.
    ///
    /// # Errors
    /// If the tape cannot be read or the archive not be written.
    pub fn write<T: Read + Seek>(
        &mut self,
        tape: &mut T,
        mut out: impl Write,
        mut written: impl FnMut(),
    ) -> io::Result<()> {
        self.recording.finish();
        let version = env!("CARGO_PKG_VERSION");
        write!(
            out,
            "{{\"log\":{{\"version\":\"1.2\",\"creator\":{{\"name\":\"papertape\",\"version\":\"{version}\"}},\"entries\":["
        )?;
        let calls = self.recording.calls().iter().map(|call| (call.request.offset, Source::Call(call)));
        let exchanges = self.exchanges.values().map(|exchange| {
            let first = exchange.request.first().or(exchange.response.first());
            (first.copied().unwrap_or_default(), Source::Exchange(exchange))
        });
        let mut sources: Vec<(u64, Source<'_>)> = calls.chain(exchanges).collect();
        sources.sort_by_key(|(offset, _)| *offset);
        for (index, (_, source)) in sources.into_iter().enumerate() {
            let entry = match source {
                Source::Call(call) => HarEntry::of_call(self.start(), call, tape)?,
                Source::Exchange(exchange) => {
                    let request = records(tape, &exchange.request)?;
                    let response = records(tape, &exchange.response)?;
                    HarEntry::of_exchange(
                        self.start(),
                        self.url.as_deref(),
                        exchange.times,
                        &request,
                        &response,
                    )
                }
            };
            out.write_all(if index > 0 { b",\n" } else { b"\n" })?;
            entry.serialize(&mut serde_json::Serializer::new(&mut out))?;
            written();
        }
        out.write_all(b"\n]}}\n")?;
        out.flush()
    }

    fn start(&self) -> SystemTime {
        UNIX_EPOCH.checked_add(Duration::from_secs(self.began.unwrap_or_default())).unwrap_or(UNIX_EPOCH)
    }
}

enum Source<'a> {
    Call(&'a crate::Call),
    Exchange(&'a Exchange),
}

/// Reads records from their lines.
fn records<T: Read + Seek>(tape: &mut T, offsets: &[u64]) -> io::Result<Vec<Record<'static>>> {
    let mut records = Vec::new();
    for &offset in offsets {
        tape.seek(SeekFrom::Start(offset))?;
        let line = Reader::resume(io::BufReader::new(&mut *tape), offset, 1).next();
        let line = line.transpose().map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("the tape has changed: {}", error.problem))
        })?;
        match line.map(|line| line.entry) {
            Some(Entry::Record(record)) => records.push(record),
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "the tape has changed")),
        }
    }
    Ok(records)
}
