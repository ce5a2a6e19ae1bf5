//! The arguments of `install`, `uninstall` and `hosts`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueHint;
use clap::builder::PossibleValuesParser;
use papertape_install::Host;

use super::values::{header, tape_file, variable};
use super::{Output, after_help};

/// Add a server to the configuration file of a host, or record one that is there (--tap).
///
/// Every byte outside the new entry stays as it is, and `papertape uninstall` restores the file to the byte. A backup is written
/// beside the file (FILE.papertape-backup-N, the newest five are kept). A file that is not valid is reported, and not written.
///
/// Programs are written with their absolute path for hosts that are started from a menu: those do not have the PATH of a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(INSTALL_EXAMPLES, false), arg_required_else_help = true)]
#[command(override_usage = "papertape install [OPTIONS] HOST NAME [TARGET]\n       \
    papertape install [OPTIONS] HOST NAME -- COMMAND [ARGUMENT]...\n       \
    papertape install [OPTIONS] HOST NAME --tap [--tape FILE]")]
pub(crate) struct Install {
    /// The host; `papertape hosts` shows where each keeps its servers.
    #[arg(value_name = "HOST", value_parser = host())]
    pub(crate) host: String,
    /// The name of the server in the file. Without TARGET and COMMAND it is a bundled server (grammar, text, all).
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// A bundled server with its options ('blog --content DIR'), a URL, or a quoted command line, which is split like a shell does.
    #[arg(value_name = "TARGET", value_hint = ValueHint::CommandString)]
    pub(crate) target: Option<String>,
    /// A command in place of TARGET: the host starts it with exactly these arguments.
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
    /// Set an environment variable of the server; may be repeated. The value is written into the file.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,
    /// Let the host send a header to a server at a URL; may be repeated. The value is written into the file.
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) header: Vec<(String, String)>,
    /// Replace another server of this name.
    #[arg(long)]
    pub(crate) force: bool,
    /// Record the server NAME, which the file has: the host starts `papertape tap`, and that starts the server.
    #[arg(long, conflicts_with_all = ["target", "command", "env", "header", "force"])]
    pub(crate) tap: bool,
    /// With --tap: the file to record to [default: papertape/tapes/NAME.tape in $XDG_DATA_HOME or ~/.local/share].
    #[arg(long, value_name = "FILE", value_parser = tape_file(), value_hint = ValueHint::FilePath, requires = "tap")]
    pub(crate) tape: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) file: HostFile,
}

/// Remove a server from the configuration file of a host, or stop recording it (--tap).
///
/// A file that was not changed since `papertape install` is restored to the byte; one that `papertape install` has made is removed.
/// Otherwise the entry is removed with its comma and its line, and everything else stays.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(UNINSTALL_EXAMPLES, false), arg_required_else_help = true)]
pub(crate) struct Uninstall {
    /// The host; `papertape hosts` shows where each keeps its servers.
    #[arg(value_name = "HOST", value_parser = host())]
    pub(crate) host: String,
    /// The name of the server in the file.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Only stop recording it: the entry becomes what it was before `papertape install --tap`.
    #[arg(long)]
    pub(crate) tap: bool,
    #[command(flatten)]
    pub(crate) file: HostFile,
}

/// Which file, and whether it is written.
#[derive(Debug, clap::Args)]
pub(crate) struct HostFile {
    /// Use the file of the project in the current directory, not that of the user.
    #[arg(long)]
    pub(crate) project: bool,
    /// Use this file, in the format of the host.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "project")]
    pub(crate) file: Option<PathBuf>,
    /// Print the change as a unified diff, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The format of stdout.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// Show the hosts, where each keeps its servers, and which it has.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(HOSTS_EXAMPLES, false))]
pub(crate) struct Hosts {
    /// Explain this host: its files, their shape with an example, its logs, and how it gets to know a change.
    #[arg(value_name = "HOST", value_parser = host())]
    pub(crate) host: Option<String>,
    /// The format of stdout.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// The name of a host; the error lists the known ones.
fn host() -> PossibleValuesParser {
    PossibleValuesParser::new(Host::all().iter().map(Host::name))
}

const INSTALL_EXAMPLES: &str = "  \
  papertape install claude-code grammar
  papertape install cursor notes 'blog --content notes'
  papertape install vscode files --project -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  papertape install gemini tools https://tools.example/mcp
  papertape install claude-desktop files --tap --dry-run";

const UNINSTALL_EXAMPLES: &str = "  \
  papertape uninstall claude-code grammar
  papertape uninstall claude-desktop files --tap";

const HOSTS_EXAMPLES: &str = "  \
  papertape hosts
  papertape hosts cursor";
