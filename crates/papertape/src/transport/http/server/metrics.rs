//! What happens to figures, in the format of Prometheus.

use std::time::Instant;

use http::StatusCode;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::protocol::method;

/// What is counted.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<[(&'static str, &'static str); 1], Histogram>,
    answers: Family<[(&'static str, u16); 1], Counter>,
    /// Streams that are open.
    pub(crate) streams: Gauge,
    sessions: Gauge,
    running: Gauge,
}

/// A request being served; when this is dropped, it has been.
pub(crate) struct Timed {
    began: Instant,
    time: Histogram,
    running: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("papertape");
        let requests = Family::new_with_constructor(
            (|| Histogram::new(exponential_buckets(0.000_1, 4.0, 10))) as fn() -> _,
        );
        let (answers, streams, sessions, running) =
            (Family::default(), Gauge::default(), Gauge::default(), Gauge::default());
        registry.register(
            "request_seconds",
            "Time until a request was answered or its stream began",
            requests.clone(),
        );
        registry.register("http_responses", "Responses by status", answers.clone());
        registry.register("streams", "Streams that are open", streams.clone());
        registry.register("sessions", "Sessions that this process knows of", sessions.clone());
        registry.register("requests_running", "Requests that are being served", running.clone());
        Self { registry, requests, answers, streams, sessions, running }
    }
}

impl Metrics {
    pub(crate) const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    /// A request begins. What nobody knows is counted together, or anybody could make the list as long as they like.
    pub(crate) fn began(&self, method: &str) -> Timed {
        let name = method::ALL.iter().find(|known| **known == method).copied().unwrap_or("other");
        self.running.inc();
        Timed {
            began: Instant::now(),
            time: self.requests.get_or_create(&[("method", name)]).clone(),
            running: self.running.clone(),
        }
    }

    pub(crate) fn answered(&self, status: StatusCode) {
        self.answers.get_or_create(&[("status", status.as_u16())]).inc();
    }

    /// The figures.
    pub(crate) fn text(&self, sessions: usize) -> String {
        self.sessions.set(i64::try_from(sessions).unwrap_or(i64::MAX));
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            tracing::error!("the figures could not be written");
        }
        text
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        self.time.observe(self.began.elapsed().as_secs_f64());
        self.running.dec();
    }
}
