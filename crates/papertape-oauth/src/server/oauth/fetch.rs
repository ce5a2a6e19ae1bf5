//! Requests to an authorization server (discovery, JWKS, introspection), bounded in size and time.

use std::error::Error;
use std::time::Duration;

use http::{HeaderValue, header};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::Value;
use url::Url;

use super::jwks::KeySet;
use crate::is_loopback;
use crate::oauth::{USER_AGENT, authorization_server_metadata, read_body};

/// The longest response: key sets have some kilobytes.
const MAX_BODY: usize = 512 * 1024;
/// The longest introspection response.
const MAX_CLAIMS: usize = 64 * 1024;

#[derive(Debug, Clone)]
pub(super) struct Fetcher {
    client: Client,
    /// For all requests that it takes to find the keys of an issuer.
    timeout: Duration,
    allow_http: bool,
}

impl Fetcher {
    pub(super) fn new(timeout: Duration, allow_http: bool) -> Result<Self, String> {
        let client = Client::builder()
            .redirect(Policy::none())
            .timeout(timeout)
            .user_agent(USER_AGENT)
            .build()
            .map_err(|error| chain(&error))?;
        Ok(Self { client, timeout, allow_http })
    }

    /// The keys of an issuer and their URL, which is discovered if it is not known.
    pub(super) async fn keys(&self, issuer: &str, url: Option<Url>) -> Result<(KeySet, Url), String> {
        let find = async {
            let url = match url {
                Some(url) => url,
                None => self.discover(issuer).await?,
            };
            let document = self.json(&url).await.map_err(|problem| format!("{url}: {problem}"))?;
            let keys = KeySet::read(&document).map_err(|problem| format!("{url}: {problem}"))?;
            Ok((keys, url))
        };
        let late = |_| Err(format!("no response within {}", humantime::format_duration(self.timeout)));
        tokio::time::timeout(self.timeout, find).await.unwrap_or_else(late)
    }

    /// The JWKS URL in the metadata of an issuer.
    async fn discover(&self, issuer: &str) -> Result<Url, String> {
        let mut problems = Vec::new();
        let base = Url::parse(issuer).map_err(|_| "the issuer is not a URL")?;
        for url in authorization_server_metadata(&base) {
            let found = match self.json(&url).await {
                Ok(document) => self.jwks_url(&document, issuer),
                Err(problem) => Err(problem),
            };
            match found {
                Ok(found) => return Ok(found),
                Err(problem) => problems.push(format!("{url}: {problem}")),
            }
        }
        Err(problems.join("; "))
    }

    fn jwks_url(&self, document: &Value, issuer: &str) -> Result<Url, String> {
        if document.get("issuer").and_then(Value::as_str) != Some(issuer) {
            return Err("the metadata of another issuer".to_owned());
        }
        let url = document.get("jwks_uri").and_then(Value::as_str).ok_or("it has no `jwks_uri`")?;
        let url = Url::parse(url).map_err(|_| "its `jwks_uri` is not a URL")?;
        check_url(&url, self.allow_http).map_err(|problem| format!("its `jwks_uri` {problem}"))?;
        Ok(url)
    }

    async fn json(&self, url: &Url) -> Result<Value, String> {
        read_json(self.client.get(url.clone()), MAX_BODY).await
    }

    /// Sends a form, with credentials, and reads the JSON that comes back.
    pub(super) async fn post_form(
        &self,
        url: &Url,
        authorization: &HeaderValue,
        form: String,
    ) -> Result<Value, String> {
        let request = self.client.post(url.clone()).header(header::AUTHORIZATION, authorization);
        let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded").body(form);
        read_json(request, MAX_CLAIMS).await.map_err(|problem| match problem.as_str() {
            "HTTP 401" => "HTTP 401: the client id or secret of this server is rejected".to_owned(),
            _ => problem,
        })
    }
}

async fn read_json(request: RequestBuilder, limit: usize) -> Result<Value, String> {
    let request = request.header(header::ACCEPT, "application/json");
    let response = request.send().await.map_err(|error| chain(&error.without_url()))?;
    if response.status() != StatusCode::OK {
        return Err(format!("HTTP {}", response.status().as_u16()));
    }
    let body = read_body(response, limit).await.map_err(|error| chain(&error.without_url()))?;
    let body = body.ok_or_else(|| format!("the response is longer than {limit} bytes"))?;
    serde_json::from_slice(&body).map_err(|_| "the response is not JSON".to_owned())
}

/// Whether a URL is of an authenticated server: https, or loopback.
pub(super) fn check_url(url: &Url, allow_http: bool) -> Result<(), String> {
    if url.host().is_none() {
        return Err("has no host".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("contains a user name or a password".to_owned());
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_loopback(url) || allow_http => Ok(()),
        _ => Err("must begin with https:// (http:// is allowed on loopback only)".to_owned()),
    }
}

/// An error and its causes, in one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
