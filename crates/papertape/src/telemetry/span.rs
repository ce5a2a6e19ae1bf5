//! The span of a request. Its fields have the names of the semantic conventions, and those that start with `otel.` are what
//! `tracing-opentelemetry` makes the name, kind and status of the exported span from.
//!
//! Nothing is computed for a span that no subscriber is interested in.

use std::borrow::Cow;

use tracing::Span;
use tracing::field::Empty;

use super::{Network, Outcome};
use crate::protocol::meta::Trace;
use crate::protocol::{Revision, method};
use crate::wire::Id;
use crate::wire::error::shortened;

/// The longest URI that is recorded.
const LONGEST_URI: usize = 1024;

/// The side of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// It sends the request: a client, or a server that elicits input.
    Client,
    /// It serves the request: a server, or the client's handler of a server's request.
    Server,
}

/// What is known of a request by its transport.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Origin<'a> {
    pub(crate) network: Network,
    /// The id of its HTTP session that gives no access to it.
    pub(crate) session_id: Option<&'a str>,
    /// The trace context in its HTTP headers.
    #[cfg(all(feature = "http-server", feature = "opentelemetry"))]
    pub(crate) headers: Option<&'a http::HeaderMap>,
}

/// What an operation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject<'a> {
    Tool(&'a str),
    Prompt(&'a str),
    Resource(&'a str),
    /// Its method says it all.
    None,
}

impl<'a> Subject<'a> {
    /// What a request with this name or URI in its `params` is about.
    pub(crate) fn of(method: &str, name: Option<&'a str>, uri: Option<&'a str>) -> Self {
        match (method, name, uri) {
            (method::TOOLS_CALL, Some(name), _) => Subject::Tool(name),
            (method::PROMPTS_GET, Some(name), _) => Subject::Prompt(name),
            (method::RESOURCES_READ | method::SUBSCRIBE | method::UNSUBSCRIBE, _, Some(uri)) => {
                Subject::Resource(uri)
            }
            _ => Subject::None,
        }
    }
}

/// An operation, as spans and metrics describe it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation<'a> {
    pub(crate) method: &'a str,
    pub(crate) subject: Subject<'a>,
    pub(crate) revision: Option<Revision>,
}

/// One request, as it is observed: its span, and with the feature `opentelemetry` when it began.
#[derive(Debug, Clone)]
pub(crate) struct Observed {
    pub(crate) span: Span,
    side: Side,
    network: Network,
    #[cfg(feature = "opentelemetry")]
    began: std::time::Instant,
}

impl Observed {
    fn new(span: Span, side: Side, network: Network) -> Self {
        Self {
            span,
            side,
            network,
            #[cfg(feature = "opentelemetry")]
            began: std::time::Instant::now(),
        }
    }

    /// A request that has come in, or a notification, which has no id. With the feature `opentelemetry` its span is part of the trace that `trace` returns,
    /// or else of that in the HTTP headers. `target` is what it addresses, if there is such a thing: a client can make up
    /// any number of names, which would all be names of spans.
    pub(crate) fn serve<'a>(
        method: &str,
        id: Option<&Id>,
        origin: Origin<'_>,
        trace: impl FnOnce() -> Option<Trace>,
        target: impl FnOnce() -> Option<Cow<'a, str>>,
    ) -> Self {
        // Its name in logs is part of the call site.
        macro_rules! span {
            ($name:literal) => {
                tracing::info_span!(
                    $name,
                    otel.name = Empty,
                    otel.kind = "server",
                    otel.status_code = Empty,
                    otel.status_description = Empty,
                    mcp.method.name = shortened(method),
                    mcp.protocol.version = Empty,
                    mcp.session.id = origin.session_id,
                    mcp.resource.uri = Empty,
                    jsonrpc.request.id = id.map(text_of).as_deref(),
                    gen_ai.operation.name = Empty,
                    gen_ai.tool.name = Empty,
                    gen_ai.prompt.name = Empty,
                    rpc.response.status_code = Empty,
                    "error.type" = Empty,
                    network.transport = origin.network.transport(),
                    network.protocol.name = origin.network.protocol(),
                    trace_id = Empty,
                    parent_span_id = Empty,
                )
            };
        }
        let span = if id.is_some() { span!("request") } else { span!("notification") };
        // Parent and name must be known before the span is entered: from then on it is exported as it is.
        if !span.is_disabled() {
            name(&span, method, target().as_deref());
            let trace = trace();
            #[cfg(feature = "opentelemetry")]
            super::trace_context::set_parent(&span, trace.as_ref(), origin);
            // For logs: the ids are those of the request, whether or not its trace is exported.
            if let Some((trace_id, parent)) = trace.as_ref().and_then(Trace::ids) {
                span.record("trace_id", trace_id).record("parent_span_id", parent);
            }
        }
        Self::new(span, Side::Server, origin.network)
    }

    /// A request that is about to be sent.
    pub(super) fn send(method: &str, network: Network, server: Option<&(String, u16)>) -> Self {
        let span = tracing::info_span!(
            "outgoing_request",
            otel.name = Empty,
            otel.kind = "client",
            otel.status_code = Empty,
            otel.status_description = Empty,
            mcp.method.name = shortened(method),
            mcp.protocol.version = Empty,
            mcp.resource.uri = Empty,
            jsonrpc.request.id = Empty,
            gen_ai.operation.name = Empty,
            gen_ai.tool.name = Empty,
            gen_ai.prompt.name = Empty,
            rpc.response.status_code = Empty,
            "error.type" = Empty,
            network.transport = network.transport(),
            network.protocol.name = network.protocol(),
            server.address = server.map(|(host, _)| host.as_str()),
            server.port = server.map(|(_, port)| *port),
        );
        Self::new(span, Side::Client, network)
    }

    /// How the peers are connected.
    pub(crate) fn network(&self) -> Network {
        self.network
    }

    /// Whether it is of use to know more of how it ends than that it does.
    pub(crate) fn is_observed(&self) -> bool {
        cfg!(feature = "opentelemetry") || !self.span.is_disabled()
    }

    /// The id of a request that has been sent.
    pub(crate) fn record_id(&self, id: i64) {
        if !self.span.is_disabled() {
            self.span.record("jsonrpc.request.id", id.to_string());
        }
    }

    /// Names the span of a request that is about to be sent.
    pub(super) fn name(&self, operation: &Operation<'_>) {
        if self.span.is_disabled() {
            return;
        }
        name(
            &self.span,
            operation.method,
            match operation.subject {
                Subject::Tool(target) | Subject::Prompt(target) => Some(target),
                // There may be any number of URIs, so that they are in no span's name.
                Subject::Resource(_) | Subject::None => None,
            },
        );
    }

    /// What the operation is about, once that is known. To be called once.
    pub(crate) fn describe(&self, operation: &Operation<'_>) {
        let span = &self.span;
        if span.is_disabled() {
            return;
        }
        match operation.subject {
            Subject::Tool(name) => {
                span.record("gen_ai.operation.name", "execute_tool")
                    .record("gen_ai.tool.name", shortened(name));
            }
            Subject::Prompt(name) => drop(span.record("gen_ai.prompt.name", shortened(name))),
            Subject::Resource(uri) if uri.len() <= LONGEST_URI => {
                span.record("mcp.resource.uri", uri);
            }
            Subject::Resource(_) | Subject::None => {}
        }
        if let Some(revision) = operation.revision {
            span.record("mcp.protocol.version", revision.as_str());
        }
    }

    /// Records how the operation ended. To be called once, before the span is closed.
    pub(crate) fn end(&self, operation: &Operation<'_>, outcome: &Outcome<'_>) {
        if !self.span.is_disabled()
            && let Some(class) = outcome.error_type()
        {
            self.span.record("error.type", &*class).record("otel.status_code", "ERROR");
            if let Some(message) = outcome.message() {
                self.span.record("otel.status_description", message);
            }
            if let Some(code) = outcome.code() {
                self.span.record("rpc.response.status_code", code.to_string());
            }
        }
        #[cfg(feature = "opentelemetry")]
        super::metrics::operation(self.side, self.network, self.began.elapsed(), operation, outcome);
        #[cfg(not(feature = "opentelemetry"))]
        let _ = (self.side, operation);
    }
}

fn name(span: &Span, method: &str, target: Option<&str>) {
    let method = shortened(method);
    match target {
        Some(target) => span.record("otel.name", format!("{method} {}", shortened(target))),
        None => span.record("otel.name", method),
    };
}

/// The id of a request as a string, without quotes.
fn text_of(id: &Id) -> Cow<'_, str> {
    match id {
        Id::Integer(number) => number.to_string().into(),
        Id::BigInteger(digits) => shortened(digits).into(),
        Id::Text(text) => shortened(text).into(),
    }
}
