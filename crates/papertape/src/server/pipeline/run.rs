//! Running: a call, and its handler polled to its end, on the thread that has read the request or on the runtime.
//!
//! A handler is first polled on the connection's thread. If it is ready then, it is answered there; if not, or if it has
//! blocked the thread before, it runs on the runtime.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tokio::runtime::{Handle, RuntimeFlavor};
use tracing::Instrument;

use super::resolve::TaskOperation;
use super::respond;
use crate::callback;
use crate::protocol::capabilities::Abilities;
use crate::protocol::meta::Trace;
use crate::protocol::project::CacheHint;
use crate::protocol::tools::CallToolResult;
use crate::protocol::{Completion, LogLevel, PromptResult, RawJson, ResourceContents, Revision, method};
use crate::server::catalog::registry::{Listed, Page};
use crate::server::elicitation::ask::ClientRequest;
use crate::server::elicitation::request_state::RequestState;
use crate::server::features::completion::CompletedArgument;
use crate::server::features::method::RegisteredMethod;
use crate::server::features::prompt::RegisteredPrompt;
use crate::server::features::resource::{RegisteredResource, RegisteredTemplate};
use crate::server::features::tool::RegisteredTool;
use crate::server::handler::error::ToolError;
use crate::server::handler::middleware::Middleware;
use crate::server::handler::progress::{LastProgress, StatusMessages};
use crate::server::handler::request_context::RequestContext;
use crate::server::service::ServiceCore;
use crate::server::session::{ReplyTo, Session, Ticket};
use crate::telemetry::{CANCELLED, Observed, Operation, Outcome, Subject};
use crate::wire::{Id, RpcError};

/// A handler that blocks the connection's thread longer than this is slow.
const BLOCKING: Duration = Duration::from_millis(2);

/// Calls of a slow handler that begin on the runtime.
const CALLS_ON_RUNTIME: u32 = 16;

/// A handler under way.
pub(crate) type Run = Pin<Box<dyn Future<Output = Result<Output, ToolError>> + Send>>;

/// What a handler returned, or how it panicked.
pub(crate) type HandlerOutcome = Result<Result<Output, ToolError>, Box<dyn Any + Send>>;

/// What a handler gives back.
#[derive(Debug, Clone)]
pub(crate) enum Output {
    Tool(CallToolResult),
    Read(Vec<ResourceContents>),
    Prompt(PromptResult),
    Completion(Completion),
    /// The result of a method of the author's, an object.
    Method(RawJson),
    /// A page of a list, as JSON, and how long it may be cached.
    Page(Page, CacheHint),
    /// Nothing yet: input of the client is needed first. Only middleware sees this.
    InputRequired(Vec<(String, ClientRequest)>),
    /// A result of another kind, in the shape of 2026-07-28.
    Object(Map<String, Value>),
}

/// What is known of a call while it runs. Its flags change under the lock of its session only.
pub(crate) struct Call {
    pub(crate) service: Arc<ServiceCore>,
    /// What it is a call of.
    pub(crate) feature: Feature,
    pub(crate) session: Arc<Session>,
    /// Where its response goes.
    pub(crate) to: ReplyTo,
    /// The size of its request.
    pub(crate) bytes: usize,
    pub(crate) revision: Revision,
    pub(crate) progress_token: Option<Id>,
    pub(crate) observed: Observed,
    /// The distributed trace that the request is part of.
    pub(crate) trace: Option<Trace>,
    /// The log level that the request sets, in stateless revisions.
    pub(crate) log_level: Option<LogLevel>,
    /// The capabilities of the client.
    pub(crate) abilities: Abilities,
    /// What was elicited so far.
    pub(crate) request_state: Mutex<RequestState>,
    /// What elicitation state is sealed for, if the client supports elicitation.
    pub(crate) purpose: Vec<u8>,
    /// What the request says about itself.
    pub(crate) context: RequestContext,
    pub(crate) flags: Flags,
}

