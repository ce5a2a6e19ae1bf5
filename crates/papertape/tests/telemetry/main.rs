//! Spans, trace context and metrics, as OpenTelemetry's SDK exports them.
//!
//! The providers and the subscriber are those of the whole process, as in an application. Tests run at once, so that each
//! looks at the spans of its own trace, and at the metrics of tools that only it calls.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding"
)]

mod collector;
mod context;
mod measured;
mod propagation;
mod spans;
