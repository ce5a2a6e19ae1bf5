//! Authentication and authorization of requests: the token, its principal, and for how long.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, header};
use serde_json::Value;
use tokio::time::sleep;

use super::ResourceServer;
use super::challenge::{Challenge, Refusal};
use super::error::AuthSetupError;
use super::keys::{HeldKey, Keys};
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

/// How a server authenticates requests: with API keys, with access tokens of an authorization server, or with both.
///
/// With neither, every request is rejected.
#[derive(Debug, Default)]
#[must_use]
pub struct Auth {
    keys: Option<Keys>,
    pub(super) oauth: Option<ResourceServer>,
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
        let (mut principal, lease, required) = self.authenticate(headers).await.map_err(|refusal| {
            tracing::debug!(?refusal, "authentication failed");
            refusal.challenge(&self.needed_scopes(&[]), self.metadata_url())
        })?;
        principal.scopes = self.hierarchy.expand(principal.scopes);
        if !principal.has_scopes(&self.required_scopes) || !principal.has_scopes(required) {
            tracing::debug!(
                principal = principal.name,
                "the principal lacks the scopes that every request needs"
            );
            return Err(self.insufficient(required));
        }
        Ok(Admitted { principal: Arc::new(principal), lease })
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
    async fn authenticate(&self, headers: &HeaderMap) -> Result<(Principal, Lease, &[String]), Refusal> {
        let token = bearer_token(headers)?;
        if let Some(keys) = &self.keys
            && Keys::is_api_key(token)
        {
            let (principal, until, key) = keys.check(token).await?;
            return Ok((principal, Lease { until, key: Some(key) }, &[]));
        }
        if let Some(oauth) = &self.oauth {
            let (principal, until) = oauth.check(token).await?;
            return Ok((principal, Lease { until, key: None }, oauth.required_scopes()));
        }
        Err(Refusal::invalid_token(match self.keys {
            Some(_) => "the token is not an API key of this server",
            None => "this server is configured without API keys and without OAuth",
        }))
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

/// The bearer token in the `Authorization` header (RFC 6750, section 2.1). Tokens in a URL or a form are not accepted: they end up in logs.
fn bearer_token(headers: &HeaderMap) -> Result<&str, Refusal> {
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
}

impl Lease {
    /// Waits until the authorization ends.
    pub async fn over(self) {
        let Self { mut until, key } = self;
        let Some(mut key) = key else { return wait_until(until).await };
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
}
