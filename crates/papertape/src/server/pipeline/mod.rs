//! One request from its message to its response: the same steps, in the same order, for every transport.
//!
//! ```text
//! decode -> resolve -> authorize -> prepare -> run -> respond
//! ```
//!
//! [`serve`] is the line up to the handler, [`run`] the rest of it; decoding and authorizing are here too. Scopes belong to
//! what a request addresses, so that is resolved first, once, and handed on. A handler that is ready at its first poll is
//! answered by the thread that has read the request, without a task or a channel in between.

mod accept;
mod batch;
mod builtin;
pub(crate) mod exact;
mod opening;
pub(crate) mod prepare;
pub(crate) mod resolve;
pub(crate) mod respond;
pub(crate) mod run;
pub(crate) mod subscribe;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use papertape_oauth::Principal;
use serde::Deserialize;
use serde_json::value::RawValue;
use tracing::field::Empty;

use crate::protocol::meta::{CLIENT_CAPABILITIES, LOG_LEVEL, LOG_LEVELS, PROTOCOL_VERSION, Trace};
use crate::protocol::{LogLevel, Revision};
use crate::server::features::tool::RegisteredTool;
use crate::server::service::Service;
use crate::server::session::{BatchPlace, ReplyTo, Session};
use crate::wire::error::{PARSE_ERROR, shortened};
use crate::wire::message::{self, Message, Payload, Request, object, present};
use crate::wire::{Id, RpcError};
use resolve::Target;
use subscribe::RequestedFilter;

pub(crate) use accept::accept;
pub(crate) use batch::serve_batch;
pub(crate) use prepare::Prepared;
#[cfg(feature = "http-server")]
pub(crate) use prepare::read_object;
pub(crate) use run::PreparedCall;

/// Calls that are ready to run, in the order in which they came.
pub(crate) type Calls = VecDeque<PreparedCall>;

/// Serves one request up to its handler, which the caller then [`run`]s. `None` if the response has been written already.
///
/// A refusal has been written to the session when it is returned; a transport may add to it.
pub(crate) fn serve(
    service: &Arc<Service>,
    request: Request<'_>,
    session: &Arc<Session>,
    envelope: Envelope<'_>,
) -> Result<Option<PreparedCall>, Refused> {
    let span = span(&request);
    let _entered = span.enter();
    let to = ReplyTo { id: request.id, batch: envelope.batch };
    let serve = || {
        let request =
            decode(service, &request.method, request.params, &to, session, &span, envelope.headers)?;
        let target = resolve::resolve(service, &request)?;
        check_arguments(service, &request, &target, envelope.headers)?;
        authorize(session.principal().map(|principal| &**principal), &target)?;
        Ok(match prepare::prepare(service, &request, target)? {
            Prepared::Call(call) => Some(call),
            Prepared::Output(call, output) => {
                respond::output(&call, output, |reply| session.reply(&to, reply));
                None
            }
            Prepared::Answered => None,
        })
    };
    serve().inspect_err(|refused| respond::refuse(refused, &to, session))
}

/// Runs a handler as far as it gets at once and responds; what is left of it runs on the runtime, which must be entered.
pub(crate) fn run(mut call: PreparedCall) {
    if call.is_slow() {
        return call.spawn_slow();
    }
    let outcome = call.first_poll();
    call.conclude(outcome);
}

/// Takes the body of one frame. False if it was not even JSON.
pub(crate) fn receive(
    service: &Arc<Service>,
    body: &[u8],
    session: &Arc<Session>,
    calls: &mut Calls,
) -> bool {
    match message::parse(body, service.limits.bounds()) {
        Ok(Payload::Single(Message::Request(request))) => {
            // A refusal is part of the session's output by now.
            calls.extend(serve(service, request, session, Envelope::default()).unwrap_or_default());
        }
        Ok(Payload::Single(message)) => accept(message, session),
        Ok(Payload::Batch(members)) => drop(serve_batch(service, &members, session)),
        Err(rejected) => {
            tracing::info!(code = rejected.error.code, "refused a frame: {}", rejected.error.message);
            let is_json = rejected.error.code != PARSE_ERROR;
            session.reject(rejected.id, None, &rejected.error);
            return is_json;
        }
    }
    true
}

/// Takes what came after the last line end when the input ended: a message, or an unfinished one, which is dropped.
pub(crate) fn receive_unfinished(
    service: &Arc<Service>,
    body: &[u8],
    session: &Arc<Session>,
    calls: &mut Calls,
) {
    match message::parse(body, service.limits.bounds()) {
        Err(rejected) if rejected.error.code == PARSE_ERROR => {
            tracing::info!(bytes = body.len(), "the input ended inside a message");
        }
        _ => _ = receive(service, body, session, calls),
    }
}

/// What a transport knows of a request besides its message.
#[derive(Clone, Copy, Default)]
pub(crate) struct Envelope<'a> {
    /// Its place in the batch it is part of.
    pub(crate) batch: Option<BatchPlace>,
    /// The HTTP headers that repeat what its body says.
    pub(crate) headers: Option<&'a dyn HeaderCheck>,
}

