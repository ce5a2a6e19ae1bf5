//! One frame, with its place on the tape.

use std::borrow::Cow;
use std::ops::Range;
use std::time::Duration;

use papertape::wire::message::{self, Bounds, Payload, Rejected};
use papertape::wire::tape::Direction;

/// Where a message is on a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The number of its first record.
    pub first: u64,
    /// The number of its last record: the same, unless it crossed in parts.
    pub last: u64,
    /// Where the line of its first record begins, in bytes from the start of the tape.
    pub offset: u64,
    /// Where it begins in the bytes of its first record: 0, unless that record has the end of another message.
    pub within: u64,
    /// How many bytes it has, framing included.
    pub size: u64,
    /// The time of its last record.
    pub time: Option<Duration>,
}

/// A frame, joined from its records, or what stands between frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Where it is.
    pub place: Place,
    /// Its direction.
    pub direction: Direction,
    /// The HTTP exchange that it belongs to.
    pub exchange: Option<u64>,
    /// How it was framed.
    pub form: Form,
    /// The exact bytes. Those of all messages of a source, one after the other, are the bytes that crossed.
    pub bytes: Vec<u8>,
    /// Where the body is in the bytes.
    pub(crate) body: Range<usize>,
    /// The body, where it is not a part of the bytes: an event with several `data` lines.
    pub(crate) joined: Option<Vec<u8>>,
}

/// How a frame was framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A line, or a frame with a `Content-Length` header.
    Frame,
    /// A server-sent event.
    Event,
    /// JSON without an end of its own: the body of an HTTP request or response.
    Body,
    /// It was not complete when its stream or the tape ended, or another one began.
    Unterminated,
    /// White space, or an event without data.
    Blank,
    /// Neither a frame nor JSON, such as an HTML page, or invalid framing.
    Other,
}

impl Message {
    /// The body: without line end, headers or `data:`.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        match &self.joined {
            Some(joined) => joined,
            None => self.bytes.get(self.body.clone()).unwrap_or_default(),
        }
    }

    /// What is before and after the body, unless the body is not a part of the bytes.
    pub(crate) fn around_body(&self) -> Option<(&[u8], &[u8])> {
        match &self.joined {
            Some(_) => None,
            None => self.bytes.get(..self.body.start).zip(self.bytes.get(self.body.end..)),
        }
    }

    /// Whether it may be JSON-RPC: not blank.
    #[must_use]
    pub fn is_content(&self) -> bool {
        self.form != Form::Blank
    }

    /// The body as text, with replacement characters where it is not UTF-8.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.body())
    }

    /// Reads the body as JSON-RPC.
    ///
    /// # Errors
    /// Why it is not.
    pub fn payload(&self) -> Result<Payload<'_>, Rejected> {
        payload(self.body())
    }
}

/// How many messages a batch may have; papertape itself takes 100.
const MOST_IN_BATCH: usize = 100_000;

/// Reads a body as JSON-RPC, without the limits that a peer would set.
///
/// # Errors
/// Why it is not.
pub fn payload(body: &[u8]) -> Result<Payload<'_>, Rejected> {
    message::parse(body, Bounds { depth: usize::MAX, batch: MOST_IN_BATCH })
}
