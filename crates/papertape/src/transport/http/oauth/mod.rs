//! How a client shows who it is: headers for each request, and what to do when they are refused.

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use url::Url;

/// How a client shows who it is.
#[derive(Debug, Clone, Default)]
pub enum Credentials {
    /// Not at all.
    #[default]
    None,
    /// With a token that somebody gave it.
    Bearer(String),
}

/// Why nobody could be shown.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct AuthError {
    /// What went wrong and what to do.
    pub message: String,
}

impl Credentials {
    /// The headers that one request needs.
    #[expect(clippy::unused_async, reason = "a token may have to be refreshed")]
    pub(crate) async fn headers(&self, _method: &Method, _url: &Url) -> Result<HeaderMap, AuthError> {
        let mut headers = HeaderMap::new();
        if let Credentials::Bearer(token) = self {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| AuthError {
                message: "the token has characters that no header can have".to_owned(),
            })?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        Ok(headers)
    }

    /// A request was refused (401 or 403) with these headers in the response. `Ok` if it is worth another try, with new [`headers`](Self::headers);
    /// `attempt` counts from 1.
    #[expect(clippy::unused_async, reason = "somebody may have to be asked")]
    pub(crate) async fn refused(
        &self,
        _url: &Url,
        status: StatusCode,
        _headers: &HeaderMap,
        _attempt: usize,
    ) -> Result<(), AuthError> {
        Err(AuthError { message: format!("the server wants to know who asks (HTTP {status})") })
    }

    /// Looks at the headers of every response (a nonce may be among them).
    pub(crate) fn observe(&self, _headers: &HeaderMap) {}
}
