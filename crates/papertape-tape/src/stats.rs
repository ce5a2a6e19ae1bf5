//! Numbers about a recording: how often, how long, how large, by method.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use papertape::protocol::method;
use papertape::wire::tape::Direction;

use crate::{Call, Outcome, Recording};

/// The requests of one method, and of one tool or prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodStats {
    /// The direction of the requests.
    pub direction: Direction,
    /// The method.
    pub method: Arc<str>,
    /// The tool or prompt.
    pub name: Option<Arc<str>>,
    /// How many requests there were.
    pub count: u64,
    /// How many of them got an error: of the tool, of the server, or an invalid response.
    pub errors: u64,
    /// How many of them were cancelled and have no response.
    pub cancelled: u64,
    /// How many of them have no response, and were not cancelled.
    pub unanswered: u64,
    /// How long responses took; none if no response has a time.
    pub latency: Option<Latency>,
    /// The bytes of all requests, and of the largest.
    pub request_bytes: Sizes,
    /// The bytes of all responses, and of the largest.
    pub response_bytes: Sizes,
}

/// How long responses took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    /// Half of the responses took no longer.
    pub p50: Duration,
    /// 95 of 100 responses took no longer.
    pub p95: Duration,
    /// No response took longer.
    pub max: Duration,
}

/// How large frames were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sizes {
    /// All of them together, in bytes.
    pub total: u64,
    /// The largest, in bytes.
    pub max: u64,
}

impl Sizes {
    fn add(&mut self, size: u64) {
        self.total += size;
        self.max = self.max.max(size);
    }
}

impl Recording {
    /// Numbers about each method, in the order of their first requests. Tools and prompts are apart, up to 1,000 of them.
    #[must_use]
    pub fn by_method(&self) -> Vec<MethodStats> {
        let mut rows: Vec<(MethodStats, Vec<Duration>)> = Vec::new();
        let mut indexes: HashMap<Key, usize> = HashMap::new();
        for call in self.calls() {
            let named = matches!(&*call.method, method::TOOLS_CALL | method::PROMPTS_GET);
            let name = call.name.clone().filter(|_| named && rows.len() < MOST_NAMED);
            let key = (call.direction == Direction::ToClient, Arc::clone(&call.method), name.clone());
            let index = *indexes.entry(key).or_insert_with(|| {
                rows.push((MethodStats::of(call, name), Vec::new()));
                rows.len() - 1
            });
            if let Some((row, latencies)) = rows.get_mut(index) {
                row.add(call);
                latencies.extend(call.latency());
            }
        }
        rows.into_iter()
            .map(|(row, latencies)| MethodStats { latency: Latency::of(latencies), ..row })
            .collect()
    }
}

/// Whether the request goes to the client, its method and its name.
type Key = (bool, Arc<str>, Option<Arc<str>>);

/// How many rows may be of a tool or prompt.
const MOST_NAMED: usize = 1_000;

impl MethodStats {
    fn of(call: &Call, name: Option<Arc<str>>) -> Self {
        Self {
            direction: call.direction,
            method: Arc::clone(&call.method),
            name,
            count: 0,
            errors: 0,
            cancelled: 0,
            unanswered: 0,
            latency: None,
            request_bytes: Sizes::default(),
            response_bytes: Sizes::default(),
        }
    }

    fn add(&mut self, call: &Call) {
        self.count += 1;
        self.errors += u64::from(call.outcome.is_error());
        self.cancelled += u64::from(call.outcome == Outcome::Cancelled);
        self.unanswered += u64::from(call.outcome == Outcome::None);
        self.request_bytes.add(call.request.size);
        if let Some(response) = call.response {
            self.response_bytes.add(response.size);
        }
    }
}

impl Latency {
    /// By the nearest rank.
    fn of(mut all: Vec<Duration>) -> Option<Self> {
        all.sort_unstable();
        let at = |percent: usize| all.get((all.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        Some(Self { p50: at(50)?, p95: at(95)?, max: at(100)? })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Latency;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let millis = |all: &[u64]| Latency::of(all.iter().map(|&one| Duration::from_millis(one)).collect());
        assert_eq!(millis(&[]), None);
        let one = millis(&[7]).unwrap();
        assert_eq!((one.p50.as_millis(), one.p95.as_millis(), one.max.as_millis()), (7, 7, 7));
        let all: Vec<u64> = (1..=100).rev().collect();
        let all = millis(&all).unwrap();
        assert_eq!((all.p50.as_millis(), all.p95.as_millis(), all.max.as_millis()), (50, 95, 100));
    }
}
