//! The arguments of `login`, `logout` and `key`.

use std::path::PathBuf;
use std::time::SystemTime;

use clap::ValueHint;

use super::after_help;
use super::client::FromFile;
use super::values::future_time;

/// Sign in to a server over HTTP (OAuth 2.1), and save its tokens.
///
/// Prints the authorization URL, opens it in a browser, and waits for the redirect. Once the server has accepted the tokens,
/// they are saved to a file that only you can read (papertape/tokens.json in $XDG_DATA_HOME or ~/.local/share). Other
/// commands sign in by themselves when a server requires authorization, if there is a terminal.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(LOGIN_EXAMPLES, false), arg_required_else_help = true)]
pub(crate) struct Login {
    /// The URL of the server, or its name in .mcp.json or --config.
    #[arg(value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) url: String,
    #[command(flatten)]
    pub(crate) from_file: FromFile,
    /// Request this scope besides those that the server requires; may be repeated.
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// The client id of a pre-registered client [default: the client is registered dynamically].
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// The port of the redirect URI on 127.0.0.1 [default: any free port].
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Trust the certificates in FILE (PEM) besides those of the system.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ca: Option<PathBuf>,
    /// Print the URL, but do not open a browser.
    #[arg(long)]
    pub(crate) no_open: bool,
}

/// Delete the saved tokens for a server.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(LOGOUT_EXAMPLES, false), arg_required_else_help = true)]
pub(crate) struct Logout {
    /// The URL of the server, or its name in .mcp.json or --config.
    #[arg(value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) url: String,
    #[command(flatten)]
    pub(crate) from_file: FromFile,
}

/// Make an API key for a server over HTTP.
///
/// The key is printed to stdout, once: the key file of the server (TOML) holds only its hash. The entry for the key file is
/// printed to stderr, or added to the file that --file names. A running server reads the change within two seconds. To
/// revoke a key, remove its entry: open streams that use it are closed.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(KEY_EXAMPLES, false), arg_required_else_help = true)]
pub(crate) struct Key {
    /// The principal: letters, digits, dots, hyphens, underscores and @. Logs and tools see this name.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// A scope that the key grants; may be repeated.
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// When the key expires: a duration (90d, 12h), a date (2027-01-31) or a timestamp (2027-01-31T12:00:00Z) [default: never].
    #[arg(long, value_name = "WHEN", value_parser = future_time)]
    pub(crate) expires: Option<SystemTime>,
    /// Add the entry to this key file, which is created (readable by you only) if it does not exist.
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
