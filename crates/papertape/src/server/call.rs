//! A function at work: run, and its outcome turned into an answer.
//!
//! A function begins on the connection's thread. If it is ready at its first poll it is answered there and then; if not,
//! or if it has kept the thread before, it runs on the runtime.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Map, Value};
use tokio::runtime::{Handle, RuntimeFlavor};
use tracing::Instrument;

use super::around;
use super::ask::Asked;
use super::context::{Call, Target};
use super::dispatch::{Service, write};
use super::error::{Failure, ToolError};
use super::pace::Pace;
use crate::link::Ticket;
use crate::outbox::{Reply, write_json};
use crate::protocol::project::{CacheHint, CacheScope};
use crate::protocol::tools::CallToolResult;
use crate::protocol::{Completion, PromptResult, ResourceContents, project};
use crate::wire::RpcError;

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
        self.call.target.pace().is_suspect() && self.call.target.pace().count_off_the_wire()
    }

    /// Polls the function for the first time.
    pub(crate) fn first_poll(&mut self) -> Poll<Outcome> {
        let _entered = self.call.span.enter();
        // If it is not ready the runtime polls it again, with a real waker.
        timed_poll(self.call.target.pace(), &mut self.run, &mut Context::from_waker(Waker::noop()))
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
            let outcome = poll_fn(|cx| poll_elsewhere(there.target.pace(), &mut run, suspect, cx)).await;
            there.write_outcome(outcome, |reply| there.link.finish(&there.to, ticket, reply));
        };
        let task = tokio::spawn(task.instrument(call.span.clone()));
        call.link.set_abort(&call.to.id, ticket, task.abort_handle());
    }
}

/// What a function gives back.
#[derive(Debug)]
pub(crate) enum Output {
    Tool(CallToolResult),
    Read(Vec<ResourceContents>),
    Prompt(PromptResult),
    Completion(Completion),
    /// Nothing yet: the client has to be asked first. Only hooks see this.
    Asks(Vec<(String, Asked)>),
    /// A result of another kind, as it goes to a modern client.
    Object(Map<String, Value>),
}

/// A function under way.
pub(crate) type Run = Pin<Box<dyn Future<Output = Result<Output, ToolError>> + Send>>;

impl Begun {
    /// A call without the hooks around it.
    pub(super) fn bare(call: Arc<Call>, run: Run) -> Self {
        Self { call, run }
    }

    pub(super) fn new(call: Arc<Call>, run: Run) -> Self {
        let run = around::wrapped(&call, run);
        Self { call, run }
    }
}

