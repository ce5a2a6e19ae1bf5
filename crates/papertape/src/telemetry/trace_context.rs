//! The trace context of requests: `traceparent`, `tracestate` and `baggage` in `_meta` (SEP-414), in the W3C formats.
//!
//! The propagator of the application decides what is read and written ([`opentelemetry::global::set_text_map_propagator`]);
//! without one nothing is.

use opentelemetry::propagation::{Extractor, Injector};
use opentelemetry::trace::TraceContextExt;
use opentelemetry::{Context, global};
use serde_json::{Map, Value};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::Origin;
use crate::protocol::meta::Trace;

const TRACEPARENT: &str = "traceparent";

/// The names that MCP gives to the trace context. Other names that a propagator may use have no meaning in `_meta`.
const NAMES: [&str; 3] = [TRACEPARENT, "tracestate", "baggage"];

/// Makes a span a part of the trace that its request comes from: that in its `_meta`, then the span that is current, then
/// that in its HTTP headers. If the request has one in `_meta`, the current one is linked.
pub(super) fn set_parent(span: &Span, trace: Option<&Trace>, origin: Origin<'_>) {
    let current = Span::current().context();
    let current = current.span().span_context().clone();
    if let Some(remote) = trace.and_then(|trace| extract(trace)) {
        // It fails if there is no OpenTelemetry layer, which is to be.
        if span.set_parent(remote).is_ok() && current.is_valid() {
            span.add_link(current);
        }
        return;
    }
    #[cfg(feature = "http-server")]
    if !current.is_valid()
        && let Some(remote) = origin.headers.and_then(|headers| extract(&Headers(headers)))
    {
        drop(span.set_parent(remote));
    }
    #[cfg(not(feature = "http-server"))]
    let _ = origin;
}

/// Adds the context of a span, or else the current one, to the `_meta` of a request. What the caller has put there is left
/// alone.
pub(super) fn add<'m>(span: &Span, meta: impl FnOnce() -> Option<&'m mut Map<String, Value>>) {
    let context = current(span);
    if !context.span().span_context().is_valid() {
        return;
    }
    let mut trace = Outgoing::default();
    global::get_text_map_propagator(|propagator| propagator.inject_context(&context, &mut trace));
    if trace.0.is_empty() {
        return;
    }
    if let Some(meta) = meta()
        && !NAMES.iter().any(|name| meta.contains_key(*name))
    {
        meta.extend(trace.0);
    }
}

/// The context of a span, or of the one around it if it is not exported.
fn current(span: &Span) -> Context {
    let own = if span.is_disabled() { Span::current().context() } else { span.context() };
    if own.span().span_context().is_valid() { own } else { Context::current() }
}

fn extract(carrier: &dyn Extractor) -> Option<Context> {
    let context = global::get_text_map_propagator(|propagator| {
        propagator.extract_with_context(&Context::new(), carrier)
    });
    let is_valid = context.span().span_context().is_valid();
    is_valid.then_some(context)
}

impl Extractor for Trace {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            TRACEPARENT => Some(&self.traceparent),
            "tracestate" => self.tracestate.as_deref(),
            "baggage" => self.baggage.as_deref(),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        NAMES.into_iter().filter(|name| self.get(name).is_some()).collect()
    }
}

#[cfg(feature = "http-server")]
struct Headers<'a>(&'a http::HeaderMap);

#[cfg(feature = "http-server")]
impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}

#[derive(Default)]
struct Outgoing(Map<String, Value>);

impl Injector for Outgoing {
    fn set(&mut self, key: &str, value: String) {
        if NAMES.contains(&key) && !value.is_empty() {
            self.0.insert(key.to_owned(), value.into());
        }
    }
}
