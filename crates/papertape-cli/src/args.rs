//! What was typed.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::SystemTime;

use clap::builder::{PossibleValue, PossibleValuesParser, Styles, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use papertape::protocol::Revision;

use crate::exit;

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
    Login(Login),
    Logout(Logout),
    Serve(Serve),
    Key(Key),
    Completions(Completions),
}

/// Show the whole idea in one screen: a client, a server, and every byte between them.
///
/// Starts the bundled grammar server twice, talks to it in the newest revision that opens with a handshake and in the
/// newest of all, and shows each frame as it crosses.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(DEMO_EXAMPLES, false))]
pub(crate) struct Demo {
    /// How the client marks where a message ends; the server answers in the same way.
    #[arg(long, value_enum, value_name = "FRAMING", default_value_t = Framing::Line)]
    pub(crate) framing: Framing,
    /// Keep both conversations on one tape, FILE (an old one is kept as FILE.old).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tape: Option<PathBuf>,
}

/// Show what a server offers: tools with their arguments, resources and prompts.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(LIST_EXAMPLES, true), arg_required_else_help = true)]
#[command(
    override_usage = "papertape list [OPTIONS] TARGET\n       papertape list [OPTIONS] -- COMMAND [ARGUMENT]..."
)]
pub(crate) struct List {
    /// A bundled server (grammar, text), a URL, or a quoted command line, which is split as a shell would and run without
    /// one.
    #[arg(value_name = "TARGET", value_hint = ValueHint::CommandString)]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// Call a tool.
///
/// Text goes to stdout as it is. Structured content is printed if there is no text. Pictures, sound and other bytes go
/// into the folder that --out names. If the tool says that it failed, its words go to stderr and the exit code is 1.
///
/// The tool's schema says what VALUE is: text, a number, true or false; a NAME that is given again makes a list longer,
/// and a.b=VALUE is a member of an object. NAME:=JSON is sent as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(CALL_EXAMPLES, true), arg_required_else_help = true)]
#[command(override_usage = "papertape call [OPTIONS] TARGET TOOL [NAME=VALUE]...\n       \
    papertape call [OPTIONS] TOOL [NAME=VALUE]... -- COMMAND [ARGUMENT]...")]
pub(crate) struct Call {
    /// The server (see `papertape list --help`), the tool, and its arguments.
    #[arg(value_name = "TARGET TOOL NAME=VALUE")]
    pub(crate) words: Vec<String>,
    /// The arguments as one JSON object: itself, @FILE, or - for stdin; a NAME=VALUE goes before it.
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) json: Option<String>,
    /// Keep pictures, sound and other bytes in this folder, under names of their own.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// Read a resource.
///
/// Text goes to stdout, and so do bytes unless stdout is a terminal.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(READ_EXAMPLES, true), arg_required_else_help = true)]
#[command(override_usage = "papertape read [OPTIONS] TARGET URI\n       \
    papertape read [OPTIONS] URI -- COMMAND [ARGUMENT]...")]
pub(crate) struct Read {
    /// The server (see `papertape list --help`), and the resource.
    #[arg(value_name = "TARGET URI")]
    pub(crate) words: Vec<String>,
    /// Keep what is no text in this folder, under names of their own.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// Fill in a prompt and show what it says.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(PROMPT_EXAMPLES, true), arg_required_else_help = true)]
#[command(override_usage = "papertape prompt [OPTIONS] TARGET PROMPT [NAME=VALUE]...\n       \
    papertape prompt [OPTIONS] PROMPT [NAME=VALUE]... -- COMMAND [ARGUMENT]...")]
pub(crate) struct Prompt {
    /// The server (see `papertape list --help`), the prompt, and what to fill in.
    #[arg(value_name = "TARGET PROMPT NAME=VALUE")]
    pub(crate) words: Vec<String>,
    /// Keep pictures, sound and other bytes in this folder, under names of their own.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// Sign in to a server on HTTP, and keep its tokens for later.
///
/// Shows the address of the page where you sign in, opens it in a browser, and waits until you are done there. The tokens go
/// into a file that only you can read (papertape/tokens.json in $XDG_DATA_HOME or ~/.local/share). Other commands do the
/// same by themselves when a server asks, if there is a terminal.
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

/// How to reach a server, and what to show of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Connect {
    /// A command in place of TARGET: the server is started with these words as they are.
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
    /// For people, or one JSON document for programs (errors too).
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    pub(crate) output: Output,
    /// Print every frame to stderr as it crosses.
    #[arg(long)]
    pub(crate) trace: bool,
    /// Record every frame, both ways, into FILE (an old one is kept as FILE.old).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tape: Option<PathBuf>,
    /// Speak this revision and no other [default: the newest that the server speaks].
    #[arg(long, value_name = "REVISION", value_parser = revision(), help_heading = "Server")]
    pub(crate) revision: Option<Revision>,
    /// How messages to the server are told apart; its own may be either [default: line].
    #[arg(long, value_enum, value_name = "FRAMING", help_heading = "Server that is started")]
    pub(crate) framing: Option<Framing>,
    /// How long to wait for the server [default: 30 for the opening, 60 for each answer].
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Server")]
    pub(crate) timeout: Option<f64>,
    /// How long to wait for a sign that the server speaks the newest revision, before an older one is tried.
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds, help_heading = "Server")]
    pub(crate) probe: f64,
    /// Set a variable in the server's environment; may be given again.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable, help_heading = "Server that is started")]
    pub(crate) env: Vec<(String, String)>,
    /// Start the server in this folder.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Server that is started")]
    pub(crate) cwd: Option<PathBuf>,
    /// Send a header with every request; may be given again.
    #[arg(long, value_name = "NAME: VALUE", value_parser = header, help_heading = "Server at a URL")]
    pub(crate) header: Vec<(String, String)>,
    /// Show who asks with the token in FILE.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Server at a URL")]
    pub(crate) bearer_file: Option<PathBuf>,
    /// Trust the certificates in FILE (PEM) beside those of the system.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Server at a URL")]
    pub(crate) ca: Option<PathBuf>,
}

