//! The arguments of `papertape bridge`.

use clap::ValueHint;

use super::{Connect, Http, after_help_with};
use crate::exit::BRIDGE_CODES;

/// Connect a host to a server of another revision, framing or transport.
///
/// Serves on stdin and stdout, or over HTTP (--http), what the server offers, in the protocol revision and the framing of the host.
/// The server may be a process, at a URL, or on a Unix socket; it is connected when the first message of the host has arrived, with
/// the name and the capabilities of the host. Requests, progress, cancellation, log messages and changes of lists pass through, and
/// so does what the server requests of the host: elicitation, sampling and roots.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help_with(EXAMPLES, BRIDGE_CODES), arg_required_else_help = true)]
#[command(
    override_usage = "papertape bridge [OPTIONS] TARGET\n       papertape bridge [OPTIONS] -- COMMAND [ARGUMENT]...\n       papertape bridge [OPTIONS] --config FILE"
)]
#[command(mut_arg("output", |option| option.hide(true)), mut_arg("root", |option| option.hide(true)))]
pub(crate) struct Bridge {
    /// The server (see `papertape list --help`). With --config and without TARGET, all servers of the file as one: the names of
    /// their tools and prompts begin with that of the server (`github_search`), and one that cannot be used, or is not ready after
    /// 5 s, is left out until it can.
    #[arg(value_name = "TARGET", value_hint = ValueHint::CommandString)]
    pub(crate) target: Option<String>,
    /// Show this tool and no others; may be repeated. A name may end in *, for any end.
    #[arg(long, value_name = "TOOL", help_heading = "What the host sees")]
    pub(crate) only: Vec<String>,
    /// Hide this tool; may be repeated. Takes precedence over --only.
    #[arg(long, value_name = "TOOL", help_heading = "What the host sees")]
    pub(crate) hide: Vec<String>,
    /// Show only tools that declare that they modify nothing (readOnlyHint), a hint of the server that is not verified.
    #[arg(long, help_heading = "What the host sees")]
    pub(crate) read_only: bool,
    /// Start a server process for each session of a host, and not one for all hosts. Hosts of 2026-07-28 have no sessions: they
    /// share one.
    #[arg(long, requires = "http", help_heading = "HTTP")]
    pub(crate) per_session: bool,
    #[command(flatten)]
    pub(crate) http: Http,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

const EXAMPLES: &str = "  \
  papertape bridge -- ./old-server --flag
  papertape bridge https://tools.example/mcp --bearer-file token.txt
  papertape bridge --http 8080 --auth keys.toml --health -- npx -y @playwright/mcp
  papertape bridge --config mcp.json
  papertape bridge --read-only --hide 'delete_*' -- npx -y @modelcontextprotocol/server-everything";
