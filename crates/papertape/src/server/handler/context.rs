//! `Cx`: what a handler can do besides returning.

use std::fmt;
use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::protocol::capabilities::Abilities;
use crate::protocol::meta::Trace;
use crate::protocol::{LogLevel, RawJson, method};
use crate::server::elicitation::request_state::RequestState;
use crate::server::features::tool::ToolOutput;
use crate::server::handler::error::{Failure, ToolError};
use crate::server::pipeline::run::{Call, Feature, Output, Run};
use crate::sync::lock;
use papertape_oauth::Principal;

/// The context of a handler: the call that it serves, and the state of its server.
///
/// `Cx` alone is the context of a server without state; with [`Server::with_state`](crate::Server::with_state) handlers take
/// `Cx<S>`. It is cheap to clone.
///
/// A call that is cancelled is not polled again; blocking work that runs elsewhere checks [`Cx::cancelled`].
///
/// ```
/// use papertape::{Cx, ToolError};
///
/// async fn greet(_: (), cx: Cx) -> Result<String, ToolError> {
///     cx.progress(1, 2, "looking up the client");
///     let name = cx.client().map_or("stranger", |client| &client.name);
///     Ok(format!("Hello, {name}"))
/// }
/// ```
pub struct Cx<S = ()> {
    pub(crate) call: Arc<Call>,
    state: Arc<S>,
}

/// The params of a log message.
#[derive(Serialize)]
pub(crate) struct LogParams<'a> {
    pub(crate) level: LogLevel,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) logger: Option<&'a str>,
    pub(crate) data: RawJson,
}

/// The state of a server without state, so that the context of a call allocates nothing.
static NO_STATE: LazyLock<Arc<()>> = LazyLock::new(Arc::default);

impl Cx {
    pub(crate) fn new(call: &Arc<Call>) -> Self {
        Self { call: Arc::clone(call), state: Arc::clone(&NO_STATE) }
    }

    /// The context of the same call for a handler that was registered with this state.
    pub(crate) fn with_state<S>(self, state: &Arc<S>) -> Cx<S> {
        Cx { call: self.call, state: Arc::clone(state) }
    }
}

/// A handler with its state, as the pipeline runs it: without the type of the state.
pub(crate) fn with_state<S, A, F, Fut>(
    state: &Arc<S>,
    handler: F,
) -> impl Fn(A, Cx) -> Fut + use<S, A, F, Fut>
where
    F: Fn(A, Cx<S>) -> Fut,
{
    let state = Arc::clone(state);
    move |arguments, cx| handler(arguments, cx.with_state(&state))
}

/// The same for a handler without arguments.
pub(crate) fn reader_with_state<S, F, Fut>(state: &Arc<S>, read: F) -> impl Fn(Cx) -> Fut + use<S, F, Fut>
where
    F: Fn(Cx<S>) -> Fut,
{
    let state = Arc::clone(state);
    move |cx| read(cx.with_state(&state))
}

impl<S> Cx<S> {
    /// The state that was given to [`Server::with_state`](crate::Server::with_state).
    ///
    /// ```
    /// use papertape::{Cx, ToolError};
    ///
    /// struct App {
    ///     greeting: String,
    /// }
    ///
    /// async fn greet(_: (), cx: Cx<App>) -> Result<String, ToolError> {
    ///     Ok(cx.state().greeting.clone())
    /// }
    /// ```
    #[must_use]
    pub fn state(&self) -> &S {
        &self.state
    }

    /// Sends a log message to the client, if the client requested its level.
    ///
    /// The server must declare logging: [`Server::logging`](crate::Server::logging). Nothing secret belongs here.
    ///
    /// Logging to the client is deprecated in 2026-07-28 (SEP-2577) and still works in every revision. Instead, log with
    /// `tracing`: to stderr on stdio, which hosts show, or to OpenTelemetry.
    ///
    /// ```
    /// use papertape::protocol::LogLevel;
    ///
    /// fn note(cx: papertape::Cx) {
    ///     cx.log(LogLevel::Info, "read 3 files");
    ///     cx.log(LogLevel::Debug, serde_json::json!({"files": 3}));
    /// }
    /// ```
    pub fn log(&self, level: LogLevel, data: impl Into<Value>) {
        if !self.logs(level) {
            return;
        }
        let feature = &self.call.feature;
        let logger = if feature.name().is_empty() { feature.kind() } else { feature.name() };
        let data: Value = data.into();
        self.log_as(level, Some(logger), data.into());
    }