impl Call {
    /// From here on nothing more is sent for this call.
    pub(crate) fn set_answered(&self) {
        self.flags.answered.store(true, Ordering::Relaxed);
    }

    /// Whether there is middleware around its handler.
    pub(crate) fn has_middleware(&self) -> bool {
        !(self.service.middleware.is_empty() && self.feature.middleware().is_empty())
    }

    /// Records how it ended, once its response has been written. If it was cancelled before, that has been recorded.
    pub(crate) fn responded(&self, outcome: &Outcome<'_>) {
        if !self.flags.cancelled.load(Ordering::Relaxed) {
            self.observe_end(outcome);
        }
    }

    /// Records that it was cancelled, and why: by default by its client.
    pub(crate) fn observe_cancelled(&self, error: Option<&RpcError>) {
        self.observe_end(&error.map_or(CANCELLED, Outcome::Rpc));
    }

    fn observe_end(&self, outcome: &Outcome<'_>) {
        let subject = match &self.feature {
            Feature::Tool(_) => Subject::Tool(self.feature.name()),
            Feature::Prompt(_) => Subject::Prompt(self.feature.name()),
            _ => self.feature.uri().map_or(Subject::None, Subject::Resource),
        };
        let operation = Operation { method: self.feature.method(), subject, revision: Some(self.revision) };
        let operation = if outcome.code().is_some() { self.service.failed(operation) } else { operation };
        self.observed.end(&operation, outcome);
    }

    /// The client no longer waits for this call.
    pub(crate) fn set_cancelled(&self) {
        self.set_answered();
        self.flags.cancelled.store(true, Ordering::Relaxed);
    }
}

/// What has become of a call.
pub(crate) struct Flags {
    pub(crate) cancelled: AtomicBool,
    pub(crate) answered: AtomicBool,
    pub(crate) progress: Mutex<LastProgress>,
    /// Set if it is a task.
    pub(crate) status: OnceLock<StatusMessages>,
}

impl Flags {
    /// Those of a call that begins; with `progress` if its client wants to know of that.
    pub(crate) fn new(progress: bool) -> Self {
        Self {
            cancelled: AtomicBool::new(false),
            answered: AtomicBool::new(false),
            progress: Mutex::new(LastProgress::new(progress)),
            status: OnceLock::new(),
        }
    }
}

/// What a call runs the handler of.
#[derive(Debug, Clone)]
pub(crate) enum Feature {
    Tool(Arc<RegisteredTool>),
    Resource(Arc<RegisteredResource>),
    /// A template, and the URI that matches it.
    Template(Arc<RegisteredTemplate>, String),
    Prompt(Arc<RegisteredPrompt>),
    Completion(Arc<CompletedArgument>),
    /// A method or notification of the author's.
    Method(Arc<RegisteredMethod>),
    /// A list that handlers make.
    List,
    /// A request about a task, which the task store answers.
    Task(TaskOperation),
}

/// One pace is kept for all handlers of a list.
static LIST_PACE: Pace = Pace::new();

/// Requests about tasks have no handler of their own: one pace is kept for the store.
static STORE_PACE: Pace = Pace::new();

impl Feature {
    pub(crate) fn pace(&self) -> &Pace {
        match self {
            Feature::Tool(tool) => tool.pace(),
            Feature::Resource(resource) => resource.pace(),
            Feature::Template(template, _) => template.pace(),
            Feature::Prompt(prompt) => prompt.pace(),
            Feature::Completion(argument) => &argument.completer.pace,
            Feature::Method(method) => method.pace(),
            Feature::List => &LIST_PACE,
            Feature::Task(_) => &STORE_PACE,
        }
    }

