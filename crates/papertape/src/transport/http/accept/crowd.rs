//! All connections of a listener: who is late, and who makes room.

use std::sync::Arc;

use super::pulse::{Pulse, Stage};

/// How long the head of a request may be on its way before its connection may have to make room, in milliseconds.
const HEAD_AGE: u64 = 1_000;
/// How long nobody is looked for after nobody was found, in milliseconds: a look at ten thousand takes a part of one.
const PAUSE: u64 = 10;
/// How many connections are marked in one look as those that make room next.
const MARKED: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Crowd {
    members: Vec<Arc<Pulse>>,
    /// Those that make room next, the best of them last.
    marked: Vec<Arc<Pulse>>,
    /// When there may be another look, after one that found nobody.
    next_look: u64,
}

impl Crowd {
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn join(&mut self, pulse: Arc<Pulse>) {
        self.members.push(pulse);
    }

    /// Looks everybody over: forgets who is gone, wakes who is late.
    pub(super) fn round(&mut self, now: u64) {
        self.members.retain(|pulse| !pulse.is_gone());
        self.members.iter().filter(|pulse| pulse.is_late(now)).for_each(|pulse| pulse.poke());
        self.marked.clear();
        if self.members.len() < self.members.capacity() / 4 {
            self.members.shrink_to_fit();
        }
    }

    /// Wakes everybody.
    pub(super) fn poke(&self) {
        self.members.iter().for_each(|pulse| pulse.poke());
    }

    /// Whether a connection that has to make room has not ended yet.
    pub(super) fn is_making_room(&self) -> bool {
        self.members.iter().any(|pulse| pulse.is_evicted() && !pulse.is_gone())
    }

    /// Has the connection end that is missed least; false if all are at work.
    pub(super) fn make_room(&mut self, now: u64) -> bool {
        loop {
            while let Some(pulse) = self.marked.pop() {
                if rank(&pulse, now).is_some() {
                    pulse.evict();
                    return true;
                }
            }
            if now < self.next_look {
                return false;
            }
            self.mark(now);
            if self.marked.is_empty() {
                self.next_look = now.saturating_add(PAUSE);
            }
        }
    }

    fn mark(&mut self, now: u64) {
        let mut ranked: Vec<_> =
            self.members.iter().filter_map(|pulse| Some((rank(pulse, now)?, pulse))).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        ranked.truncate(MARKED);
        self.marked = ranked.into_iter().rev().map(|(_, pulse)| Arc::clone(pulse)).collect();
    }
}

/// The lower, the less a connection is missed: those between requests by age, then those that take long to say what they want.
fn rank(pulse: &Pulse, now: u64) -> Option<(bool, u64)> {
    if pulse.is_gone() || pulse.is_evicted() {
        return None;
    }
    let since = pulse.since();
    match pulse.stage() {
        Stage::Fresh | Stage::Idle => Some((false, since)),
        Stage::Head if since.saturating_add(HEAD_AGE) <= now => Some((true, since)),
        Stage::Head | Stage::Body | Stage::Busy => None,
    }
}
