//! `tools/call`: arguments checked, the function run, its outcome turned into an answer.
//!
//! A function begins on the connection's thread. If it is ready at its first poll it is answered there and then; if not,
//! or if it has kept the thread before, it runs on the runtime.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::runtime::{Handle, RuntimeFlavor};
use tracing::Instrument;

use super::context::{Call, Cx, Flags};
use super::dispatch::{Params, Service, write};
use super::error::{Failure, ToolError};
use super::tool::{Registered, Run};
use crate::link::{Link, ReplyTo, Ticket};
use crate::outbox::Reply;
use crate::protocol::meta::RequestMeta;
use crate::protocol::tools::CallToolResult;
use crate::protocol::{Revision, project};
use crate::wire::RpcError;
use crate::wire::error::excerpt;
use crate::wire::message;

/// A function that keeps the connection's thread longer than this is suspect.
const HELD_THE_WIRE: Duration = Duration::from_millis(2);

/// A call whose function has not been polled yet.
pub(crate) struct Begun {
    pub(crate) call: Arc<Call>,
    run: Run,
}

impl Begun {
    /// Runs the function here as far as it gets at once; what is left runs on the runtime, which must be entered.
    pub(crate) fn run_here(mut self) {
        if self.belongs_elsewhere() {
            return self.run_as_suspect();
        }
        let outcome = self.first_poll();
        self.conclude(outcome);
    }

    /// Whether the function has kept the thread that polled it not many calls ago.
    pub(crate) fn belongs_elsewhere(&self) -> bool {
        self.call.tool.is_suspect() && self.call.tool.count_off_the_wire()
    }

    /// Polls the function for the first time.
    pub(crate) fn first_poll(&mut self) -> Poll<Outcome> {
        let _entered = self.call.span.enter();
        // If it is not ready the runtime polls it again, with a real waker.
        timed_poll(&self.call.tool, &mut self.run, &mut Context::from_waker(Waker::noop()))
    }

    /// Answers, or hands the rest of the function to the runtime.
    pub(crate) fn conclude(self, outcome: Poll<Outcome>) {
        let Poll::Ready(outcome) = outcome else { return self.run_elsewhere() };
        let Begun { call, run } = self;
        let _entered = call.span.enter();
        drop_guarded(run);
        call.write_outcome(outcome, |reply| call.link.reply_to_call(&call.to, &call, reply));
    }

    /// The same for a call that others have noted as running in the meantime.
    pub(crate) fn conclude_tracked(self, ticket: Ticket, outcome: Poll<Outcome>) {
        let Poll::Ready(outcome) = outcome else { return self.run_tracked(ticket, true) };
        let Begun { call, run } = self;
        let _entered = call.span.enter();
        drop_guarded(run);
        call.write_outcome(outcome, |reply| call.link.finish(&call.to, ticket, reply));
    }

    /// Hands a call that needs time to the runtime, where it delays nobody.
    pub(crate) fn run_elsewhere(self) {
        let ticket = self.call.link.track(&self.call);
        self.run_tracked(ticket, false);
    }

    /// The same for a function that may keep the thread that polls it.
    pub(crate) fn run_as_suspect(self) {
        let ticket = self.call.link.track(&self.call);
        self.run_tracked(ticket, true);
    }

    fn run_tracked(self, ticket: Ticket, suspect: bool) {
        let Begun { call, mut run } = self;
        let there = Arc::clone(&call);
        let task = async move {
            let outcome = poll_fn(|cx| poll_elsewhere(&there.tool, &mut run, suspect, cx)).await;
            there.write_outcome(outcome, |reply| there.link.finish(&there.to, ticket, reply));
        };
        let task = tokio::spawn(task.instrument(call.span.clone()));
        call.link.set_abort(&call.to.id, ticket, task.abort_handle());
    }
}

impl Service {
    /// Checks a call and makes it ready to run.
    pub(super) fn begin_call(
        self: &Arc<Self>,
        to: &ReplyTo,
        params: &Params<'_>,
        bytes: usize,
        revision: Revision,
        link: &Arc<Link>,
        span: &tracing::Span,
    ) -> Result<Option<Begun>, RpcError> {
        let Some(name) = params.name.and_then(message::string) else {
            return Err(RpcError::invalid_params("`tools/call` needs `params.name`, a string"));
        };
        let tool = self.registry.find(&name).ok_or_else(|| self.unknown_tool(&name))?;
        let arguments = read_arguments(params.arguments, self.limits.tree)?;
        let progress_token = params.meta.as_ref().map_or(Ok(None), RequestMeta::progress_token)?;
        if progress_token.as_ref().is_some_and(|token| link.has_progress_token(token)) {
            let message = "`_meta.progressToken` is in use by a request that is still running";
            return Err(RpcError::invalid_params(message));
        }
        let call = Arc::new(Call {
            service: Arc::clone(self),
            tool,
            link: Arc::clone(link),
            to: to.clone(),
            bytes,
            revision,
            progress_token,
            span: span.clone(),
            flags: Flags::default(),
        });
        match catch_unwind(AssertUnwindSafe(|| call.tool.start(arguments, bytes, Cx::new(&call)))) {
            Ok(Ok(run)) => Ok(Some(Begun { call, run })),
            Ok(Err(problem)) if revision.invalid_arguments_are_results() => {
                call.write_result(CallToolResult::failed(problem), |reply| link.reply(to, reply));
                Ok(None)
            }
            Ok(Err(problem)) => Err(RpcError::invalid_params(problem)),
            Err(panic) => Err(panicked(&call.tool, panic)),
        }
    }

