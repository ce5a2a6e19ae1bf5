//! Opaque access tokens: the authorization server is asked about each (token introspection, RFC 7662).

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use data_encoding::BASE64;
use http::{HeaderValue, StatusCode};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use super::access_token::{audience_is_one_of, scopes_of, time};
use super::fetch::{Fetcher, check_url};
use crate::Principal;
use crate::server::challenge::Refusal;
use crate::sync::lock;

/// The most tokens in the cache.
const MAX_CACHED: usize = 1024;
/// The most requests to the endpoint at once: every request with a made-up token causes one.
const MAX_REQUESTS: usize = 32;
/// How often the token of an open stream is introspected again, because it may be revoked.
const RECHECK_INTERVAL: Duration = Duration::from_secs(60);
/// An open stream ends when its token could not be introspected so often in a row.
const MOST_FAILURES: u32 = 10;
/// The shortest time between two messages in the log about an endpoint that fails.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Token introspection (RFC 7662): how an authorization server is asked whether an opaque access token is valid.
///
/// The server authenticates with client credentials of its own (HTTP Basic), which the authorization server has issued to it.
///
/// ```
/// use papertape_oauth::server::{Auth, Introspection, OAuthServer};
/// let introspection = Introspection::new("https://login.example.com/introspect", "mcp-server", "s3cret");
/// let oauth = OAuthServer::new("https://mcp.example.com/mcp").issuer("https://login.example.com");
/// let auth = Auth::new().oauth(oauth.introspection(introspection));
/// assert_eq!(auth.problem(), None);
/// ```
#[derive(Clone)]
#[must_use]
pub struct Introspection {
    url: String,
    client: String,
    secret: String,
    cache: Duration,
    every_token: bool,
    require_audience: bool,
}

impl Introspection {
    /// The endpoint, and the id and secret of this server there.
    pub fn new(url: impl Into<String>, client: impl Into<String>, secret: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            client: client.into(),
            secret: secret.into(),
            cache: Duration::from_secs(30),
            every_token: false,
            require_audience: true,
        }
    }

    /// How long a valid token is not introspected again, and so may be used after it was revoked: 30 seconds by default.
    /// Never longer than the token is valid; zero switches the cache off.
    pub fn cache(mut self, time: Duration) -> Self {
        self.cache = time;
        self
    }

    /// Introspects tokens that are JWTs as well, so that revoked ones are rejected before they expire. By default those are
    /// verified by their signature.
    pub fn every_token(mut self) -> Self {
        self.every_token = true;
        self
    }

    /// Accepts tokens without an audience (`aud`): only for an endpoint that reports no token active that was issued for another
    /// server.
    pub fn allow_missing_audience(mut self) -> Self {
        self.require_audience = false;
        self
    }
}

impl fmt::Debug for Introspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Introspection")
            .field("url", &self.url)
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

/// What makes the token of an active response valid here.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) issuers: Vec<String>,
    pub(super) audiences: HashSet<String>,
    pub(super) leeway: Duration,
}

/// A configured introspection endpoint, and its recent responses.
pub(in crate::server) struct Introspector {
    url: Url,
    authorization: HeaderValue,
    fetcher: Fetcher,
    timeout: Duration,
    options: Introspection,
    expected: Expected,
    cache: Mutex<HashMap<[u8; 32], Cached>>,
    requests: Semaphore,
    logged: Mutex<Option<Instant>>,
}

type Accepted = (Principal, Option<SystemTime>);

struct Cached {
    accepted: Accepted,
    until: Instant,
}

impl Introspector {
    pub(super) fn new(
        options: Introspection,
        expected: Expected,
        fetcher: Fetcher,
        timeout: Duration,
        allow_http: bool,
    ) -> Result<Self, String> {
        let name = &options.url;
        let url =
            Url::parse(name).map_err(|_| format!("the introspection endpoint {name:?} is not a URL"))?;
        check_url(&url, allow_http)
            .map_err(|problem| format!("the introspection endpoint {name:?} {problem}"))?;
        if options.client.is_empty() || options.secret.is_empty() {
            return Err("introspection needs a client id and a secret".to_owned());
        }
        // RFC 6749, section 2.3.1: both are form-encoded first.
        let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = format!("{}:{}", encode(&options.client), encode(&options.secret));
        let authorization = format!("Basic {}", BASE64.encode(pair.as_bytes()));
        let mut authorization = HeaderValue::try_from(authorization)
            .map_err(|_| "the client id or secret for introspection cannot be sent")?;
        authorization.set_sensitive(true);
        let (cache, logged) = (Mutex::default(), Mutex::default());
        let requests = Semaphore::new(MAX_REQUESTS);
        Ok(Self { url, authorization, fetcher, timeout, options, expected, cache, requests, logged })
    }

    /// Whether JWTs are introspected too.
    pub(super) fn takes_every_token(&self) -> bool {
        self.options.every_token
    }

    /// The principal of a token, and when it expires.
    pub(super) async fn check(&self, token: &str) -> Result<Accepted, Refusal> {
        let key: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(accepted) = self.cached(&key) {
            return Ok(accepted);
        }
        let response = timeout(self.timeout, self.request(token)).await.unwrap_or_else(|_| {
            Err(format!("no response within {}", humantime::format_duration(self.timeout)))
        });
        let claims = response.map_err(|problem| self.unavailable(&problem))?;
        match claims.get("active").and_then(Value::as_bool) {
            Some(true) => {}
            Some(false) => return Err(Refusal::invalid_token("the token is not active")),
            None => return Err(self.unavailable("the response has no boolean `active`")),
        }
        let accepted = self.accept(claims).map_err(|problem| Refusal::invalid_token(&problem))?;
        self.store(key, &accepted);
        Ok(accepted)
    }

