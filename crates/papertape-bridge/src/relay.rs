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
use tokio::task::JoinSet;

use crate::exchange::Question;
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
}

impl Drop for Relayed {
    fn drop(&mut self) {
        self.upstream.exchange.ended(self.number);
    }
}

impl Relayed {
    fn begin(upstream: &Arc<Upstream>, number: u64, request: Request, cx: &Cx) -> Self {
        let (exchange, of_task) = (Arc::clone(&upstream.exchange), Arc::clone(&upstream.exchange));
        let mut changes = 0;
        let mut options = CallOptions::new()
            .timeout(FOREVER)
            .total_timeout(FOREVER)
            .on_progress(move |step| exchange.progress(number, &step))
            .on_status(move |task| {
                changes += 1;
                of_task.status(number, changes, task.message.as_deref());
            });
        for (name, value) in cx.meta() {
            options = options.meta(name, value.clone());
        }
        upstream.exchange.runs(number, cx);
        let mut result = JoinSet::new();
        result.spawn(request.make(upstream.client.clone(), options));
        let upstream = Arc::clone(upstream);
        Self { upstream, number, result, asking: JoinSet::new(), question: None, round: 0 }
    }

    /// How often the host was asked so far.
    pub(crate) fn round(&self) -> usize {
        self.round
    }

    /// Asks the host what the server has asked. The error ends the request until the host has made it again.
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

    /// Runs until the server has responded, or the host has to be asked.
    async fn run(&mut self, cx: &Cx) -> Result<Output, ToolError> {
        if let Some(question) = self.question.take() {
            self.ask(question, cx)?;
        }
        let exchange = Arc::clone(&self.upstream.exchange);
        loop {
            tokio::select! {
                biased;
                Some(result) = self.result.join_next() => return result?.map_err(|error| pass_on(&error, cx)),
                Some(_) = self.asking.join_next() => {}
                question = exchange.next(self.number) => self.ask(question, cx)?,
            }
        }
    }
}

/// Makes a request of the host to the server, or goes on with one that has waited for the host.
pub(crate) async fn relay(upstream: &Arc<Upstream>, request: Request, cx: &Cx) -> Result<Output, ToolError> {
    let mut begins = false;
    let (session, number) = cx.keep("call", || {
        begins = true;
        (upstream.id, upstream.next_number())
    })?;
    let mut relayed = if begins {
        Relayed::begin(upstream, number, request, cx)
    } else {
        // The numbers of another session with the server, such as one before a restart of the bridge, mean other calls.
        let waiting = (session == upstream.id).then(|| upstream.take_waiting(number)).flatten();
        waiting.ok_or_else(|| {
            ToolError::refused("the request does not wait for this input any more: make it again without it")
        })?
    };
    upstream.exchange.runs(number, cx);
    let outcome = relayed.run(cx).await;
    if relayed.question.is_some() {
        upstream.keep_waiting(number, relayed);
    }
    outcome
}