/// Headers that must say what the body says.
pub(crate) trait HeaderCheck {
    /// Compares the headers with the method and what it is about.
    fn check_body(&self, method: &str, params: &Params<'_>) -> Result<(), RpcError>;

    /// Compares the headers that mirror arguments of a tool with these.
    fn check_arguments(
        &self,
        tool: &RegisteredTool,
        params: &Params<'_>,
        tree: usize,
    ) -> Result<(), RpcError>;
}

/// A request that has been decoded and admitted.
pub(crate) struct DecodedRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Params<'a>,
    /// Where its response goes.
    pub(crate) to: &'a ReplyTo,
    /// The size of its parameters.
    pub(crate) bytes: usize,
    pub(crate) mode: Mode,
    /// The revision that it is served by; the newest session-based one before `initialize`.
    pub(crate) revision: Revision,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) span: &'a tracing::Span,
}

/// By which rules a request is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The request names its revision itself (2026-07-28).
    Stateless,
    /// The session was opened with `initialize`.
    Session,
    /// Neither: only what opens a session can be served.
    Unopened,
}

/// Why a request is not served, by the step that refused it.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It could not be decoded.
    Malformed(RpcError),
    /// The principal lacks some of these scopes.
    Forbidden(Vec<String>),
    /// It was decoded, but cannot be served.
    Failed(RpcError),
}

impl From<RpcError> for Refused {
    fn from(error: RpcError) -> Self {
        Refused::Failed(error)
    }
}

/// The span in which a request is logged.
fn span(request: &Request<'_>) -> tracing::Span {
    tracing::info_span!(
        "request",
        method = shortened(&request.method),
        id = %request.id,
        trace_id = Empty,
        parent_span_id = Empty
    )
}

/// Admits a request to its session, reads its parameters, checks the headers against them, and finds its revision.
fn decode<'a>(
    service: &Service,
    method: &'a str,
    params: Option<&'a RawValue>,
    to: &'a ReplyTo,
    session: &'a Arc<Session>,
    span: &'a tracing::Span,
    headers: Option<&dyn HeaderCheck>,
) -> Result<DecodedRequest<'a>, Refused> {
    tracing::debug!("received");
    let bytes = params.map_or(0, |raw| raw.get().len());
    session.admit(&to.id, &service.limits).map_err(Refused::Malformed)?;
    let params = Params::read(params).map_err(Refused::Malformed)?;
    if let Some(headers) = headers {
        headers.check_body(method, &params).map_err(Refused::Malformed)?;
    }
    let (mode, revision) = mode(service, &params, session)?;
    if mode != Mode::Unopened {
        record_trace(&params, span);
    }
    Ok(DecodedRequest { method, params, to, bytes, mode, revision, session, span })
}

/// By which rules and revision a request is served.
fn mode(service: &Service, params: &Params<'_>, session: &Session) -> Result<(Mode, Revision), RpcError> {
    let version = params.meta.as_ref().map_or(Ok(None), |meta| meta.protocol_version())?;
    let (Some(meta), Some(version)) = (&params.meta, version) else {
        return Ok(match session.legacy_request() {
            Some(revision) => (Mode::Session, revision),
            None => (Mode::Unopened, Revision::NEWEST_LEGACY),
        });
    };
    let revision = match Revision::parse(&version) {
        Some(revision) if !revision.opens_with_handshake() => revision,
        _ => return Err(opening::unsupported(service, &version)),
    };
    meta.client_capabilities()?;
    // A log level that does not exist is refused by all methods alike.
    meta.log_level()?;
    session.note_modern(revision);
    Ok((Mode::Stateless, revision))
}

/// Checks the headers that mirror arguments, once it is known which tool they are the arguments of.
fn check_arguments(
    service: &Service,
    request: &DecodedRequest<'_>,
    target: &Target,
    headers: Option<&dyn HeaderCheck>,
) -> Result<(), Refused> {
    match (headers, target) {
        (Some(headers), Target::Tool(tool)) => {
            headers.check_arguments(tool, &request.params, service.limits.tree).map_err(Refused::Malformed)
        }
        _ => Ok(()),
    }
}

/// A request that is part of a distributed trace is logged with the trace's ids.
fn record_trace(params: &Params<'_>, span: &tracing::Span) {
    if let Some(trace) = params.meta.as_ref().and_then(RequestMeta::trace)
        && let Some((trace_id, parent)) = trace.ids()
    {
        span.record("trace_id", trace_id).record("parent_span_id", parent);
    }
}

/// Whether the principal has the scopes of what a request addresses. Without a principal (stdio, or HTTP without authorization) nothing is refused.
fn authorize(principal: Option<&Principal>, target: &Target) -> Result<(), Refused> {
    let Some(principal) = principal else { return Ok(()) };
    let scopes = target.scopes();
    if principal.has_scopes(&scopes) { Ok(()) } else { Err(Refused::Forbidden(scopes)) }
}

