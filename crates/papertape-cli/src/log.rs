//! Logs to stderr that never block on a slow reader.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use anyhow::Context;
use papertape::wire::shown;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::args::{Format, Log};
use crate::telemetry::Telemetry;
use crate::{print, runtime, server_log};

/// The length of the queue for a slow reader of stderr; more lines are dropped.
const QUEUED_LINES: usize = 1024;

/// How long the process waits for a slow reader of stderr before it exits.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Starts the logging thread. `--log-level` takes precedence over `RUST_LOG`; without either, warnings and errors are logged.
pub(crate) fn start(log: &Log, telemetry: &Telemetry) -> anyhow::Result<()> {
    server_log::configure(log);
    let filter = match log.log_level {
        Some(level) => EnvFilter::builder().with_default_directive(level.into()).parse_lossy(""),
        None => environment_filter(),
    };
    let (queue, waiting) = sync_channel(QUEUED_LINES);
    // A full pipe blocks only this thread; a closed one only ends the logs.
    let writer = std::thread::Builder::new().name("log".to_owned()).spawn(move || {
        while let Ok(entry) = waiting.recv() {
            let result = match entry {
                Entry::Line(line) => print::try_err(&line),
                Entry::Flush(done) => {
                    let result = report_dropped();
                    let _ = done.send(());
                    result
                }
            };
            if result.and_then(|()| report_dropped()).is_err() {
                break;
            }
        }
    });
    writer.context(runtime::NO_THREAD)?;
    if QUEUE.set(queue.clone()).is_err() {
        return Ok(());
    }
    let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(colours)
        // An event that cannot be written would otherwise be reported on stderr, which is what just failed.
        .log_internal_errors(false)
        .with_writer({
            let format = log.log_format;
            move || Line { queue: queue.clone(), format, colours, bytes: Vec::new() }
        });
    let lines = match log.log_format {
        Format::Text => lines.boxed(),
        Format::Json => lines.json().boxed(),
    };
    match telemetry.layer() {
        None => tracing_subscriber::registry().with(lines).with(filter).init(),
        // What is exported does not depend on what is logged.
        Some(exported) => {
            tracing_subscriber::registry().with(lines.with_filter(filter)).with(exported).init();
        }
    }
    Ok(())
}

/// Waits until all logs are written, or until the timeout.
pub(crate) fn flush() {
    let (done, wait) = sync_channel(1);
    if QUEUE.get().is_some_and(|queue| queue.try_send(Entry::Flush(done)).is_ok()) {
        let _ = wait.recv_timeout(FLUSH_TIMEOUT);
    }
}

/// Writes to stderr as logs are written: without waiting for its reader. More than fits the queue is dropped, and counted.
pub(crate) fn print(text: String) {
    let dropped = match QUEUE.get() {
        Some(queue) => queue.try_send(Entry::Line(text)).is_err(),
        None => print::try_err(&text).is_err(),
    };
    if dropped {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Writes how many lines were dropped here, if any were.
fn report_dropped() -> io::Result<()> {
    match DROPPED.swap(0, Ordering::Relaxed) {
        0 => Ok(()),
        count => {
            let note = "log lines were dropped here: stderr is read too slowly";
            print::try_err(&format!("papertape: {count} {note}\n"))
        }
    }
}

/// Lines that found the queue full.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// The queue to the thread that writes to stderr.
static QUEUE: OnceLock<SyncSender<Entry>> = OnceLock::new();

enum Entry {
    Line(String),
    /// Acknowledged once everything before it is written.
    Flush(SyncSender<()>),
}

/// The filter of `RUST_LOG`; an invalid one is reported and ignored.
fn environment_filter() -> EnvFilter {
    let builder = EnvFilter::builder().with_default_directive(LevelFilter::WARN.into());
    let wanted = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_default();
    builder.parse(&wanted).unwrap_or_else(|error| {
        // stderr may be closed.
        drop(writeln!(io::stderr(), "papertape: RUST_LOG={wanted} is invalid and ignored: {error}"));
        EnvFilter::default().add_directive(LevelFilter::WARN.into())
    })
}

/// One event, sent to the queue as a whole.
struct Line {
    queue: SyncSender<Entry>,
    format: Format,
    colours: bool,
    bytes: Vec<u8>,
}

impl Line {
    /// The event with invisible and control characters escaped: it may hold text of a server.
    fn visible(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        match self.format {
            Format::Json => shown::json(&text).into_owned(),
            Format::Text => self.visible_text(&text),
        }
    }

    fn visible_text(&self, text: &str) -> String {
        let mut visible = String::with_capacity(text.len());
        for (index, part) in text.split('\u{1b}').enumerate() {
            if index > 0 {
                visible.push_str(if self.colours && is_colour(part) { "\u{1b}" } else { "\\u{1b}" });
            }
            for (c, is_shown) in shown::characters(part) {
                if is_shown || matches!(c, '\n' | '\t') {
                    visible.push(c);
                } else {
                    visible.extend(c.escape_unicode());
                }
            }
        }
        visible
    }
}

/// Whether an escape sequence is one of the subscriber's own colours, none of which hides text.
fn is_colour(text: &str) -> bool {
    let code = text.strip_prefix('[').and_then(|text| text.split_once('m')).map(|(code, _)| code);
    matches!(code, Some("0" | "1" | "2" | "3" | "31" | "32" | "33" | "34" | "35"))
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
        if self.queue.try_send(Entry::Line(self.visible())).is_err() {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::{Format, Line};

    #[test]
    fn escape_sequences_other_than_our_colours_are_escaped() {
        // The subscriber escapes those in a message, but not those in other fields.
        let text =
            "\u{1b}[2mnow\u{1b}[0m \u{1b}[31mERROR\u{1b}[0m error=a\u{1b}[8mb\u{1b}]0;c\u{7}\u{202e}\n";
        let line = |colours| {
            let (queue, _) = sync_channel(1);
            let line = Line { queue, format: Format::Text, colours, bytes: text.as_bytes().to_vec() };
            line.visible()
        };
        let rest = "error=a\\u{1b}[8mb\\u{1b}]0;c\\u{7}\\u{202e}\n";
        assert_eq!(line(true), format!("\u{1b}[2mnow\u{1b}[0m \u{1b}[31mERROR\u{1b}[0m {rest}"));
        assert!(!line(false).contains('\u{1b}'));
    }
}
