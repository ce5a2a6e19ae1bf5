//! Logs to stderr, without ever waiting for whoever reads them.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::args::{Format, Level, Log};

/// Lines that may wait for a slow reader of stderr; more are dropped.
const WAITING_LINES: usize = 1024;

/// How long the end of the process waits for a slow reader of stderr.
const FLUSH_PATIENCE: Duration = Duration::from_millis(100);

/// Starts logging. A flag goes before `RUST_LOG`; without either, only warnings are logged.
pub(crate) fn start(log: &Log) {
    let filter = match log.log_level {
        Some(level) => EnvFilter::builder().with_default_directive(filter(level).into()).parse_lossy(""),
        None => EnvFilter::builder().with_default_directive(LevelFilter::WARN.into()).from_env_lossy(),
    };
    let (queue, waiting) = sync_channel(WAITING_LINES);
    // A full pipe blocks this thread and nobody else; a closed one ends the logs and nothing else.
    let writer = std::thread::Builder::new().name("log".to_owned()).spawn(move || {
        while let Ok(entry) = waiting.recv() {
            match entry {
                Entry::Line(line) if io::stderr().write_all(&line).is_err() => break,
                Entry::Line(_) => {}
                Entry::Flush(done) => drop(done.send(())),
            }
        }
    });
    if writer.is_err() || QUEUE.set(queue.clone()).is_err() {
        return;
    }
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        // An event that cannot be written would otherwise be reported on stderr, which is what just failed.
        .log_internal_errors(false)
        .with_writer(move || Line { queue: queue.clone(), bytes: Vec::new() });
    match log.log_format {
        Format::Text => builder.init(),
        Format::Json => builder.json().init(),
    }
}

/// Waits until what was logged is written, unless nobody reads it.
pub(crate) fn flush() {
    let (done, wait) = sync_channel(1);
    if QUEUE.get().is_some_and(|queue| queue.try_send(Entry::Flush(done)).is_ok()) {
        let _ = wait.recv_timeout(FLUSH_PATIENCE);
    }
}

/// To the thread that writes to stderr.
static QUEUE: OnceLock<SyncSender<Entry>> = OnceLock::new();

enum Entry {
    Line(Vec<u8>),
    /// Answered once everything before it is written.
    Flush(SyncSender<()>),
}

fn filter(level: Level) -> LevelFilter {
    match level {
        Level::Off => LevelFilter::OFF,
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    }
}

/// One event, handed on whole.
struct Line {
    queue: SyncSender<Entry>,
    bytes: Vec<u8>,
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // A full queue drops the line.
        drop(self.queue.try_send(Entry::Line(std::mem::take(&mut self.bytes))));
    }
}
