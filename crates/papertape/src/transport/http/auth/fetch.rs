//! An issuer's address to its published keys: discovery and fetching, bounded in size and time.

use std::error::Error;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use serde_json::Value;
use url::Url;

use super::super::client::is_loopback;
use super::jwks::KeySet;

/// Published keys are some kilobytes.
const BIGGEST_ANSWER: usize = 512 * 1024;

/// Fetches JSON.
#[derive(Debug, Clone)]
pub(super) struct Fetcher {
    client: Client,
    /// For all requests that finding the keys of an issuer takes.
    timeout: Duration,
    allow_http: bool,
}

impl Fetcher {
    pub(super) fn new(timeout: Duration, allow_http: bool) -> Result<Self, String> {
        let client = Client::builder()
            // An issuer knows where its keys are; being sent elsewhere is no answer.
            .redirect(Policy::none())
            .timeout(timeout)
            .user_agent(concat!("papertape/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| chain(&error))?;
        Ok(Self { client, timeout, allow_http })
    }

    /// The keys of an issuer, and where they are; `known` is where they are thought to be.
    pub(super) async fn keys(&self, issuer: &str, known: Option<Url>) -> Result<(KeySet, Url), String> {
        let find = async {
            let url = match known {
                Some(url) => url,
                None => self.discover(issuer).await?,
            };
            let document = self.json(&url).await.map_err(|problem| format!("{url}: {problem}"))?;
            let keys = KeySet::read(&document).map_err(|problem| format!("{url}: {problem}"))?;
            Ok((keys, url))
        };
        let late = |_| Err(format!("no answer within {}", humantime::format_duration(self.timeout)));
        tokio::time::timeout(self.timeout, find).await.unwrap_or_else(late)
    }

    /// Where an issuer's keys are, by its own metadata.
    async fn discover(&self, issuer: &str) -> Result<Url, String> {
        let mut problems = Vec::new();
        for url in well_known(issuer)? {
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
            return Err("it is the metadata of another issuer".to_owned());
        }
        let url = document.get("jwks_uri").and_then(Value::as_str).ok_or("it has no `jwks_uri`")?;
        let url = Url::parse(url).map_err(|_| "its `jwks_uri` is no URL")?;
        is_safe(&url, self.allow_http).map_err(|problem| format!("its `jwks_uri` {problem}"))?;
        Ok(url)
    }

    async fn json(&self, url: &Url) -> Result<Value, String> {
        let request = self.client.get(url.clone()).header(http::header::ACCEPT, "application/json");
        let mut response = request.send().await.map_err(|error| chain(&error.without_url()))?;
        if response.status() != StatusCode::OK {
            return Err(format!("HTTP {}", response.status().as_u16()));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| chain(&error.without_url()))? {
            if bytes.len() + chunk.len() > BIGGEST_ANSWER {
                return Err(format!("the answer is bigger than {BIGGEST_ANSWER} bytes"));
            }
            bytes.extend_from_slice(&chunk);
        }
        serde_json::from_slice(&bytes).map_err(|_| "the answer is no JSON".to_owned())
    }
}

/// Where an issuer's metadata may be: as OAuth has it (RFC 8414), then as OpenID has it, in both ways.
pub(super) fn well_known(issuer: &str) -> Result<Vec<Url>, String> {
    let issuer = Url::parse(issuer).map_err(|_| "the issuer is no URL")?;
    let path = issuer.path().trim_end_matches('/').to_owned();
    let at = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        url
    };
    let mut urls = vec![
        at(format!("/.well-known/oauth-authorization-server{path}")),
        at(format!("/.well-known/openid-configuration{path}")),
    ];
    if !path.is_empty() {
        urls.push(at(format!("{path}/.well-known/openid-configuration")));
    }
    Ok(urls)
}

/// Whether what comes from a URL can be trusted: nobody on the way can have changed it.
pub(super) fn is_safe(url: &Url, allow_http: bool) -> Result<(), String> {
    if url.host().is_none() {
        return Err("has no host".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a user or a password in it".to_owned());
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_loopback(url) || allow_http => Ok(()),
        _ => Err("must begin with https:// (http:// is for this machine only)".to_owned()),
    }
}

/// An error and all its causes, in a line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
