//! The arguments of `papertape page`.

use std::net::SocketAddr;

use clap::ValueHint;

use super::values::listen_address;
use super::{Connect, after_help};

/// Show a tape, or a server and its frames, in a browser.
///
/// TAPE is a file that --tape or `papertape tap` has recorded: a timeline of its frames, stderr and events, with requests paired
/// with their responses. TARGET is a server, as for `papertape list`: the page also lists its tools, resources and prompts, with
/// forms that call them. The page is served on loopback only, and each request needs the token of this start, which is in the
/// URL that is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(EXAMPLES, true), arg_required_else_help = true)]
#[command(
    override_usage = "papertape page [OPTIONS] TAPE\n       papertape page [OPTIONS] TARGET\n       papertape page [OPTIONS] -- COMMAND [ARGUMENT]..."
)]
#[command(mut_arg("output", |option| option.hide(true)), mut_arg("trace", |option| option.hide(true)))]
pub(crate) struct Page {
    /// A tape, or a server (see `papertape list --help`). What is a file and begins like a tape is a tape.
    #[arg(value_name = "TAPE|TARGET", value_hint = ValueHint::FilePath)]
    pub(crate) target: Option<String>,
    /// Follow a tape that is being written; also when its recorder begins another file in its place.
    #[arg(long)]
    pub(crate) live: bool,
    /// Listen here: a loopback address, or a port of it [default: a free port].
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    pub(crate) http: Option<SocketAddr>,
    /// Print the URL, and open no browser.
    #[arg(long)]
    pub(crate) no_open: bool,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

const EXAMPLES: &str = "  \
  papertape page session.tape
  papertape page session.tape --live
  papertape page grammar
  papertape page -- npx -y @modelcontextprotocol/server-everything
  papertape page https://tools.example/mcp --bearer-file token.txt --tape session.tape";
