//! Exit codes, and the one place where errors are printed.

use std::fmt;
use std::io;
use std::process::{ExitCode, ExitStatus};

use papertape::client::{ClientError, ErrorKind};
use papertape::wire::RpcError;
use papertape::wire::error::INTERNAL_ERROR;
use papertape::wire::tape::escaped;
use serde_json::{Map, Value, json};

use crate::args::Output;
use crate::http_refusal;
use crate::print::text::{hanging, safe};
use crate::print::{self, Look, style};

/// For `--help`.
pub(crate) const CODES: &str = "  \
  0  success
  1  the tool returned an error, the server responded with an error, or the output cannot be written
  2  wrong usage; also an unknown tool, prompt or argument
  3  the server could not be started or reached, or failed before its first response
  4  the server exited, timed out or violated the protocol after that
  129, 130, 131, 143  interrupted by SIGHUP, Ctrl-C, SIGQUIT or SIGTERM; a server that was started is stopped";

const ERROR: u8 = 1;
const WRONG_USAGE: u8 = 2;
const NOT_STARTED: u8 = 3;
const BROKEN: u8 = 4;
/// Plus the number of the signal, as in shells.
const SIGNALLED: u8 = 128;

/// How many last lines of the server's stderr are shown, unless `--trace` has shown all of it.
const STDERR_LINES: usize = 20;

/// The option that sets the timeout, for error messages.
const LIMIT: &str = "--timeout";

/// How many of the offending bytes are shown.
const SHOWN_BYTES: usize = 300;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments are wrong.
    Usage(String),
    /// The command line cannot be parsed.
    ParseError { message: String, hint: String },
    /// What was searched for is not there, or what was compared differs, which has been printed.
    Negative,
    /// A tape, or a part of it, cannot be read.
    Tape(String),
    /// The tool returned an error, which has been printed.
    ToolError,
    /// A check found what would break a host, which has been printed.
    Unhealthy,
    /// A failure that has been printed.
    Reported(Box<Failure>),
    /// The command could not start.
    NotStarted(anyhow::Error),
    /// The server failed, before or after the session was open.
    Server { error: ClientError, opened: bool, hint: String, stderr_shown: bool },
    /// The output cannot be written.
    Output(String),
    /// The server has exited by itself.
    Exited(String),
    /// The server has exited with this code, which is that of the command.
    Code(u8),
    /// A signal.
    Signal(u8),
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure::Usage(message.into())
    }

    /// Before the session was open.
    pub(crate) fn opening(error: ClientError, hint: String) -> Self {
        Failure::Server { error: error.limited_by(LIMIT), opened: false, hint, stderr_shown: false }
    }

    /// The same with what to do about an HTTP error status of the server at `url`.
    pub(crate) fn at_url(mut self, url: &str) -> Self {
        if let Failure::Server { error, hint, .. } = &mut self {
            *hint += &http_refusal::advice(error, url);
        }
        self
    }

    /// The same with a hint, if the server failed.
    pub(crate) fn with_hint(mut self, more: String) -> Self {
        if let Failure::Server { hint, .. } = &mut self {
            *hint = more;
        }
        self
    }

    /// The same, printed without the server's stderr, which has been printed.
    pub(crate) fn with_stderr_shown(mut self) -> Self {
        if let Failure::Server { stderr_shown, .. } = &mut self {
            *stderr_shown = true;
        }
        self
    }

    /// The same for a bundled server: if it exits with the code for wrong usage, its options are wrong.
    pub(crate) fn of_bundled_server(self) -> Self {
        match &self {
            Failure::Server { error, opened: false, .. }
                if error.exit().and_then(|exit| exit.code()) == Some(i32::from(WRONG_USAGE)) =>
            {
                let text = error.stderr().trim();
                let text =
                    text.strip_prefix("papertape: ").or_else(|| text.strip_prefix("error: ")).unwrap_or(text);
                Failure::usage(text)
            }
            _ => self,
        }
    }

    fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) | Failure::ParseError { .. } => WRONG_USAGE,
            Failure::Tape(_) => WRONG_USAGE,
            Failure::Negative => ERROR,
            Failure::ToolError | Failure::Output(_) => ERROR,
            Failure::Unhealthy => BROKEN,
            Failure::NotStarted(_) | Failure::Server { opened: false, .. } => NOT_STARTED,
            Failure::Server { error, .. } => match error.kind() {
                ErrorKind::Rpc(_)
                | ErrorKind::TaskCancelled
                | ErrorKind::Unauthorized(_)
                | ErrorKind::Http { status: 403, .. } => ERROR,
                _ => BROKEN,
            },
            Failure::Exited(_) => BROKEN,
            Failure::Code(code) => *code,
            Failure::Reported(failure) => failure.code(),
            Failure::Signal(number) => SIGNALLED.saturating_add(*number),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Failure::Usage(_) | Failure::ParseError { .. } => "usage",
            Failure::Negative => "negative",
            Failure::Tape(_) => "tape",
            Failure::ToolError => "tool_error",
            Failure::Unhealthy => "unhealthy",
            Failure::NotStarted(_) => "not_started",
            Failure::Output(_) => "output",
            Failure::Exited(_) | Failure::Code(_) => "closed",
            Failure::Reported(failure) => failure.kind(),
            Failure::Signal(_) => "interrupted",
            Failure::Server { error, .. } => match error.kind() {
                ErrorKind::NotStarted(_) => "not_started",
                ErrorKind::Unsupported { .. } => "unsupported",
                ErrorKind::TimedOut(_) | ErrorKind::TaskTimedOut(_) => "timed_out",
                ErrorKind::TaskCancelled => "cancelled",
                ErrorKind::Closed => "closed",
                ErrorKind::Unreachable(_) => "unreachable",
                ErrorKind::Http { .. } => "http",
                ErrorKind::Unauthorized(_) => "unauthorized",
                ErrorKind::Rpc(_) => "rpc",
                ErrorKind::Protocol(_) | ErrorKind::ResultType(_) => "protocol",
                ErrorKind::Refused(_) => "refused",
                ErrorKind::HandlerFailed(_) => "handler_failed",
                ErrorKind::Tape(_) => "tape",
                _ => "other",
            },
        }
    }
}

