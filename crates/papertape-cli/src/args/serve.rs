//! What was typed to run a bundled server.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::ValueHint;
use papertape_servers::blog;

use super::after_help;
use super::index::Search;
use super::values::{seconds, server_names};

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
    /// Record every frame, both ways, into FILE (an old one is kept as FILE.old; a FIFO is refused).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tape: Option<PathBuf>,
    /// Seconds that running requests get to finish once the input has ended.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub(crate) grace: f64,
    /// Serve on when the process that started this one has died, as long as the input is open.
    #[arg(long, conflicts_with = "http")]
    pub(crate) outlive_parent: bool,
    #[command(flatten)]
    pub(crate) blog: Blog,
    #[command(flatten)]
    pub(crate) http: Http,
}

/// What the blog server serves.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The server blog")]
pub(crate) struct Blog {
    /// The folder of Markdown [default: the current one, unless --index or --store says where to search].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) content: Option<PathBuf>,
    /// The folder of the index [default: .papertape within the folder of Markdown].
    #[arg(long, alias = "out", value_name = "PATH", value_hint = ValueHint::DirPath, conflicts_with = "store")]
    pub(crate) index: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) search: Search,
    /// Index what changes in the folder while it is served.
    #[arg(long)]
    pub(crate) watch: bool,
}

impl Blog {
    /// An option that was given, all of which are for this server alone.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--content", self.content.is_some()),
            ("--index", self.index.is_some()),
            ("--store", self.search.store.is_some()),
            ("--embed", self.search.embed.is_some()),
            ("--watch", self.watch),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }

    pub(crate) fn options(self) -> blog::Options {
        let Blog { content, index, search, watch } = self;
        blog::Options { content, index, watch, ..search.options() }
    }
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
    /// The most requests of one client that are served at once, open streams among them. A client is a key or token, and
    /// without --auth and --issuer an address (all clients behind a proxy share one). Half of all connections by default.
    #[arg(long, value_name = "N", requires = "http")]
    pub(crate) requests_per_client: Option<usize>,
    /// Serve the transport of 2024-11-05 too, at /sse and /messages.
    #[arg(long, requires = "http")]
    pub(crate) legacy_sse: bool,
    /// Answer at /healthz.
    #[arg(long, requires = "http")]
    pub(crate) health: bool,
    /// Tell figures at /metrics, for Prometheus.
    #[arg(long, requires = "http")]
    pub(crate) metrics: bool,
    /// Serve only those who have one of the keys in FILE (`papertape key` makes them). It is read again when it changes; while
    /// it is gone or broken, no key is valid.
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

const SERVE_EXAMPLES: &str = "  \
  papertape serve grammar
  papertape serve blog --content notes --watch
  papertape serve grammar --http 127.0.0.1:8080
  papertape serve grammar --tape session.tape
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' | papertape serve text";