/// The longest URI that is resolved: every template may have to be matched against it.
pub(crate) const LONGEST_URI: usize = 8 * 1024;

/// The members of `params` that any method reads, raw. `None` is absent; a `null` is there.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Params<'a> {
    #[serde(borrow, default, deserialize_with = "object", rename = "_meta")]
    pub(crate) meta: Option<RequestMeta<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) name: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) cursor: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) protocol_version: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "object")]
    pub(crate) notifications: Option<RequestedFilter>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) request_id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) uri: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) level: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present", rename = "ref")]
    pub(crate) reference: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) argument: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) context: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) input_responses: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) request_state: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) task_id: Option<&'a RawValue>,
}

impl<'a> Params<'a> {
    /// The `name` of what a method is about.
    pub(crate) fn name(&self, method: &str) -> Result<Cow<'a, str>, RpcError> {
        let name = self.name.and_then(message::string);
        name.ok_or_else(|| RpcError::invalid_params(format!("`{method}` needs `params.name`, a string")))
    }

    /// The `uri` that a method is about.
    pub(crate) fn uri(&self, method: &str) -> Result<String, RpcError> {
        let uri = self.uri.and_then(message::string);
        let uri =
            uri.ok_or_else(|| RpcError::invalid_params(format!("`{method}` needs `params.uri`, a string")))?;
        if uri.len() > LONGEST_URI {
            return Err(RpcError::invalid_params(format!("`params.uri` is longer than {LONGEST_URI} bytes")));
        }
        Ok(uri.into_owned())
    }

    pub(crate) fn read(raw: Option<&'a RawValue>) -> Result<Self, RpcError> {
        let Some(raw) = raw else { return Ok(Self::default()) };
        serde_json::from_str(raw.get()).map_err(|error| {
            let text = error.to_string();
            // A name given twice could be read either way, so the request as a whole is refused.
            if text.starts_with("duplicate field") {
                RpcError::invalid_request(format!("in `params`: {text}"))
            } else {
                RpcError::invalid_params(format!("in `params`: {text}"))
            }
        })
    }
}

/// The `_meta` of a request, each value as raw JSON. `None` is absent; `null` is present.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct RequestMeta<'a> {
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        rename = "io.modelcontextprotocol/protocolVersion"
    )]
    protocol_version: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        rename = "io.modelcontextprotocol/clientCapabilities"
    )]
    client_capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present", rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present", rename = "io.modelcontextprotocol/logLevel")]
    log_level: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    tracestate: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    baggage: Option<&'a RawValue>,
}

impl RequestMeta<'_> {
    /// The revision of the request, known or not.
    ///
    /// # Errors
    /// If it is not a string.
    pub(crate) fn protocol_version(&self) -> Result<Option<String>, RpcError> {
        let Some(raw) = self.protocol_version else { return Ok(None) };
        serde_json::from_str(raw.get()).map(Some).map_err(|_| {
            RpcError::invalid_params(format!("`_meta[\"{PROTOCOL_VERSION}\"]` must be a string"))
        })
    }

    /// The capabilities of the client.
    ///
    /// # Errors
    /// If they are absent or not an object.
    pub(crate) fn client_capabilities(&self) -> Result<&RawValue, RpcError> {
        match self.client_capabilities {
            Some(raw) if raw.get().starts_with('{') => Ok(raw),
            _ => Err(RpcError::invalid_params(format!(
                "`_meta[\"{CLIENT_CAPABILITIES}\"]` must be an object on every request (`{{}}` if the client can do nothing special)"
            ))),
        }
    }

    /// The minimum level of log messages while this request is served.
    ///
    /// # Errors
    /// If it is not a level.
    pub(crate) fn log_level(&self) -> Result<Option<LogLevel>, RpcError> {
        let Some(raw) = self.log_level else { return Ok(None) };
        serde_json::from_str(raw.get()).map(Some).map_err(|_| {
            RpcError::invalid_params(format!("`_meta[\"{LOG_LEVEL}\"]` is not a log level: {LOG_LEVELS}"))
        })
    }

    /// The trace context, if there is one.
    #[must_use]
    pub(crate) fn trace(&self) -> Option<Trace> {
        // No useful trace context is longer.
        let text = |raw: Option<&RawValue>| -> Option<String> {
            raw.filter(|raw| raw.get().len() <= 8 * 1024).and_then(|raw| serde_json::from_str(raw.get()).ok())
        };
        Some(Trace {
            traceparent: text(self.traceparent)?,
            tracestate: text(self.tracestate),
            baggage: text(self.baggage),
        })
    }

    /// The progress token, if the client requests progress notifications.
    ///
    /// # Errors
    /// If it is neither a string nor an integer.
    pub(crate) fn progress_token(&self) -> Result<Option<Id>, RpcError> {
        let Some(raw) = self.progress_token else { return Ok(None) };
        Id::parse(raw.get())
            .map(Some)
            .map_err(|_| RpcError::invalid_params("`_meta.progressToken` must be a string or an integer"))
    }
}
