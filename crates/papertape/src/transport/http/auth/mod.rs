//! Who asks: a header to a principal, or to a challenge.
//!
//! `bearer` finds the token; `keys` knows those that are ours (`key`, `key_file`,
//! `key_writing`), `token` those that an issuer has signed
//! (`crypto`), with the keys that `issuer` gets (`fetch`, `jwks`); `lease` says for how long
//! they are let in, `challenge` what is missing.

mod algorithm;
mod bearer;
mod challenge;
pub(super) mod crypto;
mod error;
mod fetch;
mod issuer;
mod jwks;
mod key;
mod key_file;
mod key_writing;
mod keys;
mod lease;
mod oauth_server;
#[cfg(test)]
mod tests;
mod token;

use std::sync::Arc;

use http::HeaderMap;
use serde_json::Value;

pub use algorithm::Algorithm;
pub(crate) use challenge::Challenge;
pub use error::AuthSetupError;
pub use key::NewKey;
pub use keys::Keys;
pub(crate) use lease::Lease;
pub use oauth_server::OAuthServer;

use crate::server::Principal;
use crate::server::scope::{Hierarchy, is_scope};
use challenge::{Refusal, challenge};
use oauth_server::ResourceServer;

/// An authorized principal.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) principal: Arc<Principal>,
    /// For how long.
    pub(crate) lease: Lease,
}

/// Who may ask, and how they show it: with keys of ours, with the tokens of an authorization server, or either.
///
/// With neither, nobody may.
#[derive(Debug, Default)]
#[must_use]
pub struct Auth {
    keys: Option<Keys>,
    oauth: Option<ResourceServer>,
    required: Vec<String>,
    hierarchy: Hierarchy,
    problem: Option<AuthSetupError>,
}

impl Auth {
    /// Lets nobody in, yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets those in who have one of these keys.
    pub fn keys(mut self, keys: Keys) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Lets those in who have a token of one of the server's issuers.
    pub fn oauth(mut self, oauth: OAuthServer) -> Self {
        match oauth.build() {
            Ok(oauth) => self.oauth = Some(oauth),
            Err(problem) => self.note(problem),
        }
        self
    }

    /// What everybody must be allowed, whatever they ask for.
    pub fn require_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        for scope in scopes.into_iter().map(Into::into) {
            self.check_scope(&scope);
            self.required.push(scope);
        }
        self
    }

    /// Whoever has one scope has these too, and what they imply.
    pub fn implies<S: Into<String>>(
        mut self,
        scope: impl Into<String>,
        implied: impl IntoIterator<Item = S>,
    ) -> Self {
        self.hierarchy.add(scope.into(), implied.into_iter().map(Into::into));
        let bad = self.hierarchy.names().find(|scope| !is_scope(scope)).map(str::to_owned);
        if let Some(scope) = bad {
            self.note(AuthSetupError::Scope(scope));
        }
        self
    }

    /// What is wrong with this, if anything is: serving will fail with it. Until then nobody is let in wrongly.
    #[must_use]
    pub fn problem(&self) -> Option<&AuthSetupError> {
        self.problem.as_ref()
    }

    /// Who asks, by the headers of a request.
    pub(crate) async fn check(&self, headers: &HeaderMap) -> Result<Admitted, Challenge> {
        let (mut principal, lease, required) = self.identify(headers).await.map_err(|refusal| {
            tracing::debug!(?refusal, "not let in");
            self.challenge(refusal, &[])
        })?;
        principal.scopes = self.hierarchy.expand(principal.scopes);
        if !principal.has_scopes(&self.required) || !principal.has_scopes(required) {
            tracing::debug!(
                principal = principal.name,
                "let in, but without the scopes that everybody needs"
            );
            return Err(self.insufficient(required));
        }
        Ok(Admitted { principal: Arc::new(principal), lease })
    }

    /// What somebody gets whose scopes are not enough: these are, together with what everybody needs.
    pub(crate) fn insufficient(&self, scopes: &[String]) -> Challenge {
        self.challenge(Refusal::Insufficient, scopes)
    }

    /// The protected resource's metadata, if that is what is asked for. Nobody needs a token for it.
    pub(crate) fn metadata(&self, path: &str) -> Option<Value> {
        let oauth = self.oauth.as_ref()?;
        oauth.paths.iter().any(|known| known == path).then(|| oauth.metadata.clone())
    }

    /// Who asks, for how long they may, and the scopes that everybody needs who comes this way.
    async fn identify(&self, headers: &HeaderMap) -> Result<(Principal, Lease, &[String]), Refusal> {
        let token = bearer::token(headers)?;
        match (&self.keys, &self.oauth) {
            // No JWT begins like this.
            (Some(keys), _) if Keys::looks_like_one(token) => {
                let (principal, lease) = keys.check(token).await?;
                Ok((principal, lease, &[]))
            }
            (_, Some(oauth)) => {
                let (principal, until) = oauth.verifier.check(token).await?;
                Ok((principal, Lease::until(until), &oauth.required))
            }
            (Some(_), None) => Err(Refusal::invalid("this is no key of this server")),
            (None, None) => Err(Refusal::invalid("this server lets nobody in")),
        }
    }

    /// A challenge that names, in one, these scopes and those that everybody needs: a client that asks for what it says
    /// need not ask twice.
    fn challenge(&self, refusal: Refusal, scopes: &[String]) -> Challenge {
        let of_tokens = self.oauth.as_ref().map(|oauth| oauth.required.as_slice()).unwrap_or_default();
        let mut all: Vec<String> = Vec::new();
        for scope in self.required.iter().chain(of_tokens).chain(scopes) {
            if !all.contains(scope) {
                all.push(scope.clone());
            }
        }
        challenge(refusal, &all, self.oauth.as_ref().map(|oauth| oauth.metadata_url.as_str()))
    }

    fn check_scope(&mut self, scope: &str) {
        if !is_scope(scope) {
            self.note(AuthSetupError::Scope(scope.to_owned()));
        }
    }

    /// The first thing that goes wrong is told.
    fn note(&mut self, problem: AuthSetupError) {
        self.problem.get_or_insert(problem);
    }
}
