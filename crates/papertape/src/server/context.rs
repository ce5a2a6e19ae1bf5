//! `Cx`: what a handler can do besides returning.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use super::around::Hook;
use super::ask::Dialogue;
use super::completion::Completer;
use super::dispatch::Service;
use super::pace::Pace;
use super::principal::Principal;
use super::prompt::RegisteredPrompt;
use super::registry::Offer;
use super::resource::{RegisteredResource, RegisteredTemplate};
use super::tool::Registered;
use crate::link::{Link, ReplyTo};
use crate::protocol::capabilities::Abilities;
use crate::protocol::meta::Trace;
use crate::protocol::{LogLevel, Revision, method, project};
use crate::wire::Id;

/// The call a handler is answering.
///
/// A call that is cancelled is simply not polled again; blocking work that runs elsewhere asks [`Cx::cancelled`].
#[derive(Clone)]
pub struct Cx {
    call: Arc<Call>,
}

/// What is known of a call while it runs. Its flags change under the link's lock only.
pub(crate) struct Call {
    pub(crate) service: Arc<Service>,
    /// What is asked for.
    pub(crate) target: Target,
    pub(crate) link: Arc<Link>,
    /// Where its answer goes.
    pub(crate) to: ReplyTo,
    /// The size of its request.
    pub(crate) bytes: usize,
    pub(crate) revision: Revision,
    pub(crate) progress_token: Option<Id>,
    pub(crate) span: tracing::Span,
    /// Where the request stands in a trace.
    pub(super) trace: Option<Trace>,
    /// What the client wants to see of the log, in revisions where each request says so.
    pub(super) log_level: Option<LogLevel>,
    /// What the client can be asked.
    pub(super) abilities: Abilities,
    /// What was asked and answered so far.
    pub(super) dialogue: Mutex<Dialogue>,
    /// What the state of a dialogue is sealed for, if the client can be asked.
    pub(super) purpose: Vec<u8>,
    pub(super) flags: Flags,
}

/// What a request asks for.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Tool(Arc<Registered>),
    Resource(Arc<RegisteredResource>),
    /// And the URI that fits it.
    Template(Arc<RegisteredTemplate>, String),
    Prompt(Arc<RegisteredPrompt>),
    Completion(Completed),
    /// How a task is.
    Tasks,
}

/// What is completed.
#[derive(Debug, Clone)]
pub(crate) struct Completed {
    pub(crate) completer: Completer,
    /// The prompt or template whose argument it is.
    pub(crate) name: String,
    pub(crate) hooks: Vec<Hook>,
}

/// Requests about tasks only look something up; a store that keeps the thread is dealt with like any function.
static QUICK: Pace = Pace::new();

impl Target {
    pub(crate) fn pace(&self) -> &Pace {
        match self {
            Target::Tool(tool) => tool.pace(),
            Target::Resource(resource) => resource.pace(),
            Target::Template(template, _) => template.pace(),
            Target::Prompt(prompt) => prompt.pace(),
            Target::Completion(completed) => &completed.completer.pace,
            Target::Tasks => &QUICK,
        }
    }

    /// What it is, for messages.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Target::Tool(_) => Registered::WHAT,
            Target::Resource(_) => RegisteredResource::WHAT,
            Target::Template(..) => RegisteredTemplate::WHAT,
            Target::Prompt(_) => RegisteredPrompt::WHAT,
            Target::Completion(_) => "completion",
            Target::Tasks => "task",
        }
    }

    /// Those of the servers within which it is mounted.
    pub(crate) fn hooks(&self) -> &[Hook] {
        match self {
            Target::Tool(tool) => &tool.hooks,
            Target::Resource(resource) => &resource.hooks,
            Target::Template(template, _) => &template.hooks,
            Target::Prompt(prompt) => &prompt.hooks,
            Target::Completion(completed) => &completed.hooks,
            Target::Tasks => &[],
        }
    }

    /// The URI that is read, if one is.
    pub(crate) fn uri(&self) -> Option<&str> {
        match self {
            Target::Resource(resource) => Some(resource.key()),
            Target::Template(_, uri) => Some(uri),
            _ => None,
        }
    }

    /// Which one it is.
    pub(crate) fn name(&self) -> &str {
        match self {
            Target::Tool(tool) => tool.key(),
            Target::Resource(resource) => resource.key(),
            Target::Template(template, _) => template.key(),
            Target::Prompt(prompt) => prompt.key(),
            Target::Completion(completed) => &completed.name,
            Target::Tasks => "",
        }
    }
}

