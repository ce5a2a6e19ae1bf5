//! Why a client's request failed: what was attempted, how far it got, and what is known about the server.

use std::fmt::{self, Write as _};
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use super::config::ConfigError;
use super::evidence::Evidence;
use super::skill_mismatch::SkillMismatch;
use super::stderr::error_line;
use crate::protocol::raw_json::InexactNumber;
use crate::protocol::{CallToolResult, Revision};
use crate::wire::error::excerpt;
use crate::wire::{RpcError, shown};

/// The stage of a request that was not sent.
pub(crate) const NOT_SENT: &str = "the request was not sent";

/// How many bytes of an invalid message an error keeps.
pub(super) const MOST_BYTES: usize = 4 * 1024;

/// How many characters of stderr are quoted.
const STDERR_QUOTE: usize = 200;

/// How many characters an error displays at most.
const LONGEST_DISPLAY: usize = 900;

/// Why a client's request failed.
///
/// It displays as one line; [`ClientError::stderr`] and [`ClientError::bytes`] have the details. Its `Debug` form, which
/// `main` and `unwrap` print, is that line and the last step on a second one.
pub struct ClientError(Box<Inner>);

struct Inner {
    operation: String,
    kind: ErrorKind,
    stage: String,
    bytes: Option<Vec<u8>>,
    evidence: Evidence,
    /// The option that sets the timeout.
    limit: Option<&'static str>,
    /// What may have caused it, if that is not in its kind.
    note: Option<&'static str>,
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
    /// The task did not end in time.
    TaskTimedOut(Duration),
    /// The task was cancelled.
    TaskCancelled,
    /// The server process exited, or the connection was closed.
    Closed,
    /// The server process has exited, and is started again after this time, for which the request has not waited:
    /// [`Restart::longest_wait`](super::Restart::longest_wait).
    Restarting(Duration),
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
    /// The tool ran and failed (`isError`), where its result was to be of a type: [`Client::call_as`](crate::Client::call_as).
    ToolFailed(Box<CallToolResult>),
    /// The arguments cannot be written as a JSON object: why.
    InvalidArguments(String),
    /// The result is not one of the requested type.
    ResultMismatch(serde_json::Error),
    /// The result has a number that no [`serde_json::Value`] can hold, and a `Value` was requested.
    Inexact(InexactNumber),
    /// The server requested input that this client does not provide.
    Refused(String),
    /// A handler of this client panicked or was too slow to provide input that the server requested: which one, and what
    /// happened.
    HandlerFailed(String),
    /// The server does not declare the capability, or has acknowledged nothing of a subscription.
    NotOffered(String),
    /// A file of a skill differs from what the skill's definition says.
    Unverified(SkillMismatch),
    /// The tape cannot be written.
    Tape(io::Error),
    /// A file of servers, or its entry of this server, cannot be used.
    Config(ConfigError),
    /// This server of a [`Clients`](super::Clients) is not connected: why.
    NotConnected(String),
    /// No server of a [`Clients`](super::Clients) has this tool, prompt or resource: what there is.
    NotFound(String),
}

impl ClientError {
    pub(crate) fn new(
        operation: impl Into<String>,
        kind: ErrorKind,
        stage: impl Into<String>,
        evidence: Evidence,
    ) -> Self {
        let (operation, stage) = (operation.into(), stage.into());
        Self(Box::new(Inner { operation, kind, stage, bytes: None, evidence, limit: None, note: None }))
    }

    /// A failure on this side of the connection: nothing was sent.
    pub(crate) fn local(operation: impl Into<String>, kind: ErrorKind) -> Self {
        Self::new(operation, kind, "nothing was sent", Evidence::default())
    }

    /// The same error with the name of the server, one of several.
    pub(crate) fn of_server(mut self, name: &str) -> Self {
        self.0.operation = format!("{} of the server {}", self.0.operation, excerpt(name));
        self
    }

    /// The same error of an operation with another name.
    pub(crate) fn of_operation(mut self, operation: String) -> Self {
        self.0.operation = operation;
        self
    }

    /// The same error with the bytes that it is about.
    pub(crate) fn with_bytes(mut self, bytes: Option<Vec<u8>>) -> Self {
        self.0.bytes = bytes;
        self
    }

