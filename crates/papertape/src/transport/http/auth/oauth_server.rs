//! What an OAuth resource server is told about itself and its issuers, to a verifier and metadata (RFC 9728).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use url::Url;

use super::algorithm::Algorithm;
use super::error::AuthSetupError;
use super::fetch::{Fetcher, is_safe};
use super::issuer::{Freshness, Issuer};
use super::token::Verifier;
use crate::server::scope::is_scope;

/// Where clients look for a resource's metadata.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// A server that accepts the access tokens (JWT) of some authorization servers.
///
/// ```
/// use papertape::http::{Auth, OAuthServer};
/// let oauth = OAuthServer::new("https://mcp.example.com/mcp").issuer("https://login.example.com");
/// let auth = Auth::new().oauth(oauth).implies("admin", ["read", "write"]);
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct OAuthServer {
    resource: String,
    issuers: Vec<(String, Option<String>)>,
    audiences: Vec<String>,
    algorithms: Vec<Algorithm>,
    leeway: Duration,
    required: Vec<String>,
    supported: Vec<String>,
    name: Option<String>,
    freshness: Freshness,
    timeout: Duration,
    allow_http: bool,
}

impl OAuthServer {
    /// A server with this URL: what clients connect to, and what tokens must be for (`aud`).
    pub fn new(resource: impl Into<String>) -> Self {
        let freshness = Freshness {
            gap: Duration::from_secs(10),
            refresh: Duration::from_secs(10 * 60),
            stale: Duration::from_secs(24 * 60 * 60),
        };
        Self {
            resource: resource.into(),
            issuers: Vec::new(),
            audiences: Vec::new(),
            algorithms: Algorithm::ALL.to_vec(),
            leeway: Duration::from_secs(60),
            required: Vec::new(),
            supported: Vec::new(),
            name: None,
            freshness,
            timeout: Duration::from_secs(5),
            allow_http: false,
        }
    }

