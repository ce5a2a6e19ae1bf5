//! Reads tapes, the recorded sessions that `docs/tape.md` describes.
//!
//! ```text
//! file ─▶ Reader ─▶ entries ─▶ Joiner ─▶ messages ─▶ Recording: requests with their responses
//! ```
//!
//! - `reader`: [`Reader`], the lines of a file that may still be growing
//! - `joiner`: [`Joiner`], records to messages; `stream` joins those of stdio, `body` those of HTTP, `json_end` finds where
//!   JSON ends
//! - `message`: [`Message`], one frame with its place on the tape
//! - `recording`: [`Recording`], an index of requests, notifications and events; `call` and `peer` are what it is made of,
//!   `pairing` finds the request of a response
//! - `fetch`: the bytes at a [`Place`]; `stats`: [`MethodStats`], numbers about a recording
//! - `json_lines`: [`JsonLines`], a JSON object for each record; `har`: [`Har`], an HTTP archive; `head`: [`Head`] of an HTTP
//!   message
//! - `redact`: [`Redactor`], a copy without secrets
//! - `compare`: two recordings, request by request; `json_diff`: how two messages differ; `volatile`: the differences that mean nothing

mod body;
mod compare;
mod fetch;
mod har;
mod head;
mod joiner;
mod json_diff;
mod json_end;
mod json_lines;
mod message;
mod reader;
mod recording;
mod redact;
mod stats;
mod stream;
mod volatile;

pub use compare::{Mismatch, Recorded, compare};
pub use har::Har;
pub use head::Head;
pub use joiner::Joiner;
pub use json_diff::{Difference, json_diff, json_diff_at};
pub use json_lines::JsonLines;
pub use message::{Form, Message, Place, payload};
pub use reader::{Line, ReadError, ReadProblem, Reader};
pub use recording::{Call, Change, Event, Notification, Outcome, Peer, Recording, Stray, Totals};
pub use redact::{Counts, Redactor};
pub use stats::{Latency, MethodStats, Sizes};
pub use volatile::Volatile;

/// The longest line and the longest message that are read: 256 MiB.
pub const LONGEST: usize = 256 * 1024 * 1024;

/// The example in the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
