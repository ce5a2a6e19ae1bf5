//! The cached keys of an issuer: fetched once for all waiting requests, and used for a while if the issuer is down.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use url::Url;

use super::fetch::Fetcher;
use super::jwks::KeySet;
use crate::sync::lock;

/// The interval of fetches while there are no keys at all, so that no token can be verified.
const FIRST_INTERVAL: Duration = Duration::from_secs(1);

/// How long keys are cached.
#[derive(Debug, Clone, Copy)]
pub(super) struct Freshness {
    /// The shortest time between two fetches, whatever tokens arrive.
    pub(super) min_interval: Duration,
    /// Older keys are fetched again.
    pub(super) refresh: Duration,
    /// Older keys are not used, even if the issuer is down.
    pub(super) stale: Duration,
}

pub(super) struct Issuer {
    pub(super) name: String,
    /// The configured JWKS URL; without it, the metadata of the issuer has one.
    jwks_url: Option<Url>,
    fetcher: Fetcher,
    freshness: Freshness,
    state: Mutex<State>,
    /// Signals waiting requests that a fetch has ended.
    fetched: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    keys: Option<(Arc<KeySet>, Instant)>,
    /// The JWKS URL of the metadata.
    discovered: Option<Url>,
    attempted: Option<Instant>,
    fetching: bool,
}

impl Issuer {
    pub(super) fn new(name: String, jwks_url: Option<Url>, fetcher: Fetcher, freshness: Freshness) -> Self {
        let (fetched, _) = watch::channel(());
        Self { name, jwks_url, fetcher, freshness, state: Mutex::default(), fetched }
    }

    /// The keys; fetched if there are none. Old ones are used while new ones are fetched.
    pub(super) async fn keys(self: &Arc<Self>) -> Option<Arc<KeySet>> {
        match self.cached() {
            Some((keys, age)) => {
                if age > self.freshness.refresh {
                    drop(self.fetch());
                }
                Some(keys)
            }
            None => self.newer().await,
        }
    }

    /// The keys after another fetch, because a token is signed with an unknown one; unless the last fetch was just now.
    pub(super) async fn newer(self: &Arc<Self>) -> Option<Arc<KeySet>> {
        if let Some(mut fetched) = self.fetch() {
            // The sender lives as long as `self`.
            drop(fetched.changed().await);
        }
        self.cached().map(|(keys, _)| keys)
    }

    /// The cached keys, if they are not stale, and their age.
    fn cached(&self) -> Option<(Arc<KeySet>, Duration)> {
        let state = self.state();
        let (keys, fetched) = state.keys.as_ref()?;
        let age = fetched.elapsed();
        (age <= self.freshness.stale).then(|| (Arc::clone(keys), age))
    }

    /// Starts a fetch or joins the one under way; the receiver changes when it ends. `None` if the last one was just now.
    fn fetch(self: &Arc<Self>) -> Option<watch::Receiver<()>> {
        let mut state = self.state();
        // Subscribed while the state is locked, so that the end of a fetch is not missed.
        let fetched = self.fetched.subscribe();
        if state.fetching {
            return Some(fetched);
        }
        let interval = if state.keys.is_none() {
            self.freshness.min_interval.min(FIRST_INTERVAL)
        } else {
            self.freshness.min_interval
        };
        if state.attempted.is_some_and(|attempted| attempted.elapsed() < interval) {
            return None;
        }
        state.attempted = Some(Instant::now());
        state.fetching = true;
        let url = self.jwks_url.clone().or_else(|| state.discovered.clone());
        let fetching = Fetching(Arc::clone(self));
        // In a task of its own: the request that began it may be cancelled while others wait.
        tokio::spawn(async move {
            let issuer = &fetching.0;
            let result = issuer.fetcher.keys(&issuer.name, url).await;
            issuer.store(result);
        });
        Some(fetched)
    }

    fn store(&self, result: Result<(KeySet, Url), String>) {
        let mut state = self.state();
        match result {
            Ok((keys, url)) => {
                state.keys = Some((Arc::new(keys), Instant::now()));
                state.discovered = Some(url);
            }
            Err(problem) => {
                // The keys may have moved.
                state.discovered = None;
                let old = state.keys.is_some();
                drop(state);
                let then = if old { "the cached ones are used" } else { "no token can be verified" };
                tracing::warn!(issuer = self.name, "cannot fetch the keys of the issuer, {then}: {problem}");
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// A fetch under way. However it ends, waiting requests are signalled.
struct Fetching(Arc<Issuer>);

impl Drop for Fetching {
    fn drop(&mut self) {
        self.0.state().fetching = false;
        self.0.fetched.send_replace(());
    }
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer")
            .field("name", &self.name)
            .field("jwks_url", &self.jwks_url)
            .finish_non_exhaustive()
    }
}
