//! One request of the flow to one answer: bounded in size and time, never redirected.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::de::DeserializeOwned;
use url::Url;

use super::address::Reach;
use super::error::{AuthError, AuthStep, quote};
use super::lookup::{Judge, Lookup, Misplaced};

/// The longest answer that is read.
const LONGEST: usize = 1024 * 1024;
const CONNECT: Duration = Duration::from_secs(10);
const WHOLE: Duration = Duration::from_secs(30);

/// Asks servers of the flow.
#[derive(Clone)]
pub(crate) struct Fetcher {
    client: reqwest::Client,
    judge: Arc<Judge>,
}

/// What one of them answered.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Bytes,
}

impl Fetcher {
    /// `client` carries the caller's own certificates and proxies; `from` is how near the server is that names others.
    /// Through a proxy it is the proxy that looks up names, and decides where it goes.
    pub(crate) fn new(
        client: reqwest::ClientBuilder,
        from: Reach,
        lookup: Lookup,
    ) -> Result<Self, AuthError> {
        let judge = Arc::new(Judge::new(from, lookup));
        let client = client
            .dns_resolver(Arc::clone(&judge))
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(CONNECT)
            .timeout(WHOLE)
            .user_agent(concat!("papertape/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|e| AuthError::new(AuthStep::Request, format!("no HTTP client could be made: {e}")))?;
        Ok(Self { client, judge })
    }

    /// How near the server is that names others.
    pub(crate) fn from(&self) -> Reach {
        self.judge.from()
    }

    /// Fetches a document.
    pub(crate) async fn get(&self, step: AuthStep, url: &Url) -> Result<Answer, AuthError> {
        let request = self.client.get(url.clone()).header(header::ACCEPT, "application/json");
        self.send(step, url, request).await
    }

    /// Sends a JSON document.
    pub(crate) async fn post_json(
        &self,
        step: AuthStep,
        url: &Url,
        body: &serde_json::Value,
    ) -> Result<Answer, AuthError> {
        let request = self
            .client
            .post(url.clone())
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.to_string());
        self.send(step, url, request).await
    }

    /// Sends a form.
    pub(crate) async fn post_form(
        &self,
        step: AuthStep,
        url: &Url,
        form: &[(&str, &str)],
        headers: HeaderMap,
    ) -> Result<Answer, AuthError> {
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
    ) -> Result<Answer, AuthError> {
        let lost = |e: reqwest::Error| {
            let e = e.without_url();
            if let Some(misplaced) = misplaced(&e) {
                return AuthError::refusal(step, misplaced.to_string());
            }
            AuthError::new(step, format!("{} did not answer: {}", place(url), cause(&e)))
        };
        self.judge.watch(url);
        let mut response = request.send().await.map_err(lost)?;
        let status = response.status();
        if status.is_redirection() {
            return Err(AuthError::refusal(
                step,
                format!(
                    "{} sends us elsewhere (HTTP {status}), which is not followed: it could be anywhere",
                    place(url)
                ),
            ));
        }
        let headers = response.headers().clone();
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(lost)? {
            if body.len().saturating_add(piece.len()) > LONGEST {
                return Err(AuthError::refusal(
                    step,
                    format!("the answer of {} is longer than {LONGEST} bytes", place(url)),
                ));
            }
            body.extend_from_slice(&piece);
        }
        tracing::debug!(url = %place(url), status = status.as_u16(), "authorization");
        Ok(Answer { status, headers, body: Bytes::from(body) })
    }
}

impl Answer {
    /// The document in the answer.
    pub(crate) fn json<T: DeserializeOwned>(&self, step: AuthStep, url: &Url) -> Result<T, AuthError> {
        serde_json::from_slice(&self.body).map_err(|e| {
            // The error's own text may repeat what is in the document, so only its place is told.
            let at = format!("line {}, column {}", e.line(), e.column());
            let what = if e.is_data() { "has members of the wrong kind" } else { "is not JSON" };
            AuthError::refusal(step, format!("the answer of {} {what} ({at})", place(url)))
        })
    }

    /// What went wrong, in the words of the other side.
    pub(crate) fn complaint(&self, secrets: &[&str]) -> Complaint {
        let mut complaint: Complaint = serde_json::from_slice(&self.body).unwrap_or_default();
        complaint.error = complaint.error.map(|words| quote(&words, secrets));
        complaint.error_description = complaint.error_description.map(|words| quote(&words, secrets));
        complaint.status = Some(self.status.as_u16());
        complaint
    }
}

/// An OAuth error (RFC 6749, section 5.2).
#[derive(Debug, Default, serde::Deserialize)]
pub(crate) struct Complaint {
    pub(crate) error: Option<String>,
    error_description: Option<String>,
    #[serde(skip)]
    status: Option<u16>,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.error, self.status) {
            (Some(error), _) => f.write_str(error)?,
            (None, Some(status)) => write!(f, "HTTP {status}")?,
            (None, None) => f.write_str("nothing")?,
        }
        match &self.error_description {
            Some(words) => write!(f, " ({words})"),
            None => Ok(()),
        }
    }
}

/// An address without what may be secret in it.
pub(crate) fn place(url: &Url) -> String {
    quote(&format!("{}{}", url.origin().ascii_serialization(), url.path()), &[])
}

/// Whether a name led to where it may not.
fn misplaced(error: &reqwest::Error) -> Option<&Misplaced> {
    let mut inner: &dyn std::error::Error = error;
    loop {
        if let Some(misplaced) = inner.downcast_ref() {
            return Some(misplaced);
        }
        inner = inner.source()?;
    }
}

/// An error's innermost reason.
fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("nothing came within {} s", WHOLE.as_secs());
    }
    let mut inner: &dyn std::error::Error = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    quote(&inner.to_string(), &[])
}
