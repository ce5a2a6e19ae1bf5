//! Telemetry of requests, by the OpenTelemetry semantic conventions for MCP.
//!
//! - [`span`]: the `tracing` span of each request, on the side that sends it and on the side that serves it;
//!   [`observed_request`] if it may be dropped
//! - `trace_context` (feature `opentelemetry`): the trace that a span belongs to, out of `_meta` and into it
//! - `metrics` (feature `opentelemetry`): the durations of operations and sessions
//!
//! `docs/telemetry.md` names the version of the conventions, and what is recorded.

#[cfg(feature = "opentelemetry")]
mod metrics;
mod observed_request;
mod outcome;
mod session_timer;
mod span;
#[cfg(feature = "opentelemetry")]
mod trace_context;

pub(crate) use observed_request::ObservedRequest;
pub(crate) use outcome::{CANCELLED, Outcome};
pub(crate) use session_timer::SessionTimer;
pub(crate) use span::{Observed, Operation, Origin, Side, Subject};

/// In place of a method that the server does not know: a client can make up any number of them.
pub(crate) const OTHER: &str = "_OTHER";

/// How the peers of a session are connected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Network {
    /// Not known, or none: streams of the caller's own, and within the process.
    #[default]
    Unknown,
    /// Pipes of a process (stdio).
    Pipe,
    /// A Unix domain socket.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has them"))]
    Unix,
    /// HTTP, on TCP.
    Http,
}

impl Network {
    /// `network.transport`.
    pub(crate) fn transport(self) -> Option<&'static str> {
        match self {
            Network::Unknown => None,
            Network::Pipe => Some("pipe"),
            Network::Unix => Some("unix"),
            Network::Http => Some("tcp"),
        }
    }

    /// `network.protocol.name`.
    pub(crate) fn protocol(self) -> Option<&'static str> {
        (self == Network::Http).then_some("http")
    }
}
