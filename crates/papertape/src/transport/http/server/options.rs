//! The options of a server on HTTP.

use std::path::PathBuf;

use papertape_oauth::server::Auth;

/// The options of a server on HTTP. The defaults are secure: `Host` and `Origin` are restricted to loopback.
///
/// ```
/// use papertape::http;
/// let options = http::Options::new().host("tools.example.com").origin("https://app.example.com").health();
/// ```
#[derive(Debug)]
pub struct Options {
    pub(crate) path: String,
    /// Mounted in an application, which may have removed a prefix from the path.
    pub(crate) mounted: bool,
    pub(crate) only_at_path: bool,
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
    pub(crate) any_host: bool,
    pub(crate) body: usize,
    pub(crate) requests_per_client: Option<usize>,
    pub(crate) legacy: bool,
    pub(crate) legacy_sse: bool,
    pub(crate) health: bool,
    #[cfg(feature = "metrics")]
    pub(crate) metrics: bool,
    pub(crate) auth: Option<Auth>,
    pub(crate) tape: Option<PathBuf>,
    pub(crate) connections: ConnectionLimits,
}

pub use papertape_http1::ConnectionLimits;

impl Default for Options {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            mounted: false,
            only_at_path: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            any_host: false,
            body: 4 * 1024 * 1024,
            requests_per_client: None,
            legacy: true,
            legacy_sse: false,
            health: false,
            #[cfg(feature = "metrics")]
            metrics: false,
            auth: None,
            tape: None,
            connections: ConnectionLimits::default(),
        }
    }
}

impl Options {
    /// The defaults: at `/mcp`, `Host` and `Origin` restricted to loopback.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The path of the MCP endpoint, in place of `/mcp`. With or without a slash at the end it is the same path.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Serves MCP at [`path`](Self::path) only. A service that is mounted ([`service`](super::service)) also serves it at `/`, which
    /// is where it is nested; for `Router::fallback_service` that is the root of the application.
    #[must_use]
    pub fn only_at_path(mut self) -> Self {
        self.only_at_path = true;
        self
    }

    /// A `Host` (`tools.example.com`, or with a port) that is accepted, besides loopback.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// An `Origin` (`https://app.example.com`) that is accepted, besides the server's own.
    #[must_use]
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Accepts every `Host`, for servers behind a proxy that checks it.
    #[must_use]
    pub fn any_host(mut self) -> Self {
        self.any_host = true;
        self
    }

    /// The largest body of a request: 4 MiB by default.
    #[must_use]
    pub fn body(mut self, bytes: usize) -> Self {
        self.body = bytes;
        self
    }

    /// The most requests of one client that are served at once, open streams among them; over it, the response is 503 with
    /// `Retry-After`. Half of [`ConnectionLimits::connections()`] by default, so that one client cannot shut out all others.
    ///
    /// A client is a principal, wherever it comes from; without [`auth`](Self::auth) it is an address (in IPv6 a network of 64
    /// bits). Behind a reverse proxy all clients have the proxy's address and share the limit, because `X-Forwarded-For` and
    /// its like are not trusted: let the proxy limit them, or use principals. A server that is mounted with
    /// [`service`](super::service) knows no addresses, and counts principals only.
    #[must_use]
    pub fn requests_per_client(mut self, requests: usize) -> Self {
        self.requests_per_client = Some(requests);
        self
    }

    /// Whether this is the path of the MCP endpoint.
    pub(crate) fn is_endpoint(&self, path: &str) -> bool {
        let path = path.strip_suffix('/').unwrap_or(path);
        let at_root = self.mounted && !self.only_at_path;
        path == self.path.strip_suffix('/').unwrap_or(&self.path) || (at_root && path.is_empty())
    }

    pub(crate) fn most_requests_per_client(&self) -> usize {
        self.requests_per_client.unwrap_or(self.connections.connections / 2).max(1)
    }

    /// Serves only stateless revisions: no sessions, and none of the older transports. No other revision is named in
    /// `server/discover` or in errors.
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

    /// Serves `/healthz`, for health checks.
    #[must_use]
    pub fn health(mut self) -> Self {
        self.health = true;
        self
    }

    /// Exposes Prometheus metrics at `/metrics`, without authorization.
    #[cfg(feature = "metrics")]
    #[must_use]
    pub fn metrics(mut self) -> Self {
        self.metrics = true;
        self
    }

    /// Requires authentication: by API keys, by access tokens, or by the application itself.
    ///
    /// ```
    /// use papertape::http::{Auth, Options};
    /// // The application's own layer has put a `Principal` into the request.
    /// let options = Options::new().auth(Auth::from_extensions());
    /// ```
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

    /// The limits and deadlines of connections.
    #[must_use]
    pub fn connections(mut self, limits: ConnectionLimits) -> Self {
        self.connections = limits;
        self
    }
}
