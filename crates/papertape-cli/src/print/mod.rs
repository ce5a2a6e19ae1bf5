//! Text for people: colours where they can be seen, lines that fit, nothing that a terminal would obey.
//!
//! Everything here makes strings; [`out`] and [`err`] are the only two places that write.

pub(crate) mod content;
pub(crate) mod frame;
pub(crate) mod indexed;
pub(crate) mod json;
pub(crate) mod listing;
pub(crate) mod style;
pub(crate) mod text;

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use papertape::wire::shown;
use serde::Serialize;

/// The width where nobody can see it: a pipe or a file.
const PIPE_WIDTH: usize = 100;

/// Longer lines than this are hard to read, however wide the screen is.
const WIDEST: usize = 120;

/// What the place that a text goes to can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) colour: bool,
    pub(crate) width: usize,
    /// A person reads it, now.
    pub(crate) terminal: bool,
}

impl Look {
    pub(crate) fn of_stdout() -> Self {
        let stream = io::stdout();
        let size = terminal_size::terminal_size_of(&stream);
        Self::new(stream.is_terminal(), AutoStream::choice(&stream), size)
    }

    pub(crate) fn of_stderr() -> Self {
        let stream = io::stderr();
        let size = terminal_size::terminal_size_of(&stream);
        Self::new(stream.is_terminal(), AutoStream::choice(&stream), size)
    }

    fn new(
        terminal: bool,
        choice: ColorChoice,
        size: Option<(terminal_size::Width, terminal_size::Height)>,
    ) -> Self {
        let width = size.map_or(PIPE_WIDTH, |(width, _)| usize::from(width.0));
        Self { colour: choice != ColorChoice::Never, width: width.clamp(20, WIDEST), terminal }
    }

    /// A text in a style, where styles can be seen.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.colour && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// Writes to stdout. A reader who has seen enough is no error.
pub(crate) fn out(bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes.as_ref()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a JSON document to stdout, over several lines, digit for digit. Characters that a terminal would obey or that
/// cannot be seen stand as `\u` escapes, wherever it goes: it is the same JSON.
pub(crate) fn document<T: Serialize>(document: &T) -> io::Result<()> {
    let text = serde_json::to_string(document)?;
    let mut lines = json::laid_out(&text).join("\n");
    lines.push('\n');
    out(shown::json(&lines).as_bytes())
}

/// Writes to stderr. Nobody may be listening; that is no reason to fail.
pub(crate) fn err(text: &str) {
    drop(io::stderr().lock().write_all(text.as_bytes()));
}
