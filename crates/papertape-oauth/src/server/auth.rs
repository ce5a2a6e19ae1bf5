//! Authentication and authorization of requests: the token, its principal, and for how long.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{Extensions, HeaderMap, header};
use serde_json::Value;
use tokio::time::sleep;

use super::application::Application;
use super::challenge::{Challenge, Refusal};
use super::error::AuthSetupError;
use super::keys::{HeldKey, Keys};
use super::{Recheck, ResourceServer};
use crate::principal::ScopeHierarchy;
use crate::{Principal, is_scope};

/// The longest token.
const MAX_TOKEN: usize = 16 * 1024;
/// How often the wall clock is read: it may be set, and machines may sleep.
const CLOCK_INTERVAL: Duration = Duration::from_secs(60);

/// An authenticated and authorized request.
#[derive(Debug)]
pub struct Admitted {
    /// The caller.
    pub principal: Arc<Principal>,
    /// How long the authorization lasts.
    pub lease: Lease,
}

/// How a server authenticates requests: with API keys, with access tokens of an authorization server, or by the application
/// ([`from_extensions`](Self::from_extensions), [`verifier`](Self::verifier)).
///
/// They can be combined: API keys (`pt_..`) are tried first, then the application; other tokens are access tokens. A verifier
/// decides on its own, unless it returns [`Principal::anonymous`]. With none of them, every request is rejected.
///
/// ```
/// use papertape_oauth::server::{Auth, OAuthServer};
///
/// let oauth = OAuthServer::new("https://tools.example.com/mcp").issuer("https://login.example.com");
/// let auth = Auth::new().oauth(oauth).implies("admin", ["read", "write"]);
/// assert_eq!(auth.problem(), None);
/// ```
#[derive(Debug, Default)]
#[must_use]
pub struct Auth {
    keys: Option<Keys>,
    pub(super) oauth: Option<ResourceServer>,
    pub(super) application: Option<Application>,
    optional: bool,
    required_scopes: Vec<String>,
    hierarchy: ScopeHierarchy,
    problem: Option<AuthSetupError>,
}

