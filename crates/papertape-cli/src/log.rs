//! Logs to stderr, without ever waiting for whoever reads them.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{SyncSender, sync_channel};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::args::{Format, Level, Log};

/// Lines that may wait for a slow reader of stderr; more are dropped.
const WAITING_LINES: usize = 1024;

/// Starts logging. A flag goes before `RUST_LOG`; without either, only warnings are logged.
pub(crate) fn start(log: &Log) {
    let filter = match log.log_level {
        Some(level) => EnvFilter::builder().with_default_directive(filter(level).into()).parse_lossy(""),
        None => EnvFilter::builder().with_default_directive(LevelFilter::WARN.into()).from_env_lossy(),
    };
    let (lines, waiting) = sync_channel::<Vec<u8>>(WAITING_LINES);
    // A full pipe blocks this thread and nobody else; a closed one ends the logs and nothing else.
    let writer = std::thread::Builder::new().name("log".to_owned()).spawn(move || {
        while let Ok(line) = waiting.recv() {
            if io::stderr().write_all(&line).is_err() {
                break;
            }
        }
    });
    if writer.is_err() {
        return;
    }
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        // An event that cannot be written would otherwise be reported on stderr, which is what just failed.
        .log_internal_errors(false)
        .with_writer(move || Line { lines: lines.clone(), bytes: Vec::new() });
    match log.log_format {
        Format::Text => builder.init(),
        Format::Json => builder.json().init(),
    }
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
    lines: SyncSender<Vec<u8>>,
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
        drop(self.lines.try_send(std::mem::take(&mut self.bytes)));
    }
}
