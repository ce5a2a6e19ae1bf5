//! The handlers of what the host sees: each makes the same request to the server.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use papertape::protocol::{CallToolResult, Completion, PromptResult, RawJson, Reference, ResourceContents};
use papertape::server::CompletionRequest;
use papertape::{Cx, ToolError};
use serde_json::{Map, Value};

use crate::failure::pass_on;
use crate::member::Member;
use crate::relay::{Output, Request};

pub(crate) async fn call(
    member: Arc<Member>,
    tool: String,
    arguments: RawJson,
    cx: Cx,
) -> Result<CallToolResult, ToolError> {
    match member.relay(Request::Call(tool, arguments), &cx).await? {
        Output::Called(result) => Ok(result),
        _ => Err(unlike()),
    }
}

pub(crate) async fn read(
    member: Arc<Member>,
    uri: String,
    cx: Cx,
) -> Result<Vec<ResourceContents>, ToolError> {
    match member.relay(Request::Read(uri), &cx).await? {
        Output::Contents(contents) => Ok(contents),
        _ => Err(unlike()),
    }
}

pub(crate) async fn prompt(
    member: Arc<Member>,
    name: String,
    values: BTreeMap<String, String>,
    cx: Cx,
) -> Result<PromptResult, ToolError> {
    match member.relay(Request::Prompt(name, values), &cx).await? {
        Output::Prompt(result) => Ok(result),
        _ => Err(unlike()),
    }
}

pub(crate) async fn other(
    member: Arc<Member>,
    method: String,
    params: RawJson,
    cx: Cx,
) -> Result<RawJson, ToolError> {
    match member.relay(Request::Other(method, params), &cx).await? {
        Output::Other(result) => Ok(result),
        _ => Err(unlike()),
    }
}

/// A request has the result of its kind.
fn unlike() -> ToolError {
    ToolError::internal("a result of another kind")
}

/// The handler that completes an argument.
pub(crate) fn completer(
    member: &Arc<Member>,
    of: Reference,
    argument: String,
) -> impl Fn(CompletionRequest) -> Completing + Send + Sync + use<> {
    let member = Arc::clone(member);
    move |request| Box::pin(complete(Arc::clone(&member), of.clone(), argument.clone(), request))
}

type Completing = Pin<Box<dyn Future<Output = Result<Completion, ToolError>> + Send>>;

async fn complete(
    member: Arc<Member>,
    of: Reference,
    argument: String,
    request: CompletionRequest,
) -> Result<Completion, ToolError> {
    // Requests have a context; only tests make some without.
    let cx = request.cx().cloned().ok_or_else(|| ToolError::internal("a request without a context"))?;
    let upstream = member.of(&cx).await?;
    let known: Map<String, Value> =
        request.known.into_iter().map(|(name, value)| (name, value.into())).collect();
    let completed = upstream.client.complete(of, &argument, &request.value, known).await;
    completed.map_err(|error| pass_on(&error, upstream.name.as_deref(), &cx))
}