    /// Its kind, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Feature::Tool(_) => RegisteredTool::KIND,
            Feature::Resource(_) => RegisteredResource::KIND,
            Feature::Template(..) => RegisteredTemplate::KIND,
            Feature::Prompt(_) => RegisteredPrompt::KIND,
            Feature::Completion(_) => "completion",
            Feature::Method(method) => method.kind,
            Feature::List => "list",
            Feature::Task(_) => "task",
        }
    }

    /// The method by which it is requested.
    pub(crate) fn method(&self) -> &str {
        match self {
            Feature::Tool(_) => method::TOOLS_CALL,
            Feature::Resource(_) | Feature::Template(..) => method::RESOURCES_READ,
            Feature::Prompt(_) => method::PROMPTS_GET,
            Feature::Completion(_) => method::COMPLETE,
            Feature::Method(method) => method.name(),
            Feature::List => method::RESOURCES_LIST,
            Feature::Task(TaskOperation::Get) => method::TASKS_GET,
            Feature::Task(TaskOperation::Update) => method::TASKS_UPDATE,
            Feature::Task(TaskOperation::Cancel) => method::TASKS_CANCEL,
        }
    }

    /// The middleware of the servers that it was mounted with.
    pub(crate) fn middleware(&self) -> &[Middleware] {
        match self {
            Feature::Tool(tool) => &tool.middleware,
            Feature::Resource(resource) => &resource.middleware,
            Feature::Template(template, _) => &template.middleware,
            Feature::Prompt(prompt) => &prompt.middleware,
            Feature::Completion(argument) => &argument.middleware,
            Feature::Method(method) => &method.middleware,
            Feature::List | Feature::Task(_) => &[],
        }
    }

    /// Whether nothing responds to it: so nothing can be elicited, and it has no progress.
    pub(crate) fn is_notification(&self) -> bool {
        matches!(self, Feature::Method(method) if method.kind == RegisteredMethod::NOTIFICATION)
    }

    /// The URI that is read, if one is.
    pub(crate) fn uri(&self) -> Option<&str> {
        match self {
            Feature::Resource(resource) => Some(resource.key()),
            Feature::Template(_, uri) => Some(uri),
            _ => None,
        }
    }

    /// The name of a tool or prompt, the URI of a resource, the template of a resource template.
    pub(crate) fn name(&self) -> &str {
        match self {
            Feature::Tool(tool) => tool.key(),
            Feature::Resource(resource) => resource.key(),
            Feature::Template(template, _) => template.key(),
            Feature::Prompt(prompt) => prompt.key(),
            Feature::Completion(argument) => &argument.name,
            Feature::Method(method) => method.name(),
            Feature::List => method::RESOURCES_LIST,
            Feature::Task(_) => "",
        }
    }
}

/// A call whose handler has been started, but not polled.
pub(crate) struct PreparedCall {
    pub(crate) call: Arc<Call>,
    run: Run,
}

impl PreparedCall {
    pub(crate) fn new(call: Arc<Call>, run: Run) -> Self {
        Self { call, run }
    }

    /// Whether the handler has blocked the thread that polled it not many calls ago.
    pub(crate) fn is_slow(&self) -> bool {
        self.call.feature.pace().is_slow() && self.call.feature.pace().count_slow_call()
    }

    /// Polls the handler for the first time.
    pub(crate) fn first_poll(&mut self) -> Poll<HandlerOutcome> {
        let _entered = self.call.observed.span.enter();
        // If it is not ready the runtime polls it again, with a real waker.
        timed_poll(self.call.feature.pace(), &mut self.run, &mut Context::from_waker(Waker::noop()))
    }

    /// Responds, or hands the rest of the handler to the runtime.
    pub(crate) fn conclude(self, outcome: Poll<HandlerOutcome>) {
        let Poll::Ready(outcome) = outcome else { return self.spawn() };
        let PreparedCall { call, run } = self;
        let _entered = call.observed.span.enter();
        drop_guarded(run);
        respond::outcome(&call, outcome, |reply| call.session.reply_to_call(&call.to, &call, reply));
    }