/// After the session was open.
impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let error = error.limited_by(LIMIT);
        Failure::Server { error, opened: true, hint: String::new(), stderr_shown: false }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Failure::NotStarted(error)
    }
}

/// Output that cannot be printed.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(format!("cannot write to stdout: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(message)
            | Failure::ParseError { message, .. }
            | Failure::Output(message)
            | Failure::Exited(message) => f.write_str(message),
            Failure::Tape(message) => f.write_str(message),
            Failure::Negative => f.write_str("nothing matches, or something differs"),
            Failure::ToolError => f.write_str("the tool returned an error"),
            Failure::Unhealthy => f.write_str("a host would break on the server"),
            Failure::Reported(failure) => failure.fmt(f),
            Failure::NotStarted(error) => write!(f, "{error:#}"),
            Failure::Server { error, hint, .. } => {
                let sentence = http_refusal::sentence(error).unwrap_or_else(|| error.to_string());
                // No semicolon follows a question.
                let hint = if sentence.ends_with('?') { hint.trim_start_matches(';') } else { hint.as_str() };
                write!(f, "{sentence}{hint}")
            }
            Failure::Code(code) => write!(f, "the server has exited with code {code}"),
            Failure::Signal(number) => write!(f, "interrupted by signal {number}"),
        }
    }
}

/// The exit code for the result of a command; an error is printed first.
pub(crate) fn code(result: Result<(), Failure>, output: Output) -> ExitCode {
    let Err(failure) = result else { return ExitCode::SUCCESS };
    show(&failure, output);
    ExitCode::from(failure.code())
}

/// Prints a failure, unless it has been printed.
pub(crate) fn show(failure: &Failure, output: Output) {
    show_at(failure, None, output);
}

/// The same for a failure of a line of a script.
pub(crate) fn show_at(failure: &Failure, line: Option<usize>, output: Output) {
    if matches!(
        failure,
        Failure::Negative
            | Failure::ToolError
            | Failure::Unhealthy
            | Failure::Reported(_)
            | Failure::Code(_)
            | Failure::Signal(_)
    ) {
        return;
    }
    match output {
        Output::Text => {
            let place = line.map(|number| format!("line {number}: ")).unwrap_or_default();
            print::err(&as_text(failure, &place, Look::of_stderr()));
        }
        Output::Json => {
            let mut error = document(failure);
            error.extend(line.map(|number| ("line".to_owned(), number.into())));
            if print::document(&json!({"error": error})).is_err() {
                report(failure);
            }
        }
    }
}

/// Prints an error that does not end the command to stderr.
pub(crate) fn report(failure: &Failure) {
    print::err(&as_text(failure, "", Look::of_stderr()));
}

