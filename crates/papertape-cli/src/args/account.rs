//! What was typed about who may come in: keys that are made, servers that are signed in to.

use std::path::PathBuf;
use std::time::SystemTime;

use clap::ValueHint;

use super::after_help;
use super::values::moment;

/// Sign in to a server on HTTP, and keep its tokens for later.
///
/// Shows the address of the page where you sign in, opens it in a browser, and waits until you are done there. The tokens go
/// into a file that only you can read (papertape/tokens.json in $XDG_DATA_HOME or ~/.local/share), once the server has
/// accepted them. Other commands do the same by themselves when a server asks, if there is a terminal.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(LOGIN_EXAMPLES, false), arg_required_else_help = true)]
pub(crate) struct Login {
    /// The server.
    #[arg(value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) url: String,
    /// Ask for this scope besides what the server wants; may be given again.
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// The client id that the server's operator gave you; without it, one is made.
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// The port of 127.0.0.1 that the browser comes back to [default: any that is free].
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Trust the certificates in FILE (PEM) beside those of the system.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ca: Option<PathBuf>,
    /// Show the address, but open no browser.
    #[arg(long)]
    pub(crate) no_open: bool,
}

/// Forget the tokens for a server.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(LOGOUT_EXAMPLES, false), arg_required_else_help = true)]
pub(crate) struct Logout {
    /// The server.
    #[arg(value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) url: String,
}

/// Make a key that opens a server on HTTP.
///
/// The key goes to stdout, once: what the server keeps (in a file of keys, TOML) is a hash, from which nobody can find it
/// out. The entry for that file goes to stderr, or straight into the file that --file names. A running server sees the
/// change within two seconds. To revoke a key, take its entry out: streams that are open with it end, too.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(KEY_EXAMPLES, false), arg_required_else_help = true)]
pub(crate) struct Key {
    /// Whose it is: letters, digits, dots, hyphens, underscores and @. Logs and tools see this name.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What whoever has it may do; may be given again.
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// Until when: a time from now (90d, 12h), a day (2027-01-31) or a moment (2027-01-31T12:00:00Z).
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    pub(crate) expires: Option<SystemTime>,
    /// Add its entry to this file of keys, which is made (for your eyes only) if there is none.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
}

const LOGIN_EXAMPLES: &str = "  \
  papertape login https://tools.example.com/mcp
  papertape login https://tools.example.com/mcp --scope files:read --no-open
  papertape login https://tools.example.com/mcp --client-id abc --port 8123";

const LOGOUT_EXAMPLES: &str = "  \
  papertape logout https://tools.example.com/mcp";

const KEY_EXAMPLES: &str = "  \
  papertape key ci --file keys.toml
  papertape key alice@example.com --scope read --scope write --expires 90d --file keys.toml";
