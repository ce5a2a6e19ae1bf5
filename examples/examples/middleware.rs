//! Middleware: a cache for one tool, and a rate limit for all.
//!
//! ```sh
//! cargo build -p papertape-examples --example middleware
//! papertape call target/debug/examples/middleware measure sensor=boiler
//! ```

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use papertape::server::{Next, Outcome, Request};
use papertape::{Cx, Server, ToolError, stdio};
use schemars::JsonSchema;
use serde::Deserialize;

/// Read a sensor.
#[derive(Deserialize, JsonSchema)]
struct Measure {
    sensor: String,
}

async fn measure(args: Measure, cx: Cx<AtomicU64>) -> Result<String, ToolError> {
    let nth = cx.state().fetch_add(1, Ordering::Relaxed) + 1;
    Ok(format!("{}: measurement {nth}", args.sensor))
}

/// A token bucket for each principal: so many calls at once, then so many per second.
struct RateLimit {
    burst: f64,
    per_second: f64,
    buckets: Mutex<HashMap<String, (f64, Instant)>>,
}

impl RateLimit {
    fn new(burst: u32, per_second: f64) -> Self {
        Self { burst: burst.into(), per_second, buckets: Mutex::default() }
    }

    async fn run(self: Arc<Self>, request: Request, next: Next) -> Result<Outcome, ToolError> {
        // Without authentication there is one bucket for all.
        let principal = request.principal().map_or_else(String::new, |principal| principal.name.clone());
        if !self.take(&principal) {
            return Err(ToolError::failed("too many calls: wait a few seconds"));
        }
        let outcome = next.run(request).await?;
        // The call comes again with the user's response, and is counted then.
        if outcome.is_input_required() {
            self.give_back(&principal);
        }
        Ok(outcome)
    }

    fn take(&self, principal: &str) -> bool {
        let now = Instant::now();
        let refilled =
            |(left, at): (f64, Instant)| (left + (now - at).as_secs_f64() * self.per_second).min(self.burst);
        let mut buckets = self.buckets.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // A full bucket is the same as none.
        buckets.retain(|_, bucket| refilled(*bucket) < self.burst);
        let left = buckets.get(principal).map_or(self.burst, |bucket| refilled(*bucket));
        let allowed = left >= 1.0;
        buckets.insert(principal.to_owned(), (if allowed { left - 1.0 } else { left }, now));
        allowed
    }

    fn give_back(&self, principal: &str) {
        let mut buckets = self.buckets.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((left, _)) = buckets.get_mut(principal) {
            *left += 1.0;
        }
    }
}

/// The results of one tool, by its arguments.
struct Cache {
    tool: &'static str,
    lifetime: Duration,
    results: Mutex<HashMap<String, (Instant, Outcome)>>,
}

impl Cache {
    const MOST: usize = 1_000;

    fn new(tool: &'static str, lifetime: Duration) -> Self {
        Self { tool, lifetime, results: Mutex::default() }
    }

    async fn run(self: Arc<Self>, request: Request, next: Next) -> Result<Outcome, ToolError> {
        if request.kind() != "tool" || request.name() != self.tool {
            return next.run(request).await;
        }
        let key = request.arguments().to_string();
        if let Some(outcome) = self.get(&key) {
            return Ok(outcome);
        }
        let outcome = next.run(request).await?;
        if !outcome.is_error() && !outcome.is_input_required() {
            self.put(key, outcome.clone());
        }
        Ok(outcome)
    }

    fn get(&self, key: &str) -> Option<Outcome> {
        let results = self.results.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (at, outcome) = results.get(key)?;
        (at.elapsed() < self.lifetime).then(|| outcome.clone())
    }

    fn put(&self, key: String, outcome: Outcome) {
        let mut results = self.results.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if results.len() >= Self::MOST {
            results.retain(|_, (at, _)| at.elapsed() < self.lifetime);
        }
        if results.len() < Self::MOST {
            results.insert(key, (Instant::now(), outcome));
        }
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let limit = Arc::new(RateLimit::new(10, 0.1));
    let cache = Arc::new(Cache::new("measure", Duration::from_secs(300)));
    let server = Server::new("sensors", "1.0.0")
        .with_state(AtomicU64::new(0))
        .tool("measure", measure)
        // The first is the outermost: cached results count too.
        .middleware(move |request: Request, next: Next| Arc::clone(&limit).run(request, next))
        .middleware(move |request: Request, next: Next| Arc::clone(&cache).run(request, next));
    stdio::serve(server).await
}
