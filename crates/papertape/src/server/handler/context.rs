//! `Cx`: what a handler can do besides returning.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use crate::protocol::capabilities::Abilities;
use crate::protocol::meta::Trace;
use crate::protocol::{LogLevel, method, project};
use crate::server::elicitation::request_state::RequestState;
use crate::server::pipeline::run::Call;
use crate::sync::lock;
use crate::wire::Id;
use papertape_oauth::Principal;

/// The context of a handler: the call that it serves.
///
/// A call that is cancelled is not polled again; blocking work that runs elsewhere checks [`Cx::cancelled`].
#[derive(Clone)]
pub struct Cx {
    pub(crate) call: Arc<Call>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams<'a> {
    progress_token: &'a Id,
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Cx {
    /// Notifies the client of progress: `done` of `total`, and a message.
    ///
    /// Nothing is sent without a progress token in the request, if `done` has not grown, after the response, or within 20 ms
    /// of the last notification; call it as often as is convenient.
    ///
    /// ```
    /// # fn f(cx: papertape::Cx) {
    /// cx.progress(3.0, 10.0, "reading");
    /// cx.progress(4.0, None, None);
    /// # }
    /// ```
    pub fn progress<'m>(
        &self,
        done: f64,
        total: impl Into<Option<f64>>,
        message: impl Into<Option<&'m str>>,
    ) {
        let Some(token) = &self.call.progress_token else { return };
        let total = total.into().filter(|total| total.is_finite());
        // Held until it is sent, so that the progress of several threads goes out in order.
        let mut last = lock(&self.call.flags.progress);
        if !last.advance(done, total) {
            return;
        }
        let message = project::progress_message(message.into().map(str::to_owned), self.call.revision);
        let params = ProgressParams { progress_token: token, progress: done, total, message };
        self.call.session.notify_unless(&self.call.flags.answered, method::PROGRESS, &params);
    }

    /// Sends a log message to the client, if the client requested its level.
    ///
    /// The server must declare logging: [`Server::logging`](crate::Server::logging). Nothing secret belongs here.
    ///
    /// Logging to the client is deprecated in 2026-07-28 (SEP-2577) and still works in every revision. Instead, log with
    /// `tracing`: to stderr on stdio, which hosts show, or to OpenTelemetry.
    ///
    /// ```
    /// # fn f(cx: papertape::Cx) {
    /// use papertape::protocol::LogLevel;
    /// cx.log(LogLevel::Info, "read 3 files");
    /// cx.log(LogLevel::Debug, serde_json::json!({"files": 3}));
    /// # }
    /// ```
    pub fn log(&self, level: LogLevel, data: impl Into<Value>) {
        #[derive(Serialize)]
        struct LogParams<'a> {
            level: LogLevel,
            logger: &'a str,
            data: Value,
        }
        let call = &self.call;
        let wanted =
            if call.revision.opens_with_handshake() { call.session.log_level() } else { call.log_level };
        if !call.service.logs || wanted.is_none_or(|wanted| level < wanted) {
            return;
        }
        let logger = if call.feature.name().is_empty() { call.feature.kind() } else { call.feature.name() };
        let params = LogParams { level, logger, data: data.into() };
        call.session.notify_unless(&call.flags.answered, method::LOG_MESSAGE, &params);
    }

    /// The principal of the request, if the transport has authenticated one.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.call.session.principal().map(|principal| &**principal)
    }

    /// The distributed trace that the request is part of, to be passed on to the services that the handler uses.
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        self.call.trace.as_ref()
    }

    /// Closes the SSE stream of the request early; the client reconnects after `retry` for its response.
    ///
    /// Only clients of 2025-11-25 on HTTP can do that; for all others nothing happens.
    pub fn close_stream(&self, retry: Duration) {
        if self.call.revision.can_come_back() {
            self.call.session.close_stream(retry);
        }
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

impl fmt::Debug for Cx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx").field("cancelled", &self.cancelled()).finish_non_exhaustive()
    }
}

/// The progress of a call that was last sent.
pub(crate) struct LastProgress {
    value: f64,
    sent: Option<Instant>,
    /// The total has been reached, which is sent at once, but once only.
    arrived: bool,
}

impl Default for LastProgress {
    fn default() -> Self {
        Self { value: f64::NEG_INFINITY, sent: None, arrived: false }
    }
}

/// Progress is sent at most this often, except the first and the last.
const BETWEEN_PROGRESS: Duration = Duration::from_millis(20);

impl LastProgress {
    /// Whether it is to be sent, in which case it counts as sent.
    pub(crate) fn advance(&mut self, done: f64, total: Option<f64>) -> bool {
        if !done.is_finite() || done <= self.value {
            return false;
        }
        let now = Instant::now();
        let too_soon = self.sent.is_some_and(|sent| now.duration_since(sent) < BETWEEN_PROGRESS);
        let arrives = !self.arrived && total.is_some_and(|total| done >= total);
        if too_soon && !arrives {
            return false;
        }
        *self = Self { value: done, sent: Some(now), arrived: self.arrived || arrives };
        true
    }
}