    /// [`Cx::log`] with a name of what logs, or none: for log messages of another server.
    pub fn log_as(&self, level: LogLevel, logger: Option<&str>, data: RawJson) {
        if self.logs(level) {
            let call = &self.call;
            let params = LogParams { level, logger, data };
            call.session.notify_unless(&call.flags.answered, method::LOG_MESSAGE, &params);
        }
    }

    /// Whether the client has requested log messages of this level.
    fn logs(&self, level: LogLevel) -> bool {
        let call = &self.call;
        let wanted =
            if call.revision.opens_with_handshake() { call.session.log_level() } else { call.log_level };
        call.service.logs && wanted.is_some_and(|wanted| level >= wanted)
    }

    /// The principal of the request, if the transport has authenticated one.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.call.session.named_principal()
    }

    /// The URI of the resource that is read.
    #[must_use]
    pub fn uri(&self) -> Option<&str> {
        self.call.feature.uri()
    }

    /// The distributed trace that the request is part of, to be passed on to the services that the handler uses.
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        self.call.trace.as_ref()
    }

    /// Whether the client shows pages (MCP Apps): then the results of a tool with [`Tool::ui`](crate::server::Tool::ui) are seen
    /// in its page.
    #[must_use]
    pub fn client_supports_apps(&self) -> bool {
        self.call.abilities.apps
    }

    /// Closes the SSE stream of the request early; the client reconnects after `retry` for its response.
    ///
    /// Only clients of 2025-11-25 on HTTP can do that; for all others nothing happens.
    pub fn close_stream(&self, retry: Duration) {
        if self.call.revision.can_come_back() {
            self.call.session.close_stream(retry);
        }
    }

    /// Whether the call can become a task: its client supports tasks, it is a tool's, there is no middleware around it, and it
    /// is not one yet.
    #[must_use]
    pub fn can_become_task(&self) -> bool {
        let call = &self.call;
        let is_tool = matches!(call.feature, Feature::Tool(_));
        let is_task = call.flags.status.get().is_some();
        is_tool
            && !is_task
            && call.abilities.tasks
            && self.input_comes_with_the_request()
            && !call.has_middleware()
    }

    /// Turns the call into a task that runs this to its end: for a proxy, whose own call has become one. The error is to be passed
    /// on with `?`.
    ///
    /// If input is requested from there ([`Cx::ask`]), the handler runs again from the beginning, and
    /// [`Cx::can_become_task`] is false.
    pub fn become_task<O, F>(&self, rest: F) -> ToolError
    where
        O: ToolOutput,
        F: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        let run: Run = Box::pin(async move { rest.await?.into_result().map(Output::Tool) });
        ToolError(Failure::Task(Mutex::new(run)))
    }

    /// The capabilities of the client.
    pub(crate) fn abilities(&self) -> Abilities {
        self.call.abilities
    }

    /// Whether the client repeats the request with what was elicited (stateless revisions), rather than answering requests of
    /// the server's.
    pub(crate) fn input_comes_with_the_request(&self) -> bool {
        !self.call.revision.opens_with_handshake()
    }

    pub(crate) fn request_state<T>(&self, act: impl FnOnce(&mut RequestState) -> T) -> T {
        act(&mut lock(&self.call.request_state))
    }

    /// Whether the client has cancelled the call, or the connection has ended. For blocking work that should stop.
    #[must_use]
    pub fn cancelled(&self) -> bool {
        self.call.flags.cancelled.load(Ordering::Relaxed)
    }
}

// Derived, both would require the same of the state.
impl<S> Clone for Cx<S> {
    fn clone(&self) -> Self {
        Self { call: Arc::clone(&self.call), state: Arc::clone(&self.state) }
    }
}

impl<S> fmt::Debug for Cx<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx").field("cancelled", &self.cancelled()).finish_non_exhaustive()
    }
}
