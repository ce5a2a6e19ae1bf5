//! A file to entries, line by line.

use std::io::{self, BufRead};

use papertape::wire::tape::{Entry, HEADER, Record};

use crate::LONGEST;

/// A line of a tape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number, counted from 1; the first line of the tape is not an entry.
    pub number: u64,
    /// Where it begins, in bytes from the start of the tape.
    pub offset: u64,
    /// What it says.
    pub entry: Entry,
}

impl Line {
    /// The record, unless the line is a comment.
    #[must_use]
    pub fn record(&self) -> Option<&Record<'static>> {
        match &self.entry {
            Entry::Record(record) => Some(record),
            Entry::Comment(_) => None,
        }
    }
}

/// Why a line cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ReadError {
    /// Its number, counted from 1.
    pub line: u64,
    /// Where it begins, in bytes from the start of the tape.
    pub offset: u64,
    /// What is wrong.
    pub problem: ReadProblem,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum ReadProblem {
    /// The first line says that this is not a tape. Nothing more is read.
    #[error("a tape begins with the line \"{HEADER}\"")]
    NotATape,
    /// The line is not UTF-8.
    #[error("it is not UTF-8: invalid byte at offset {0}")]
    NotUtf8(usize),
    /// The line is longer than the limit; the rest of it is skipped.
    #[error("it is longer than the limit of {0} bytes")]
    TooLong(usize),
    /// The line is neither a record nor a comment.
    #[error("{0}")]
    Malformed(String),
    /// The input cannot be read. Nothing more is read.
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
}

/// Reads a tape line by line.
///
/// After a line that cannot be read the next one is read, unless the problem is [`ReadProblem::NotATape`] or
/// [`ReadProblem::Io`]. At the end of the input the iterator returns `None`; if the input has grown, the next call goes on
/// from there.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    /// The beginning of a line whose end has not been read.
    partial: Vec<u8>,
    /// Where that line begins.
    offset: u64,
    /// How many lines are before it.
    lines: u64,
    state: State,
    limit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the first line.
    First,
    /// At any other line.
    Entries,
    /// Inside a line that is too long; so many bytes of it have been dropped.
    Skipping(u64),
    /// After an error that ends the tape.
    Failed,
}

impl<R: BufRead> Reader<R> {
    /// A reader from the start of a tape.
    #[must_use]
    pub fn new(input: R) -> Self {
        Self { input, partial: Vec::new(), offset: 0, lines: 0, state: State::First, limit: LONGEST }
    }

    /// A reader of an input that is at the beginning of a line other than the first: at this offset, after so many lines.
    #[must_use]
    pub fn resume(input: R, offset: u64, lines: u64) -> Self {
        Self { offset, lines, state: State::Entries, ..Self::new(input) }
    }

    /// The same reader with another limit for the length of a line than [`LONGEST`].
    #[must_use]
    pub fn longest_line(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Where an incomplete last line begins, after `next` has returned `None`: the tape is cut there, or still being written.
    #[must_use]
    pub fn cut(&self) -> Option<u64> {
        match self.state {
            State::Skipping(_) => Some(self.offset),
            State::Failed => None,
            _ => (!self.partial.is_empty()).then_some(self.offset),
        }
    }

    /// Where the next line begins.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether the first line has been read.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.lines > 0
    }

    /// What is wrong with an input that has ended before the first line of a tape: "is empty: .." or "is cut ..", without a subject.
    #[must_use]
    pub fn not_begun(&self) -> Option<&'static str> {
        if self.has_begun() {
            return None;
        }
        Some(match self.cut() {
            Some(_) => "is cut in its first line, or is not a tape",
            None => "is empty: a tape begins with a line that says that it is one",
        })
    }

    /// Reads up to the next line end, and says whether it was found. A line that is too long is not kept.
    fn fill(&mut self) -> io::Result<bool> {
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = memchr::memchr(b'\n', available);
            let taken = end.map_or(available.len(), |end| end + 1);
            let bytes = available.get(..taken).unwrap_or_default();
            match &mut self.state {
                State::Skipping(dropped) => *dropped += taken as u64,
                _ => {
                    self.partial.extend_from_slice(bytes);
                    if self.partial.len() > self.limit.saturating_add(1) {
                        self.state = State::Skipping(self.partial.len() as u64);
                        self.partial = Vec::new();
                    }
                }
            }
            self.input.consume(taken);
            if end.is_some() || taken == 0 {
                return Ok(end.is_some());
            }
        }
    }

    fn read(&mut self) -> Result<Option<Line>, ReadProblem> {
        if self.state == State::Failed || !self.fill()? {
            return Ok(None);
        }
        let (number, offset) = (self.lines + 1, self.offset);
        self.lines = number;
        let is_first = number == 1;
        if let State::Skipping(dropped) = self.state {
            self.offset += dropped;
            self.state = State::Entries;
            return Err(if is_first { ReadProblem::NotATape } else { ReadProblem::TooLong(self.limit) });
        }
        let mut bytes = std::mem::take(&mut self.partial);
        self.offset += bytes.len() as u64;
        bytes.pop();
        if self.state == State::First {
            self.state = State::Entries;
            return match bytes == HEADER.as_bytes() {
                // Lines are short: this does not nest.
                true => self.read(),
                false => Err(ReadProblem::NotATape),
            };
        }
        let text = std::str::from_utf8(&bytes).map_err(|error| ReadProblem::NotUtf8(error.valid_up_to()))?;
        let entry = Entry::read(text).map_err(ReadProblem::Malformed)?;
        // The memory of the line is used again.
        if self.partial.is_empty() && bytes.capacity() <= 1024 * 1024 {
            bytes.clear();
            self.partial = bytes;
        }
        Ok(Some(Line { number, offset, entry }))
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Line, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let before = (self.lines, self.offset);
        match self.read() {
            Ok(line) => line.map(Ok),
            Err(problem) => {
                if matches!(problem, ReadProblem::NotATape | ReadProblem::Io(_)) {
                    self.state = State::Failed;
                }
                // The first line is not an entry, and may have been read just now.
                let second = before.0 == 0 && self.lines == 2;
                let (lines, offset) = if second { (1, HEADER.len() as u64 + 1) } else { before };
                Some(Err(ReadError { line: lines + 1, offset, problem }))
            }
        }
    }
}

#[cfg(test)]
mod tests;
