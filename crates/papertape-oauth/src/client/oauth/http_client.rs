//! HTTP of the flow: bounded in size and time, without redirects, restricted to allowed addresses.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::de::DeserializeOwned;
use url::Url;

use super::network::Zone;
use super::resolver::{ForbiddenAddress, Lookup, RestrictedResolver};
use crate::client::error::{AuthError, AuthStep, quote};
use crate::oauth::{USER_AGENT, read_body};

/// The longest response body.
const MAX_BODY: usize = 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(super) struct HttpClient {
    client: reqwest::Client,
    resolver: Arc<RestrictedResolver>,
}

pub(super) struct HttpResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    body: Vec<u8>,
}

impl HttpClient {
    /// `client` has the certificates of the caller; the URLs come from a server in zone `from`. With a proxy, the proxy
    /// resolves names and decides where it connects.
    pub(super) fn new(client: reqwest::ClientBuilder, from: Zone, lookup: Lookup) -> Result<Self, AuthError> {
        let resolver = Arc::new(RestrictedResolver::new(from, lookup));
        let client = client
            .dns_resolver(Arc::clone(&resolver))
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .user_agent(USER_AGENT)
            .build()
            .map_err(|e| AuthError::new(AuthStep::Request, format!("cannot set up the HTTP client: {e}")))?;
        Ok(Self { client, resolver })
    }

    /// The zone of the server that names the URLs.
    pub(super) fn zone(&self) -> Zone {
        self.resolver.zone()
    }

    /// Fetches a JSON document.
    pub(super) async fn get(&self, step: AuthStep, url: &Url) -> Result<HttpResponse, AuthError> {
        let request = self.client.get(url.clone()).header(header::ACCEPT, "application/json");
        self.send(step, url, request).await
    }

    /// Posts a JSON document.
    pub(super) async fn post_json(
        &self,
        step: AuthStep,
        url: &Url,
        body: &serde_json::Value,
    ) -> Result<HttpResponse, AuthError> {
        let request = self
            .client
            .post(url.clone())
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.to_string());
        self.send(step, url, request).await
    }

    /// Posts a form.
    pub(super) async fn post_form(
        &self,
        step: AuthStep,
        url: &Url,
        form: &[(&str, &str)],
        headers: HeaderMap,
    ) -> Result<HttpResponse, AuthError> {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = self
            .client
            .post(url.clone())
            .headers(headers)
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))
            .body(body);
        self.send(step, url, request).await
    }

    async fn send(
        &self,
        step: AuthStep,
        url: &Url,
        request: reqwest::RequestBuilder,
    ) -> Result<HttpResponse, AuthError> {
        let failed = |e: reqwest::Error| {
            let e = e.without_url();
            match forbidden_address(&e) {
                Some(forbidden) => AuthError::permanent(step, forbidden.to_string()),
                None => AuthError::new(step, format!("no response from {}: {}", display_url(url), cause(&e))),
            }
        };
        self.resolver.restrict(url);
        let response = request.send().await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        if status.is_redirection() {
            return Err(AuthError::permanent(
                step,
                format!("{} redirects (HTTP {status}), which is not followed", display_url(url)),
            ));
        }
        let body = read_body(response, MAX_BODY).await.map_err(failed)?.ok_or_else(|| {
            let problem = format!("the response of {} is longer than {MAX_BODY} bytes", display_url(url));
            AuthError::permanent(step, problem)
        })?;
        tracing::debug!(url = %display_url(url), status = status.as_u16(), "authorization request");
        Ok(HttpResponse { status, headers, body })
    }
}

impl HttpResponse {
    pub(super) fn expect_ok(&self, step: AuthStep, url: &Url) -> Result<(), AuthError> {
        match self.status {
            StatusCode::OK => Ok(()),
            status => Err(AuthError::new(step, format!("{} responds with HTTP {status}", display_url(url)))),
        }
    }

    /// The JSON document in the body.
    pub(super) fn json<T: DeserializeOwned>(&self, step: AuthStep, url: &Url) -> Result<T, AuthError> {
        serde_json::from_slice(&self.body).map_err(|e| {
            // The text of the error may quote the document, so only its position is shown.
            let at = format!("line {}, column {}", e.line(), e.column());
            let problem = if e.is_data() { "has members of the wrong type" } else { "is not JSON" };
            AuthError::permanent(step, format!("the response of {} {problem} ({at})", display_url(url)))
        })
    }

    /// The error in the body, without the secrets.
    pub(super) fn error(&self, secrets: &[&str]) -> ErrorResponse {
        let mut error: ErrorResponse = serde_json::from_slice(&self.body).unwrap_or_default();
        error.error = error.error.map(|text| quote(&text, secrets));
        error.error_description = error.error_description.map(|text| quote(&text, secrets));
        error.status = self.status.as_u16();
        error
    }
}

/// An OAuth error response (RFC 6749, section 5.2).
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct ErrorResponse {
    pub(super) error: Option<String>,
    error_description: Option<String>,
    #[serde(skip)]
    status: u16,
}

impl fmt::Display for ErrorResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            Some(error) => f.write_str(error)?,
            None => write!(f, "HTTP {}", self.status)?,
        }
        match &self.error_description {
            Some(text) => write!(f, " ({text})"),
            None => Ok(()),
        }
    }
}

/// A URL without its query, which may be secret.
pub(super) fn display_url(url: &Url) -> String {
    quote(&format!("{}{}", url.origin().ascii_serialization(), url.path()), &[])
}

fn forbidden_address(error: &reqwest::Error) -> Option<&ForbiddenAddress> {
    let mut inner: &dyn Error = error;
    loop {
        if let Some(forbidden) = inner.downcast_ref() {
            return Some(forbidden);
        }
        inner = inner.source()?;
    }
}

/// The innermost cause of an error.
fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("timed out after {} s", TIMEOUT.as_secs());
    }
    let mut inner: &dyn Error = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    quote(&inner.to_string(), &[])
}
