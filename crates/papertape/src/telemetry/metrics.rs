//! The metrics of the semantic conventions, on the meter provider that was set when the first one was recorded.

use std::sync::LazyLock;
use std::time::Duration;

use opentelemetry::metrics::Histogram;
use opentelemetry::{InstrumentationScope, KeyValue, global};

use super::{Network, OTHER, Operation, Outcome, Side, Subject};
use crate::protocol::{Revision, method};
use crate::wire::error::METHOD_NOT_FOUND;

/// The buckets that the conventions specify, in seconds.
const BUCKETS: [f64; 14] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

struct Instruments {
    client_operation: Histogram<f64>,
    server_operation: Histogram<f64>,
    client_session: Histogram<f64>,
    server_session: Histogram<f64>,
}

static INSTRUMENTS: LazyLock<Instruments> = LazyLock::new(|| {
    let scope = InstrumentationScope::builder("papertape").with_version(env!("CARGO_PKG_VERSION")).build();
    let meter = global::meter_with_scope(scope);
    let histogram = |name, description| {
        meter
            .f64_histogram(name)
            .with_unit("s")
            .with_description(description)
            .with_boundaries(BUCKETS.to_vec())
            .build()
    };
    Instruments {
        client_operation: histogram(
            "mcp.client.operation.duration",
            "The duration of a request, from when it is sent until its response has arrived.",
        ),
        server_operation: histogram(
            "mcp.server.operation.duration",
            "The duration of a request, from when it has arrived until its response is sent.",
        ),
        client_session: histogram(
            "mcp.client.session.duration",
            "The duration of a session, as the client observes it.",
        ),
        server_session: histogram(
            "mcp.server.session.duration",
            "The duration of a session, as the server observes it.",
        ),
    }
});

/// Records an operation.
pub(super) fn operation(
    side: Side,
    network: Network,
    duration: Duration,
    operation: &Operation<'_>,
    outcome: &Outcome<'_>,
) {
    let mut attributes = common(network, operation.revision, outcome);
    let is_unknown = side == Side::Server && outcome.code() == Some(METHOD_NOT_FOUND);
    attributes.push(match method::ALL.into_iter().find(|known| *known == operation.method) {
        Some(known) => KeyValue::new("mcp.method.name", known),
        None if is_unknown => KeyValue::new("mcp.method.name", OTHER),
        None => KeyValue::new("mcp.method.name", operation.method.to_owned()),
    });
    match operation.subject {
        Subject::Tool(name) => {
            attributes.push(KeyValue::new("gen_ai.operation.name", "execute_tool"));
            attributes.push(KeyValue::new("gen_ai.tool.name", name.to_owned()));
        }
        Subject::Prompt(name) => attributes.push(KeyValue::new("gen_ai.prompt.name", name.to_owned())),
        // Any number of URIs may be read.
        Subject::Resource(_) | Subject::None => {}
    }
    if let Some(code) = outcome.code() {
        attributes.push(KeyValue::new("rpc.response.status_code", code.to_string()));
    }
    let histogram = match side {
        Side::Client => &INSTRUMENTS.client_operation,
        Side::Server => &INSTRUMENTS.server_operation,
    };
    histogram.record(duration.as_secs_f64(), &attributes);
}

/// Records a session.
pub(super) fn session(
    side: Side,
    network: Network,
    duration: Duration,
    revision: Option<Revision>,
    outcome: &Outcome<'_>,
) {
    let histogram = match side {
        Side::Client => &INSTRUMENTS.client_session,
        Side::Server => &INSTRUMENTS.server_session,
    };
    histogram.record(duration.as_secs_f64(), &common(network, revision, outcome));
}

/// The attributes that all of them have.
fn common(network: Network, revision: Option<Revision>, outcome: &Outcome<'_>) -> Vec<KeyValue> {
    let mut attributes = Vec::with_capacity(8);
    attributes.extend(network.transport().map(|name| KeyValue::new("network.transport", name)));
    attributes.extend(network.protocol().map(|name| KeyValue::new("network.protocol.name", name)));
    attributes.extend(revision.map(|revision| KeyValue::new("mcp.protocol.version", revision.as_str())));
    attributes.extend(outcome.error_type().map(|class| KeyValue::new("error.type", class)));
    attributes
}
