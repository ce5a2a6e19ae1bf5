//! Authentication and authorization over HTTP: OAuth 2.1 for clients and protected resources, API keys, principals and
//! scopes. Nothing in this crate depends on MCP.
//!
//! | module | feature | contents |
//! |---|---|---|
//! | [`Principal`], [`is_scope`] | none | the authenticated caller and its scopes |
//! | [`Zone`], [`zone`](fn@zone) | `client` | whether a URL leads to the internet, a private network, or this machine |
//! | `client` | `client` | [`Credentials`](client::Credentials): the headers of a request, and how to handle a challenge |
//! | `client::oauth` | `client` and `oauth` | the OAuth client: discovery, registration, authorization code with PKCE, DPoP, token store |
//! | `server` | `server` | [`Auth`](server::Auth): the `Authorization` header to a principal, or to a challenge |
//! | `server::keys` | `server` | API keys, in a file that may change while the server runs |
//! | `server::oauth` | `server` and `oauth` | the protected resource: access tokens (JWT), JWKS, resource metadata |
//!
//! Without the feature `oauth` there are API keys and bearer tokens.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
pub mod client;
#[cfg(any(feature = "client", feature = "oauth"))]
mod host;
#[cfg(all(feature = "oauth", any(feature = "client", feature = "server")))]
mod oauth;
mod principal;
#[cfg(any(feature = "server", all(feature = "oauth", feature = "client")))]
mod private_file;
#[cfg(any(feature = "server", all(feature = "oauth", feature = "client")))]
mod random;
#[cfg(feature = "server")]
pub mod server;
#[cfg(any(feature = "server", all(feature = "oauth", feature = "client")))]
mod sync;
#[cfg(feature = "client")]
mod zone;

#[cfg(any(feature = "client", feature = "oauth"))]
pub use host::is_loopback;
#[cfg(all(feature = "oauth", any(feature = "client", feature = "server")))]
pub use oauth::install_crypto_provider;
pub use principal::{Principal, is_scope, split_scopes};
#[cfg(feature = "client")]
pub use zone::{Zone, zone};

/// The example in the README is compiled.
#[cfg(all(doctest, feature = "server"))]
#[doc = include_str!("../README.md")]
struct Readme;