impl Connect {
    /// An option that was given and is for servers that are started.
    pub(crate) fn of_commands(&self) -> Option<&'static str> {
        let given = [
            ("--framing", self.framing.is_some()),
            ("--env", !self.env.is_empty()),
            ("--cwd", self.cwd.is_some()),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }

    /// An option that was given and is for servers at a URL.
    pub(crate) fn of_addresses(&self) -> Option<&'static str> {
        let given = [
            ("--header", !self.header.is_empty()),
            ("--bearer-file", self.bearer_file.is_some()),
            ("--ca", self.ca.is_some()),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }
}

/// Run a bundled server on stdio, for any MCP host, or on HTTP.
///
/// On stdio the server reads requests from stdin and answers on stdout, one JSON message per line, or with Content-Length
/// headers if that is how the host begins. It ends when its input ends.
///
/// On HTTP it is at /mcp and serves clients of all revisions, with and without sessions. Only names and pages of this
/// machine come in, unless others are allowed. At SIGTERM running requests finish and streams end.
///
/// It speaks every revision from 2024-11-05 to 2026-07-28; the host chooses.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(SERVE_EXAMPLES, false), arg_required_else_help = true)]
pub(crate) struct Serve {
    /// Which server.
    #[arg(value_name = "NAME", value_parser = server_names())]
    pub(crate) server: String,
    /// Record every frame, both ways, into FILE (an old one is kept as FILE.old).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tape: Option<PathBuf>,
    /// Seconds that running requests get to finish once the input has ended.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub(crate) grace: f64,
    /// Serve on when the process that started this one has died, as long as the input is open.
    #[arg(long, conflicts_with = "http")]
    pub(crate) outlive_parent: bool,
    #[command(flatten)]
    pub(crate) http: Http,
}

/// How to serve on HTTP.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "HTTP")]
pub(crate) struct Http {
    /// Serve on HTTP at this address, such as 127.0.0.1:8080 (port 0: any that is free; it is told on stderr).
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) http: Option<SocketAddr>,
    /// A name that the server is reached by, besides localhost; may be given again.
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) allow_host: Vec<String>,
    /// Pages that may use the server from a browser, given as SCHEME://NAME; may be given again.
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) allow_origin: Vec<String>,
    /// Serve the transport of 2024-11-05 too, at /sse and /messages.
    #[arg(long, requires = "http")]
    pub(crate) legacy_sse: bool,
    /// Answer at /healthz.
    #[arg(long, requires = "http")]
    pub(crate) health: bool,
    /// Tell figures at /metrics, for Prometheus.
    #[arg(long, requires = "http")]
    pub(crate) metrics: bool,
    /// Serve only those who have one of the keys in FILE (`papertape key` makes them). It is read again when it changes.
    #[arg(long, value_name = "FILE", requires = "http", value_hint = ValueHint::FilePath)]
    pub(crate) auth: Option<PathBuf>,
    /// Serve those who have a token of this authorization server (OAuth 2.1); may be given again.
    #[arg(long, value_name = "URL", requires_all = ["http", "resource"])]
    pub(crate) issuer: Vec<String>,
    /// The server's own URL, as its clients and the tokens that they get call it.
    #[arg(long, value_name = "URL", requires = "issuer")]
    pub(crate) resource: Option<String>,
    /// What everybody must be allowed to do to be served at all; may be given again.
    #[arg(long, value_name = "SCOPE", requires = "http")]
    pub(crate) require_scope: Vec<String>,
    /// A file with 32 random bytes in base64 (`openssl rand -base64 32`), the same for all replicas behind one address, so
    /// that any of them can go on with what another one began.
    #[arg(long, value_name = "FILE", requires = "http", value_hint = ValueHint::FilePath)]
    pub(crate) state_key: Option<PathBuf>,
}

