//! The arguments of `papertape bridge`.

use clap::ValueHint;

use super::{Connect, after_help};

/// Connect a host to a server of another revision, framing or transport.
///
/// Serves on stdin and stdout what the server offers, in the protocol revision and the framing of the host, whichever those are.
/// The server may be a process, at a URL, or on a Unix socket; it is connected when the first message of the host has arrived, with
/// the name and the capabilities of the host. Requests, progress, cancellation, log messages and changes of lists pass through, and
/// so does what the server requests of the host: elicitation, sampling and roots.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(EXAMPLES, true), arg_required_else_help = true)]
#[command(
    override_usage = "papertape bridge [OPTIONS] TARGET\n       papertape bridge [OPTIONS] -- COMMAND [ARGUMENT]..."
)]
#[command(mut_arg("output", |option| option.hide(true)), mut_arg("root", |option| option.hide(true)))]
pub(crate) struct Bridge {
    /// The server (see `papertape list --help`).
    #[arg(value_name = "TARGET", value_hint = ValueHint::CommandString)]
    pub(crate) target: Option<String>,
    /// Show this tool and no others; may be repeated. A name may end in *, for any end.
    #[arg(long, value_name = "TOOL", help_heading = "What the host sees")]
    pub(crate) only: Vec<String>,
    /// Hide this tool; may be repeated. Takes precedence over --only.
    #[arg(long, value_name = "TOOL", help_heading = "What the host sees")]
    pub(crate) hide: Vec<String>,
    /// Show only tools that declare that they modify nothing (readOnlyHint), which the server alone vouches for.
    #[arg(long, help_heading = "What the host sees")]
    pub(crate) read_only: bool,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

const EXAMPLES: &str = "  \
  papertape bridge -- ./old-server --flag
  papertape bridge https://tools.example/mcp --bearer-file token.txt
  papertape bridge --read-only --hide 'delete_*' -- npx -y @modelcontextprotocol/server-everything";