    async fn request(&self, token: &str) -> Result<Map<String, Value>, String> {
        let _permit = self.requests.acquire().await.map_err(|error| error.to_string())?;
        let form = [("token", token), ("token_type_hint", "access_token")];
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let response = self.fetcher.post_form(&self.url, &self.authorization, body).await;
        match response {
            Ok(Value::Object(response)) => Ok(response),
            Ok(_) => Err("the response is not a JSON object".to_owned()),
            Err(problem) => Err(problem),
        }
    }

    /// The principal of an active token, if that was issued for this server; or what is wrong with it.
    fn accept(&self, claims: Map<String, Value>) -> Result<Accepted, String> {
        let Expected { issuers, audiences, leeway } = &self.expected;
        let issuer = match (claims.get("iss"), issuers.as_slice()) {
            (Some(named), _) => issuers.iter().find(|issuer| named.as_str() == Some(issuer.as_str())),
            (None, [only]) => Some(only),
            // It could be taken for a subject of another issuer.
            (None, _) => return Err("the token has no issuer (`iss`), and several are trusted".to_owned()),
        };
        let issuer = issuer.ok_or("the issuer of the token is not trusted")?;
        match claims.get("aud") {
            Some(audience) if audience_is_one_of(audience, audiences) => {}
            Some(_) => return Err("the audience (`aud`) of the token is another server".to_owned()),
            None if self.options.require_audience => {
                return Err("the token has no audience (`aud`)".to_owned());
            }
            None => {}
        }
        let bound = |kind: &Value| kind.as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("dpop"));
        if claims.contains_key("cnf") || claims.get("token_type").is_some_and(bound) {
            return Err("sender-constrained tokens (`cnf`) are not supported".to_owned());
        }
        let now = SystemTime::now();
        let until = match claims.get("exp") {
            Some(exp) => Some(time(exp).ok_or("the expiry (`exp`) of the token is malformed")?),
            None => None,
        };
        let until = until.and_then(|until| until.checked_add(*leeway));
        if until.is_some_and(|until| until <= now) {
            return Err("the token has expired".to_owned());
        }
        let early = |from| now.checked_add(*leeway).is_some_and(|now| now < from);
        if let Some(from) = claims.get("nbf")
            && early(time(from).ok_or("the beginning (`nbf`) of the token is malformed")?)
        {
            return Err("the token is not valid yet".to_owned());
        }
        let subject = claims.get("sub").and_then(Value::as_str).filter(|subject| !subject.is_empty());
        let subject = subject.ok_or("the token has no subject (`sub`)")?;
        let scopes: Vec<String> =
            [claims.get("scope"), claims.get("scp")].into_iter().flatten().flat_map(scopes_of).collect();
        let principal = Principal::new(format!("{issuer} {subject}")).with_scopes(scopes).with_claims(claims);
        Ok((principal, until))
    }

    fn cached(&self, key: &[u8; 32]) -> Option<Accepted> {
        let cache = self.cache();
        let cached = cache.get(key).filter(|cached| Instant::now() < cached.until)?;
        Some(cached.accepted.clone())
    }

    /// Remembers a valid token; nothing else is remembered.
    fn store(&self, key: [u8; 32], accepted: &Accepted) {
        let left = accepted.1.map(|until| until.duration_since(SystemTime::now()).unwrap_or_default());
        let time = left.map_or(self.options.cache, |left| left.min(self.options.cache));
        let now = Instant::now();
        let Some(until) = now.checked_add(time).filter(|until| *until > now) else { return };
        let mut cache = self.cache();
        if cache.len() >= MAX_CACHED {
            cache.retain(|_, cached| cached.until > now);
        }
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(key, Cached { accepted: accepted.clone(), until });
    }

    fn cache(&self) -> MutexGuard<'_, HashMap<[u8; 32], Cached>> {
        lock(&self.cache)
    }

    fn unavailable(&self, problem: &str) -> Refusal {
        let mut logged = lock(&self.logged);
        if logged.is_none_or(|logged| logged.elapsed() >= LOG_INTERVAL) {
            *logged = Some(Instant::now());
            tracing::warn!(endpoint = %self.url, "cannot introspect access tokens: {problem}");
        }
        Refusal::unavailable("the token cannot be introspected: try again in some seconds")
    }
}

impl fmt::Debug for Introspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Introspector").field("options", &self.options).finish_non_exhaustive()
    }
}

/// The token of an open stream, which may be revoked.
pub(in crate::server) struct Recheck {
    pub(super) introspector: Arc<Introspector>,
    pub(super) token: String,
    /// The name and scopes of the principal that has opened the stream.
    pub(super) name: String,
    pub(super) scopes: Vec<String>,
}

impl Recheck {
    /// Waits until the token is not valid, or has lost a scope. While the endpoint fails it counts as valid, for ten minutes.
    pub(in crate::server) async fn revoked(self) {
        let mut failures = 0;
        while failures < MOST_FAILURES {
            sleep(RECHECK_INTERVAL).await;
            match self.introspector.check(&self.token).await {
                Ok((now, _)) if now.name == self.name && now.has_scopes(&self.scopes) => {
                    failures = 0;
                }
                Err(refusal) if refusal.status != StatusCode::UNAUTHORIZED => failures += 1,
                _ => return,
            }
        }
    }
}