impl Auth {
    /// Rejects every request until keys or OAuth are added.
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts these API keys.
    pub fn keys(mut self, keys: Keys) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Serves requests without credentials as well: their handlers get no principal, and what needs scopes is refused with 401.
    /// Invalid credentials are still rejected.
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Scopes that every request needs.
    pub fn require_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        for scope in scopes.into_iter().map(Into::into) {
            if !is_scope(&scope) {
                self.note_problem(AuthSetupError::Scope(scope.clone()));
            }
            self.required_scopes.push(scope);
        }
        self
    }

    /// A principal with `scope` has the `implied` scopes as well, and those that they imply.
    pub fn implies<S: Into<String>>(
        mut self,
        scope: impl Into<String>,
        implied: impl IntoIterator<Item = S>,
    ) -> Self {
        self.hierarchy.add(scope.into(), implied.into_iter().map(Into::into));
        let invalid = self.hierarchy.names().find(|scope| !is_scope(scope)).map(str::to_owned);
        if let Some(scope) = invalid {
            self.note_problem(AuthSetupError::Scope(scope));
        }
        self
    }

    /// The first configuration error, if there is one. A server must not start with it.
    #[must_use]
    pub fn problem(&self) -> Option<&AuthSetupError> {
        self.problem.as_ref()
    }

    /// Authenticates a request by its headers.
    ///
    /// # Errors
    /// The challenge to respond with, if the request has no valid key or token, or lacks the scopes that every request needs.
    pub async fn check(&self, headers: &HeaderMap) -> Result<Admitted, Challenge> {
        self.check_request(headers, &Extensions::new()).await
    }

    /// Authenticates a request by its headers and extensions.
    ///
    /// # Errors
    /// The challenge to respond with, if the request has no valid credentials, or lacks the scopes that every request needs.
    pub async fn check_request(
        &self,
        headers: &HeaderMap,
        extensions: &Extensions,
    ) -> Result<Admitted, Challenge> {
        let (mut principal, lease, required) = self.authenticate(headers, extensions).await?;
        principal.scopes = self.hierarchy.expand(principal.scopes);
        if !principal.has_scopes(&self.required_scopes) || !principal.has_scopes(required) {
            tracing::debug!(
                principal = principal.name,
                "the principal lacks the scopes that every request needs"
            );
            return Err(self.lacking(&principal, required));
        }
        Ok(Admitted { principal: Arc::new(principal), lease })
    }

    /// The challenge for a principal that lacks some of these scopes: 403, or 401 if it is anonymous.
    #[must_use]
    pub fn lacking(&self, principal: &Principal, scopes: &[String]) -> Challenge {
        if principal.is_anonymous() {
            return self.missing().challenge(&self.needed_scopes(scopes), self.metadata_url());
        }
        self.insufficient(scopes)
    }

    /// The challenge for a principal that lacks scopes (`insufficient_scope`). It names these scopes and those that every request
    /// needs, so that a client requests them all at once.
    #[must_use]
    pub fn insufficient(&self, scopes: &[String]) -> Challenge {
        let scopes = self.needed_scopes(scopes);
        Refusal::insufficient_scope(&scopes).challenge(&scopes, self.metadata_url())
    }

    /// The protected resource metadata, if that is what `path` names. It is public.
    #[must_use]
    pub fn metadata(&self, path: &str) -> Option<Value> {
        self.oauth.as_ref()?.metadata(path)
    }

    /// The principal, for how long, and the scopes that every request authenticated in this way needs.
    async fn authenticate(
        &self,
        headers: &HeaderMap,
        extensions: &Extensions,
    ) -> Result<(Principal, Lease, &[String]), Challenge> {
        let reject = |refusal: Refusal| {
            tracing::debug!(?refusal, "authentication failed");
            refusal.challenge(&self.needed_scopes(&[]), self.metadata_url())
        };
        if let Some(application) = &self.application
            && !(self.keys.is_some() && token_in(headers).is_ok_and(Keys::is_api_key))
        {
            let principal = application.principal(headers, extensions).await.inspect_err(|challenge| {
                tracing::debug!(reason = challenge.message, "the application has rejected a request");
            })?;
            if let Some(principal) = principal {
                let until = principal.expiry();
                if until.is_some_and(|until| until <= SystemTime::now()) {
                    return Err(reject(Refusal::invalid_token("the authorization has expired")));
                }
                return Ok((principal, Lease::until(until), &[]));
            }
            if self.keys.is_none() && self.oauth.is_none() && !self.optional {
                return Err(reject(self.missing()));
            }
        }
        if self.optional && !headers.contains_key(header::AUTHORIZATION) {
            return Ok((Principal::anonymous(), Lease::until(None), &[]));
        }
        self.authenticate_token(headers).await.map_err(reject)
    }

    async fn authenticate_token(
        &self,
        headers: &HeaderMap,
    ) -> Result<(Principal, Lease, &[String]), Refusal> {
        let token = token_in(headers)?;
        if let Some(keys) = &self.keys
            && Keys::is_api_key(token)
        {
            let (principal, until, key) = keys.check(token).await?;
            return Ok((principal, Lease { key: Some(key), ..Lease::until(until) }, &[]));
        }
        if let Some(oauth) = &self.oauth {
            let (principal, until) = oauth.check(token).await?;
            let lease = Lease { recheck: oauth.recheck(token, &principal), ..Lease::until(until) };
            return Ok((principal, lease, oauth.required_scopes()));
        }
        Err(Refusal::invalid_token(match (&self.keys, &self.application) {
            (Some(_), _) => "the token is not an API key of this server",
            (None, Some(_)) => "the application has not authenticated the request",
            (None, None) => "this server is configured without API keys and without OAuth",
        }))
    }

    /// Why a request without credentials is rejected.
    fn missing(&self) -> Refusal {
        if self.keys.is_none() && self.oauth.is_none() && self.application.is_some() {
            return Refusal::missing_principal();
        }
        Refusal::missing_token()
    }

    /// These scopes and those that every request needs, each once.
    fn needed_scopes(&self, scopes: &[String]) -> Vec<String> {
        let token_scopes = self.oauth.as_ref().map_or(&[][..], ResourceServer::required_scopes);
        let mut all: Vec<String> = Vec::new();
        for scope in self.required_scopes.iter().chain(token_scopes).chain(scopes) {
            if !all.contains(scope) {
                all.push(scope.clone());
            }
        }
        all
    }

    fn metadata_url(&self) -> Option<&str> {
        self.oauth.as_ref().map(ResourceServer::metadata_url)
    }

    pub(super) fn note_problem(&mut self, problem: AuthSetupError) {
        self.problem.get_or_insert(problem);
    }
}

