//! The tape: a text file with one line per frame, which preserves every byte.
//!
//! ```text
//! papertape 1
//! # A comment.
//! 1 * 0.000000 start {"command":["./server"],"pid":4242}
//! 2 > 0.000131 line {"jsonrpc":"2.0","id":1,"method":"ping"}
//! 3 ! 0.000207 line one client
//! 4 < 0.000256 line {"jsonrpc":"2.0","id":1,"result":{}}
//! 5 > 0.731002 raw half a mess⟦ff fe⟧
//! 6 * 0.802113 exit {"status":0}
//! ```
//!
//! Number, source, seconds since the start (`-` where time does not matter), form, bytes.
//!
//! The source is the direction of a frame (`>` to the server, `<` to the client), `!` for the server's stderr, or `*` for
//! an event: something that happened to the process or connection, with its name and a JSON object in place of form and
//! bytes. On HTTP, the number of the request follows without a space (`>7`), because several are open at once.
//!
//! The form says what surrounds the bytes: `line` a line end after them, `length` a plain `Content-Length` header
//! before them, `event` the line of a server-sent event that has nothing but data, `head` the empty line after the head
//! of an HTTP request or response, `raw` nothing.
//! What was received without an end is `raw`, and what continues it is the next line of the same source: the bytes of a
//! source, one line after the other, are the bytes that crossed.
//!
//! Bytes that are not [shown](super::shown) as text stand as hexadecimal between `⟦` and `⟧`, rare enough that JSON needs no escapes.
//! A reader takes any bytes either way, so that tapes of older versions, which escaped fewer characters, are tapes too.

mod escape;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::borrow::Cow;
use std::time::Duration;

pub use read::{TapeError, read};

/// The first line of every tape.
pub const HEADER: &str = "papertape 1";

/// The direction of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
}

/// One numbered line of a tape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its number, counted over all sources.
    pub number: u64,
    /// The number of the HTTP request that it belongs to.
    pub exchange: Option<u64>,
    /// Time since the start of the tape, to the microsecond.
    pub time: Option<Duration>,
    /// What was recorded.
    pub content: Content<'a>,
}

impl<'a> Record<'a> {
    /// A frame that does not belong to an HTTP request.
    #[must_use]
    pub const fn frame(number: u64, direction: Direction, time: Option<Duration>, bytes: &'a [u8]) -> Self {
        Self { number, exchange: None, time, content: Content::Frame(direction, Cow::Borrowed(bytes)) }
    }

    /// The direction and the bytes of a frame.
    #[must_use]
    pub fn as_frame(&self) -> Option<(Direction, &[u8])> {
        match &self.content {
            Content::Frame(direction, bytes) => Some((*direction, bytes)),
            _ => None,
        }
    }
}

/// What a numbered line of a tape records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content<'a> {
    /// A frame, or a part of one: the exact bytes.
    Frame(Direction, Cow<'a, [u8]>),
    /// The head of an HTTP request (to the server) or response: its lines, and the empty line that ends them.
    Head(Direction, Cow<'a, [u8]>),
    /// What the server wrote to its stderr: the exact bytes.
    Stderr(Cow<'a, [u8]>),
    /// Something that happened to the process, the connection or the tape.
    Event {
        /// Lower-case letters and hyphens, such as `start` or `exit`.
        name: Cow<'a, str>,
        /// The text of a JSON object.
        detail: Cow<'a, str>,
    },
}

/// One line of a tape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A numbered line.
    Record(Record<'static>),
    /// A comment, or an empty line: the text.
    Comment(String),
}

impl Entry {
    /// The direction and the bytes of a frame.
    #[must_use]
    pub fn as_frame(&self) -> Option<(Direction, &[u8])> {
        match self {
            Self::Record(record) => record.as_frame(),
            Self::Comment(_) => None,
        }
    }
}

/// Bytes as they stand on a tape.
#[must_use]
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    escape::escape(&mut text, bytes);
    text
}
