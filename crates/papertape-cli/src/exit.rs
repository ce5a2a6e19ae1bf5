//! How the process ends: one documented code for each kind of end, one place where errors are printed.

use std::fmt;
use std::io;
use std::process::{ExitCode, ExitStatus};

use papertape::wire::RpcError;
use papertape::wire::error::INTERNAL_ERROR;
use papertape::{ClientError, ErrorKind};
use serde_json::{Map, Value, json};

use crate::args::Output;
use crate::print::text::{escaped, hanging, safe};
use crate::print::{self, Look, style};

/// For `--help`.
pub(crate) const CODES: &str = "  \
  0  done
  1  the tool said no, the server answered with an error, or the answer cannot be written
  2  wrong usage; also a tool, a prompt or an argument that the server does not have
  3  the server could not be started or reached, or did not get as far as its first answer
  4  the server died, went silent or broke the protocol after that
  129, 130, 131, 143  ended by SIGHUP, Ctrl-C, SIGQUIT or SIGTERM, and so was the server";

const SAID_NO: u8 = 1;
const WRONG_USAGE: u8 = 2;
const NOT_STARTED: u8 = 3;
const BROKEN: u8 = 4;
/// As shells count: this, and the signal's number.
const SIGNALLED: u8 = 128;

/// The last lines of the server's stderr that are shown, but with `--trace`.
const STDERR_LINES: usize = 20;

/// What sets how long a server may take.
const LIMIT: &str = "--timeout";

/// The offending bytes that are shown.
const SHOWN_BYTES: usize = 300;

/// Why a command came to nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was typed cannot be meant.
    Usage(String),
    /// The same, found before anything else was looked at.
    Mistyped { message: String, hint: String },
    /// The tool said no, and it has been printed.
    SaidNo,
    /// Something that has been printed already.
    Told(Box<Failure>),
    /// It did not even begin.
    NotStarted(anyhow::Error),
    /// The server's fault, before or after the conversation was open.
    Server { error: ClientError, opened: bool, hint: String, whole_stderr: bool },
    /// What came cannot be put where it should go.
    Output(String),
    /// Somebody wants it to end.
    Signal(u8),
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure::Usage(message.into())
    }

    /// Before the conversation was open.
    pub(crate) fn opening(error: ClientError, hint: String) -> Self {
        Failure::Server { error: error.limited_by(LIMIT), opened: false, hint, whole_stderr: false }
    }

    /// The same, with all that is known of the server's stderr when it is told.
    pub(crate) fn with_whole_stderr(mut self) -> Self {
        if let Failure::Server { whole_stderr, .. } = &mut self {
            *whole_stderr = true;
        }
        self
    }

    fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) | Failure::Mistyped { .. } => WRONG_USAGE,
            Failure::SaidNo | Failure::Output(_) => SAID_NO,
            Failure::NotStarted(_) | Failure::Server { opened: false, .. } => NOT_STARTED,
            Failure::Server { error, .. } => match error.kind() {
                ErrorKind::Rpc(_) | ErrorKind::Unauthorized(_) | ErrorKind::Http { status: 403, .. } => {
                    SAID_NO
                }
                _ => BROKEN,
            },
            Failure::Told(failure) => failure.code(),
            Failure::Signal(number) => SIGNALLED.saturating_add(*number),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Failure::Usage(_) | Failure::Mistyped { .. } => "usage",
            Failure::SaidNo => "said_no",
            Failure::NotStarted(_) => "not_started",
            Failure::Output(_) => "output",
            Failure::Told(failure) => failure.kind(),
            Failure::Signal(_) => "interrupted",
            Failure::Server { error, .. } => match error.kind() {
                ErrorKind::NotStarted(_) => "not_started",
                ErrorKind::Unsupported { .. } => "unsupported",
                ErrorKind::TimedOut(_) => "timed_out",
                ErrorKind::Closed => "closed",
                ErrorKind::Unreachable(_) => "unreachable",
                ErrorKind::Http { .. } => "http",
                ErrorKind::Unauthorized(_) => "unauthorized",
                ErrorKind::Rpc(_) => "rpc",
                ErrorKind::Protocol(_) | ErrorKind::ResultType(_) => "protocol",
                ErrorKind::Refused(_) => "refused",
                ErrorKind::Tape(_) => "tape",
                _ => "other",
            },
        }
    }
}

/// After the conversation was open.
impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let error = error.limited_by(LIMIT);
        Failure::Server { error, opened: true, hint: String::new(), whole_stderr: false }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Failure::NotStarted(error)
    }
}

/// An answer that cannot be printed.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(format!("cannot write to stdout: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(message) | Failure::Mistyped { message, .. } | Failure::Output(message) => {
                f.write_str(message)
            }
            Failure::SaidNo => f.write_str("the tool said no"),
            Failure::Told(failure) => failure.fmt(f),
            Failure::NotStarted(error) => write!(f, "{error:#}"),
            Failure::Server { error, hint, .. } => write!(f, "{error}{hint}"),
            Failure::Signal(number) => write!(f, "ended by signal {number}"),
        }
    }
}

