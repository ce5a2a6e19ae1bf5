//! `tools/call`: arguments checked, the function run, its outcome turned into an answer.
//!
//! A function begins on the connection's thread. If it is ready at its first poll it is answered there and then; if not,
//! or if it is known to keep the thread, it runs on the runtime.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::runtime::{Handle, RuntimeFlavor};
use tracing::Instrument;

use super::context::{Call, Cx};
use super::dispatch::{Params, Service, write};
use super::error::{Failure, ToolError};
use super::tool::{Registered, Run};
use crate::link::{Link, Reply, ReplyTo};
use crate::protocol::meta::RequestMeta;
use crate::protocol::tools::CallToolResult;
use crate::protocol::{Revision, project};
use crate::wire::RpcError;
use crate::wire::error::excerpt;
use crate::wire::message;

/// A function that keeps the connection's thread longer than this...
const HELD_THE_WIRE: Duration = Duration::from_millis(2);
/// ...begins so many of its next calls elsewhere.
const CALLS_OFF_THE_WIRE: u32 = 16;

impl Service {
    pub(super) fn call_tool(
        self: &Arc<Self>,
        to: &ReplyTo,
        params: &Params<'_>,
        bytes: usize,
        revision: Revision,
        link: &Arc<Link>,
    ) -> Result<(), RpcError> {
        let Some(name) = params.name.and_then(message::string) else {
            return Err(RpcError::invalid_params("`tools/call` needs `params.name`, a string"));
        };
        let tool = self.registry.find(&name).ok_or_else(|| self.unknown_tool(&name))?;
        let arguments = read_arguments(params.arguments, self.limits.tree)?;
        let token = params.meta.as_ref().map_or(Ok(None), RequestMeta::progress_token)?;
        if token.as_ref().is_some_and(|token| link.has_progress_token(token)) {
            let message = "`_meta.progressToken` is in use by a request that is still running";
            return Err(RpcError::invalid_params(message));
        }
        let cx = Cx::new(Arc::clone(link), revision, token);
        let call = Arc::clone(cx.call());
        let mut run = match catch_unwind(AssertUnwindSafe(|| tool.start(arguments, bytes, cx))) {
            Ok(Ok(run)) => run,
            Ok(Err(problem)) if revision.invalid_arguments_are_results() => {
                self.write_call_result(CallToolResult::failed(problem), revision, |reply| {
                    link.reply(to, reply)
                });
                return Ok(());
            }
            Ok(Err(problem)) => return Err(RpcError::invalid_params(problem)),
            Err(panic) => return Err(panicked(&tool, panic)),
        };
        if tool.calls_off_the_wire.load(Ordering::Relaxed) == 0
            && let Poll::Ready(outcome) = first_poll(&tool, &mut run, &mut Context::from_waker(Waker::noop()))
        {
            self.write_outcome(&tool, outcome, revision, |reply| link.reply_to_call(to, &call, reply));
            return Ok(());
        }
        self.run_elsewhere(tool, run, to, call, bytes, revision, link);
        Ok(())
    }

    /// Hands a call that needs time to the runtime, where it delays nobody.
    #[expect(clippy::too_many_arguments, reason = "all that belongs to a call moves into its task")]
    fn run_elsewhere(
        self: &Arc<Self>,
        tool: Arc<Registered>,
        mut run: Run,
        to: &ReplyTo,
        call: Arc<Call>,
        bytes: usize,
        revision: Revision,
        link: &Arc<Link>,
    ) {
        let ticket = link.track(to, call, bytes);
        let (service, link_there, to_there) = (Arc::clone(self), Arc::clone(link), to.clone());
        let task = async move {
            let mut outcome = poll_fn(|cx| Poll::Ready(first_poll_elsewhere(&tool, &mut run, cx))).await;
            if outcome.is_pending() {
                outcome = poll_fn(|cx| guarded_poll(&mut run, cx).map(Poll::Ready)).await;
            }
            if let Poll::Ready(outcome) = outcome {
                service.write_outcome(&tool, outcome, revision, |reply| {
                    link_there.finish(&to_there, ticket, reply)
                });
            }
        };
        let task = tokio::spawn(task.instrument(tracing::Span::current()));
        link.set_abort(&to.id, ticket, task.abort_handle());
    }

