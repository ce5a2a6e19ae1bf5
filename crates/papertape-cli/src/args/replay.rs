//! The arguments of `papertape replay`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ValueEnum, ValueHint};

use super::client::FromFile;
use super::values::{bytes, listen_address, seconds_within, tape_file};
use super::{Output, ServerProcess, after_help_with};

/// Replay a recorded session: as the server of a host, or against a server, whose responses are compared.
///
/// With a tape alone, it is the recorded server, on stdin and stdout or over HTTP (--http): requests are matched by method and parameters, and get the
/// recorded responses. For testing a host without the server, its keys or its network.
///
/// With a server, it is the recorded client: the server gets what the client sent, in the recorded order, and its responses are
/// compared with those on the tape. Ids, cursors and timestamps may differ. A regression test for a server in any language.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help_with(EXAMPLES, CODES), arg_required_else_help = true)]
#[command(override_usage = "papertape replay [OPTIONS] TAPE\n       \
    papertape replay [OPTIONS] TAPE TARGET\n       \
    papertape replay [OPTIONS] TAPE -- COMMAND [ARGUMENT]...")]
pub(crate) struct Replay {
    /// The recorded session.
    #[arg(value_name = "TAPE", value_parser = tape_file(), value_hint = ValueHint::FilePath)]
    pub(crate) tape: PathBuf,
    /// The server to compare with the tape (see `papertape list --help`).
    #[arg(value_name = "TARGET", value_hint = ValueHint::CommandString)]
    pub(crate) target: Option<String>,
    /// A command in place of TARGET: the server is started with exactly these arguments.
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
    /// Serve on Streamable HTTP at this address, not on stdin and stdout. A port alone means loopback, 127.0.0.1. Port 0 is any free
    /// port, printed to stderr.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = listen_address, conflicts_with_all = ["cut", "drop_newline"], help_heading = "As the server")]
    pub(crate) http: Option<SocketAddr>,
    /// Allow this host name in the Host header, besides loopback names; may be repeated.
    #[arg(long, value_name = "NAME", requires = "http", help_heading = "As the server")]
    pub(crate) allow_host: Vec<String>,
    /// Allow this Origin (SCHEME://HOST), besides loopback ones; may be repeated.
    #[arg(long, value_name = "ORIGIN", requires = "http", help_heading = "As the server")]
    pub(crate) allow_origin: Vec<String>,
    /// Send what the server sends after the recorded delays, each of at most a minute.
    #[arg(long, help_heading = "As the server")]
    pub(crate) timing: bool,
    /// Wait so long before each response.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(..=600_000), help_heading = "As the server")]
    pub(crate) delay: Option<u64>,
    /// A fault: exit when so many bytes have been written, in the middle of a message.
    #[arg(long, value_name = "BYTE", value_parser = bytes, help_heading = "As the server")]
    pub(crate) cut: Option<u64>,
    /// A fault: write messages without the line end after them.
    #[arg(long, help_heading = "As the server")]
    pub(crate) drop_newline: bool,
    /// Do not compare what is at this place: a JSON pointer from the root of a response, in which * is any member or element
    /// (/result/content/*/text), or the name of a member, wherever it is (etag); may be repeated.
    #[arg(long, value_name = "POINTER", help_heading = "As the client")]
    pub(crate) ignore: Vec<String>,
    /// Write the responses that differ to the tape, in the place of the recorded ones. All else on it stays.
    #[arg(long, help_heading = "As the client")]
    pub(crate) update: bool,
    /// The report: text for people, one JSON document, or JUnit XML for continuous integration [default: text].
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "As the client")]
    pub(crate) output: Option<ReplayFormat>,
    /// How long to wait for each response [default: 30].
    #[arg(long, value_name = "SECONDS", value_parser = timeout, help_heading = "As the client")]
    pub(crate) timeout: Option<f64>,
    #[command(flatten)]
    pub(crate) from_file: FromFile,
    #[command(flatten)]
    pub(crate) process: ServerProcess,
}

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplayFormat {
    /// For people.
    Text,
    /// One JSON document, for programs.
    Json,
    /// JUnit XML, for continuous integration.
    Junit,
}

impl Replay {
    /// Whether there is a server, whose client is played.
    pub(crate) fn is_client(&self) -> bool {
        // `papertape replay TAPE --config FILE` is missing the name of the server, and is not a server itself.
        self.target.is_some() || !self.command.is_empty() || self.from_file.given().is_some()
    }

    /// An option that was given and is only for the other side.
    pub(crate) fn misplaced_option(&self) -> Option<&'static str> {
        let as_server = [
            ("--http", self.http.is_some()),
            ("--timing", self.timing),
            ("--delay", self.delay.is_some()),
            ("--cut", self.cut.is_some()),
            ("--drop-newline", self.drop_newline),
        ];
        let as_client = [
            ("--ignore", !self.ignore.is_empty()),
            ("--update", self.update),
            ("--output", self.output.is_some()),
            ("--timeout", self.timeout.is_some()),
        ];
        let first = |options: &[(&'static str, bool)]| {
            options.iter().find_map(|(name, given)| given.then_some(*name))
        };
        if self.is_client() { first(&as_server) } else { first(&as_client).or_else(|| self.process.given()) }
    }

    pub(crate) fn delay(&self) -> Duration {
        Duration::from_millis(self.delay.unwrap_or_default())
    }

    /// The format of errors of the command itself.
    pub(crate) fn output_of_errors(&self) -> Output {
        if self.output == Some(ReplayFormat::Json) { Output::Json } else { Output::Text }
    }
}

fn timeout(text: &str) -> Result<f64, String> {
    seconds_within(text, 0.1, 86_400.0)
}

const EXAMPLES: &str = "  \
  papertape replay session.tape
  papertape replay session.tape --delay 5000
  papertape replay session.tape --http 8080
  papertape replay session.tape -- python3 server.py
  papertape replay session.tape 'blog --content notes' --ignore /result/content/*/text
  papertape replay session.tape ./server --output junit > replay.xml
  papertape replay session.tape ./server --update
  papertape replay session.tape -- papertape bridge https://tools.example/mcp";

const CODES: &str = "  \
  0  the responses are those of the tape, or the tape has been updated; as the server: the host has closed stdin
  1  a response differs, or the output cannot be written
  2  wrong usage; also a file that is not a tape
  3  the server could not be started, or failed before its first response
  4  the server exited, timed out or violated the protocol after that
  129, 130, 131, 143  interrupted by SIGHUP, Ctrl-C, SIGQUIT or SIGTERM; a server that was started is stopped";
