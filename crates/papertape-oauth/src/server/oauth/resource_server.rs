//! The configuration of a protected resource, and its metadata (RFC 9728).

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use url::Url;

use super::access_token::Verifier;
use super::algorithm::Algorithm;
use super::fetch::{Fetcher, check_url};
use super::introspection::{Expected, Introspection, Introspector, Recheck};
use super::issuer::{Freshness, Issuer};
use crate::oauth::install_crypto_provider;
use crate::server::AuthSetupError;
use crate::server::challenge::Refusal;
use crate::{Principal, is_scope};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// A protected resource: accepts the access tokens of trusted issuers, which are JWTs, or are introspected.
///
/// ```
/// use papertape_oauth::server::{Auth, OAuthServer};
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
    introspection: Option<Introspection>,
    allow_http: bool,
}

impl OAuthServer {
    /// A protected resource with this URL, which clients connect to and which must be the audience (`aud`) of tokens.
    pub fn new(resource: impl Into<String>) -> Self {
        let freshness = Freshness {
            min_interval: Duration::from_secs(10),
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
            introspection: None,
            allow_http: false,
        }
    }

    /// Trusts an issuer, whose keys are discovered by its metadata. May be called repeatedly.
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuers.push((issuer.into(), None));
        self
    }

    /// Trusts an issuer whose keys are at this URL.
    pub fn issuer_with_keys(mut self, issuer: impl Into<String>, jwks_url: impl Into<String>) -> Self {
        self.issuers.push((issuer.into(), Some(jwks_url.into())));
        self
    }

    /// Accepts opaque tokens as well: those that are not JWTs are introspected (RFC 7662). The issuers are still needed, because
    /// the metadata names them to clients.
    pub fn introspection(mut self, introspection: Introspection) -> Self {
        self.introspection = Some(introspection);
        self
    }

    /// Another accepted audience, for issuers that do not use the URL.
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// The accepted signature algorithms. Default: [`Algorithm::ALL`].
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// The clock skew that is tolerated: 60 seconds by default, an hour at most.
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    /// Scopes that every token needs. See also [`Auth::require_scopes`](super::Auth::require_scopes).
    pub fn require_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.required.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// The scopes in the metadata, which clients request at first. Default: those that every token needs.
    pub fn scopes_supported<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.supported.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// The display name in the metadata (`resource_name`).
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The shortest time between two fetches of the keys, which a token with an unknown key causes: 10 seconds by default.
    pub fn refetch_gap(mut self, gap: Duration) -> Self {
        self.freshness.min_interval = gap;
        self
    }

    /// Keys older than `refresh` are fetched again; those older than `stale` are not used, even if the issuer is down.
    /// 10 minutes and 24 hours by default.
    pub fn key_ages(mut self, refresh: Duration, stale: Duration) -> Self {
        (self.freshness.refresh, self.freshness.stale) = (refresh, stale);
        self
    }

    /// The timeout for fetching the keys of an issuer, and for introspecting a token: 5 seconds by default.
    pub fn fetch_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Allows plain `http://` for issuers and for this server on other machines: an attacker in the network can forge tokens. For
    /// tests, and for networks that are secured otherwise.
    pub fn allow_http(mut self) -> Self {
        self.allow_http = true;
        self
    }

    pub(super) fn build(self) -> Result<ResourceServer, AuthSetupError> {
        let bad = AuthSetupError::OAuth;
        let resource = self.check_resource().map_err(bad)?;
        if self.issuers.is_empty() {
            return Err(bad("no issuer is configured: add one with `OAuthServer::issuer`".to_owned()));
        }
        if self.algorithms.is_empty() {
            return Err(bad("no signature algorithm is accepted".to_owned()));
        }
        if let Some(scope) = self.required.iter().chain(&self.supported).find(|scope| !is_scope(scope)) {
            return Err(AuthSetupError::Scope(scope.clone()));
        }
        install_crypto_provider();
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
        let introspect = |options| {
            let expected = Expected {
                issuers: self.issuers.iter().map(|(name, _)| name.clone()).collect(),
                audiences: verifier.audiences.clone(),
                leeway: verifier.leeway(),
            };
            Introspector::new(options, expected, fetcher, self.timeout, self.allow_http).map(Arc::new)
        };
        let introspector = self.introspection.map(introspect).transpose().map_err(bad)?;
        let required_scopes = self.required;
        Ok(ResourceServer { verifier, introspector, metadata, metadata_url, paths, required_scopes })
    }

    fn check_resource(&self) -> Result<Url, String> {
        let resource = &self.resource;
        let url = Url::parse(resource).map_err(|_| format!("the resource {resource:?} is not a URL"))?;
        check_url(&url, self.allow_http).map_err(|problem| format!("the resource {resource:?} {problem}"))?;
        if url.fragment().is_some() || url.query().is_some() {
            return Err(format!("the resource {resource:?} has a query or a fragment"));
        }
        Ok(url)
    }

    fn check_issuer(&self, name: &str, jwks: Option<&str>) -> Result<Option<Url>, String> {
        let url = Url::parse(name).map_err(|_| format!("the issuer {name:?} is not a URL"))?;
        check_url(&url, self.allow_http).map_err(|problem| format!("the issuer {name:?} {problem}"))?;
        if url.fragment().is_some() || url.query().is_some() || name.contains(char::is_whitespace) {
            return Err(format!("the issuer {name:?} has a query, a fragment or a space"));
        }
        let Some(jwks) = jwks else { return Ok(None) };
        let url = Url::parse(jwks).map_err(|_| format!("the JWKS URL {jwks:?} is not a URL"))?;
        check_url(&url, self.allow_http).map_err(|problem| format!("the JWKS URL {jwks:?} {problem}"))?;
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

/// A configured protected resource.
#[derive(Debug)]
pub(in crate::server) struct ResourceServer {
    verifier: Verifier,
    /// For opaque tokens.
    introspector: Option<Arc<Introspector>>,
    metadata: Value,
    /// The URL of the metadata, for challenges.
    metadata_url: String,
    /// The paths of the metadata on this server.
    paths: [String; 2],
    required_scopes: Vec<String>,
}

impl ResourceServer {
    /// The principal of an access token, and until when it is valid.
    pub(in crate::server) async fn check(
        &self,
        token: &str,
    ) -> Result<(Principal, Option<SystemTime>), Refusal> {
        match self.introspector_of(token) {
            Some(introspector) => introspector.check(token).await,
            None => self.verifier.check(token).await,
        }
    }

    /// How to notice that a token is revoked, if that is possible.
    pub(in crate::server) fn recheck(&self, token: &str, principal: &Principal) -> Option<Recheck> {
        let introspector = Arc::clone(self.introspector_of(token)?);
        let (name, scopes) = (principal.name.clone(), principal.scopes.clone());
        Some(Recheck { introspector, token: token.to_owned(), name, scopes })
    }

    fn introspector_of(&self, token: &str) -> Option<&Arc<Introspector>> {
        let is_jwt = || jsonwebtoken::decode_header(token).is_ok();
        self.introspector.as_ref().filter(|introspector| introspector.takes_every_token() || !is_jwt())
    }

    pub(in crate::server) fn required_scopes(&self) -> &[String] {
        &self.required_scopes
    }

    pub(in crate::server) fn metadata_url(&self) -> &str {
        &self.metadata_url
    }

    /// The metadata, if it is at this path.
    pub(in crate::server) fn metadata(&self, path: &str) -> Option<Value> {
        self.paths.iter().any(|known| known == path).then(|| self.metadata.clone())
    }
}