    /// Trusts an issuer. Its keys are found through its metadata. May be called again.
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuers.push((issuer.into(), None));
        self
    }

    /// Trusts an issuer whose keys are at this URL.
    pub fn issuer_with_keys(mut self, issuer: impl Into<String>, jwks_url: impl Into<String>) -> Self {
        self.issuers.push((issuer.into(), Some(jwks_url.into())));
        self
    }

    /// Another name that tokens may have for this server, for issuers that do not call it by its URL.
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// How tokens may be signed, and in no other way. All of [`Algorithm::ALL`], by default.
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// How far clocks may be apart: 60 seconds by default, an hour at most.
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    /// What every token must allow. See also [`Auth::require_scopes`](super::Auth::require_scopes).
    pub fn require_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.required.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// The scopes that clients are told of: those that are worth asking for from the start.
    /// Without this, they are the ones that every token must have.
    pub fn scopes_supported<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.supported.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// The server's name for people, in its metadata.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// A token signed with an unknown key makes the keys be fetched anew, but not more often than this: 10 seconds by
    /// default.
    pub fn refetch_gap(mut self, gap: Duration) -> Self {
        self.freshness.gap = gap;
        self
    }

    /// Keys older than `refresh` are fetched anew; older than `stale`, they are not used even if the issuer is down.
    /// 10 minutes and 24 hours by default.
    pub fn key_ages(mut self, refresh: Duration, stale: Duration) -> Self {
        (self.freshness.refresh, self.freshness.stale) = (refresh, stale);
        self
    }

    /// How long an issuer may take to give its keys: 5 seconds by default.
    pub fn fetch_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Lets issuers and this server be reached by plain `http://`, also on other machines: whoever is on the way can let
    /// themselves in. For trials, and for networks that somebody else keeps safe.
    pub fn allow_http(mut self) -> Self {
        self.allow_http = true;
        self
    }

    pub(super) fn build(self) -> Result<ResourceServer, AuthSetupError> {
        let bad = AuthSetupError::OAuth;
        let resource = self.check_resource().map_err(bad)?;
        if self.issuers.is_empty() {
            return Err(bad("there is no issuer: name one with `OAuthServer::issuer`".to_owned()));
        }
        if self.algorithms.is_empty() {
            return Err(bad("there is no algorithm that tokens may be signed with".to_owned()));
        }
        if let Some(scope) = self.required.iter().chain(&self.supported).find(|scope| !is_scope(scope)) {
            return Err(AuthSetupError::Scope(scope.clone()));
        }
        super::crypto::install();
        let fetcher = Fetcher::new(self.timeout, self.allow_http).map_err(bad)?;
        let mut issuers = Vec::new();
        for (name, jwks) in &self.issuers {
            let jwks = self.check_issuer(name, jwks.as_deref()).map_err(bad)?;
            issuers.push(Arc::new(Issuer::new(name.clone(), jwks, fetcher.clone(), self.freshness)));
        }
        let path = if resource.path() == "/" { "" } else { resource.path() };
        let metadata_url = format!("{}{WELL_KNOWN}{path}", resource.origin().ascii_serialization());
        let paths = [WELL_KNOWN.to_owned(), format!("{WELL_KNOWN}{path}")];
        let metadata = self.metadata();
        let mut audiences: Vec<String> = self.audiences;
        audiences.push(self.resource);
        let verifier = Verifier {
            issuers,
            audiences: audiences.into_iter().collect(),
            algorithms: self.algorithms,
            leeway: self.leeway,
        };
        Ok(ResourceServer { verifier, metadata, metadata_url, paths, required: self.required })
    }

    fn check_resource(&self) -> Result<Url, String> {
        let resource = &self.resource;
        let url = Url::parse(resource).map_err(|_| format!("the resource {resource:?} is no URL"))?;
        is_safe(&url, self.allow_http).map_err(|problem| format!("the resource {resource:?} {problem}"))?;
        if url.fragment().is_some() || url.query().is_some() {
            return Err(format!("the resource {resource:?} has a `?` or a `#` in it"));
        }
        Ok(url)
    }

    fn check_issuer(&self, name: &str, jwks: Option<&str>) -> Result<Option<Url>, String> {
        let url = Url::parse(name).map_err(|_| format!("the issuer {name:?} is no URL"))?;
        is_safe(&url, self.allow_http).map_err(|problem| format!("the issuer {name:?} {problem}"))?;
        if url.fragment().is_some() || url.query().is_some() || name.contains(char::is_whitespace) {
            return Err(format!("the issuer {name:?} has a `?`, a `#` or a space in it"));
        }
        let Some(jwks) = jwks else { return Ok(None) };
        let url = Url::parse(jwks).map_err(|_| format!("the JWKS address {jwks:?} is no URL"))?;
        is_safe(&url, self.allow_http).map_err(|problem| format!("the JWKS address {jwks:?} {problem}"))?;
        Ok(Some(url))
    }

    fn metadata(&self) -> Value {
        let issuers: Vec<&str> = self.issuers.iter().map(|(name, _)| name.as_str()).collect();
        let mut metadata = json!({
            "resource": self.resource,
            "authorization_servers": issuers,
            "bearer_methods_supported": ["header"],
        });
        let scopes = if self.supported.is_empty() { &self.required } else { &self.supported };
        let scopes: Vec<&String> = scopes.iter().filter(|scope| *scope != "offline_access").collect();
        if let Some(members) = metadata.as_object_mut() {
            if !scopes.is_empty() {
                members.insert("scopes_supported".to_owned(), json!(scopes));
            }
            members.extend(self.name.as_ref().map(|name| ("resource_name".to_owned(), json!(name))));
        }
        metadata
    }
}

/// The same, ready.
#[derive(Debug)]
pub(super) struct ResourceServer {
    pub(super) verifier: Verifier,
    pub(super) metadata: Value,
    /// Where the metadata is, for challenges.
    pub(super) metadata_url: String,
    /// Where it is, for this server.
    pub(super) paths: [String; 2],
    pub(super) required: Vec<String>,
}
