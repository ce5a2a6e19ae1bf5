//! Stdout, or a file, of a command that writes much: buffered, and quiet if the reader has gone.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use crate::exit::Failure;

/// Where output goes.
#[derive(Debug)]
pub(super) struct Output {
    stdout: BufWriter<Stdout>,
    terminal: bool,
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Reads,
    /// The reader of the output has closed its end of the pipe.
    Gone,
}

impl Output {
    pub(super) fn new() -> Self {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        Self { stdout: BufWriter::with_capacity(64 * 1024, stdout), terminal }
    }

    /// Writes bytes, to a terminal at once.
    pub(super) fn write(&mut self, bytes: impl AsRef<[u8]>) -> Result<Reader, Failure> {
        let written = self.stdout.write_all(bytes.as_ref());
        reader(written.and_then(|()| if self.terminal { self.stdout.flush() } else { Ok(()) }))
    }

    pub(super) fn flush(&mut self) -> Result<Reader, Failure> {
        reader(self.stdout.flush())
    }
}

/// A closed pipe is not an error.
pub(super) fn reader(result: io::Result<()>) -> Result<Reader, Failure> {
    match result {
        Ok(()) => Ok(Reader::Reads),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(error.into()),
    }
}
