//! Why a client's call came to nothing: what was being done, how far it got, and what the server left behind.

use std::fmt::{self, Write as _};
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use super::last_words::last_words;
use super::skills::Mismatch;
use crate::protocol::Revision;
use crate::protocol::raw_json::InexactNumber;
use crate::wire::{RpcError, shown};

/// Offending bytes that an error keeps.
pub(super) const MOST_BYTES: usize = 4 * 1024;

/// The end of stderr that fits into a sentence.
const SHORT_STDERR: usize = 200;

/// The most characters of a sentence.
const LONGEST_SENTENCE: usize = 900;

/// Why a client's call came to nothing.
///
/// It displays as one line; [`ClientError::stderr`] and [`ClientError::bytes`] have the rest.
#[derive(Debug)]
pub struct ClientError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    doing: String,
    kind: ErrorKind,
    reached: String,
    bytes: Option<Vec<u8>>,
    evidence: Evidence,
    /// What sets the time that was over.
    limit: Option<&'static str>,
}

/// What kind of failure it was.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The server's process could not be started.
    NotStarted(io::Error),
    /// The server speaks no revision that we speak, or not the one that was asked for.
    Unsupported {
        /// What the server speaks.
        theirs: Vec<String>,
        /// What was asked for, if it was one.
        wanted: Option<Revision>,
    },
    /// No answer came in time.
    TimedOut(Duration),
    /// The server has gone.
    Closed,
    /// There is no way to the server: which address, and why.
    Unreachable(String),
    /// The server, or something before it, answered with an HTTP status that says no.
    Http {
        /// The status.
        status: u16,
        /// Why, as far as it was said, and what to do.
        message: String,
    },
    /// The server wants to know who asks, and is not content with what it was told.
    Unauthorized(String),
    /// The server answered with an error.
    Rpc(RpcError),
    /// The server sent something that MCP does not allow.
    Protocol(String),
    /// The server answered with a result whose `resultType` is not allowed there: the value, quoted if it is a string.
    ResultType(String),
    /// The result has a number that no [`serde_json::Value`] can hold, and that is what was asked for.
    Inexact(InexactNumber),
    /// The server asked for something that this client does not give.
    Refused(String),
    /// The server does not offer what was asked for.
    NotOffered(String),
    /// A file of a skill is not what the skill says.
    Unverified(Mismatch),
    /// The tape cannot be written.
    Tape(io::Error),
}

/// What a server has left behind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    /// How its process ended.
    pub(crate) exit: Option<ExitStatus>,
    /// The end of what it wrote to stderr.
    pub(crate) stderr: String,
    /// What it wrote to stdout that was no message.
    pub(crate) stray: Stray,
}

/// Bytes on the wire that were no message.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stray {
    pub(crate) count: u64,
    /// The beginning of the first of them.
    pub(crate) first: Vec<u8>,
    /// It was the last, and had no end.
    pub(crate) unfinished: bool,
}

impl ClientError {
    pub(crate) fn new(
        doing: impl Into<String>,
        kind: ErrorKind,
        reached: impl Into<String>,
        evidence: Evidence,
    ) -> Self {
        let (doing, reached) = (doing.into(), reached.into());
        Self(Box::new(Inner { doing, kind, reached, bytes: None, evidence, limit: None }))
    }

    /// The same error with the bytes it is about.
    pub(crate) fn with_bytes(mut self, bytes: Option<Vec<u8>>) -> Self {
        self.0.bytes = bytes;
        self
    }

    /// Names what sets the time limit, for [`ErrorKind::TimedOut`]: a program that sets it by an option of its own, such as
    /// `--timeout`, names that in place of the method of [`ClientOptions`](crate::ClientOptions).
    #[must_use]
    pub fn limited_by(mut self, option: &'static str) -> Self {
        self.0.limit = Some(option);
        self
    }

    /// What kind of failure it was.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// What was being done, such as `calling the tool "echo"`.
    #[must_use]
    pub fn doing(&self) -> &str {
        &self.0.doing
    }

    /// How far it got, such as `the request was sent; no answer came`.
    #[must_use]
    pub fn reached(&self) -> &str {
        &self.0.reached
    }

    /// How the server's process ended, if it has.
    #[must_use]
    pub fn exit(&self) -> Option<ExitStatus> {
        self.0.evidence.exit
    }

    /// The end of what the server wrote to stderr, at most 64 KiB. The error displays the one line of it that names the
    /// cause, as far as that can be told.
    #[must_use]
    pub fn stderr(&self) -> &str {
        &self.0.evidence.stderr
    }

    /// The bytes that were wrong, at most the first 4 KiB of them; or, if the server never said anything right, what it
    /// said instead.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        let stray = &self.0.evidence.stray.first;
        self.0.bytes.as_deref().or_else(|| (!stray.is_empty()).then_some(&stray[..]))
    }
}

/// One line that fits a terminal, whatever a server has said.
impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence: String = self.sentence().into_iter().collect();
        let mut chars = shown::characters(&sentence).flat_map(|(c, is_shown)| visible(c, is_shown));
        for c in chars.by_ref().take(LONGEST_SENTENCE) {
            f.write_char(c)?;
        }
        if chars.next().is_some() { f.write_str("…") } else { Ok(()) }
    }
}

/// A character as it can be shown: what would move a cursor, or cannot be seen, is escaped.
fn visible(c: char, is_shown: bool) -> Vec<char> {
    match c {
        c if is_shown => vec![c],
        '\t' | '\r' | '\n' => c.escape_debug().collect(),
        c => c.escape_unicode().collect(),
    }
}