/// Prints a note to stderr.
pub(crate) fn note(sentence: &str) {
    print::err(&prefixed(sentence, Look::of_stderr()));
}

/// A sentence with the name of the program.
fn prefixed(sentence: &str, look: Look) -> String {
    let plain = format!("papertape: {}", safe(sentence));
    // Wrapped only on a terminal, so that programs can read lines.
    let wrapped = if look.terminal { hanging(&plain, look.width) } else { format!("{plain}\n") };
    wrapped.replacen("papertape:", &look.paint(style::WRONG, "papertape:"), 1)
}

/// The sentence after its place in a script, then the evidence.
fn as_text(failure: &Failure, place: &str, look: Look) -> String {
    let sentence = format!("{place}{failure}");
    let mut text = prefixed(&sentence, look);
    if let Failure::Server { error, stderr_shown, .. } = failure {
        let lines = if *stderr_shown { 0 } else { STDERR_LINES };
        text += &details(error, &sentence, lines, look);
    }
    text
}

/// The evidence that the sentence does not have, with at most this many lines of stderr.
fn details(error: &ClientError, sentence: &str, most: usize, look: Look) -> String {
    let mut text = String::new();
    // The sentence has all of it.
    if http_refusal::sentence(error).is_some() {
        return text;
    }
    let mut note = |name: &str, value: &str| {
        let value = if value.is_empty() { String::new() } else { format!(" {value}") };
        text += &format!("  {}{value}\n", look.paint(style::DIM, name));
    };
    if !error.stage().is_empty() && !matches!(error.kind(), ErrorKind::Rpc(_) | ErrorKind::NotStarted(_)) {
        note("last step:", &safe(error.stage()));
    }
    if let ErrorKind::Rpc(RpcError { data: Some(data), .. }) = error.kind() {
        note("its data:", &excerpt(data.to_string().as_bytes()));
    }
    let is_in_sentence = |text: &str| sentence.contains(text.trim());
    if let Some(bytes) = error.bytes()
        && !std::str::from_utf8(bytes).is_ok_and(is_in_sentence)
    {
        note("the bytes:", &excerpt(bytes));
    }
    // The server works and responds with an error on purpose: its log is not about this.
    if matches!(error.kind(), ErrorKind::Rpc(error) if error.code != INTERNAL_ERROR) {
        return text;
    }
    let lines: Vec<&str> = error.stderr().lines().collect();
    let last = lines.get(lines.len().saturating_sub(most)..).unwrap_or_default();
    // The cause may be above them: a panic is followed by its backtrace.
    if let Some(cause) = error.stderr_line().filter(|_| !last.is_empty() && last.len() < lines.len())
        && !is_in_sentence(&cause)
        && !last.iter().any(|line| cause.starts_with(line.trim()) && !line.trim().is_empty())
    {
        note("its stderr says:", &safe(&cause));
    }
    match last {
        [] => return text,
        [only] if is_in_sentence(only) => return text,
        _ if last.len() < lines.len() => note(&format!("the last {} lines of its stderr:", last.len()), ""),
        _ => note("its stderr:", ""),
    }
    let bar = look.paint(style::DIM, "|");
    for line in last {
        text += &format!("  {bar} {}\n", safe(line.trim_end()));
    }
    text
}

/// The failure as JSON.
pub(crate) fn document(failure: &Failure) -> Map<String, Value> {
    let mut error = Map::new();
    error.insert("kind".to_owned(), failure.kind().into());
    error.insert("message".to_owned(), failure.to_string().into());
    if let Failure::ParseError { hint, .. } = failure
        && !hint.is_empty()
    {
        error.insert("hint".to_owned(), hint.as_str().into());
    }
    if let Failure::Server { error: server, .. } = failure {
        if let ErrorKind::Rpc(rpc) = server.kind() {
            error.insert("code".to_owned(), rpc.code.into());
            error.extend(rpc.data.clone().map(|data| ("data".to_owned(), data)));
        }
        if let ErrorKind::Http { status, .. } = server.kind() {
            error.insert("status".to_owned(), (*status).into());
        }
        error.insert("reached".to_owned(), server.stage().into());
        error.extend(server.exit().map(|exit| ("exit".to_owned(), exit_value(exit))));
        if !server.stderr().is_empty() {
            error.insert("stderr".to_owned(), server.stderr().into());
        }
        error.extend(server.bytes().map(|bytes| ("bytes".to_owned(), escaped(bytes).into())));
    }
    error
}

/// The exit code, or the name of the signal.
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
