//! The arguments of `papertape tap`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::ValueHint;

use super::values::{listen_address, size, tape_file};
use super::{FromFile, ServerProcess, after_help_with};

/// Record everything that crosses between a host and a server.
///
/// Put it in front of the server's command in the configuration of a host: it starts the server, passes every byte between the two,
/// unchanged and at once, and records stdin, stdout, stderr, start and exit with their times on a tape; not the
/// environment. Recording never delays the traffic: while the disk is full or too slow, a part is not on the tape, and the tape says how much. The command exits as the
/// server does.
///
/// With --http it is a proxy in front of a server at a URL, and records requests and responses with all headers, credentials
/// included: only you can read the tape, and `papertape tape redact` removes them from a copy.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help_with(EXAMPLES, CODES), arg_required_else_help = true)]
#[command(
    override_usage = "papertape tap [OPTIONS] -- COMMAND [ARGUMENT]...\n       papertape tap [OPTIONS] TARGET\n       papertape tap [OPTIONS] --http [ADDRESS:]PORT URL"
)]
pub(crate) struct Tap {
    /// The server (see `papertape list --help`).
    #[arg(value_name = "TARGET", value_hint = ValueHint::CommandString)]
    pub(crate) target: Option<String>,
    /// A command in place of TARGET: the server is started with exactly these arguments.
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
    /// Record to FILE (an existing one is renamed to FILE.old; a FIFO is refused) [default: tapes/NAME-TIME.tape in
    /// $XDG_DATA_HOME/papertape or ~/.local/share/papertape, printed to stderr].
    #[arg(long, value_name = "FILE", value_parser = tape_file(), value_hint = ValueHint::FilePath)]
    pub(crate) tape: Option<PathBuf>,
    /// Rename the tape to FILE.old at this size, and begin another one: both together have at most twice the size.
    #[arg(long, value_name = "SIZE", default_value = "256MB", value_parser = size)]
    pub(crate) max_size: u64,
    /// Hold at most this much in memory that is not on the tape yet. What crosses while there is more is not recorded, and a `lost`
    /// event says how much that was.
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = size)]
    pub(crate) max_memory: u64,
    #[command(flatten)]
    pub(crate) from_file: FromFile,
    #[command(flatten)]
    pub(crate) process: ServerProcess,
    /// Listen at this address for a server at a URL. A port alone means loopback, 127.0.0.1. Port 0 is any free port, printed to
    /// stderr.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = listen_address, help_heading = "Server at a URL (HTTP)")]
    pub(crate) http: Option<SocketAddr>,
    /// Allow this host name in the Host header, besides loopback names; may be repeated.
    #[arg(long, value_name = "NAME", requires = "http", help_heading = "Server at a URL (HTTP)")]
    pub(crate) allow_host: Vec<String>,
    /// Allow this Origin (SCHEME://HOST), besides loopback ones; may be repeated.
    #[arg(long, value_name = "ORIGIN", requires = "http", help_heading = "Server at a URL (HTTP)")]
    pub(crate) allow_origin: Vec<String>,
    /// Trust the certificates in FILE (PEM) besides those of the system.
    #[arg(long, value_name = "FILE", requires = "http", value_hint = ValueHint::FilePath, help_heading = "Server at a URL (HTTP)")]
    pub(crate) ca: Option<PathBuf>,
}

const EXAMPLES: &str = "  \
  papertape tap --tape session.tape -- npx -y @modelcontextprotocol/server-everything
  papertape tap -- python3 server.py --flag
  papertape tap --config mcp.json github
  papertape tap --max-size 100MB --tape notes.tape --env TOKEN=x -- ./notes-server
  papertape tap --http 8080 https://tools.example/mcp";

const CODES: &str = "  \
  that of the server, or 128 and the number of the signal that has ended it; 0 with --http
  2  wrong usage
  3  the server could not be started, or the tape not be created";
