//! What proves a finding.

use std::time::Duration;

/// How many bytes of evidence are kept.
const KEPT: usize = 512;

/// Where bytes crossed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// What the server read.
    Stdin,
    /// What it wrote to stdout.
    Stdout,
    /// What it wrote to stderr.
    Stderr,
    /// A request or a response on HTTP.
    Http,
}

impl Stream {
    /// Its name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Stream::Stdin => "stdin",
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
            Stream::Http => "HTTP",
        }
    }
}

/// Bytes that crossed, or a fact about the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// Bytes of a stream.
    Bytes {
        /// Which stream.
        stream: Stream,
        /// How many bytes of the stream come before them.
        offset: u64,
        /// The bytes; the beginning, if there were more.
        bytes: Vec<u8>,
        /// How many there were.
        length: u64,
        /// When they were seen, after the start of the process.
        time: Option<Duration>,
        /// They mean something as bytes: they are shown in hexadecimal, too.
        hex: bool,
    },
    /// A fact: an exit status, the time until a response, the state of the process.
    Fact(String),
}

impl Evidence {
    pub(crate) fn bytes(stream: Stream, offset: u64, bytes: &[u8]) -> Self {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let bytes = bytes.get(..KEPT).unwrap_or(bytes).to_vec();
        Evidence::Bytes { stream, offset, bytes, length, time: None, hex: false }
    }

    pub(crate) fn fact(fact: impl Into<String>) -> Self {
        Evidence::Fact(fact.into())
    }

    pub(crate) fn in_hex(mut self) -> Self {
        if let Evidence::Bytes { hex, .. } = &mut self {
            *hex = true;
        }
        self
    }

    pub(crate) fn at(mut self, seen: Duration) -> Self {
        if let Evidence::Bytes { time, .. } = &mut self {
            *time = Some(seen);
        }
        self
    }
}
