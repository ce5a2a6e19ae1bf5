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
mod method_call;
mod opening;
pub(crate) mod prepare;
mod request_meta;
pub(crate) mod resolve;
mod resource_list;
pub(crate) mod respond;
pub(crate) mod run;
pub(crate) mod subscribe;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use papertape_oauth::Principal;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::protocol::capabilities::Abilities;
use crate::protocol::meta::{CLIENT_CAPABILITIES, LOG_LEVEL, LOG_LEVELS, PROTOCOL_VERSION, Trace};
use crate::protocol::{LogLevel, Revision};
use crate::server::features::tool::RegisteredTool;
use crate::server::service::ServiceCore;
#[cfg(feature = "http-server")]
use crate::server::session::Held;
use crate::server::session::{BatchPlace, ReplyTo, Session};
use crate::telemetry::{Observed, Operation, Origin, Outcome, Subject};
use crate::wire::error::PARSE_ERROR;
use crate::wire::message::{self, Message, Payload, Request, object, present};
use crate::wire::{Id, RpcError};
use resolve::Target;
use subscribe::RequestedFilter;

#[cfg(feature = "http-server")]
pub(crate) use accept::prepare_notification;
pub(crate) use accept::{PreparedNotification, accept};
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
    service: &Arc<ServiceCore>,
    request: Request<'_>,
    session: &Arc<Session>,
    envelope: Envelope<'_>,
) -> Result<Option<PreparedCall>, Refused> {
    let Request { id, method, params: raw } = request;
    let params = Params::read(raw);
    // A span is part of the trace in `_meta` from its beginning, so that it is read before the span is entered.
    let trace = || params.as_ref().ok().and_then(Params::trace);
    let target = || {
        let name = params.as_ref().ok()?.name.and_then(message::string)?;
        service.has_target(&method, &name).then_some(name)
    };
    let observed = Observed::serve(&method, Some(&id), envelope.origin(session), trace, target);
    let _entered = observed.span.enter();
    let to = ReplyTo { id, batch: envelope.batch };
    let refuse = |operation: &Operation<'_>, refused: &Refused| {
        let error = refused.error();
        respond::refuse(&error, &to, session);
        observed.end(&service.failed(*operation), &Outcome::Rpc(&error));
    };
    let mut operation = Operation { method: &method, subject: Subject::None, revision: None };
    let request = decode(service, &method, (raw, params), &to, session, &observed, envelope)
        .inspect_err(|refused| refuse(&operation, refused))?;
    operation.revision = (request.mode != Mode::Unopened).then_some(request.revision);
    let target = resolve::resolve(service, &request);
    let (name, uri) = if observed.is_observed() { request.subject() } else { (None, None) };
    if target.is_ok() {
        // A client can make up any number of names, so that those of nothing are not recorded.
        operation.subject = Subject::of(request.method, name.as_deref(), uri.as_deref());
    }
    observed.describe(&operation);
    let prepared = target.map_err(Refused::from).and_then(|target| {
        check_arguments(service, &request, &target, envelope.headers)?;
        authorize(session.principal().map(|principal| &**principal), &target)?;
        Ok(prepare::prepare(service, &request, target)?)
    });
    match prepared.inspect_err(|refused| refuse(&operation, refused))? {
        Prepared::Call(call) => Ok(Some(call)),
        Prepared::Output(call, output) => {
            respond::output(&call, output, |reply| session.reply(&to, reply));
            Ok(None)
        }
        Prepared::Answered => {
            observed.end(&operation, &Outcome::Success);
            Ok(None)
        }
    }
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
    service: &Arc<ServiceCore>,
    body: &[u8],
    session: &Arc<Session>,
    calls: &mut Calls,
) -> bool {
    match message::parse(body, service.limits.bounds()) {
        Ok(Payload::Single(Message::Request(request))) => {
            // A refusal is part of the session's output by now.
            calls.extend(serve(service, request, session, Envelope::default()).unwrap_or_default());
        }
        Ok(Payload::Single(message)) => accept(service, message, session, Envelope::default()),
        Ok(Payload::Batch(members)) => drop(serve_batch(service, &members, session, Envelope::default())),
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
    service: &Arc<ServiceCore>,
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
    /// The HTTP request that it came in.
    #[cfg(feature = "http-server")]
    pub(crate) http: Option<&'a Arc<http::request::Parts>>,
    /// What a notification holds until it has been handled.
    #[cfg(feature = "http-server")]
    pub(crate) held: Option<&'a Held>,
}

impl<'a> Envelope<'a> {
    /// What is recorded of where a message came from.
    fn origin(&self, session: &'a Session) -> Origin<'a> {
        Origin {
            network: session.network(),
            session_id: session.id(),
            #[cfg(all(feature = "http-server", feature = "opentelemetry"))]
            headers: self.http.map(|parts| &parts.headers),
        }
    }
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
    /// The same as they came.
    pub(crate) raw: Option<&'a RawValue>,
    /// Where its response goes.
    pub(crate) to: &'a ReplyTo,
    /// The size of its parameters.
    pub(crate) bytes: usize,
    pub(crate) mode: Mode,
    /// The revision that it is served by; the newest session-based one before `initialize`.
    pub(crate) revision: Revision,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) observed: &'a Observed,
    /// The HTTP request that it came in.
    #[cfg(feature = "http-server")]
    pub(crate) http: Option<&'a Arc<http::request::Parts>>,
}

impl DecodedRequest<'_> {
    pub(crate) fn principal(&self) -> Option<&Principal> {
        self.session.principal().map(|principal| &**principal)
    }

    /// The name and the URI of what it is about, as they are in its parameters.
    fn subject(&self) -> (Option<Cow<'_, str>>, Option<Cow<'_, str>>) {
        (self.params.name.and_then(message::string), self.params.uri.and_then(message::string))
    }

    /// The capabilities of the client: those of the request, or of the session.
    pub(crate) fn abilities(&self) -> Abilities {
        if self.revision.opens_with_handshake() {
            return self.session.abilities();
        }
        let declared = self.params.meta.as_ref().and_then(|meta| meta.client_capabilities().ok());
        // Most clients of stateless revisions have no capabilities, and say so in two bytes.
        let declared = declared.map(RawValue::get).filter(|declared| *declared != "{}");
        declared.map_or_else(Abilities::default, Abilities::read)
    }
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

impl Refused {
    /// The JSON-RPC error that it is responded with.
    fn error(&self) -> Cow<'_, RpcError> {
        match self {
            Refused::Malformed(error) | Refused::Failed(error) => Cow::Borrowed(error),
            Refused::Forbidden(scopes) => {
                Cow::Owned(RpcError::invalid_request(format!("this needs the scopes: {}", scopes.join(" "))))
            }
        }
    }
}