/// What becomes of a call.
#[derive(Default)]
pub(super) struct Flags {
    cancelled: AtomicBool,
    answered: AtomicBool,
    progress: Mutex<LastProgress>,
}

struct LastProgress {
    value: f64,
    sent: Option<Instant>,
    /// The total has been reached, which is told at once, but once only.
    arrived: bool,
}

impl Default for LastProgress {
    fn default() -> Self {
        Self { value: f64::NEG_INFINITY, sent: None, arrived: false }
    }
}

/// Progress is told at most this often, except the first and the last.
const BETWEEN_PROGRESS: Duration = Duration::from_millis(20);

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
    pub(super) fn new(call: &Arc<Call>) -> Self {
        Self { call: Arc::clone(call) }
    }

    /// Tells the client how far the call has got: `done` of `total`, and a word about it.
    ///
    /// Nothing is sent if the client did not ask, if `done` has not grown, after the answer, or sooner than a client
    /// could make use of; call it as often as is convenient.
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
        // Held until it is sent, so that what several threads tell goes out in order.
        let mut last = self.call.flags.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if !last.is_worth_telling(done, total) {
            return;
        }
        let message = project::progress_message(message.into().map(str::to_owned), self.call.revision);
        let params = ProgressParams { progress_token: token, progress: done, total, message };
        self.call.link.notify_unless(&self.call.flags.answered, method::PROGRESS, &params);
    }

    /// Writes a line to the client's log, if the client wants to see it.
    ///
    /// The server must have said that it logs: [`Server::logging`](crate::Server::logging). Nothing secret belongs here.
    ///
    /// Logging to the client is deprecated in 2026-07-28 (SEP-2577) and still works in every revision. Instead, log with
    /// `tracing`: to stderr on stdio, which hosts show, or to OpenTelemetry.
    ///
    /// ```
    /// # fn f(cx: papertape::Cx) {
    /// use papertape::LogLevel;
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
            if call.revision.opens_with_handshake() { call.link.log_level() } else { call.log_level };
        if !call.service.logs || wanted.is_none_or(|wanted| level < wanted) {
            return;
        }
        let logger = if call.target.name().is_empty() { call.target.what() } else { call.target.name() };
        let params = LogParams { level, logger, data: data.into() };
        call.link.notify_unless(&call.flags.answered, method::LOG_MESSAGE, &params);
    }

    /// Who asks, if the transport found that out.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.call.link.principal().map(|principal| &**principal)
    }

    /// Where the call stands in a distributed trace, if the client says so: to be passed on to whom the handler asks.
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        self.call.trace.as_ref()
    }

    /// Lets the connection go on which the client waits, which is to come back for the answer after a while.
    ///
    /// Only clients of 2025-11-25 on HTTP know how to do that; with all others nothing happens.
    pub fn let_go(&self, come_back: Duration) {
        if self.call.revision.can_come_back() {
            self.call.link.let_go(come_back);
        }
    }

    /// What the client can be asked.
    pub(super) fn abilities(&self) -> Abilities {
        self.call.abilities
    }

    /// Whether the client sends what it was asked along with its request, and does not answer requests of the server's.
    pub(super) fn answers_come_with_the_request(&self) -> bool {
        !self.call.revision.opens_with_handshake()
    }

    pub(super) fn dialogue<T>(&self, act: impl FnOnce(&mut Dialogue) -> T) -> T {
        act(&mut self.call.dialogue.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the client has taken the call back, or the connection has ended. For blocking work that should stop.
    #[must_use]
    pub fn cancelled(&self) -> bool {
        self.call.flags.cancelled.load(Ordering::Relaxed)
    }
}

impl LastProgress {
    /// Whether it is worth telling, in which case it counts as told.
    fn is_worth_telling(&mut self, done: f64, total: Option<f64>) -> bool {
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

impl Call {
    /// From here on nothing more is sent for this call.
    pub(crate) fn set_answered(&self) {
        self.flags.answered.store(true, Ordering::Relaxed);
    }

    /// Nobody waits for this call any more.
    pub(crate) fn set_cancelled(&self) {
        self.set_answered();
        self.flags.cancelled.store(true, Ordering::Relaxed);
    }
}

impl fmt::Debug for Cx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx").field("cancelled", &self.cancelled()).finish_non_exhaustive()
    }
}
