//! One request of the host, made to the server.
//!
//! What the server requests meanwhile goes to the host: at once in session-based revisions. In stateless ones the request ends
//! with what is needed, and comes again with the responses; until then the request to the server waits here.

use std::collections::BTreeMap;
use std::sync::Arc;

use papertape::client::{CallOptions, ClientError};
use papertape::protocol::{CallToolResult, PromptResult, RawJson, ResourceContents};
use papertape::server::ToolErrorKind;
use papertape::wire::RpcError;
use papertape::{Client, Cx, ToolError};
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::exchange::{CALL, Question};
use crate::failure::pass_on;
use crate::upstream::{FOREVER, Upstream};

/// What the host requests.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    Call(String, RawJson),
    Read(String),
    Prompt(String, BTreeMap<String, String>),
    Other(String, RawJson),
}

/// What the server returns.
pub(crate) enum Output {
    Called(CallToolResult),
    Contents(Vec<ResourceContents>),
    Prompt(PromptResult),
    Other(RawJson),
}

impl Request {
    async fn make(self, client: Client, options: CallOptions) -> Result<Output, ClientError> {
        match self {
            Request::Call(tool, arguments) => {
                client.call_with(&tool, arguments, options).await.map(Output::Called)
            }
            Request::Read(uri) => client.read_with(&uri, options).await.map(Output::Contents),
            Request::Prompt(name, values) => {
                let values: Map<String, Value> =
                    values.into_iter().map(|(name, value)| (name, value.into())).collect();
                client.prompt_with(&name, values, options).await.map(Output::Prompt)
            }
            Request::Other(method, params) => {
                client.request_raw_with(&method, params, options).await.map(Output::Other)
            }
        }
    }
}

/// A request to the server, which is cancelled when this is dropped.
pub(crate) struct Relayed {
    upstream: Arc<Upstream>,
    number: u64,
    result: JoinSet<Result<Output, ClientError>>,
    /// What is being requested from a host of a session-based revision.
    asking: JoinSet<()>,
    /// What a host of a stateless revision was asked last.
    question: Option<Question>,
    round: usize,
    /// Notified when the server has turned the call into a task.
    task: Arc<Notify>,
}

/// How far a request has come.
enum Step {
    Done(Result<Output, ToolError>),
    /// It is a task on the server, and becomes one for the host.
    Task,
}

impl Drop for Relayed {
    fn drop(&mut self) {
        self.upstream.exchange.ended(self.number);
    }
}

impl Relayed {
    fn begin(upstream: &Arc<Upstream>, number: u64, request: Request, cx: &Cx) -> Self {
        let (exchange, of_task) = (Arc::clone(&upstream.exchange), Arc::clone(&upstream.exchange));
        let task = Arc::new(Notify::new());
        let (mut changes, became_task) = (0, Arc::clone(&task));
        let mut options = CallOptions::new()
            .timeout(FOREVER)
            .total_timeout(FOREVER)
            .on_progress(move |step| exchange.progress(number, &step))
            .on_status(move |state| {
                became_task.notify_one();
                changes += 1;
                of_task.status(number, changes, state.message.as_deref());
            });
        for (name, value) in cx.meta() {
            options = options.meta(name, value.clone());
        }
        upstream.exchange.runs(number, cx);
        let mut result = JoinSet::new();
        let (made, exchange) =
            (request.make(upstream.client.clone(), options), Arc::clone(&upstream.exchange));
        let made = async move {
            let result = made.await;
            // What the server requests from now on is not for this call, also if the host has still to fetch the result.
            exchange.responded(number);
            result
        };
        result.spawn(CALL.scope(number, made));
        let upstream = Arc::clone(upstream);
        Self { upstream, number, result, asking: JoinSet::new(), question: None, round: 0, task }
    }

    /// Sends the host what the server has requested. The error ends the request until the host has made it again.
    fn ask(&mut self, question: Question, cx: &Cx) -> Result<(), ToolError> {
        if !cx.supports(&question.request) {
            question.refuse();
            return Ok(());
        }
        if let Some(response) = cx.request(question.request.clone()) {
            self.asking.spawn(question.answer_with(response));
            return Ok(());
        }
        let asked = cx.ask(&format!("input {}", self.round), question.request.clone());
        if let Err(error) = &asked
            && error.kind() == ToolErrorKind::InputRequired
        {
            self.question = Some(question);
            return asked.map(drop);
        }
        self.round += 1;
        question.answer(asked.map_err(|error| RpcError::invalid_params(error.to_string())));
        Ok(())
    }

    /// Runs until the server has responded, the host has to be asked, or the call becomes a task.
    async fn run(&mut self, cx: &Cx) -> Step {
        if let Some(question) = self.question.take()
            && let Err(asking) = self.ask(question, cx)
        {
            return Step::Done(Err(asking));
        }
        let (exchange, task) = (Arc::clone(&self.upstream.exchange), Arc::clone(&self.task));
        loop {
            tokio::select! {
                biased;
                Some(result) = self.result.join_next() => {
                    let result = result.map_err(ToolError::internal);
                    return Step::Done(result.and_then(|result| result.map_err(|error| pass_on(&error, self.upstream.name.as_deref(), cx))));
                }
                () = task.notified(), if cx.can_become_task() => return Step::Task,
                Some(_) = self.asking.join_next() => {}
                question = exchange.next(self.number) => {
                    if let Err(asking) = self.ask(question, cx) {
                        return Step::Done(Err(asking));
                    }
                }
            }
        }
    }

    /// Keeps it if the host has to be asked.
    fn end(self, outcome: Result<Output, ToolError>) -> Result<Output, ToolError> {
        if self.question.is_some() {
            let (upstream, number) = (Arc::clone(&self.upstream), self.number);
            upstream.exchange.waiting.keep(number, self);
        }
        outcome
    }

    /// The rest of a call that has become a task.
    async fn rest(mut self, cx: Cx) -> Result<CallToolResult, ToolError> {
        match self.run(&cx).await {
            Step::Done(outcome) => match self.end(outcome)? {
                Output::Called(result) => Ok(result),
                _ => Err(ToolError::internal("a result of another kind")),
            },
            Step::Task => Err(ToolError::internal("a task becomes no other one")),
        }
    }
}

/// Makes a request of the host to the server, or goes on with one that has waited for the host.
pub(crate) async fn relay(upstream: &Arc<Upstream>, request: Request, cx: &Cx) -> Result<Output, ToolError> {
    let mut begins = false;
    let (session, number) = cx.keep("call", || {
        begins = true;
        (upstream.id, upstream.exchange.next_number())
    })?;
    let mut relayed = if begins {
        Relayed::begin(upstream, number, request, cx)
    } else {
        // The numbers of another session with the server, such as one before a restart of the bridge, mean other calls.
        let waiting = (session == upstream.id).then(|| upstream.exchange.waiting.take(number)).flatten();
        waiting.ok_or_else(|| {
            ToolError::refused("the request does not wait for this input any more: make it again without it")
        })?
    };
    upstream.exchange.runs(number, cx);
    match relayed.run(cx).await {
        Step::Done(outcome) => relayed.end(outcome),
        Step::Task => Err(cx.become_task(relayed.rest(cx.clone()))),
    }
}