    fn unknown_tool(&self, name: &str) -> RpcError {
        let tools = self.registry.snapshot();
        let names: Vec<&str> = tools.names().take(50).collect();
        let names = names.join(", ");
        RpcError::invalid_params(format!("unknown tool: {}; the tools are {names}", excerpt(name)))
    }
}

impl Call {
    /// Turns what became of a call into its answer.
    fn write_outcome(&self, outcome: Outcome, send: impl FnOnce(&Reply<'_>)) {
        tracing::debug!(tool = self.tool.definition.name, "answered");
        // An error of the author's may panic too, when it is shown or dropped.
        match catch_unwind(AssertUnwindSafe(|| self.judge(outcome))) {
            Ok(Ok(result)) => self.write_result(result, send),
            Ok(Err(error)) => send(&Reply::Error(&error)),
            Err(panic) => send(&Reply::Error(&panicked(&self.tool, panic))),
        }
    }

    fn judge(&self, outcome: Outcome) -> Result<CallToolResult, RpcError> {
        let name = &self.tool.definition.name;
        match outcome {
            Ok(Ok(result)) => match self.tool.check_output(&result) {
                None => Ok(result),
                Some(problem) => {
                    tracing::error!(tool = name, "{problem}");
                    Err(RpcError::internal(format!("tool \"{name}\": {problem}")))
                }
            },
            Ok(Err(ToolError(Failure::Failed(message)))) => Ok(CallToolResult::failed(message)),
            Ok(Err(ToolError(Failure::Refused(error)))) => Err(error),
            Ok(Err(ToolError(Failure::Internal(error)))) => {
                tracing::error!(tool = name, error = &*error, "internal error");
                Err(RpcError::internal("internal error"))
            }
            Err(panic) => Err(panicked(&self.tool, panic)),
        }
    }

    fn write_result(&self, result: CallToolResult, send: impl FnOnce(&Reply<'_>)) {
        let service = &self.service;
        let result = project::call_result(result, self.revision, &service.identity);
        let identity = result.meta.is_none().then_some(&*service.identity_json);
        send(&Reply::Result(&|out| write(out, self.revision, &result, None, identity)));
    }
}

/// What became of a call: what the function returned, or how it panicked.
pub(crate) type Outcome = Result<Result<CallToolResult, ToolError>, Box<dyn Any + Send>>;

/// Polls a call whose panic must not be anybody else's.
fn guarded_poll(run: &mut Run, cx: &mut Context<'_>) -> Poll<Outcome> {
    match catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    }
}

/// Polls a call, and notes whether its function has kept the thread.
fn timed_poll(tool: &Registered, run: &mut Run, cx: &mut Context<'_>) -> Poll<Outcome> {
    let began = Instant::now();
    let poll = guarded_poll(run, cx);
    if began.elapsed() > HELD_THE_WIRE {
        tool.suspect();
    }
    poll
}

/// The same on the runtime, where a function that may keep the thread is given one.
fn poll_elsewhere(tool: &Registered, run: &mut Run, suspect: bool, cx: &mut Context<'_>) -> Poll<Outcome> {
    if (suspect || tool.is_suspect()) && Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread {
        tokio::task::block_in_place(|| timed_poll(tool, run, cx))
    } else {
        timed_poll(tool, run, cx)
    }
}

fn panicked(tool: &Registered, panic: Box<dyn Any + Send>) -> RpcError {
    let name = &tool.definition.name;
    let words = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(tool = name, "the tool panicked: {}", words.unwrap_or("(no message)"));
    drop_guarded(panic);
    RpcError::internal(format!("tool \"{name}\" panicked: this is a bug in the tool; the server lives on"))
}

/// Drops something of the author's, which may panic; what that panic carries is left alone.
fn drop_guarded<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        std::mem::forget(panic);
    }
}

/// The `arguments` of a call: an object, empty if absent, that takes at most `tree` bytes or not much more than its JSON.
fn read_arguments(raw: Option<&RawValue>, tree: usize) -> Result<Value, RpcError> {
    match raw.map(RawValue::get) {
        None | Some("null") => Ok(Value::Object(Map::new())),
        Some(text) if text.starts_with('{') => {
            let enough = tree.max(ROOM_PER_BYTE * text.len());
            if room_as_a_tree(text.as_bytes(), enough) > enough {
                let message = format!(
                    "`params.arguments` has so many arrays and objects that it would take over {enough} bytes"
                );
                return Err(RpcError::invalid_request(message));
            }
            // The envelope has been read, so that what fails here is a string that no text can hold.
            serde_json::from_str(text)
                .map_err(|error| RpcError::parse(format!("in `params.arguments`: {error}")))
        }
        Some(_) => Err(RpcError::invalid_params("`params.arguments` must be a JSON object")),
    }
}

/// No arguments of so few bytes take much room.
const SMALL: usize = 64 * 1024;
/// Bytes that a byte of JSON may take as a tree of values, however many that is.
const ROOM_PER_BYTE: usize = 20;

/// Bytes that JSON takes as a tree of values, about: a small object takes a hundred times its text.
fn room_as_a_tree(json: &[u8], enough: usize) -> usize {
    let room = |objects: usize, arrays: usize, commas: usize| 700 * objects + 180 * arrays + 32 * commas;
    if json.len() <= SMALL {
        return 0;
    }
    // Brackets within strings are counted too here, which is wrong but fast, and nearly always good enough.
    let count = |byte| memchr::memchr_iter(byte, json).count();
    let at_most = room(count(b'{'), count(b'['), count(b','));
    if at_most <= enough {
        return at_most;
    }
    let [mut objects, mut arrays, mut commas] = [0; 3];
    message::outside_strings(json, |byte| match byte {
        b'{' => objects += 1,
        b'[' => arrays += 1,
        b',' => commas += 1,
        _ => {}
    });
    room(objects, arrays, commas)
}
