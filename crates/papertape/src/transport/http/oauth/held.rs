//! What a flow knows between two requests: the tokens in use, and what was tried.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use url::Url;

use super::address::Reach;
use super::challenge::Wanted;
use super::client::Registered;
use super::dpop::ProofKey;
use super::error::AuthError;
use super::issuer::Issuer;
use super::store::SavedTokens;
use super::token;

/// How long a token counts as just given: a request that was refused may have been sent before it was.
const YOUNG: Duration = Duration::from_secs(10);
/// How long a refusal is remembered, so that nobody is asked the same again at once.
const MEMORY: Duration = Duration::from_secs(60);
/// The most issuers whose clients are remembered.
const ISSUERS: usize = 16;

/// The tokens in use.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) issuer: Issuer,
    /// The server's name for itself: where the token may go.
    pub(crate) resource: String,
    pub(crate) saved: SavedTokens,
    pub(crate) key: Option<ProofKey>,
    pub(crate) origin: Origin,
    born: Instant,
    used: bool,
    /// A request was refused that may have been sent with an older token, and is sent again with this one.
    doubted: bool,
}

/// Where a token came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// From the store.
    Kept,
    /// In exchange for an older one.
    Renewed,
    /// Somebody was asked for it.
    Asked,
}

impl Held {
    pub(crate) fn new(issuer: Issuer, resource: String, saved: SavedTokens, origin: Origin) -> Self {
        let key = saved.key.as_ref().and_then(ProofKey::read);
        Self { issuer, resource, saved, key, origin, born: Instant::now(), used: false, doubted: false }
    }

    /// Whether a request that was refused at its first attempt may have been sent with an older token.
    pub(crate) fn just_given(&self) -> bool {
        !self.used || self.born.elapsed() < YOUNG
    }

    /// Whether the server refuses this very token, which the request that was refused had been given for its next attempt.
    pub(crate) fn in_vain(&self, attempt: usize, origin: Origin) -> bool {
        attempt > 1 && self.origin == origin && !self.doubted
    }

    pub(crate) fn stale(&self) -> bool {
        token::stale(self.saved.expires_at, self.saved.lifetime)
    }

    /// Whether the token was asked for with all of these scopes.
    pub(crate) fn has(&self, scopes: &[String]) -> bool {
        scopes.iter().all(|scope| self.saved.scopes.contains(scope))
    }
}

/// What a flow knows.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The one server that it is for.
    pub(crate) server: Option<Url>,
    /// How near it is, once that is known, and where it answered from.
    pub(crate) reach: Option<Reach>,
    pub(crate) peer: Option<SocketAddr>,
    held: Option<Held>,
    /// Counts the tokens, so that whoever waited knows that there is a new one.
    pub(crate) generation: u64,
    /// The MCP server's last nonce.
    pub(crate) nonce: Option<String>,
    /// The token endpoint's last nonce, and whose it is.
    pub(crate) issuer_nonce: Option<(String, String)>,
    /// Clients that issuers made for us: each for its issuer alone.
    clients: HashMap<String, Registered>,
    /// The issuer that a given client went to first.
    pub(crate) first_issuer: Option<String>,
    refusal: Option<(Wanted, Instant, AuthError)>,
    /// Counts what came to nothing, and keeps the last of it, so that whoever waited for it need not try it again.
    pub(crate) failures: u64,
    failure: Option<AuthError>,
    /// When a token could not be renewed.
    unrenewed: Option<Instant>,
}

impl State {
    pub(crate) fn held(&self) -> Option<&Held> {
        self.held.as_ref()
    }

    /// The token for one request.
    pub(crate) fn use_held(&mut self) -> Option<&Held> {
        let held = self.held.as_mut()?;
        held.used = true;
        Some(held)
    }

    pub(crate) fn hold(&mut self, held: Held) {
        if held.saved.client.dynamic {
            self.remember_client(&held.issuer.name, held.saved.client.clone());
        }
        self.held = Some(held);
        self.generation += 1;
        self.refusal = None;
        self.unrenewed = None;
    }

    /// The token in use is tried by a request that may have been refused with an older one.
    pub(crate) fn doubt_held(&mut self) {
        if let Some(held) = &mut self.held {
            held.doubted = true;
        }
    }

    /// Forgets a token that is good for nothing.
    pub(crate) fn drop_held(&mut self) {
        self.held = None;
    }

    pub(crate) fn client(&self, issuer: &str) -> Option<&Registered> {
        self.clients.get(issuer)
    }

    pub(crate) fn remember_client(&mut self, issuer: &str, client: Registered) {
        if self.clients.len() >= ISSUERS && !self.clients.contains_key(issuer) {
            self.clients.clear();
        }
        self.clients.insert(issuer.to_owned(), client);
    }

    pub(crate) fn forget_client(&mut self, issuer: &str) {
        self.clients.remove(issuer);
    }

    /// The same was asked for a moment ago, and this is what came of it.
    pub(crate) fn refusal(&self, wanted: &Wanted) -> Option<AuthError> {
        let (before, at, error) = self.refusal.as_ref()?;
        (before == wanted && at.elapsed() < MEMORY).then(|| error.clone())
    }

    /// What came to nothing since there were so many failures.
    pub(crate) fn failure_since(&self, seen: u64) -> Option<AuthError> {
        self.failure.clone().filter(|_| self.failures != seen)
    }

    /// Whether a token could not be renewed a moment ago: then the next request does not wait for another try.
    pub(crate) fn renewal_failed(&self) -> bool {
        self.unrenewed.is_some_and(|at| at.elapsed() < YOUNG)
    }

    pub(crate) fn remember_renewal_failed(&mut self) {
        self.unrenewed = Some(Instant::now());
    }

    pub(crate) fn remember_failure(&mut self, wanted: &Wanted, error: &AuthError) {
        self.failures += 1;
        self.failure = Some(error.clone());
        if error.final_word {
            self.refusal = Some((wanted.clone(), Instant::now(), error.clone()));
        }
    }
}
