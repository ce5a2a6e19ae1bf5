//! MCP on HTTP: requests to messages and answers to responses, for both eras, both sides.
//!
//! A byte that comes to a server meets, in this order: `accept` (connections, their limits and deadlines), `server` (which
//! era, which session), `auth` (who asks). A client's goes through `client`, and `oauth` if the server wants to know who asks.

pub(crate) mod accept;
mod auth;
mod client;
pub(crate) mod headers;
mod oauth;
mod server;

pub use accept::raise_open_file_limit;
pub use auth::{Algorithm, Auth, AuthSetupError, Keys, NewKey, OAuthServer};
pub use client::{Endpoint, connect, connect_with};
pub use oauth::{
    Assertion, AuthError, AuthStep, Browser, Credentials, Dpop, FileTokens, IdentityProvider, MemoryTokens,
    OAuth, OAuthClient, OAuthFlow, Redirect, SavedTokens, Secret, TokenKey, TokenStore,
};
#[cfg(unix)]
pub use server::serve;
pub use server::{ConnectionLimits, HttpBody, HttpService, Options, serve_until, service};
