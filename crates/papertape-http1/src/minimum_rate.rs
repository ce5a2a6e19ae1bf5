//! The minimum rate of a request body.

use std::time::{Duration, Instant};

use super::ConnectionLimits;

/// The time at the beginning of a body without a minimum rate.
const GRACE: Duration = Duration::from_secs(10);

/// A leaky bucket: it fills with the bytes that arrive and drains while the server waits; when it is empty, the body is too
/// slow. Only waiting counts: a peer is not slow because the handler does not read.
#[derive(Debug)]
pub(super) struct MinimumRate {
    bucket: u64,
    waiting: Option<Instant>,
}

impl MinimumRate {
    pub(super) fn new(limits: &ConnectionLimits) -> Self {
        Self { bucket: bytes_in(GRACE.min(limits.body_idle), limits), waiting: None }
    }

    /// Bytes have arrived.
    pub(super) fn received(&mut self, bytes: usize, limits: &ConnectionLimits) {
        if let Some(since) = self.waiting.take() {
            self.bucket = self.bucket.saturating_sub(bytes_in(since.elapsed(), limits));
        }
        let most = bytes_in(limits.body_idle, limits);
        self.bucket = self.bucket.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX)).min(most);
    }

    /// No bytes have arrived yet: how long to wait, if the wait begins now.
    pub(super) fn wait(&mut self, limits: &ConnectionLimits) -> Option<Duration> {
        if self.waiting.is_some() {
            return None;
        }
        self.waiting = Some(Instant::now());
        let bucket = self.bucket.saturating_mul(1000).checked_div(limits.body_rate);
        Some(bucket.map_or(limits.body_idle, |millis| limits.body_idle.min(Duration::from_millis(millis))))
    }
}

/// The bytes that have to arrive in a time.
fn bytes_in(time: Duration, limits: &ConnectionLimits) -> u64 {
    let bytes = time.as_millis().saturating_mul(u128::from(limits.body_rate)) / 1000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
