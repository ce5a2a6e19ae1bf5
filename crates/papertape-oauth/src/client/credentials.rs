//! What a client sends to authenticate its requests.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use url::Url;

use super::OAuthFlow;
use super::error::{self, AuthError, AuthStep};
use super::www_authenticate::TokenChallenge;

/// How a client authenticates its requests.
///
/// ```
/// use papertape_oauth::client::Credentials;
///
/// let key = Credentials::Bearer("pt_..".to_owned());
/// ```
#[derive(Clone, Default)]
pub enum Credentials {
    /// It does not.
    #[default]
    None,
    /// With a fixed bearer token.
    Bearer(String),
    /// With access tokens that it obtains when the server requires one: see `OAuth` (feature `oauth`).
    OAuth(Arc<OAuthFlow>),
}

impl Credentials {
    /// The headers for one request: `Authorization`, and `DPoP` if the token is sender-constrained.
    ///
    /// # Errors
    /// If the token cannot stand in a header, or a refresh fails for good.
    pub async fn headers(&self, method: &Method, url: &Url) -> Result<HeaderMap, AuthError> {
        match self {
            Self::None => Ok(HeaderMap::new()),
            Self::Bearer(token) => {
                Ok(HeaderMap::from_iter([(header::AUTHORIZATION, authorization("Bearer", token)?)]))
            }
            Self::OAuth(flow) => flow.headers(method, url).await,
        }
    }

    /// Handles a challenge: a response with status 401 or 403 and these headers. `Ok` if the request should be sent again, with
    /// new [`headers`](Self::headers). `attempt` counts the challenges to this request from 1.
    ///
    /// # Errors
    /// If no token can be obtained: at which step, the error of the other side, and the remedy.
    pub async fn challenged(
        &self,
        url: &Url,
        status: StatusCode,
        headers: &HeaderMap,
        attempt: usize,
    ) -> Result<(), AuthError> {
        let challenge = TokenChallenge::parse(headers);
        let reason = challenge.reason().map(|reason| format!("; {}", error::quote(reason, &[])));
        let reason = reason.unwrap_or_default();
        match self {
            Self::OAuth(flow) => flow.challenged(url, status, headers, attempt).await,
            Self::None => Err(AuthError::new(AuthStep::Challenge, format!("HTTP {status}{reason}"))),
            Self::Bearer(_) => Err(AuthError::new(
                AuthStep::Challenge,
                format!("the server rejects the bearer token (HTTP {status}{reason})"),
            )),
        }
    }

    /// Reads the headers of every response, which may carry a DPoP nonce, and the address of the server, which decides where
    /// its metadata may lead.
    pub fn observe(&self, headers: &HeaderMap, peer: Option<SocketAddr>) {
        if let Self::OAuth(flow) = self {
            flow.observe(headers, peer);
        }
    }
}

/// The value of an `Authorization` header, marked as sensitive.
pub(super) fn authorization(scheme: &str, token: &str) -> Result<HeaderValue, AuthError> {
    let mut value = HeaderValue::from_str(&format!("{scheme} {token}")).map_err(|_| {
        AuthError::new(AuthStep::Request, "the token has characters that are not allowed in a header")
    })?;
    value.set_sensitive(true);
    Ok(value)
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
