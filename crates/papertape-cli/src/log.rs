//! Logs to stderr, without ever waiting for whoever reads them.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use anyhow::Context;
use papertape::wire::shown;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::args::{Format, Level, Log};
use crate::threads;

/// Lines that may wait for a slow reader of stderr; more are dropped.
const WAITING_LINES: usize = 1024;

/// How long the end of the process waits for a slow reader of stderr.
const FLUSH_PATIENCE: Duration = Duration::from_secs(1);

/// Starts logging; an error if there can be no thread for it. The flag goes before `RUST_LOG`; without either, only warnings are logged.
pub(crate) fn start(log: &Log) -> anyhow::Result<()> {
    let filter = match log.log_level {
        Some(level) => EnvFilter::builder().with_default_directive(filter(level).into()).parse_lossy(""),
        None => environment_filter(),
    };
    let (queue, waiting) = sync_channel(WAITING_LINES);
    // A full pipe blocks this thread and nobody else; a closed one ends the logs and nothing else.
    let writer = std::thread::Builder::new().name("log".to_owned()).spawn(move || {
        while let Ok(entry) = waiting.recv() {
            let result = match entry {
                Entry::Line(line) => io::stderr().write_all(&line),
                Entry::Flush(done) => {
                    let result = tell_dropped();
                    let _ = done.send(());
                    result
                }
            };
            if result.and_then(|()| tell_dropped()).is_err() {
                break;
            }
        }
    });
    writer.context(threads::NO_THREAD)?;
    if QUEUE.set(queue.clone()).is_err() {
        return Ok(());
    }
    let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(colours)
        // An event that cannot be written would otherwise be reported on stderr, which is what just failed.
        .log_internal_errors(false)
        .with_writer({
            let format = log.log_format;
            move || Line { queue: queue.clone(), format, colours, bytes: Vec::new() }
        });
    match log.log_format {
        Format::Text => builder.init(),
        Format::Json => builder.json().init(),
    }
    Ok(())
}

/// Waits until what was logged is written, unless nobody reads it.
pub(crate) fn flush() {
    let (done, wait) = sync_channel(1);
    if QUEUE.get().is_some_and(|queue| queue.try_send(Entry::Flush(done)).is_ok()) {
        let _ = wait.recv_timeout(FLUSH_PATIENCE);
    }
}

/// Says how many lines are missing here, if any are.
fn tell_dropped() -> io::Result<()> {
    match DROPPED.swap(0, Ordering::Relaxed) {
        0 => Ok(()),
        count => {
            writeln!(io::stderr(), "papertape: {count} lines of log were dropped here: they came too fast")
        }
    }
}

/// Lines that found the queue full.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// To the thread that writes to stderr.
static QUEUE: OnceLock<SyncSender<Entry>> = OnceLock::new();

enum Entry {
    Line(Vec<u8>),
    /// Answered once everything before it is written.
    Flush(SyncSender<()>),
}

/// What `RUST_LOG` asks for; one that makes no sense is told and ignored.
fn environment_filter() -> EnvFilter {
    let builder = EnvFilter::builder().with_default_directive(LevelFilter::WARN.into());
    let wanted = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_default();
    builder.parse(&wanted).unwrap_or_else(|error| {
        // Nobody may be there to be told.
        drop(writeln!(io::stderr(), "papertape: RUST_LOG={wanted} is ignored: {error}"));
        EnvFilter::default().add_directive(LevelFilter::WARN.into())
    })
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
    format: Format,
    colours: bool,
    bytes: Vec<u8>,
}

impl Line {
    /// The event as a person can read it: what a server says is logged too, and must not hide or do anything.
    fn visible(&self) -> Vec<u8> {
        let text = String::from_utf8_lossy(&self.bytes);
        match self.format {
            Format::Json => shown::json(&text).into_owned(),
            Format::Text => self.visible_text(&text),
        }
        .into_bytes()
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

/// Whether what follows an escape is one of the subscriber's own colours, none of which hides anything.
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
    fn of_escapes_only_our_own_colours_stay() {
        // The subscriber escapes those of a message, but not those of other fields.
        let text =
            "\u{1b}[2mnow\u{1b}[0m \u{1b}[31mERROR\u{1b}[0m error=a\u{1b}[8mb\u{1b}]0;c\u{7}\u{202e}\n";
        let line = |colours| {
            let (queue, _) = sync_channel(1);
            let line = Line { queue, format: Format::Text, colours, bytes: text.as_bytes().to_vec() };
            String::from_utf8(line.visible()).unwrap()
        };
        let rest = "error=a\\u{1b}[8mb\\u{1b}]0;c\\u{7}\\u{202e}\n";
        assert_eq!(line(true), format!("\u{1b}[2mnow\u{1b}[0m \u{1b}[31mERROR\u{1b}[0m {rest}"));
        assert!(!line(false).contains('\u{1b}'));
    }
}