    /// The same error with what may have caused it.
    pub(crate) fn with_note(mut self, note: Option<&'static str>) -> Self {
        self.0.note = note;
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

    /// The line of [`ClientError::stderr`] that most likely names the cause, such as that of a panic before its backtrace. `None`
    /// if stderr has no text.
    #[must_use]
    pub fn stderr_line(&self) -> Option<String> {
        error_line(&self.0.evidence.stderr)
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
        write_line(f, &self.text())
    }
}

/// For readers, as `main` prints it: the line, and how far the operation got.
impl fmt::Debug for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)?;
        if self.stage().is_empty() {
            return Ok(());
        }
        f.write_str("\n  last step: ")?;
        write_line(f, self.stage())
    }
}

/// Writes text as one line of a bounded length.
fn write_line(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let mut chars = shown::characters(text).flat_map(|(c, is_shown)| visible(c, is_shown));
    for c in chars.by_ref().take(LONGEST_DISPLAY) {
        f.write_char(c)?;
    }
    if chars.next().is_some() { f.write_str("…") } else { Ok(()) }
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
        let Inner { operation, kind, stage, evidence, limit, note, .. } = &*self.0;
        let was_sent = stage != NOT_SENT;
        let mut text = match (kind, evidence.exit) {
            (ErrorKind::Closed, Some(exit)) => {
                let before = if was_sent { " before it responded" } else { "" };
                format!("{operation} failed: the server process {}{before}", Exit(exit))
            }
            (ErrorKind::Closed, None) if !was_sent => format!("{operation} failed: the session has ended"),
            _ => format!("{operation} failed: {kind}"),
        };
        if let (ErrorKind::TimedOut(_), Some(option)) = (kind, limit) {
            text.push_str(&format!(" (limit: {option})"));
        }
        let mut add = |more: String| {
            text.push_str("; ");
            text.push_str(&more);
        };
        if let Some(note) = note {
            add((*note).to_owned());
        }
        if let Some(exit) = evidence.exit.filter(|_| !matches!(kind, ErrorKind::Closed)) {
            add(format!("the server process {}", Exit(exit)));
        }
        if let Some(given_up) = evidence.given_up.as_ref().filter(|_| matches!(kind, ErrorKind::Closed)) {
            add(given_up.clone());
        }
        if matches!(kind, ErrorKind::TimedOut(_) | ErrorKind::Closed | ErrorKind::Restarting(_)) {
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
            ErrorKind::ResultMismatch(error) => Some(error),
            ErrorKind::Config(error) => Some(error),
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
            ErrorKind::TaskTimedOut(time) => {
                write!(f, "the task did not end within {} s", time.as_secs_f64())
            }
            ErrorKind::TaskCancelled => f.write_str("the task was cancelled"),
            ErrorKind::Closed => f.write_str("the server closed the connection before it responded"),
            ErrorKind::Restarting(time) => {
                let seconds = time.as_secs_f64().ceil();
                write!(f, "the server is not running; it is started again in {seconds} s")
            }
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
            ErrorKind::ToolFailed(result) => match &*result.text() {
                "" => f.write_str("the tool failed without saying why"),
                text => write!(f, "the tool failed: {text}"),
            },
            ErrorKind::InvalidArguments(why) => write!(f, "the arguments are invalid: {why}"),
            ErrorKind::ResultMismatch(error) => {
                let text = error.to_string();
                // Without a place in the text, serde_json names column 0.
                let place = format!(" at line {} column 0", error.line());
                let text = text.strip_suffix(&place).unwrap_or(&text);
                write!(f, "the result is not of the requested type: {text}")
            }
            ErrorKind::Inexact(inexact) => inexact.fmt(f),
            ErrorKind::Refused(what) => {
                write!(f, "the server requested input that this client does not provide: {what}")
            }
            ErrorKind::HandlerFailed(what) => write!(f, "the client's handler {what}"),
            ErrorKind::NotOffered(what) => write!(f, "the server does not offer {what}"),
            ErrorKind::Unverified(mismatch) => {
                write!(f, "the file differs from the skill's definition: {mismatch}")
            }
            ErrorKind::Tape(error) => write!(f, "cannot write the tape: {error}"),
            ErrorKind::Config(problem) => problem.fmt(f),
            ErrorKind::NotConnected(why) => write!(f, "the server is not connected: {why}"),
            ErrorKind::NotFound(what) => f.write_str(what),
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