/// The bearer token in the `Authorization` header (RFC 6750, section 2.1), for a function of [`Auth::verifier`].
///
/// ```
/// use http::HeaderMap;
/// use papertape_oauth::Principal;
/// use papertape_oauth::server::{Auth, Challenge, bearer_token};
///
/// async fn verify(headers: HeaderMap) -> Result<Principal, Challenge> {
///     match bearer_token(&headers)? {
///         "secret" => Ok(Principal::new("alice")),
///         _ => Err(Challenge::invalid_token("the token is unknown")),
///     }
/// }
///
/// let auth = Auth::verifier(verify);
/// ```
///
/// # Errors
/// The challenge to respond with, if there is no such header, another scheme, or something that is not a token.
pub fn bearer_token(headers: &HeaderMap) -> Result<&str, Challenge> {
    token_in(headers).map_err(|refusal| refusal.challenge(&[], None))
}

/// Tokens in a URL or a form are not accepted: they end up in logs.
fn token_in(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().ok_or_else(Refusal::missing_token)?;
    if values.next().is_some() {
        return Err(Refusal::invalid_request("there are several Authorization headers"));
    }
    let text = value.to_str().map_err(|_| {
        Refusal::invalid_request("the Authorization header has characters that are not ASCII")
    })?;
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Refusal::unknown_scheme());
    }
    let token = token.trim_matches(' ');
    if token.is_empty() {
        return Err(Refusal::invalid_request("the token after Bearer is missing"));
    }
    if token.len() > MAX_TOKEN {
        return Err(Refusal::invalid_request("the token is longer than 16 KiB"));
    }
    let body = token.trim_end_matches('=');
    if body.is_empty() || !body.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~+/".contains(&b)) {
        return Err(Refusal::invalid_request(
            "the token has characters that are not allowed in a bearer token",
        ));
    }
    Ok(token)
}

/// How long an authorization lasts: a key may be revoked and a token may expire while a stream is open.
pub struct Lease {
    until: Option<SystemTime>,
    /// As long as the API key, if it is one, is valid with the same scopes.
    key: Option<HeldKey>,
    /// As long as the token, if it is opaque, is not revoked.
    recheck: Option<Recheck>,
}

impl Lease {
    fn until(until: Option<SystemTime>) -> Self {
        Self { until, key: None, recheck: None }
    }

    /// Waits until the authorization ends.
    pub async fn over(self) {
        let Self { until, key, recheck } = self;
        match (key, recheck) {
            (Some(key), _) => key_over(until, key).await,
            (None, Some(recheck)) => tokio::select! {
                () = wait_until(until) => {}
                () = recheck.revoked() => {}
            },
            (None, None) => wait_until(until).await,
        }
    }
}

/// Waits until a key has expired or is revoked.
async fn key_over(mut until: Option<SystemTime>, mut key: HeldKey) {
    loop {
        tokio::select! {
            () = wait_until(until) => return,
            expires = key.changed() => match expires {
                Some(expires) => until = expires,
                None => return,
            },
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("until", &self.until).finish_non_exhaustive()
    }
}

/// Waits for a moment of the wall clock.
async fn wait_until(until: Option<SystemTime>) {
    let Some(until) = until else { return std::future::pending().await };
    while let Ok(left) = until.duration_since(SystemTime::now())
        && !left.is_zero()
    {
        sleep(left.min(CLOCK_INTERVAL)).await;
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, header};

    use super::bearer_token;

    fn authorization(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn the_scheme_is_case_insensitive_and_spaces_are_trimmed() {
        for value in ["Bearer abc", "bearer abc", "BEARER   abc", "bEaReR abc "] {
            assert_eq!(bearer_token(&authorization(value)), Ok("abc"), "{value}");
        }
    }

    #[test]
    fn every_character_of_a_bearer_token_is_accepted() {
        for valid in ["a", "-._~+/", "abc==", "eyJ.eyJ.sig"] {
            assert_eq!(bearer_token(&authorization(&format!("Bearer {valid}"))), Ok(valid));
        }
    }

    #[test]
    fn a_request_without_a_token_is_challenged() {
        let missing = bearer_token(&HeaderMap::new()).unwrap_err();
        assert_eq!((missing.status.as_u16(), &*missing.authenticate), (401, "Bearer realm=\"mcp\""));
        for (value, status) in [("Basic YTpi", 401), ("Bearer", 400), ("Bearer a b", 400)] {
            assert_eq!(bearer_token(&authorization(value)).unwrap_err().status, status, "{value}");
        }
    }
}