impl From<RpcError> for Refused {
    fn from(error: RpcError) -> Self {
        Refused::Failed(error)
    }
}

/// Admits a request to its session, takes its parameters, checks the headers against them, and finds its revision.
fn decode<'a>(
    service: &ServiceCore,
    method: &'a str,
    (raw, params): (Option<&'a RawValue>, Result<Params<'a>, RpcError>),
    to: &'a ReplyTo,
    session: &'a Arc<Session>,
    observed: &'a Observed,
    envelope: Envelope<'a>,
) -> Result<DecodedRequest<'a>, Refused> {
    tracing::debug!("received");
    session.admit(&to.id, &service.limits).map_err(Refused::Malformed)?;
    let params = params.map_err(Refused::Malformed)?;
    if let Some(headers) = envelope.headers {
        headers.check_body(method, &params).map_err(Refused::Malformed)?;
    }
    let (mode, revision) = mode(service, &params, session)?;
    Ok(DecodedRequest {
        method,
        bytes: raw.map_or(0, |raw| raw.get().len()),
        params,
        raw,
        to,
        mode,
        revision,
        session,
        observed,
        #[cfg(feature = "http-server")]
        http: envelope.http,
    })
}

/// By which rules and revision a request is served.
fn mode(service: &ServiceCore, params: &Params<'_>, session: &Session) -> Result<(Mode, Revision), RpcError> {
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
    service: &ServiceCore,
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
    pub(crate) client_info: Option<&'a RawValue>,
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

    /// The trace context, if there is one.
    pub(crate) fn trace(&self) -> Option<Trace> {
        self.meta.as_ref().and_then(RequestMeta::trace)
    }

    pub(crate) fn read(raw: Option<&'a RawValue>) -> Result<Self, RpcError> {
        let Some(raw) = raw else { return Ok(Self::default()) };
        serde_json::from_str::<Params<'a>>(raw.get()).map_err(|error| {
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
#[derive(Debug, Default)]
pub(crate) struct RequestMeta<'a> {
    protocol_version: Option<&'a RawValue>,
    client_info: Option<&'a RawValue>,
    client_capabilities: Option<&'a RawValue>,
    progress_token: Option<&'a RawValue>,
    log_level: Option<&'a RawValue>,
    traceparent: Option<&'a RawValue>,
    tracestate: Option<&'a RawValue>,
    baggage: Option<&'a RawValue>,
    /// What does not belong to the protocol.
    other: Vec<(Cow<'a, str>, &'a RawValue)>,
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
