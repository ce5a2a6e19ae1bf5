//! MCP on HTTP, for clients and servers, in stateless and session-based revisions.
//!
//! A request that reaches a server passes `papertape_http1` (connections, their limits and deadlines), then `server`. A
//! client's requests go through `client`.

#[cfg(feature = "http-client")]
mod client;
pub(crate) mod headers;
mod heads;
#[cfg(feature = "http-server")]
mod server;

#[cfg(feature = "http-client")]
pub use client::{Endpoint, connect, connect_with};
#[cfg(feature = "http-server")]
pub use papertape_http1::raise_open_file_limit;
#[cfg(all(feature = "http-client", feature = "oauth"))]
pub use papertape_oauth::client::{
    Assertion, Browser, Dpop, FileTokens, IdentityProvider, MemoryTokens, OAuth, OAuthClient, OAuthFlow,
    Redirect, SavedTokens, Secret, TokenKey, TokenStore,
};
#[cfg(feature = "http-client")]
pub use papertape_oauth::client::{AuthError, AuthStep, Credentials};
#[cfg(all(feature = "http-server", feature = "oauth"))]
pub use papertape_oauth::server::{Algorithm, Introspection, OAuthServer};
#[cfg(feature = "http-server")]
pub use papertape_oauth::server::{Auth, AuthSetupError, Challenge, Keys, NewKey, bearer_token};
#[cfg(feature = "http-server")]
pub use server::{
    ConnectionLimits, HostGuard, HttpBody, HttpService, Options, serve_until, service, service_with,
};
#[cfg(all(feature = "http-server", unix))]
pub use server::{serve, serve_with};
