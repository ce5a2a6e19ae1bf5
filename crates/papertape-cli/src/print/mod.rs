//! Text for people: colours on a terminal, wrapped lines, control characters escaped.
//!
//! Everything here makes strings; [`out`] and [`err`] are the only two places that write, and [`above_line`] while a line is edited.

pub(crate) mod above_line;
pub(crate) mod check_report;
pub(crate) mod code_page;
pub(crate) mod content;
pub(crate) mod frame;
pub(crate) mod hits;
pub(crate) mod index_report;
pub(crate) mod json;
pub(crate) mod listing;
pub(crate) mod replay_report;
pub(crate) mod style;
pub(crate) mod text;

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use papertape::wire::shown;
use serde::Serialize;

use crate::args::{Connect, Output, Save};

/// The line width of a pipe or a file.
const PIPE_WIDTH: usize = 100;

/// The longest line, however wide the terminal is.
const WIDEST: usize = 120;

/// The capabilities of stdout or stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) colour: bool,
    pub(crate) width: usize,
    /// It is a terminal.
    pub(crate) terminal: bool,
}

impl Look {
    pub(crate) fn of_stdout() -> Self {
        Self::of(&io::stdout())
    }

    pub(crate) fn of_stderr() -> Self {
        Self::of(&io::stderr())
    }

    fn of<S: RawStream + AsFd>(stream: &S) -> Self {
        let size = terminal_size::terminal_size_of(stream);
        let width = size.map_or(PIPE_WIDTH, |(width, _)| usize::from(width.0));
        let colour = AutoStream::choice(stream) != ColorChoice::Never;
        Self { colour, width: width.clamp(20, WIDEST), terminal: stream.is_terminal() }
    }

    /// Whether what is shown can be drawn again. A terminal that is dumb would show the sequences that move the cursor.
    pub(crate) fn redraws(self) -> bool {
        let is_dumb =
            |term: OsString| ["dumb", "cons25", "emacs"].iter().any(|dumb| term.eq_ignore_ascii_case(dumb));
        self.terminal && !std::env::var_os("TERM").is_some_and(is_dumb)
    }

    /// A text in a style, if colours are on.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.colour && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// How the result of a command is printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printing<'a> {
    pub(crate) output: Output,
    /// The directory for binary content.
    pub(crate) folder: Option<&'a Path>,
    /// Every frame is printed too.
    pub(crate) trace: bool,
}

impl<'a> Printing<'a> {
    pub(crate) fn of(connect: &Connect, save: &'a Save) -> Self {
        Self { output: connect.output, folder: save.out.as_deref(), trace: connect.trace }
    }
}

/// Markdown of one line without its marks.
pub(crate) fn plain(text: &str) -> String {
    text.replace(['`', '*'], "")
}

/// Writes to stdout. A closed pipe is not an error.
pub(crate) fn out(bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes.as_ref()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Pretty-prints a JSON document to stdout, digit for digit. Control and invisible characters are written as `\u` escapes,
/// which is the same JSON.
pub(crate) fn document<T: Serialize>(document: &T) -> io::Result<()> {
    let text = serde_json::to_string(document)?;
    let mut lines = json::laid_out(&text).join("\n");
    lines.push('\n');
    out(shown::json(&lines).as_bytes())
}

/// Writes to stderr. If it is closed, that is not an error.
pub(crate) fn err(text: &str) {
    drop(try_err(text));
}

/// Writes to stderr; above the line, while one is edited on the terminal.
pub(crate) fn try_err(text: &str) -> io::Result<()> {
    above_line::print(text).unwrap_or_else(|| io::stderr().lock().write_all(text.as_bytes()))
}
