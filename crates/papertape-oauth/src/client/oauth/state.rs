//! What a flow remembers between requests: the active tokens, registered clients, nonces and failures.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use url::Url;

use super::authorization_server::AuthorizationServer;
use super::dpop::ProofKey;
use super::network::Zone;
use super::oauth_client::RegisteredClient;
use super::token_request;
use super::token_store::SavedTokens;
use crate::client::error::AuthError;
use crate::client::www_authenticate::TokenChallenge;

/// How long a token counts as new: a challenge may belong to a request that was sent before.
const NEW_FOR: Duration = Duration::from_secs(10);
/// How long a permanent failure is remembered, so that the same challenge does not open a browser again.
const FAILURE_REMEMBERED: Duration = Duration::from_secs(60);
/// The most issuers whose clients are remembered.
const MAX_ISSUERS: usize = 16;

/// The tokens in use, and where they may be sent.
#[derive(Debug, Clone)]
pub(super) struct ActiveTokens {
    pub(super) issuer: AuthorizationServer,
    /// The resource identifier that the token is for.
    pub(super) resource: String,
    pub(super) saved: SavedTokens,
    pub(super) key: Option<ProofKey>,
    pub(super) origin: Origin,
    issued: Instant,
    used: bool,
    /// A challenged request, which may have been sent with an older token, is sent again with this one.
    retried: bool,
}

/// Where a token comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The token store.
    Stored,
    /// A refresh.
    Refreshed,
    /// A grant.
    Granted,
}

impl ActiveTokens {
    pub(super) fn new(
        issuer: AuthorizationServer,
        resource: String,
        saved: SavedTokens,
        origin: Origin,
    ) -> Self {
        let key = saved.key.as_ref().and_then(ProofKey::parse);
        Self { issuer, resource, saved, key, origin, issued: Instant::now(), used: false, retried: false }
    }

    /// Whether a request that was challenged for the first time may have been sent with an older token.
    pub(super) fn is_new(&self) -> bool {
        !self.used || self.issued.elapsed() < NEW_FOR
    }

    /// Whether the server rejects this very token: a repeated request was sent with it.
    pub(super) fn is_rejected(&self, attempt: usize, origin: Origin) -> bool {
        attempt > 1 && self.origin == origin && !self.retried
    }

    pub(super) fn is_expiring(&self) -> bool {
        token_request::is_expiring(self.saved.expires_at, self.saved.lifetime)
    }

    /// Whether the token was requested with all of these scopes.
    pub(super) fn covers_scopes(&self, scopes: &[String]) -> bool {
        scopes.iter().all(|scope| self.saved.scopes.contains(scope))
    }
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// The server that the flow is for.
    pub(super) server: Option<Url>,
    /// Its network zone, once that is known, and the address that it responded from.
    pub(super) zone: Option<Zone>,
    pub(super) peer: Option<SocketAddr>,
    active: Option<ActiveTokens>,
    /// Counts the tokens, so that a waiting request sees that there is a new one.
    pub(super) generation: u64,
    /// The last DPoP nonce of the server.
    pub(super) nonce: Option<String>,
    /// The last DPoP nonce of a token endpoint, and its issuer.
    pub(super) issuer_nonce: Option<(String, String)>,
    /// Dynamically registered clients by issuer.
    clients: HashMap<String, RegisteredClient>,
    /// The issuer that a client from the options was first used with.
    pub(super) first_issuer: Option<String>,
    permanent_failure: Option<(TokenChallenge, Instant, AuthError)>,
    /// Counts the failures and keeps the last, which all requests that waited for it share.
    pub(super) failures: u64,
    last_failure: Option<AuthError>,
    /// When a refresh failed.
    refresh_failed: Option<Instant>,
}

impl State {
    pub(super) fn active(&self) -> Option<&ActiveTokens> {
        self.active.as_ref()
    }

    /// The tokens for one request.
    pub(super) fn use_active(&mut self) -> Option<&ActiveTokens> {
        let active = self.active.as_mut()?;
        active.used = true;
        Some(active)
    }

    pub(super) fn activate(&mut self, tokens: ActiveTokens) {
        if tokens.saved.client.dynamic {
            self.remember_client(&tokens.issuer.name, tokens.saved.client.clone());
        }
        self.active = Some(tokens);
        self.generation += 1;
        self.permanent_failure = None;
        self.refresh_failed = None;
    }

    /// A request that may have been challenged with an older token is sent again with the active one.
    pub(super) fn mark_retried(&mut self) {
        if let Some(active) = &mut self.active {
            active.retried = true;
        }
    }

    pub(super) fn discard_active(&mut self) {
        self.active = None;
    }

    pub(super) fn client(&self, issuer: &str) -> Option<&RegisteredClient> {
        self.clients.get(issuer)
    }

    pub(super) fn remember_client(&mut self, issuer: &str, client: RegisteredClient) {
        if self.clients.len() >= MAX_ISSUERS && !self.clients.contains_key(issuer) {
            self.clients.clear();
        }
        self.clients.insert(issuer.to_owned(), client);
    }

    pub(super) fn forget_client(&mut self, issuer: &str) {
        self.clients.remove(issuer);
    }

    /// The permanent failure of the same challenge a moment ago.
    pub(super) fn permanent_failure(&self, challenge: &TokenChallenge) -> Option<AuthError> {
        let (earlier, at, error) = self.permanent_failure.as_ref()?;
        (earlier == challenge && at.elapsed() < FAILURE_REMEMBERED).then(|| error.clone())
    }

    /// The last failure, if there are more than `seen`.
    pub(super) fn failure_since(&self, seen: u64) -> Option<AuthError> {
        self.last_failure.clone().filter(|_| self.failures != seen)
    }

    /// Whether a refresh failed a moment ago; the next request does not wait for another one then.
    pub(super) fn refresh_failed_recently(&self) -> bool {
        self.refresh_failed.is_some_and(|at| at.elapsed() < NEW_FOR)
    }

    pub(super) fn remember_refresh_failed(&mut self) {
        self.refresh_failed = Some(Instant::now());
    }

    pub(super) fn remember_failure(&mut self, challenge: &TokenChallenge, error: &AuthError) {
        self.failures += 1;
        self.last_failure = Some(error.clone());
        if error.permanent {
            self.permanent_failure = Some((challenge.clone(), Instant::now(), error.clone()));
        }
    }
}