impl Call {
    /// Turns what became of a call into its answer.
    fn write_outcome(&self, outcome: Outcome, send: impl FnOnce(&Reply<'_>)) {
        tracing::debug!(name = self.target.name(), "answered");
        // An error of the author's may panic too, when it is shown or dropped.
        match catch_unwind(AssertUnwindSafe(|| self.judge(outcome))) {
            Ok(Ok(answer)) => self.write_answer(answer, send),
            Ok(Err(error)) => send(&Reply::Error(&error)),
            Err(panic) => send(&Reply::Error(&panicked(&self.target, panic))),
        }
    }

    fn judge(&self, outcome: Outcome) -> Result<Answer, RpcError> {
        match outcome {
            Ok(Err(ToolError(Failure::Ask(questions)))) => self.ask_back(&questions),
            outcome => self.judge_complete(outcome).map(Answer::Complete),
        }
    }

    /// The same for a function that has nothing more to ask.
    pub(super) fn judge_complete(&self, outcome: Outcome) -> Result<Output, RpcError> {
        match outcome {
            Ok(Ok(output)) => self.check(&output).map(|()| output),
            Ok(Err(ToolError(Failure::Failed(message)))) => match self.target {
                Target::Tool(_) => Ok(Output::Tool(CallToolResult::failed(message))),
                // Only tools have results that say that they failed.
                _ => Err(RpcError::internal(message)),
            },
            Ok(Err(ToolError(Failure::Ask(_)))) => {
                Err(RpcError::internal("a question that nobody can answer"))
            }
            // For a client, a resource that will not be read does not exist.
            Ok(Err(ToolError(Failure::Refused(error)))) => Err(match self.target.uri() {
                Some(uri) => Service::not_found(uri, error.message, self.revision),
                None => error,
            }),
            Ok(Err(ToolError(Failure::Internal(error)))) => {
                tracing::error!(name = self.target.name(), error = &*error, "internal error");
                Err(RpcError::internal("internal error"))
            }
            Err(panic) => Err(panicked(&self.target, panic)),
        }
    }

    /// For how long what was read may be kept: not at all, if it depends on what somebody answered.
    fn read_hint(&self) -> CacheHint {
        let asked = !self.dialogue.lock().unwrap_or_else(PoisonError::into_inner).answers.is_empty();
        let said = match &self.target {
            Target::Resource(resource) => resource.cache(),
            Target::Template(template, _) => template.cache(),
            _ => None,
        };
        said.filter(|_| !asked).unwrap_or(CacheHint { ttl_ms: 0, cache_scope: CacheScope::Private })
    }

    fn check(&self, output: &Output) -> Result<(), RpcError> {
        if let Output::Read(contents) = output
            && contents.iter().any(|part| part.text.is_some() == part.blob.is_some())
        {
            let (what, name) = (self.target.what(), self.target.name());
            tracing::error!(name, "a {what} gave contents that are not either text or bytes");
            return Err(RpcError::internal(format!(
                "{what} \"{name}\" gave neither text nor bytes, or both"
            )));
        }
        let (Target::Tool(tool), Output::Tool(result)) = (&self.target, output) else { return Ok(()) };
        let Some(problem) = tool.check_output(result) else { return Ok(()) };
        let name = &tool.definition.name;
        tracing::error!(tool = name, "{problem}");
        Err(RpcError::internal(format!("tool \"{name}\": {problem}")))
    }

    /// The result of a tool as the client's revision has it.
    pub(super) fn shaped(&self, result: CallToolResult) -> CallToolResult {
        let wrapped = matches!(&self.target, Target::Tool(tool) if tool.is_wrapped());
        project::call_result(result, self.revision, &self.service.identity, wrapped)
    }

    pub(super) fn write_answer(&self, answer: Answer, send: impl FnOnce(&Reply<'_>)) {
        let (service, revision) = (&self.service, self.revision);
        let own = Some(&*service.identity_json);
        match answer {
            Answer::Complete(Output::Tool(result)) => {
                let result = self.shaped(result);
                let identity = own.filter(|_| result.meta.is_none());
                send(&Reply::Result(&|out| write(out, revision, &result, None, identity)));
            }
            Answer::Complete(Output::Prompt(result)) => {
                let result = project::prompt_result(result, revision, &service.identity);
                let identity = own.filter(|_| result.meta.is_none());
                send(&Reply::Result(&|out| write(out, revision, &result, None, identity)));
            }
            Answer::Complete(Output::Read(contents)) => {
                let result = ReadResult { contents: project::contents(contents, revision) };
                let hint = Some(self.read_hint());
                send(&Reply::Result(&|out| write(out, revision, &result, hint, own)));
            }
            Answer::Complete(Output::Completion(completion)) => {
                let result = CompleteResult { completion };
                send(&Reply::Result(&|out| write(out, revision, &result, None, own)));
            }
            Answer::Complete(Output::Asks(_)) => {
                send(&Reply::Error(&RpcError::internal("a question that nobody can answer")));
            }
            Answer::Complete(Output::Object(result)) => {
                let result = project::described(result, &service.identity);
                send(&Reply::Result(&|out| write_json(out, &result)));
            }
            Answer::InputRequired(needed) => {
                send(&Reply::Result(&|out| write_json(out, &needed)));
            }
        }
    }
}

/// What goes to the client.
pub(super) enum Answer {
    Complete(Output),
    InputRequired(Value),
}

#[derive(Serialize)]
struct ReadResult {
    contents: Vec<ResourceContents>,
}

#[derive(Serialize)]
struct CompleteResult {
    completion: Completion,
}

impl Call {
    /// Runs a function to its end, outside of any connection.
    pub(super) async fn guarded(&self, mut run: Run) -> Outcome {
        let outcome = poll_fn(|cx| poll_elsewhere(self.target.pace(), &mut run, false, cx)).await;
        drop_guarded(run);
        outcome
    }
}

/// What became of a call: what the function returned, or how it panicked.
pub(crate) type Outcome = Result<Result<Output, ToolError>, Box<dyn Any + Send>>;

/// Polls a call whose panic must not be anybody else's.
fn guarded_poll(run: &mut Run, cx: &mut Context<'_>) -> Poll<Outcome> {
    match catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    }
}

/// Polls a call, and notes whether its function has kept the thread.
fn timed_poll(pace: &Pace, run: &mut Run, cx: &mut Context<'_>) -> Poll<Outcome> {
    let began = Instant::now();
    let poll = guarded_poll(run, cx);
    if began.elapsed() > HELD_THE_WIRE {
        pace.suspect();
    }
    poll
}

/// The same on the runtime, where a function that may keep the thread is given one.
fn poll_elsewhere(pace: &Pace, run: &mut Run, suspect: bool, cx: &mut Context<'_>) -> Poll<Outcome> {
    if (suspect || pace.is_suspect()) && Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread {
        tokio::task::block_in_place(|| timed_poll(pace, run, cx))
    } else {
        timed_poll(pace, run, cx)
    }
}

pub(super) fn panicked(target: &Target, panic: Box<dyn Any + Send>) -> RpcError {
    let (what, name) = (target.what(), target.name());
    let words = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(name, "a {what} panicked: {}", words.unwrap_or("(no message)"));
    drop_guarded(panic);
    RpcError::internal(format!(
        "{what} \"{name}\" panicked: this is a bug in the {what}; the server lives on"
    ))
}

/// Drops something of the author's, which may panic; what that panic carries is left alone.
pub(super) fn drop_guarded<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        std::mem::forget(panic);
    }
}
