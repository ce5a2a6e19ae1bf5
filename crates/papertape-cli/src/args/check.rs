//! The arguments of `papertape check`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ValueEnum, ValueHint};

use super::client::FromFile;
use super::values::{header, seconds_within, variable};
use super::{Output, after_help_with};

/// Find out what is wrong with a server, with the bytes that prove it and the hosts that break on it.
///
/// Starts the server several times and drives it through what hosts do: opening in every revision that it supports, lists,
/// calls, invalid requests, and shutdown. Only tools that are declared as read-only are called, and only if their arguments can
/// be made from the schema; --call calls others too.
///
/// Each finding has a code, such as PT0101, that never changes its meaning; --explain has a page for each.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help_with(EXAMPLES, CODES), arg_required_else_help = true)]
#[command(override_usage = "papertape check [OPTIONS] TARGET\n       \
    papertape check [OPTIONS] -- COMMAND [ARGUMENT]...\n       \
    papertape check --explain [CODE]")]
pub(crate) struct Check {
    /// The server (see `papertape list --help`).
    #[arg(value_name = "TARGET", value_hint = ValueHint::CommandString)]
    pub(crate) target: Option<String>,
    /// A command in place of TARGET: the server is started with exactly these arguments.
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
    /// Text for people, one JSON document, a SARIF 2.1.0 log for code scanning, or JUnit XML for continuous integration.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ReportFormat::Text)]
    pub(crate) output: ReportFormat,
    /// Print the page of a code; without CODE, list all codes.
    #[arg(long, value_name = "CODE", num_args = 0..=1, conflicts_with_all = ["target", "command"])]
    pub(crate) explain: Option<Option<String>>,
    /// Also call this tool, whatever it is declared as; may be repeated.
    #[arg(long, value_name = "TOOL")]
    pub(crate) call: Vec<String>,
    /// Call every tool, whatever it is declared as: for servers that can do no harm here.
    #[arg(long)]
    pub(crate) call_all: bool,
    #[command(flatten)]
    pub(crate) from_file: FromFile,
    /// How long to wait for the first response of the server, and for each response after it.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = timeout, help_heading = "Server")]
    pub(crate) timeout: f64,
    /// Set an environment variable of the server; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable, help_heading = "Server process (stdio)")]
    pub(crate) env: Vec<(String, String)>,
    /// Set the environment variables in FILE (KEY=VALUE lines; comments, quotes and `export` are allowed); may be repeated.
    /// --env takes precedence.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Server process (stdio)")]
    pub(crate) env_file: Vec<PathBuf>,
    /// The working directory of the server.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Server process (stdio)")]
    pub(crate) cwd: Option<PathBuf>,
    /// Send a header with every request; may be repeated.
    #[arg(long, value_name = "NAME: VALUE", value_parser = header, help_heading = "Server at a URL (HTTP)")]
    pub(crate) header: Vec<(String, String)>,
    /// Send the bearer token in FILE, over https or to loopback only.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Server at a URL (HTTP)")]
    pub(crate) bearer_file: Option<PathBuf>,
    /// Allow a token to be sent over plain http, where others can read it.
    #[arg(long, help_heading = "Server at a URL (HTTP)")]
    pub(crate) insecure_http: bool,
    /// Trust the certificates in FILE (PEM) besides those of the system.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Server at a URL (HTTP)")]
    pub(crate) ca: Option<PathBuf>,
}

impl Check {
    /// An option that was given and is only for servers that are started.
    pub(crate) fn process_only_option(&self) -> Option<&'static str> {
        let given = [
            ("--env", !self.env.is_empty()),
            ("--env-file", !self.env_file.is_empty()),
            ("--cwd", self.cwd.is_some()),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }

    /// An option that was given and is only for servers at a URL.
    pub(crate) fn http_only_option(&self) -> Option<&'static str> {
        let given = [
            ("--header", !self.header.is_empty()),
            ("--bearer-file", self.bearer_file.is_some()),
            ("--insecure-http", self.insecure_http),
            ("--ca", self.ca.is_some()),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }
}

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people.
    Text,
    /// One JSON document, for programs.
    Json,
    /// A SARIF 2.1.0 log, for code scanning.
    Sarif,
    /// JUnit XML, for continuous integration.
    Junit,
}

impl ReportFormat {
    /// The format of errors of the command itself.
    pub(crate) fn of_errors(self) -> Output {
        if self == ReportFormat::Json { Output::Json } else { Output::Text }
    }
}

fn timeout(text: &str) -> Result<f64, String> {
    seconds_within(text, 0.1, 86_400.0)
}

const EXAMPLES: &str = "  \
  papertape check 'python3 server.py'
  papertape check http://127.0.0.1:8080/mcp
  papertape check --env-file .env -- npx -y @modelcontextprotocol/server-everything
  papertape check --config ~/.config/mcp.json github
  papertape check grammar --call drill --output json | jq '.findings[].code'
  papertape check ./server --output sarif > check.sarif
  papertape check --explain PT0101";

const CODES: &str = "  \
  0  healthy: no finding would break a host; there may be warnings and notes
  1  the output cannot be written
  2  wrong usage
  3  the check itself could not run
  4  a finding would break a host, SDK or model API; also a server that cannot be started
  129, 130, 131, 143  interrupted by SIGHUP, Ctrl-C, SIGQUIT or SIGTERM; the server is stopped";
