//! How a client shows who it is: headers for each request, and what to do when they are refused.
//!
//! The steps of a flow stand in the order in which they are taken: `challenge` (what the server wants), `resource` (whom it
//! trusts), `issuer` (where that is), `registration` (who we are there), `browser`, `loopback` and `authorize` (asking a person) or
//! `grant` (asking nobody), `token`, `store` and `file`. `flow` takes them one after the other; `fetch` asks the servers on
//! the way, where `address` and `lookup` let it.

mod address;
mod authorize;
mod browser;
mod challenge;
mod client;
mod dpop;
mod error;
mod fetch;
mod file;
mod flow;
mod grant;
mod held;
mod issuer;
mod lookup;
mod loopback;
mod obtain;
mod options;
mod random;
mod registration;
mod resource;
mod secret;
mod store;
mod token;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use url::Url;

pub use browser::{Browser, Redirect};
pub use client::OAuthClient;
pub use dpop::Dpop;
pub use error::{AuthError, AuthStep};
pub use file::FileTokens;
pub use flow::Flow as OAuthFlow;
pub use grant::{Assertion, IdentityProvider};
pub use options::OAuth;
pub use secret::Secret;
pub use store::{MemoryTokens, SavedTokens, TokenKey, TokenStore};

/// How a client shows who it is.
#[derive(Clone, Default)]
pub enum Credentials {
    /// Not at all.
    #[default]
    None,
    /// With a token that somebody gave it.
    Bearer(String),
    /// With tokens that it gets when they are wanted: see [`OAuth`].
    OAuth(Arc<OAuthFlow>),
}

impl Credentials {
    /// The headers that one request needs. For programs that send requests with an HTTP client of their own; our own client
    /// calls this by itself.
    ///
    /// # Errors
    /// If there is a token that cannot be used.
    pub async fn headers(&self, method: &Method, url: &Url) -> Result<HeaderMap, AuthError> {
        match self {
            Self::None => Ok(HeaderMap::new()),
            Self::OAuth(flow) => flow.headers(method, url).await,
            Self::Bearer(token) => {
                let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| {
                    AuthError::new(AuthStep::Request, "the token has characters that no header can have")
                })?;
                value.set_sensitive(true);
                Ok(HeaderMap::from_iter([(header::AUTHORIZATION, value)]))
            }
        }
    }

    /// A request was refused (401 or 403) with these headers in the response. `Ok` if it is worth another try, with new
    /// [`headers`](Self::headers); `attempt` counts from 1.
    ///
    /// # Errors
    /// If no token can be had: the text tells at which step, what the other side said and what to do.
    pub async fn refused(
        &self,
        url: &Url,
        status: StatusCode,
        headers: &HeaderMap,
        attempt: usize,
    ) -> Result<(), AuthError> {
        let wanted = challenge::wanted(headers);
        let why = wanted.description.or(wanted.error).map(|why| format!("; {}", error::quote(&why, &[])));
        let why = why.unwrap_or_default();
        match self {
            Self::OAuth(flow) => flow.refused(url, status, headers, attempt).await,
            Self::None => Err(AuthError::new(AuthStep::Challenge, format!("HTTP {status}{why}"))),
            Self::Bearer(_) => Err(AuthError::new(
                AuthStep::Challenge,
                format!("it refuses the token that was given (HTTP {status}{why})"),
            )),
        }
    }

    /// The server answered from this address.
    pub(crate) fn met(&self, peer: Option<SocketAddr>) {
        if let Self::OAuth(flow) = self {
            flow.met(peer);
        }
    }

    /// Looks at the headers of every response (a nonce may be among them).
    pub fn observe(&self, headers: &HeaderMap) {
        if let Self::OAuth(flow) = self {
            flow.observe(headers);
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "Credentials::None",
            Self::Bearer(_) => "Credentials::Bearer(..)",
            Self::OAuth(_) => "Credentials::OAuth(..)",
        })
    }
}
