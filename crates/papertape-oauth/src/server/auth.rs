//! Authentication and authorization of requests.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::Value;

use super::ResourceServer;
use super::bearer;
use super::challenge::{Challenge, Refusal};
use super::error::AuthSetupError;
use super::keys::Keys;
use super::lease::Lease;
use super::scope_hierarchy::ScopeHierarchy;
use crate::{Principal, is_scope};

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
        let token = bearer::token(headers)?;
        if let Some(keys) = &self.keys
            && Keys::is_api_key(token)
        {
            let (principal, lease) = keys.check(token).await?;
            return Ok((principal, lease, &[]));
        }
        if let Some(oauth) = &self.oauth {
            let (principal, lease) = oauth.check(token).await?;
            return Ok((principal, lease, oauth.required_scopes()));
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
