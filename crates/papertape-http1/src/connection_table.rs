//! All connections of a listener: which have passed a deadline, and which are evicted for new ones.

use std::sync::Arc;

use super::connection_state::{ConnectionState, Stage};

/// Milliseconds after which a connection with an incomplete head may be evicted.
const HEAD_AGE: u64 = 1_000;
/// Milliseconds until the next search after one without a result: a search of ten thousand takes a fraction of one.
const PAUSE: u64 = 10;
/// Candidates for eviction that one search finds.
const CANDIDATES: usize = 256;

#[derive(Debug, Default)]
pub(super) struct ConnectionTable {
    connections: Vec<Arc<ConnectionState>>,
    /// Candidates for eviction, the best last.
    candidates: Vec<Arc<ConnectionState>>,
    /// When to search again, after a search without a result.
    next_search: u64,
}

impl ConnectionTable {
    pub(super) fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    pub(super) fn add(&mut self, state: Arc<ConnectionState>) {
        self.connections.push(state);
    }

    /// Removes closed connections, and wakes those that have passed a deadline.
    pub(super) fn check(&mut self, now: u64) {
        self.connections.retain(|state| !state.is_closed());
        self.connections.iter().filter(|state| state.is_late(now)).for_each(|state| state.wake());
        self.candidates.clear();
        if self.connections.len() < self.connections.capacity() / 4 {
            self.connections.shrink_to_fit();
        }
    }

    /// Wakes all connections.
    pub(super) fn wake_all(&self) {
        self.connections.iter().for_each(|state| state.wake());
    }

    /// Whether an evicted connection has not closed yet.
    pub(super) fn is_evicting(&self) -> bool {
        self.connections.iter().any(|state| state.is_evicted() && !state.is_closed())
    }

    /// Evicts the connection that has been idle longest; false if none is idle.
    pub(super) fn evict_one(&mut self, now: u64) -> bool {
        loop {
            while let Some(state) = self.candidates.pop() {
                if rank(&state, now).is_some() {
                    state.evict();
                    return true;
                }
            }
            if now < self.next_search {
                return false;
            }
            self.find_candidates(now);
            if self.candidates.is_empty() {
                self.next_search = now.saturating_add(PAUSE);
            }
        }
    }

    fn find_candidates(&mut self, now: u64) {
        let mut ranked: Vec<_> =
            self.connections.iter().filter_map(|state| Some((rank(state, now)?, state))).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        ranked.truncate(CANDIDATES);
        self.candidates = ranked.into_iter().rev().map(|(_, state)| Arc::clone(state)).collect();
    }
}

/// The order of eviction: idle connections by age, then those whose head takes long.
fn rank(state: &ConnectionState, now: u64) -> Option<(bool, u64)> {
    if state.is_closed() || state.is_evicted() {
        return None;
    }
    let since = state.since();
    match state.stage() {
        Stage::Fresh | Stage::Idle => Some((false, since)),
        Stage::Head if since.saturating_add(HEAD_AGE) <= now => Some((true, since)),
        Stage::Head | Stage::Body | Stage::Busy => None,
    }
}
