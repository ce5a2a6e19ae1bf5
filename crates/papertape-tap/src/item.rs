//! What is recorded, on its way to the thread that writes the tape.

use std::borrow::Cow;

/// One of the streams that are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Source {
    /// Who sends it.
    pub stream: Stream,
    /// The number of the HTTP request that it belongs to.
    pub exchange: Option<u64>,
}

/// Who sends the bytes of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// The client, to the server.
    Client,
    /// The server, to the client.
    Server,
    /// The server, to its stderr.
    Stderr,
}

impl Stream {
    /// The value of `of` in events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Stream::Client => "client",
            Stream::Server => "server",
            Stream::Stderr => "stderr",
        }
    }
}

impl From<Stream> for Source {
    fn from(stream: Stream) -> Self {
        Self { stream, exchange: None }
    }
}

/// What the bytes of a stream are divided into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// Messages: lines, or frames with a `Content-Length` header.
    Messages,
    /// Lines.
    Lines,
    /// Server-sent events.
    Events,
    /// Nothing: the bytes up to the end of the stream are one message.
    Whole,
}

/// What is recorded.
#[derive(Debug)]
pub(crate) enum Item {
    /// Bytes of a stream.
    Bytes(Source, Parts, Vec<u8>),
    /// The head of an HTTP request or response.
    Head(Source, Vec<u8>),
    /// Bytes of a stream that did not fit into the queue.
    Lost(Source, u64),
    /// The end of a stream.
    End(Source),
    /// The exchange and the name of an event, and a JSON object.
    Event(Option<u64>, Cow<'static, str>, String),
}

impl Item {
    /// How many bytes it has.
    pub(crate) fn length(&self) -> usize {
        match self {
            Item::Bytes(_, _, bytes) | Item::Head(_, bytes) => bytes.len(),
            Item::Event(_, _, detail) => detail.len(),
            Item::Lost(..) | Item::End(_) => 0,
        }
    }
}