/// The exit code for what a command came to; an error is printed first.
pub(crate) fn code(result: Result<(), Failure>, output: Output) -> ExitCode {
    let Err(failure) = result else { return ExitCode::SUCCESS };
    if !matches!(failure, Failure::SaidNo | Failure::Told(_) | Failure::Signal(_)) {
        match output {
            Output::Text => print::err(&in_words(&failure, Look::of_stderr())),
            // If that cannot be written either, the code is all that is left.
            Output::Json => drop(print::document(&json!({"error": document(&failure)}))),
        }
    }
    ExitCode::from(failure.code())
}

/// An error that does not end the command, on stderr.
pub(crate) fn tell(failure: &Failure) {
    print::err(&in_words(failure, Look::of_stderr()));
}

/// What is to be known of an end that is no error, on stderr.
pub(crate) fn say(sentence: &str) {
    print::err(&said(sentence, Look::of_stderr()));
}

/// A sentence of our own.
fn said(sentence: &str, look: Look) -> String {
    let plain = format!("papertape: {}", safe(sentence));
    // A program that reads stderr wants a sentence in a line.
    let wrapped = if look.terminal { hanging(&plain, look.width) } else { format!("{plain}\n") };
    wrapped.replacen("papertape:", &look.paint(style::WRONG, "papertape:"), 1)
}

/// The sentence, then what is known.
fn in_words(failure: &Failure, look: Look) -> String {
    let sentence = failure.to_string();
    let mut text = said(&sentence, look);
    if let Failure::Server { error, whole_stderr, .. } = failure {
        let lines = if *whole_stderr { usize::MAX } else { STDERR_LINES };
        text += &details(error, &sentence, lines, look);
    }
    text
}

/// What the sentence does not say, with so many lines of stderr.
fn details(error: &ClientError, sentence: &str, most: usize, look: Look) -> String {
    let mut text = String::new();
    let mut note = |name: &str, value: &str| {
        let value = if value.is_empty() { String::new() } else { format!(" {value}") };
        text += &format!("  {}{value}\n", look.paint(style::DIM, name));
    };
    if !error.reached().is_empty() && !matches!(error.kind(), ErrorKind::Rpc(_) | ErrorKind::NotStarted(_)) {
        note("how far it got:", &safe(error.reached()));
    }
    if let ErrorKind::Rpc(RpcError { data: Some(data), .. }) = error.kind() {
        note("its data:", &excerpt(data.to_string().as_bytes()));
    }
    let told = |text: &str| sentence.contains(text.trim());
    if let Some(bytes) = error.bytes()
        && !std::str::from_utf8(bytes).is_ok_and(told)
    {
        note("the bytes:", &excerpt(bytes));
    }
    // A server that answers well, if with an error, has its own reasons for what it logs.
    if matches!(error.kind(), ErrorKind::Rpc(error) if error.code != INTERNAL_ERROR) {
        return text;
    }
    let lines: Vec<&str> = error.stderr().lines().collect();
    let last = lines.get(lines.len().saturating_sub(most)..).unwrap_or_default();
    match last {
        [] => return text,
        [only] if told(only) => return text,
        _ if last.len() < lines.len() => note(&format!("the last {} lines of its stderr:", last.len()), ""),
        _ => note("its stderr:", ""),
    }
    let bar = look.paint(style::DIM, "|");
    for line in last {
        text += &format!("  {bar} {}\n", safe(line.trim_end()));
    }
    text
}

/// The same for a program.
pub(crate) fn document(failure: &Failure) -> Map<String, Value> {
    let mut error = Map::new();
    error.insert("kind".to_owned(), failure.kind().into());
    error.insert("message".to_owned(), failure.to_string().into());
    if let Failure::Mistyped { hint, .. } = failure
        && !hint.is_empty()
    {
        error.insert("hint".to_owned(), hint.as_str().into());
    }
    if let Failure::Server { error: server, .. } = failure {
        if let ErrorKind::Rpc(rpc) = server.kind() {
            error.insert("code".to_owned(), rpc.code.into());
            error.extend(rpc.data.clone().map(|data| ("data".to_owned(), data)));
        }
        error.insert("reached".to_owned(), server.reached().into());
        error.extend(server.exit().map(|exit| ("exit".to_owned(), exit_value(exit))));
        if !server.stderr().is_empty() {
            error.insert("stderr".to_owned(), server.stderr().into());
        }
        error.extend(server.bytes().map(|bytes| ("bytes".to_owned(), escaped(bytes).into())));
    }
    error
}

/// The code, or words about the signal.
fn exit_value(exit: ExitStatus) -> Value {
    exit.code().map_or_else(|| exit.to_string().into(), Value::from)
}

fn excerpt(bytes: &[u8]) -> String {
    let head = bytes.get(..SHOWN_BYTES).unwrap_or(bytes);
    let more = bytes.len() - head.len();
    let rest =
        if more > 0 { format!(" ... and {} more bytes", print::text::grouped(more)) } else { String::new() };
    escaped(head.strip_suffix(b"\n").unwrap_or(head)) + &rest
}
