//! The command line.

mod auth;
mod bridge;
mod check;
mod client;
mod index;
mod install;
mod new;
mod page;
mod parse_error;
mod replay;
mod search;
mod serve;
mod server;
mod tap;
mod tape;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::Styles;
use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use tracing_subscriber::filter::LevelFilter;

pub(crate) use auth::{Key, Login, Logout};
pub(crate) use bridge::Bridge;
pub(crate) use check::{Check, ReportFormat};
pub(crate) use client::{
    Api, Call, Connect, FromFile, List, Prompt, Read, Request, Save, Shell, Task, TaskCommand, TaskTarget,
};
pub(crate) use index::Index;
pub(crate) use install::{HostFile, Hosts, Install, Uninstall};
pub(crate) use new::New;
pub(crate) use page::Page;
pub(crate) use replay::{Replay, ReplayFormat};
pub(crate) use search::Search;
pub(crate) use serve::{BundledServer, Http, Serve, Transport};
pub(crate) use server::{RemoteServer, ServerProcess};
pub(crate) use tap::Tap;
pub(crate) use tape::{
    Cat, CheckTape, Diff, Grep, Raw, Redact, Side, Stats, Tape, TapeCommand, ToHar, ToJsonl,
};

use crate::exit;
use values::{log_level, tape_file};

/// The Model Context Protocol toolkit whose every byte you can see.
#[derive(Debug, Parser)]
#[command(name = "papertape", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = after_help(EXAMPLES, true))]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) log: Log,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(Demo),
    List(List),
    Call(Call),
    Read(Read),
    Prompt(Prompt),
    Request(Request),
    Shell(Shell),
    Task(Task),
    Check(Check),
    Login(Login),
    Logout(Logout),
    Serve(Serve),
    Bridge(Box<Bridge>),
    Tap(Box<Tap>),
    Replay(Box<Replay>),
    Page(Box<Page>),
    Tape(Tape),
    Search(Box<Search>),
    Index(Index),
    Key(Key),
    Install(Box<Install>),
    Uninstall(Uninstall),
    Hosts(Hosts),
    New(New),
    Completions(Completions),
    #[command(hide = true)]
    Complete(Complete),
}

/// Show a client, a server, and every byte between them.
///
/// Starts the bundled grammar server twice, once with the newest session-based revision (2025-11-25) and once with the
/// stateless one (2026-07-28), and prints each frame with an explanation.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(DEMO_EXAMPLES, false))]
pub(crate) struct Demo {
    /// The framing of messages; the server responds in the same one.
    #[arg(long, value_enum, value_name = "FRAMING", default_value_t = Framing::Line)]
    pub(crate) framing: Framing,
    /// Record both sessions to one tape, FILE (an existing one is renamed to FILE.old; a FIFO is refused).
    #[arg(long, value_name = "FILE", value_parser = tape_file(), value_hint = ValueHint::FilePath)]
    pub(crate) tape: Option<PathBuf>,
}

/// Print a shell completion script.
///
/// In bash, zsh and fish it completes commands, options, servers (bundled, and those of .mcp.json or --config), and what a server
/// has: tools, their arguments and values, URIs, prompts. For that, the server on the command line is started, for at most
/// two seconds; what it lists is kept for a minute. In elvish and PowerShell it completes commands and options.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(COMPLETIONS_EXAMPLES, false), arg_required_else_help = true)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Complete a command line: what the scripts of `papertape completions` call.
#[derive(Debug, clap::Args)]
pub(crate) struct Complete {
    #[arg(value_enum)]
    pub(crate) shell: CompletedShell,
    /// bash: the line up to the cursor, the rest of it, and what bash replaces. zsh and fish: the index of the current word, and
    /// the words.
    #[arg(last = true)]
    pub(crate) words: Vec<OsString>,
}

/// The shells whose completion scripts call back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompletedShell {
    Bash,
    Zsh,
    Fish,
}

const EXAMPLES: &str = "  \
  papertape demo
  papertape list grammar
  papertape call grammar conjugate verb=eat tense='past simple' person=3sg
  papertape list -- npx -y @modelcontextprotocol/server-everything";

const DEMO_EXAMPLES: &str = "  \
  papertape demo
  papertape demo --framing content-length
  papertape demo --tape demo.tape";

const COMPLETIONS_EXAMPLES: &str = "  \
  source <(papertape completions bash)
  papertape completions zsh > ~/.zfunc/_papertape
  papertape completions fish > ~/.config/fish/completions/papertape.fish";

/// The text below the options.
fn after_help(examples: &str, codes: bool) -> String {
    if codes { after_help_with(examples, exit::CODES) } else { section("Examples", examples) }
}

/// The same with exit codes of a command's own.
fn after_help_with(examples: &str, codes: &str) -> String {
    format!("{}\n\n{}", section("Examples", examples), section("Exit codes", codes))
}

fn section(title: &str, text: &str) -> String {
    let style = *Styles::styled().get_header();
    format!("{style}{title}:{style:#}\n{text}")
}

/// Logs to stderr.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Log {
    /// The log level on stderr; takes precedence over RUST_LOG [default: warn].
    #[arg(long, global = true, value_name = "LEVEL", value_parser = log_level(), help_heading = "Logging")]
    pub(crate) log_level: Option<LevelFilter>,
    /// The log format.
    #[arg(long, global = true, value_name = "FORMAT", value_enum, default_value_t = Format::Text, help_heading = "Logging")]
    pub(crate) log_format: Format,
    /// Export traces and metrics to the OpenTelemetry collector at URL, such as http://localhost:4318; takes precedence over
    /// OTEL_EXPORTER_OTLP_ENDPOINT.
    #[cfg(feature = "otel")]
    #[arg(long, global = true, value_name = "URL", value_hint = ValueHint::Url, help_heading = "Logging")]
    pub(crate) otlp: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One JSON object per line, for programs.
    Json,
}

/// The format of stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// One JSON document, for programs.
    Json,
}

/// The framing of messages on a byte stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Framing {
    /// One message per line, as MCP specifies.
    Line,
    /// A Content-Length header before each message, as in LSP.
    ContentLength,
}

impl From<Framing> for papertape::wire::Framing {
    fn from(framing: Framing) -> Self {
        match framing {
            Framing::Line => Self::Line,
            Framing::ContentLength => Self::ContentLength,
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_definition_is_consistent() {
        <super::Args as clap::CommandFactory>::command().debug_assert();
    }
}