    /// Turns what became of a call into its answer.
    fn write_outcome(
        &self,
        tool: &Registered,
        outcome: Outcome,
        revision: Revision,
        send: impl FnOnce(&Reply<'_>),
    ) {
        let name = &tool.definition.name;
        tracing::debug!(tool = name, "answered");
        let error = match outcome {
            Ok(Ok(result)) => match tool.check_output(&result) {
                None => return self.write_call_result(result, revision, send),
                Some(problem) => {
                    tracing::error!(tool = name, "{problem}");
                    RpcError::internal(format!("tool \"{name}\": {problem}"))
                }
            },
            Ok(Err(ToolError(Failure::Failed(message)))) => {
                return self.write_call_result(CallToolResult::failed(message), revision, send);
            }
            Ok(Err(ToolError(Failure::Refused(error)))) => error,
            Ok(Err(ToolError(Failure::Internal(error)))) => {
                tracing::error!(tool = name, error = &*error, "internal error");
                RpcError::internal("internal error")
            }
            Err(panic) => panicked(tool, panic),
        };
        send(&Reply::Error(&error));
    }

    fn write_call_result(&self, result: CallToolResult, revision: Revision, send: impl FnOnce(&Reply<'_>)) {
        let result = project::call_result(result, revision, &self.identity);
        let identity = result.meta.is_none().then_some(&*self.identity_json);
        send(&Reply::Result(&|out| write(out, revision, &result, None, identity)));
    }

    fn unknown_tool(&self, name: &str) -> RpcError {
        let tools = self.registry.snapshot();
        let names: Vec<&str> = tools.names().take(50).collect();
        RpcError::invalid_params(format!(
            "unknown tool: {}; the tools are {}",
            excerpt(name),
            names.join(", ")
        ))
    }
}

/// What became of a call: what the function returned, or how it panicked.
type Outcome = Result<Result<CallToolResult, ToolError>, Box<dyn Any + Send>>;

/// Polls a call whose panic must not be anybody else's.
fn guarded_poll(run: &mut Run, cx: &mut Context<'_>) -> Poll<Outcome> {
    match catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    }
}

/// Polls a call for the first time, and notes whether its function would have held the wire up.
fn first_poll(tool: &Registered, run: &mut Run, cx: &mut Context<'_>) -> Poll<Outcome> {
    let began = Instant::now();
    let poll = guarded_poll(run, cx);
    let calls = &tool.calls_off_the_wire;
    if began.elapsed() > HELD_THE_WIRE {
        calls.store(CALLS_OFF_THE_WIRE, Ordering::Relaxed);
    } else if calls.load(Ordering::Relaxed) > 0 {
        calls.fetch_sub(1, Ordering::Relaxed);
    }
    poll
}

/// The same on the runtime, where a function that is known to block is given a thread.
fn first_poll_elsewhere(tool: &Registered, run: &mut Run, cx: &mut Context<'_>) -> Poll<Outcome> {
    let blocks = tool.calls_off_the_wire.load(Ordering::Relaxed) > 0;
    if blocks && Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread {
        tokio::task::block_in_place(|| first_poll(tool, run, cx))
    } else {
        first_poll(tool, run, cx)
    }
}

fn panicked(tool: &Registered, panic: Box<dyn Any + Send>) -> RpcError {
    let name = &tool.definition.name;
    let words = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(tool = name, "the tool panicked: {}", words.unwrap_or("(no message)"));
    // What a panic carries may itself panic when it is dropped; what that carries is left alone.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(panic);
    }
    RpcError::internal(format!("tool \"{name}\" panicked: this is a bug in the tool; the server lives on"))
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
