//! The frames of a client, its server's stderr, and what happens to them, to a tape.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use papertape::client::ClientOptions;
use papertape::wire::tape::{Content, Direction, HEADER, Record};
use serde_json::Value;

use crate::sync::lock;
use crate::tape::Tape;

/// How many of the last requests are remembered.
const REMEMBERED: usize = 256;

/// Writes the tape that the page follows.
#[derive(Debug, Clone)]
pub(crate) struct Recorder(Arc<Mutex<Writer>>);

#[derive(Debug)]
struct Writer {
    /// Nothing after a write error.
    file: Option<BufWriter<File>>,
    started: Instant,
    number: u64,
    line: String,
    tape: Weak<Tape>,
    /// The numbers of the last frames to the server that are requests for something of the server's.
    requests: VecDeque<u64>,
}

impl Recorder {
    pub(crate) fn new(file: File, tape: &Arc<Tape>) -> io::Result<Self> {
        let mut file = BufWriter::new(file);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        writeln!(file, "{HEADER}\n# papertape {}, unix time {now}", env!("CARGO_PKG_VERSION"))?;
        file.flush()?;
        Ok(Self(Arc::new(Mutex::new(Writer {
            file: Some(file),
            started: Instant::now(),
            number: 0,
            line: String::new(),
            tape: Arc::downgrade(tape),
            requests: VecDeque::new(),
        }))))
    }

    /// The options of a client that is recorded.
    pub(crate) fn options(&self) -> ClientOptions {
        let (frames, stderr) = (self.clone(), self.clone());
        ClientOptions::new().on_frame(move |frame| frames.frame(frame.direction, frame.bytes)).on_stderr(
            move |line| {
                stderr.write(Content::Stderr(format!("{line}\n").into_bytes().into()));
            },
        )
    }

    pub(crate) fn event(&self, name: &str, detail: &Value) {
        self.write(Content::Event { name: name.into(), detail: detail.to_string().into() });
    }

    /// The number of the last record.
    pub(crate) fn last(&self) -> u64 {
        lock(&self.0).number
    }

    /// The first request after the record with this number.
    pub(crate) fn request_after(&self, number: u64) -> Option<u64> {
        lock(&self.0).requests.iter().copied().find(|request| *request > number)
    }

    fn frame(&self, direction: Direction, bytes: &[u8]) {
        const CALLS: [&[u8]; 3] = [b"\"tools/call\"", b"\"resources/read\"", b"\"prompts/get\""];
        let is_call = direction == Direction::ToServer
            && CALLS.iter().any(|name| memchr::memmem::find(bytes, name).is_some());
        let number = self.write(Content::Frame(direction, bytes.into()));
        if is_call {
            let requests = &mut lock(&self.0).requests;
            requests.push_back(number);
            if requests.len() > REMEMBERED {
                requests.pop_front();
            }
        }
    }

    fn write(&self, content: Content<'_>) -> u64 {
        let mut writer = lock(&self.0);
        let Writer { file, started, number, line, tape, .. } = &mut *writer;
        *number += 1;
        line.clear();
        Record { number: *number, exchange: None, time: Some(started.elapsed()), content }.write(line);
        let written = file.as_mut().map(|file| file.write_all(line.as_bytes()).and_then(|()| file.flush()));
        if let Some(Err(error)) = written {
            tracing::error!(%error, "cannot write the tape: it is incomplete from record {number} on");
            *file = None;
        }
        if let Some(tape) = tape.upgrade() {
            tape.wake();
        }
        *number
    }
}
