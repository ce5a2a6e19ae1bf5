//! The keys of one issuer, as fresh as they must be: cached, fetched by one for all, kept for a while if it is down.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use url::Url;

use super::fetch::Fetcher;
use super::jwks::KeySet;

/// While there are no keys at all, nobody gets in: they are asked for sooner.
const FIRST_GAP: Duration = Duration::from_secs(1);

/// How fresh keys must be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Freshness {
    /// Between two fetches there is at least this, whatever tokens say.
    pub(super) gap: Duration,
    /// Keys older than this are fetched anew.
    pub(super) refresh: Duration,
    /// Keys older than this are not used, even if the issuer is down.
    pub(super) stale: Duration,
}

/// One issuer and what is known of its keys.
pub(super) struct Issuer {
    pub(super) name: String,
    /// Where its keys are, if that is not left to its metadata.
    jwks: Option<Url>,
    fetcher: Fetcher,
    freshness: Freshness,
    state: Mutex<State>,
    /// Tells whoever waits that a fetch is over.
    over: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    keys: Option<(Arc<KeySet>, Instant)>,
    /// Where they were found.
    found: Option<Url>,
    attempted: Option<Instant>,
    fetching: bool,
}

impl Issuer {
    pub(super) fn new(name: String, jwks: Option<Url>, fetcher: Fetcher, freshness: Freshness) -> Self {
        let (over, _) = watch::channel(());
        Self { name, jwks, fetcher, freshness, state: Mutex::default(), over }
    }

    /// Its keys; fetched if there are none. Old ones are used while new ones are on their way.
    pub(super) async fn keys(self: &Arc<Self>) -> Option<Arc<KeySet>> {
        match self.known() {
            Some((keys, age)) => {
                if age > self.freshness.refresh {
                    drop(self.fetch());
                }
                Some(keys)
            }
            None => self.newer().await,
        }
    }

    /// Its keys after another look, because those that are known are not enough; unless somebody has just looked.
    pub(super) async fn newer(self: &Arc<Self>) -> Option<Arc<KeySet>> {
        if let Some(mut over) = self.fetch() {
            // The sender lives as long as `self`.
            drop(over.changed().await);
        }
        self.known().map(|(keys, _)| keys)
    }

    /// The keys that may be used, and their age.
    fn known(&self) -> Option<(Arc<KeySet>, Duration)> {
        let state = self.state();
        let (keys, fetched) = state.keys.as_ref()?;
        let age = fetched.elapsed();
        (age <= self.freshness.stale).then(|| (Arc::clone(keys), age))
    }

    /// Starts a fetch, or joins the one that is under way; what it returns changes when that is over.
    /// `None` if the last one was just now.
    fn fetch(self: &Arc<Self>) -> Option<watch::Receiver<()>> {
        let mut state = self.state();
        // Subscribed while the state is locked: the end of a fetch cannot be missed.
        let over = self.over.subscribe();
        if state.fetching {
            return Some(over);
        }
        let gap = if state.keys.is_none() { self.freshness.gap.min(FIRST_GAP) } else { self.freshness.gap };
        if state.attempted.is_some_and(|attempted| attempted.elapsed() < gap) {
            return None;
        }
        state.attempted = Some(Instant::now());
        state.fetching = true;
        let known = self.jwks.clone().or_else(|| state.found.clone());
        let fetching = Fetching(Arc::clone(self));
        // On its own: the request that began it may be gone before it is over, the others wait on.
        tokio::spawn(async move {
            let issuer = &fetching.0;
            let result = issuer.fetcher.keys(&issuer.name, known).await;
            issuer.keep(result);
        });
        Some(over)
    }

    fn keep(&self, result: Result<(KeySet, Url), String>) {
        let mut state = self.state();
        match result {
            Ok((keys, url)) => {
                state.keys = Some((Arc::new(keys), Instant::now()));
                state.found = Some(url);
            }
            Err(problem) => {
                // Perhaps they have moved.
                state.found = None;
                let old = state.keys.is_some();
                drop(state);
                let then = if old { "the old ones are used" } else { "nobody can be let in" };
                tracing::warn!(issuer = self.name, "cannot get the issuer's keys, {then}: {problem}");
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A fetch under way. However it ends, those who wait are told.
struct Fetching(Arc<Issuer>);

impl Drop for Fetching {
    fn drop(&mut self) {
        self.0.state().fetching = false;
        self.0.over.send_replace(());
    }
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer").field("name", &self.name).field("jwks", &self.jwks).finish_non_exhaustive()
    }
}
