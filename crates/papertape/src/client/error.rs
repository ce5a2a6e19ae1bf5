//! Why a client's request failed: what was attempted, how far it got, and what is known about the server.

use std::fmt::{self, Write as _};
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use super::evidence::Evidence;
use super::skill_mismatch::SkillMismatch;
use super::stderr::error_line;
use crate::protocol::Revision;
use crate::protocol::raw_json::InexactNumber;
use crate::wire::{RpcError, shown};

/// How many bytes of an invalid message an error keeps.
pub(super) const MOST_BYTES: usize = 4 * 1024;

/// How many characters of stderr are quoted.
const STDERR_QUOTE: usize = 200;

/// How many characters an error displays at most.
const LONGEST_DISPLAY: usize = 900;

/// Why a client's request failed.
///
/// It displays as one line; [`ClientError::stderr`] and [`ClientError::bytes`] have the details.
#[derive(Debug)]
pub struct ClientError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    operation: String,
    kind: ErrorKind,
    stage: String,
    bytes: Option<Vec<u8>>,
    evidence: Evidence,
    /// The option that sets the timeout.
    limit: Option<&'static str>,
}

/// The kind of a failure.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The server process could not be started.
    NotStarted(io::Error),
    /// The server supports no revision that this client supports, or not the one that was requested.
    Unsupported {
        /// The revisions that the server supports.
        theirs: Vec<String>,
        /// The revision that was requested, if it was one.
        wanted: Option<Revision>,
    },
    /// No response arrived in time.
    TimedOut(Duration),
    /// The server process exited, or the connection was closed.
    Closed,
    /// The server cannot be reached: which address, and why.
    Unreachable(String),
    /// The server, or a proxy in front of it, responded with an HTTP error status.
    Http {
        /// The status.
        status: u16,
        /// Why, as far as the response says so, and what to do.
        message: String,
    },
    /// The server rejected the credentials, or requires some.
    Unauthorized(String),
    /// The server returned a JSON-RPC error.
    Rpc(RpcError),
    /// The server sent something that MCP does not allow.
    Protocol(String),
    /// The server returned a result whose `resultType` is not allowed for the request: the value, quoted if it is a string.
    ResultType(String),
    /// The result has a number that no [`serde_json::Value`] can hold, and a `Value` was requested.
    Inexact(InexactNumber),
    /// The server requested input that this client does not provide.
    Refused(String),
    /// The server does not declare the capability.
    NotOffered(String),
    /// A file of a skill differs from what the skill's definition says.
    Unverified(SkillMismatch),
    /// The tape cannot be written.
    Tape(io::Error),
}

impl ClientError {
    pub(crate) fn new(
        operation: impl Into<String>,
        kind: ErrorKind,
        stage: impl Into<String>,
        evidence: Evidence,
    ) -> Self {
        let (operation, stage) = (operation.into(), stage.into());
        Self(Box::new(Inner { operation, kind, stage, bytes: None, evidence, limit: None }))
    }

    /// The same error with the bytes that it is about.
    pub(crate) fn with_bytes(mut self, bytes: Option<Vec<u8>>) -> Self {
        self.0.bytes = bytes;
        self
    }

    /// Names the option that sets the timeout, for [`ErrorKind::TimedOut`]: a program that sets it by an option of its own,
    /// such as `--timeout`, names that instead of the method of [`ClientOptions`](crate::client::ClientOptions).
    #[must_use]
    pub fn limited_by(mut self, option: &'static str) -> Self {
        self.0.limit = Some(option);
        self
    }

    /// The kind of the failure.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// What was attempted, such as `calling the tool "echo"`.
    #[must_use]
    pub fn operation(&self) -> &str {
        &self.0.operation
    }

    /// How far it got, such as `the request was sent; no response arrived`.
    #[must_use]
    pub fn stage(&self) -> &str {
        &self.0.stage
    }

    /// The exit status of the server process, if it has exited.
    #[must_use]
    pub fn exit(&self) -> Option<ExitStatus> {
        self.0.evidence.exit
    }

    /// The end of the server's stderr, at most 64 KiB. The error displays the line of it that most likely names the cause.
    #[must_use]
    pub fn stderr(&self) -> &str {
        &self.0.evidence.stderr
    }

    /// The first 4 KiB of the invalid message; or, if the server never sent a valid one, of what it wrote instead.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        let stray = &self.0.evidence.stray.first;
        self.0.bytes.as_deref().or_else(|| (!stray.is_empty()).then_some(&stray[..]))
    }
}

