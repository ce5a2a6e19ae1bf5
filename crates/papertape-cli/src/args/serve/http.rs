//! The options of servers over HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::ValueHint;

use crate::args::values::listen_address;

/// How to serve over HTTP.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "HTTP")]
pub(crate) struct Http {
    /// Serve over HTTP at this address: 127.0.0.1:8080, 0.0.0.0:8080. A port alone (8080 or :8080) and localhost
    /// mean loopback, 127.0.0.1. Port 0 is any free port, printed to stderr.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = listen_address)]
    pub(crate) http: Option<SocketAddr>,
    /// Allow this host name in the Host header, besides loopback names; may be repeated.
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) allow_host: Vec<String>,
    /// Allow this Origin (SCHEME://HOST), besides loopback ones, for web pages that use the server; may be repeated.
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) allow_origin: Vec<String>,
    /// Limit of concurrent requests per client, open streams included. A client is an API key or token; without --auth
    /// and --issuer it is an IP address (clients behind a proxy share one) [default: half of all connections].
    #[arg(long, value_name = "N", requires = "http")]
    pub(crate) requests_per_client: Option<usize>,
    /// Also serve the HTTP+SSE transport of 2024-11-05, at /sse and /messages.
    #[arg(long, requires = "http")]
    pub(crate) legacy_sse: bool,
    /// Expose a health check at /healthz.
    #[arg(long, requires = "http")]
    pub(crate) health: bool,
    /// Expose Prometheus metrics at /metrics.
    #[arg(long, requires = "http")]
    pub(crate) metrics: bool,
    /// Require one of the API keys in FILE (`papertape key` makes them). The file is read again when it changes; while it
    /// is missing or invalid, no key is accepted.
    #[arg(long, value_name = "FILE", requires = "http", value_hint = ValueHint::FilePath)]
    pub(crate) auth: Option<PathBuf>,
    /// Accept access tokens of this authorization server (OAuth 2.1); may be repeated.
    #[arg(long, value_name = "URL", requires_all = ["http", "resource"])]
    pub(crate) issuer: Vec<String>,
    /// The server's own URL (its OAuth resource identifier), as clients and access tokens name it.
    #[arg(long, value_name = "URL", requires = "issuer")]
    pub(crate) resource: Option<String>,
    /// A scope that every request must have; may be repeated.
    #[arg(long, value_name = "SCOPE", requires = "http")]
    pub(crate) require_scope: Vec<String>,
    /// A file with 32 random bytes in base64 (`openssl rand -base64 32`), shared by all replicas behind a load balancer, so
    /// that each can continue a request that another one began.
    #[arg(long, value_name = "FILE", requires = "http", value_hint = ValueHint::FilePath)]
    pub(crate) state_key: Option<PathBuf>,
}
