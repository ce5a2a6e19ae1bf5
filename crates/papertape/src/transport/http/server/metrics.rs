//! Prometheus metrics.

use std::time::Instant;

use http::StatusCode;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::options::Options;
use crate::protocol::method;

/// The label of all methods that are not known.
const OTHER: &str = "other";

/// The metrics of a server.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    /// One histogram for each method, and a last one for all that are not known, so that clients cannot add labels.
    requests: Vec<(&'static str, Histogram)>,
    responses: Family<[(&'static str, u16); 1], Counter>,
    /// The counter of 200, which is nearly always the one.
    ok: Counter,
    /// Streams that are open.
    streams: Gauge,
    sessions: Gauge,
    running: Gauge,
}

/// A request being served; when this is dropped, it has been.
pub(crate) struct Timed {
    began: Instant,
    time: Option<Histogram>,
    running: Gauge,
}

impl Metrics {
    pub(crate) const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    /// The metrics of a server that exposes them.
    pub(crate) fn new(options: &Options) -> Option<Self> {
        if !options.metrics {
            return None;
        }
        let mut registry = Registry::with_prefix("papertape");
        let by_method: Family<[(&str, &str); 1], Histogram> = Family::new_with_constructor(
            (|| Histogram::new(exponential_buckets(0.000_1, 4.0, 10))) as fn() -> _,
        );
        let responses = Family::<[(&str, u16); 1], Counter>::default();
        let (streams, sessions, running) = (Gauge::default(), Gauge::default(), Gauge::default());
        registry.register(
            "request_seconds",
            "Time until the response to a request, or until its stream began",
            by_method.clone(),
        );
        registry.register("http_responses", "Responses by status", responses.clone());
        registry.register("streams", "Streams that are open", streams.clone());
        registry.register("sessions", "Sessions that this process knows of", sessions.clone());
        registry.register("requests_running", "Requests that are being served", running.clone());
        let requests = method::ALL.into_iter().chain([OTHER]);
        let requests =
            requests.map(|name| (name, by_method.get_or_create(&[("method", name)]).clone())).collect();
        let ok = responses.get_or_create(&[("status", StatusCode::OK.as_u16())]).clone();
        Some(Self { registry, requests, responses, ok, streams, sessions, running })
    }

    /// A request begins.
    pub(crate) fn began(&self, method: &str) -> Timed {
        let found = self.requests.iter().find(|(name, _)| *name == method).or(self.requests.last());
        self.running.inc();
        let time = found.map(|(_, time)| time.clone());
        Timed { began: Instant::now(), time, running: self.running.clone() }
    }

    pub(crate) fn responded(&self, status: StatusCode) {
        if status == StatusCode::OK {
            self.ok.inc();
        } else {
            self.responses.get_or_create(&[("status", status.as_u16())]).inc();
        }
    }

    pub(crate) fn stream_opened(&self) {
        self.streams.inc();
    }

    pub(crate) fn stream_closed(&self) {
        self.streams.dec();
    }

    /// The metrics in the OpenMetrics text format.
    pub(crate) fn text(&self, sessions: usize) -> String {
        self.sessions.set(i64::try_from(sessions).unwrap_or(i64::MAX));
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            tracing::error!("the metrics could not be written");
        }
        text
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        if let Some(time) = &self.time {
            time.observe(self.began.elapsed().as_secs_f64());
        }
        self.running.dec();
    }
}