/// One line that fits a terminal, whatever the server has sent.
impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text();
        let mut chars = shown::characters(&text).flat_map(|(c, is_shown)| visible(c, is_shown));
        for c in chars.by_ref().take(LONGEST_DISPLAY) {
            f.write_char(c)?;
        }
        if chars.next().is_some() { f.write_str("…") } else { Ok(()) }
    }
}

/// A character as it can be displayed: control characters and invisible characters are escaped.
fn visible(c: char, is_shown: bool) -> Vec<char> {
    match c {
        c if is_shown => vec![c],
        '\t' | '\r' | '\n' => c.escape_debug().collect(),
        c => c.escape_unicode().collect(),
    }
}

impl ClientError {
    fn text(&self) -> String {
        let Inner { operation, kind, evidence, limit, .. } = &*self.0;
        let mut text = match (kind, evidence.exit) {
            (ErrorKind::Closed, Some(exit)) => {
                format!("{operation} failed: the server process {} before it responded", Exit(exit))
            }
            _ => format!("{operation} failed: {kind}"),
        };
        if let (ErrorKind::TimedOut(_), Some(option)) = (kind, limit) {
            text.push_str(&format!(" (limit: {option})"));
        }
        let mut add = |more: String| {
            text.push_str("; ");
            text.push_str(&more);
        };
        if let Some(exit) = evidence.exit.filter(|_| !matches!(kind, ErrorKind::Closed)) {
            add(format!("the server process {}", Exit(exit)));
        }
        if matches!(kind, ErrorKind::TimedOut(_) | ErrorKind::Closed) {
            evidence.stray.advice().map(&mut add);
            if let Some(line) = error_line(&evidence.stderr) {
                let short: String = line.chars().take(STDERR_QUOTE).collect();
                add(format!("stderr: {short}"));
            }
        }
        text
    }
}

/// How a process ended, as a predicate: `exited (exit status 3)`, `was killed (signal 9 (SIGKILL))`.
struct Exit(ExitStatus);

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `exit status: 3` or `signal: 9 (SIGKILL)`.
        let status = self.0.to_string().replacen(": ", " ", 1);
        let verb = if self.0.code().is_some() { "exited" } else { "was killed" };
        write!(f, "{verb} ({status})")
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
            ErrorKind::NotStarted(error) => error.fmt(f),
            ErrorKind::Unsupported { theirs, wanted } => fmt_unsupported(f, theirs, *wanted),
            ErrorKind::TimedOut(time) => {
                write!(f, "the server did not respond within {} s", time.as_secs_f64())
            }
            ErrorKind::Closed => f.write_str("the server closed the connection before it responded"),
            ErrorKind::Unreachable(why) => write!(f, "the server cannot be reached: {why}"),
            ErrorKind::Http { status, message } => {
                write!(f, "the server responded with HTTP {status}")?;
                if message.is_empty() { Ok(()) } else { write!(f, ": {message}") }
            }
            ErrorKind::Unauthorized(why) => write!(f, "not authorized: {why}"),
            ErrorKind::Rpc(error) => write!(f, "the server returned an error: {error}"),
            ErrorKind::Protocol(problem) => write!(f, "the server violated the protocol: {problem}"),
            ErrorKind::ResultType(value) => write!(
                f,
                "the server violated the protocol: `resultType` is {value}, which is not allowed for this request"
            ),
            ErrorKind::Inexact(inexact) => inexact.fmt(f),
            ErrorKind::Refused(what) => {
                write!(f, "the server requested input that this client does not provide: {what}")
            }
            ErrorKind::NotOffered(what) => write!(f, "the server does not offer {what}"),
            ErrorKind::Unverified(mismatch) => {
                write!(f, "the file differs from the skill's definition: {mismatch}")
            }
            ErrorKind::Tape(error) => write!(f, "cannot write the tape: {error}"),
        }
    }
}

fn fmt_unsupported(f: &mut fmt::Formatter<'_>, theirs: &[String], wanted: Option<Revision>) -> fmt::Result {
    let theirs = theirs.join(", ");
    match wanted {
        Some(wanted) if theirs.is_empty() => {
            write!(
                f,
                "the server does not support revision {wanted}, and does not name those that it supports"
            )
        }
        Some(wanted) => write!(f, "the server does not support revision {wanted}, but {theirs}"),
        None => {
            let ours: Vec<&str> = Revision::ALL.iter().map(|revision| revision.as_str()).collect();
            let ours = ours.join(", ");
            let theirs = if theirs.is_empty() { "none that it names" } else { &theirs };
            write!(f, "no common revision: the server supports {theirs}, this client supports {ours}")
        }
    }
}