/// Make a key that opens a server on HTTP.
///
/// The key goes to stdout, once: what the server keeps (in a file of keys, TOML) is a hash, from which nobody can find it
/// out. The entry for that file goes to stderr, or straight into the file that --file names. A running server sees the
/// change within a second. To take a key back, take its entry out.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(KEY_EXAMPLES, false), arg_required_else_help = true)]
pub(crate) struct Key {
    /// Whose it is: letters, digits, points, lines and @. Logs and tools see this name.
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

/// Print a script that completes papertape's commands and options in a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(COMPLETIONS_EXAMPLES, false), arg_required_else_help = true)]
pub(crate) struct Completions {
    /// Which shell.
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: clap_complete::Shell,
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

const LIST_EXAMPLES: &str = "  \
  papertape list grammar
  papertape list 'python3 server.py --flag'
  papertape list https://tools.example/mcp --bearer-file token.txt
  papertape list --trace -- npx -y @modelcontextprotocol/server-everything
  papertape list grammar --output json | jq '.tools[].name'";

const CALL_EXAMPLES: &str = "  \
  papertape call grammar conjugate verb=eat tense='past simple' person=3sg
  papertape call text word_count --json '{\"text\": \"one two\"}'
  papertape call text echo --json - < arguments.json
  papertape call draw size:=[3,4] --out pictures -- ./my-server --fast
  papertape call grammar lookup_spanish english_form=ate --tape session.tape --trace";

const READ_EXAMPLES: &str = "  \
  papertape read 'python3 server.py' file:///notes/today.md
  papertape read demo://image.png --env TOKEN=x -- ./my-server > image.png";

const PROMPT_EXAMPLES: &str = "  \
  papertape prompt 'python3 server.py' review language=rust
  papertape prompt review language=rust --output json -- ./my-server";

const LOGIN_EXAMPLES: &str = "  \
  papertape login https://tools.example.com/mcp
  papertape login https://tools.example.com/mcp --scope files:read --no-open
  papertape login https://tools.example.com/mcp --client-id abc --port 8123";

const LOGOUT_EXAMPLES: &str = "  \
  papertape logout https://tools.example.com/mcp";

const SERVE_EXAMPLES: &str = "  \
  papertape serve grammar
  papertape serve grammar --http 127.0.0.1:8080
  papertape serve grammar --tape session.tape
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' | papertape serve text";

const KEY_EXAMPLES: &str = "  \
  papertape key ci --file keys.toml
  papertape key alice@example.com --scope read --scope write --expires 90d --file keys.toml";

const COMPLETIONS_EXAMPLES: &str = "  \
  source <(papertape completions bash)
  papertape completions zsh > ~/.zfunc/_papertape
  papertape completions fish > ~/.config/fish/completions/papertape.fish";

/// What stands below the options.
fn after_help(examples: &str, codes: bool) -> String {
    let style = *Styles::styled().get_header();
    let codes =
        if codes { format!("\n\n{style}Exit codes:{style:#}\n{}", exit::CODES) } else { String::new() };
    format!("{style}Examples:{style:#}\n{examples}{codes}")
}

/// What goes to stderr.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Log {
    /// How much to log to stderr; goes before RUST_LOG [default: warn].
    #[arg(long, global = true, value_name = "LEVEL", value_enum, help_heading = "Logging")]
    pub(crate) log_level: Option<Level>,
    /// How to write logs.
    #[arg(long, global = true, value_name = "FORMAT", value_enum, default_value_t = Format::Text, help_heading = "Logging")]
    pub(crate) log_format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One JSON object per line, for programs.
    Json,
}

/// What goes to stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// One JSON document, for programs.
    Json,
}

/// How messages are told apart on a byte stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Framing {
    /// One message per line, as MCP says.
    Line,
    /// Headers before each message, as some hosts and servers do.
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

/// A wrong name is answered with the right ones.
fn server_names() -> impl TypedValueParser<Value = String> {
    let names = papertape_servers::ALL.map(|server| PossibleValue::new(server.name).help(server.about));
    PossibleValuesParser::new(names)
}

/// A wrong revision is answered with the right ones.
fn revision() -> impl TypedValueParser<Value = Revision> {
    let names = Revision::ALL.map(|revision| PossibleValue::new(revision.as_str()));
    PossibleValuesParser::new(names).try_map(|name| Revision::parse(&name).ok_or("there is no such revision"))
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("give a number of seconds from 0 to 86400".to_owned()),
    }
}

/// A moment that is still to come.
fn moment(text: &str) -> Result<SystemTime, String> {
    let now = SystemTime::now();
    let day = || humantime::parse_rfc3339(&format!("{text}T00:00:00Z")).ok();
    let from_now = || humantime::parse_duration(text).ok().and_then(|time| now.checked_add(time));
    let moment = humantime::parse_rfc3339(text).ok().or_else(day).or_else(from_now);
    let moment =
        moment.ok_or("write a time from now (90d), a day (2027-01-31) or a moment (2027-01-31T12:00:00Z)")?;
    if moment <= now {
        return Err("this is over already".to_owned());
    }
    Ok(moment)
}

fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write NAME: VALUE".to_owned()),
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_arguments_make_sense() {
        <super::Args as clap::CommandFactory>::command().debug_assert();
    }
}