    /// The same for a call that has been tracked as running in the meantime.
    pub(crate) fn conclude_tracked(self, ticket: Ticket, outcome: Poll<HandlerOutcome>) {
        let Poll::Ready(outcome) = outcome else { return self.spawn_tracked(ticket, true) };
        let PreparedCall { call, run } = self;
        let _entered = call.observed.span.enter();
        drop_guarded(run);
        respond::outcome(&call, outcome, |reply| call.session.finish(&call.to, ticket, reply));
    }

    /// Hands a call to the runtime, where it delays no other.
    pub(crate) fn spawn(self) {
        let ticket = self.call.session.track(&self.call);
        self.spawn_tracked(ticket, false);
    }

    /// The same for a handler that may block the thread that polls it.
    pub(crate) fn spawn_slow(self) {
        let ticket = self.call.session.track(&self.call);
        self.spawn_tracked(ticket, true);
    }

    fn spawn_tracked(self, ticket: Ticket, slow: bool) {
        let PreparedCall { call, mut run } = self;
        let spawned = Arc::clone(&call);
        let task = async move {
            let outcome = poll_fn(|cx| poll_on_runtime(spawned.feature.pace(), &mut run, slow, cx)).await;
            respond::outcome(&spawned, outcome, |reply| spawned.session.finish(&spawned.to, ticket, reply));
        };
        let task = tokio::spawn(task.instrument(call.observed.span.clone()));
        call.session.set_abort(&call.to.id, ticket, task.abort_handle());
    }
}

/// Whether a handler has blocked the thread that polled it: then its next calls begin on the runtime.
#[derive(Debug, Default)]
pub(crate) struct Pace(AtomicU32);

impl Pace {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// The handler has blocked the thread. Only so many of its next calls begin on the runtime, because the machine may
    /// have been at fault.
    pub(crate) fn set_slow(&self) {
        self.0.store(CALLS_ON_RUNTIME, Ordering::Relaxed);
    }

    pub(crate) fn is_slow(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Counts a call that begins on the runtime; false if it need not.
    fn count_slow_call(&self) -> bool {
        let count = |left: u32| left.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count).is_ok()
    }
}

/// Runs a handler to its end on the runtime, outside of any connection.
pub(crate) async fn to_end(call: &Call, mut run: Run) -> HandlerOutcome {
    let outcome = poll_fn(|cx| poll_on_runtime(call.feature.pace(), &mut run, false, cx)).await;
    drop_guarded(run);
    outcome
}

/// Polls a handler, and notes whether it has blocked the thread.
fn timed_poll(pace: &Pace, run: &mut Run, cx: &mut Context<'_>) -> Poll<HandlerOutcome> {
    let began = Instant::now();
    // A panic is the error of this call alone.
    let poll = match catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    };
    if began.elapsed() > BLOCKING {
        pace.set_slow();
    }
    poll
}

/// The same on the runtime, where a handler that may block is allowed to.
fn poll_on_runtime(pace: &Pace, run: &mut Run, slow: bool, cx: &mut Context<'_>) -> Poll<HandlerOutcome> {
    if (slow || pace.is_slow()) && Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread {
        tokio::task::block_in_place(|| timed_poll(pace, run, cx))
    } else {
        timed_poll(pace, run, cx)
    }
}

pub(crate) fn panicked(feature: &Feature, panic: Box<dyn Any + Send>) -> RpcError {
    let (kind, name) = (feature.kind(), feature.name());
    tracing::error!(name, "a {kind} panicked: {}", callback::message(&*panic));
    drop_guarded(panic);
    RpcError::internal(format!(
        "{kind} \"{name}\" panicked: this is a bug in the {kind}; the server keeps running"
    ))
}

/// Drops a value of the author's, which may panic; the payload of that panic is leaked rather than dropped.
pub(crate) fn drop_guarded<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        std::mem::forget(panic);
    }
}
