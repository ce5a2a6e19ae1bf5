//! The OAuth 2.1 client: from a challenge to an access token.
//!
//! `flow` runs the steps, which stand here in their order: `protected_resource` (RFC 9728: which authorization servers the
//! server trusts), `authorization_server` (RFC 8414: their endpoints), `registration` (RFC 7591: the client id),
//! `authorization_code` (RFC 7636: the resource owner grants access, in a `browser` that a `redirect_listener` waits for) or
//! another `grant`, `token_request`, `token_store`. `obtain` is the part of the flow from the client id on, `state` what it
//! remembers between requests.
//!
//! Every URL but the first comes from another party: `http_client` connects only where `network` and `resolver` allow it.

mod authorization_code;
mod authorization_server;
mod browser;
mod dpop;
mod flow;
mod grant;
mod http_client;
mod network;
mod oauth_client;
mod obtain;
mod options;
mod pkce;
mod protected_resource;
mod redirect_listener;
mod registration;
mod resolver;
mod secret;
mod state;
mod token_file;
mod token_request;
mod token_store;

use std::time::{SystemTime, UNIX_EPOCH};

use super::error::{AuthError, AuthStep};

pub use browser::{Browser, Redirect};
pub use dpop::Dpop;
pub use flow::OAuthFlow;
pub use grant::{Assertion, IdentityProvider};
pub use oauth_client::OAuthClient;
pub use options::OAuth;
pub use secret::Secret;
pub use token_file::FileTokens;
pub use token_store::{MemoryTokens, SavedTokens, TokenKey, TokenStore};

impl AuthError {
    /// An error after which a retry fails in the same way: the other party has refused, or must not be trusted.
    fn permanent(step: AuthStep, message: impl Into<String>) -> Self {
        Self { step, message: message.into(), permanent: true }
    }
}

/// Seconds since 1970.
fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|d| d.as_secs()).unwrap_or_default()
}
