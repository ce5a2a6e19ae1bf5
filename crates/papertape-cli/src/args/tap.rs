//! The arguments of `papertape tap`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueHint;

use super::values::size;
use super::{FromFile, ServerProcess, after_help_with};

/// Record everything that crosses between a host and a server.
///
/// Put it in front of the server's command in the configuration of a host: it starts the server, passes every byte between the two,
/// unchanged and at once, and records stdin, stdout, stderr, start and exit with their times on a tape; not the environment. Recording never delays the
/// traffic: while the disk is full or too slow, a part is not on the tape, and the tape says how much. The command exits as the
/// server does.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help_with(EXAMPLES, CODES), arg_required_else_help = true)]
#[command(
    override_usage = "papertape tap [OPTIONS] -- COMMAND [ARGUMENT]...\n       papertape tap [OPTIONS] TARGET"
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
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tape: Option<PathBuf>,
    /// Rename the tape to FILE.old at this size, and begin another one: both together have at most twice the size.
    #[arg(long, value_name = "SIZE", default_value = "256MB", value_parser = size)]
    pub(crate) max_size: u64,
    #[command(flatten)]
    pub(crate) from_file: FromFile,
    #[command(flatten)]
    pub(crate) process: ServerProcess,
}

const EXAMPLES: &str = "  \
  papertape tap --tape session.tape -- npx -y @modelcontextprotocol/server-everything
  papertape tap -- python3 server.py --flag
  papertape tap --config mcp.json github
  papertape tap --max-size 100MB --tape notes.tape --env TOKEN=x -- ./notes-server";

const CODES: &str = "  \
  that of the server, or 128 and the number of the signal that has ended it
  2  wrong usage
  3  the server could not be started, or the tape not be created";
