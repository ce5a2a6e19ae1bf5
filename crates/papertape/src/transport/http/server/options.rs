//! How a server is to be served on HTTP.

use std::path::PathBuf;

use crate::transport::http::auth::Auth;

/// How a server is served on HTTP. What is not said is safe: only this machine's own names and pages come in.
///
/// ```
/// use papertape::http;
/// let options = http::Options::new().host("tools.example.com").origin("https://app.example.com").health();
/// ```
#[derive(Debug)]
pub struct Options {
    pub(crate) path: String,
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
    pub(crate) any_host: bool,
    pub(crate) body: usize,
    pub(crate) requests_per_client: Option<usize>,
    pub(crate) legacy: bool,
    pub(crate) legacy_sse: bool,
    pub(crate) health: bool,
    pub(crate) metrics: bool,
    pub(crate) auth: Option<Auth>,
    pub(crate) tape: Option<PathBuf>,
    pub(crate) connections: ConnectionLimits,
}

pub use crate::transport::http::accept::ConnectionLimits;

impl Default for Options {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            hosts: Vec::new(),
            origins: Vec::new(),
            any_host: false,
            body: 4 * 1024 * 1024,
            requests_per_client: None,
            legacy: true,
            legacy_sse: false,
            health: false,
            metrics: false,
            auth: None,
            tape: None,
            connections: ConnectionLimits::default(),
        }
    }
}

impl Options {
    /// Safe ones: at `/mcp`, for this machine only.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Where MCP is, in place of `/mcp`.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// A name (`tools.example.com`, or with a port) that the server is reached by, besides the machine's own.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Pages (`https://app.example.com`) that may use the server from a browser, besides those it is the origin of.
    #[must_use]
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Lets in every name. For those who check the host themselves, as a proxy in front may.
    #[must_use]
    pub fn any_host(mut self) -> Self {
        self.any_host = true;
        self
    }

    /// The most bytes that a request may have: 4 MiB unless told otherwise.
    #[must_use]
    pub fn body(mut self, bytes: usize) -> Self {
        self.body = bytes;
        self
    }

    /// The most requests of one client that are served at once, open streams among them; over it, the answer is 503 with
    /// `Retry-After`. Half of [`ConnectionLimits::connections`] unless told otherwise, so that one client cannot shut out all
    /// others.
    ///
    /// A client is a principal, wherever it comes from; without [`auth`](Self::auth) it is an address (in IPv6 a network of 64
    /// bits). Behind a reverse proxy all clients have the proxy's address and share the limit, because `X-Forwarded-For` and
    /// its like are not believed: let the proxy limit them, or use principals. A server that is mounted with
    /// [`service`](super::service) knows no addresses, and counts principals only.
    #[must_use]
    pub fn requests_per_client(mut self, requests: usize) -> Self {
        self.requests_per_client = Some(requests);
        self
    }

    pub(crate) fn most_requests_per_client(&self) -> usize {
        self.requests_per_client.unwrap_or(self.connections.connections / 2).max(1)
    }

    /// Serves only revisions whose requests stand alone: no sessions, and none of the older transports. No other revision is
    /// named in `server/discover` or in errors.
    #[must_use]
    pub fn modern_only(mut self) -> Self {
        self.legacy = false;
        self
    }

    /// Also serves the transport of 2024-11-05, at `/sse` and `/messages`.
    #[must_use]
    pub fn legacy_sse(mut self) -> Self {
        self.legacy_sse = true;
        self
    }

    /// Answers at `/healthz`, for whoever watches over processes.
    #[must_use]
    pub fn health(mut self) -> Self {
        self.health = true;
        self
    }

    /// Tells figures at `/metrics`, in the format of Prometheus. Nobody has to show who they are to see them.
    #[must_use]
    pub fn metrics(mut self) -> Self {
        self.metrics = true;
        self
    }

    /// Serves only those who show who they are.
    #[must_use]
    pub fn auth(mut self, auth: Auth) -> Self {
        self.auth = Some(auth);
        self
    }

    /// Records every message, both ways, in a file.
    #[must_use]
    pub fn tape(mut self, path: impl Into<PathBuf>) -> Self {
        self.tape = Some(path.into());
        self
    }

    /// How much connections may ask for.
    #[must_use]
    pub fn connections(mut self, limits: ConnectionLimits) -> Self {
        self.connections = limits;
        self
    }
}