impl ClientError {
    fn sentence(&self) -> Vec<char> {
        let Inner { doing, kind, evidence, limit, .. } = &*self.0;
        let mut sentence = format!("{doing}: {kind}");
        if let (ErrorKind::TimedOut(_), Some(option)) = (kind, limit) {
            sentence.push_str(&format!(" ({option} sets how long it may take)"));
        }
        let mut add = |more: String| {
            sentence.push_str("; ");
            sentence.push_str(&more);
        };
        if let Some(exit) = evidence.exit {
            add(format!("its process has ended ({})", Exit(exit)));
        }
        if matches!(kind, ErrorKind::TimedOut(_) | ErrorKind::Closed) {
            evidence.stray.advice().map(&mut add);
            if let Some(line) = last_words(&evidence.stderr) {
                let short: String = line.chars().take(SHORT_STDERR).collect();
                add(format!("its last words on stderr: {short}"));
            }
        }
        sentence.chars().collect()
    }
}

/// How a process ended, in words.
struct Exit(ExitStatus);

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `exit status: 3` and `signal: 9 (SIGKILL)`: without the colon it reads as a part of a sentence.
        f.write_str(&self.0.to_string().replacen(": ", " ", 1))
    }
}

impl std::error::Error for ClientError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            ErrorKind::NotStarted(error) | ErrorKind::Tape(error) => Some(error),
            ErrorKind::Rpc(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::NotStarted(error) => write!(f, "the server cannot be started: {error}"),
            ErrorKind::Unsupported { theirs, wanted } => {
                let theirs = theirs.join(", ");
                match wanted {
                    Some(wanted) if theirs.is_empty() => {
                        write!(f, "the server does not speak {wanted}, and does not say what it speaks")
                    }
                    Some(wanted) => write!(f, "the server does not speak {wanted}, but {theirs}"),
                    None => {
                        let ours: Vec<&str> =
                            Revision::ALL.iter().map(|revision| revision.as_str()).collect();
                        let ours = ours.join(", ");
                        let theirs = if theirs.is_empty() { "none that it names" } else { &theirs };
                        write!(f, "no common revision: the server speaks {theirs}, we speak {ours}")
                    }
                }
            }
            ErrorKind::TimedOut(time) => {
                write!(f, "the server did not answer within {} s", time.as_secs_f64())
            }
            ErrorKind::Closed => f.write_str("the server has gone before it answered"),
            ErrorKind::Unreachable(why) => write!(f, "the server cannot be reached: {why}"),
            ErrorKind::Http { status, message } => {
                write!(f, "the server answered HTTP {status}")?;
                if message.is_empty() { Ok(()) } else { write!(f, ": {message}") }
            }
            ErrorKind::Unauthorized(why) => write!(f, "not authorized: {why}"),
            ErrorKind::Rpc(error) => write!(f, "the server answered with an error: {error}"),
            ErrorKind::Protocol(problem) => write!(f, "the server broke the protocol: {problem}"),
            ErrorKind::ResultType(value) => write!(
                f,
                "the server broke the protocol: the result is of the kind {value} (`resultType`), which this request \
                 cannot have"
            ),
            ErrorKind::Inexact(inexact) => inexact.fmt(f),
            ErrorKind::Refused(what) => {
                write!(f, "the server asked for what this client does not give: {what}")
            }
            ErrorKind::NotOffered(what) => write!(f, "the server does not offer {what}"),
            ErrorKind::Unverified(mismatch) => write!(f, "it is not what the skill says: {mismatch}"),
            ErrorKind::Tape(error) => write!(f, "the tape cannot be written: {error}"),
        }
    }
}

impl Stray {
    /// Bytes of a stray frame that are kept.
    pub(crate) const KEPT: usize = 1024;

    pub(crate) fn note(&mut self, bytes: &[u8]) {
        self.count += 1;
        if self.first.is_empty() {
            self.first = bytes.get(..Self::KEPT).unwrap_or(bytes).to_vec();
        }
    }

    /// What was there instead of messages, and what to do about it.
    fn advice(&self) -> Option<String> {
        if self.count == 0 {
            let text = String::from_utf8_lossy(&self.first);
            let first = crate::wire::error::excerpt(&text);
            let what = "each message must end with a line end";
            return (!self.first.is_empty())
                .then(|| format!("it wrote {first} to stdout without a line end: {what}"));
        }
        let lines = match self.count {
            1 => "1 line to stdout that is no MCP message".to_owned(),
            count => format!("{count} lines to stdout that are no MCP message"),
        };
        let text = String::from_utf8_lossy(&self.first);
        let has_message = text.contains("\"jsonrpc\"");
        let why = if self.first.starts_with(b"\xff\xfe") || self.first.contains(&0) {
            "it looks like UTF-16, and MCP is UTF-8"
        } else if self.unfinished && self.count == 1 {
            "its output ended in the middle of a line"
        } else if has_message && text.trim_start().starts_with('{') {
            "something is glued to the end of a message: each message must be a line of its own, and logs belong on stderr"
        } else if has_message {
            "text is glued to the front of a message: end it with a line end, or better print it to stderr"
        } else if matches!(text.trim(), "{" | "[") {
            "it looks like JSON over several lines, and a message must be one line"
        } else {
            "logs belong on stderr"
        };
        let first = crate::wire::error::excerpt(text.trim_end());
        Some(format!("it wrote {lines}, the first is {first}: {why}"))
    }
}
