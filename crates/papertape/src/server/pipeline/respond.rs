//! Responding: what became of a request to the result or error that is written to its session.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::DecodedRequest;
use super::resolve::resource_not_found;
use super::run::{Call, Feature, HandlerOutcome, Output, panicked};
use crate::protocol::meta::SERVER_INFO;
use crate::protocol::project::{CacheHint, CacheScope};
use crate::protocol::tools::CallToolResult;
use crate::protocol::{Completion, ResourceContents, Revision, project};
use crate::server::catalog::registry::Listed;
use crate::server::elicitation::request_state;
use crate::server::features::completion;
use crate::server::handler::error::{Failure, ToolError, log_internal};
use crate::server::service::ServiceCore;
use crate::server::session::{ReplyTo, Session};
use crate::sync::lock;
use crate::telemetry::Outcome;
use crate::wire::RpcError;
use crate::wire::message::{Reply, write_json};

/// The result of a call.
pub(crate) enum CallResult {
    Complete(Output),
    /// The request is to be repeated with the input requested from the client, as JSON.
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

/// Writes the JSON-RPC error of a request that was refused.
pub(super) fn refuse(error: &RpcError, to: &ReplyTo, session: &Session) {
    let principal = session.principal().map(|principal| principal.name.as_str());
    tracing::info!(code = error.code, principal, "refused: {}", error.message);
    session.reply(to, &Reply::Error(error));
}

/// Writes a result that needs no handler.
pub(super) fn result<T: Serialize + ?Sized>(
    service: &ServiceCore,
    request: &DecodedRequest<'_>,
    body: &T,
    hint: Option<CacheHint>,
) {
    result_in(service, request, request.revision, body, hint);
}

/// The same in the revision that `initialize` has led to.
pub(super) fn result_in<T: Serialize + ?Sized>(
    service: &ServiceCore,
    request: &DecodedRequest<'_>,
    revision: Revision,
    body: &T,
    hint: Option<CacheHint>,
) {
    let write = |out: &mut Vec<u8>| write(out, revision, body, hint, Some(&service.identity_json));
    request.session.reply(request.to, &Reply::Result(&write));
}

/// Writes what became of a call.
pub(super) fn outcome(call: &Call, outcome: HandlerOutcome, send: impl FnOnce(&Reply<'_>)) {
    tracing::debug!(name = call.feature.name(), "answered");
    // An error of the author's may panic too, when it is displayed or dropped.
    match catch_unwind(AssertUnwindSafe(|| call_result(call, outcome))) {
        Ok(Ok(CallResult::Complete(complete))) => output(call, complete, send),
        Ok(Ok(CallResult::InputRequired(needed))) => {
            send(&Reply::Result(&|out| write_json(out, &needed)));
            call.responded(&Outcome::Success);
        }
        Ok(Err(error)) => send_error(call, &error, send),
        Err(panic) => send_error(call, &panicked(&call.feature, panic), send),
    }
}

fn send_error(call: &Call, error: &RpcError, send: impl FnOnce(&Reply<'_>)) {
    send(&Reply::Error(error));
    call.responded(&Outcome::Rpc(error));
}

fn call_result(call: &Call, outcome: HandlerOutcome) -> Result<CallResult, RpcError> {
    match outcome {
        Ok(Err(ToolError(Failure::InputRequired(requests)))) => {
            request_state::input_required(call, &requests)
        }
        outcome => complete(call, outcome).map(CallResult::Complete),
    }
}

/// The output of a handler that needs no more input, or the error that it comes to.
pub(crate) fn complete(call: &Call, outcome: HandlerOutcome) -> Result<Output, RpcError> {
    match outcome {
        Ok(Ok(output)) => check(call, &output).map(|()| output),
        Ok(Err(ToolError(Failure::Failed(message)))) => match call.feature {
            Feature::Tool(_) => Ok(Output::Tool(CallToolResult::failed(message))),
            // Only tools have results that say that they failed.
            _ => Err(RpcError::internal(message)),
        },
        Ok(Err(ToolError(Failure::InputRequired(_)))) => Err(RpcError::internal(NO_INPUT)),
        Ok(Err(ToolError(Failure::Task(_)))) => Err(RpcError::internal("this call cannot become a task")),
        // For a client, a resource that its handler refuses to read does not exist.
        Ok(Err(ToolError(Failure::Refused(error)))) => Err(match call.feature.uri() {
            Some(uri) => resource_not_found(uri, error.message, call.revision),
            None => error,
        }),
        Ok(Err(ToolError(Failure::Rpc(error)))) => Err(error),
        Ok(Err(ToolError(Failure::Internal(error)))) => {
            log_internal(call.feature.name(), &*error);
            Err(RpcError::internal("internal error"))
        }
        Err(panic) => Err(panicked(&call.feature, panic)),
    }
}

const NO_INPUT: &str = "the handler needs input that cannot be requested here";

/// Whether the output is what the feature promises.
fn check(call: &Call, output: &Output) -> Result<(), RpcError> {
    if !is_of_kind(&call.feature, output) {
        let (kind, name) = (call.feature.kind(), call.feature.name());
        tracing::error!(name, "middleware returned a result of another kind than that of a {kind}");
        return Err(RpcError::internal(format!(
            "{kind} \"{name}\": middleware returned a result of another kind"
        )));
    }
    if let Output::Read(contents) = output
        && contents.iter().any(|part| part.text.is_some() == part.blob.is_some())
    {
        let (kind, name) = (call.feature.kind(), call.feature.name());
        tracing::error!(name, "a {kind} gave contents that are not either text or bytes");
        return Err(RpcError::internal(format!("{kind} \"{name}\" gave neither text nor bytes, or both")));
    }
    let (Feature::Tool(tool), Output::Tool(result)) = (&call.feature, output) else { return Ok(()) };
    let Some(problem) = tool.check_output(result) else { return Ok(()) };
    let name = &tool.definition.name;
    tracing::error!(tool = name, "{problem}");
    Err(RpcError::internal(format!("tool \"{name}\": {problem}")))
}

/// Whether a result is of the kind that the feature has: middleware may have replaced it.
fn is_of_kind(feature: &Feature, output: &Output) -> bool {
    match output {
        Output::Tool(_) => matches!(feature, Feature::Tool(_)),
        Output::Read(_) => feature.uri().is_some(),
        Output::Prompt(_) => matches!(feature, Feature::Prompt(_)),
        Output::Completion(_) => matches!(feature, Feature::Completion(_)),
        Output::Method(_) => matches!(feature, Feature::Method(_)),
        Output::Page(..) => matches!(feature, Feature::List),
        Output::Object(_) | Output::InputRequired(_) => true,
    }
}

/// Writes the output of a handler.
pub(super) fn output(call: &Call, output: Output, send: impl FnOnce(&Reply<'_>)) {
    let (service, revision) = (&call.service, call.revision);
    let own = Some(&*service.identity_json);
    let outcome = match &output {
        Output::Tool(result) if result.is_error => Outcome::ToolError,
        _ => Outcome::Success,
    };
    match output {
        Output::Tool(result) => {
            let result = tool_result(call, result);
            let identity = own.filter(|_| result.meta.is_none());
            send(&Reply::Result(&|out| write(out, revision, &result, None, identity)));
        }
        Output::Prompt(result) => {
            let result = project::prompt_result(result, revision, &service.identity);
            let identity = own.filter(|_| result.meta.is_none());
            send(&Reply::Result(&|out| write(out, revision, &result, None, identity)));
        }
        Output::Read(contents) => {
            let result = ReadResult { contents: project::contents(contents, revision) };
            let hint = Some(cache_hint(call));
            send(&Reply::Result(&|out| write(out, revision, &result, hint, own)));
        }
        Output::Completion(completion) => {
            let result = CompleteResult { completion: completion::shortened(completion) };
            send(&Reply::Result(&|out| write(out, revision, &result, None, own)));
        }
        Output::Method(result) => {
            let json = project::method_result(result.get(), revision, &service.identity_json);
            send(&Reply::Result(&|out| out.extend_from_slice(json.as_bytes())));
        }
        Output::Page(page, hint) => {
            send(&Reply::Result(&|out| write(out, revision, &*page, Some(hint), own)));
        }
        Output::InputRequired(_) => return send_error(call, &RpcError::internal(NO_INPUT), send),
        Output::Object(result) => {
            let result = project::described(result, &service.identity);
            send(&Reply::Result(&|out| write_json(out, &result)));
        }
    }
    call.responded(&outcome);
}

/// The result of a tool in the shape of the client's revision.
pub(crate) fn tool_result(call: &Call, result: CallToolResult) -> CallToolResult {
    // In the newest revision a result without `_meta` is what it is.
    if call.revision.results_describe_themselves() && result.meta.is_none() {
        return result;
    }
    let wrapped = matches!(&call.feature, Feature::Tool(tool) if tool.is_wrapped());
    project::call_result(result, call.revision, &call.service.identity, wrapped)
}

/// How long what was read may be cached: not at all, if it depends on elicited input; not in shared caches, if not all
/// principals may read it.
fn cache_hint(call: &Call) -> CacheHint {
    let elicited = !lock(&call.request_state).answers.is_empty();
    let private = CacheHint { ttl_ms: 0, cache_scope: CacheScope::Private };
    let (hint, scopes) = match &call.feature {
        Feature::Resource(resource) => (resource.cache(), resource.scopes()),
        Feature::Template(template, _) => (template.cache(), template.scopes()),
        _ => return private,
    };
    match hint.filter(|_| !elicited) {
        Some(hint) if scopes.is_empty() && !call.service.visibility.is_restricted() => hint,
        Some(hint) => CacheHint { cache_scope: CacheScope::Private, ..hint },
        None => private,
    }
}

fn write<T: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    revision: Revision,
    body: &T,
    hint: Option<CacheHint>,
    identity: Option<&RawValue>,
) {
    let start = out.len();
    if let Err(error) = write_result(out, revision, body, hint, identity) {
        // Everything written here has string keys, so that this is our own bug; the client still gets a response.
        tracing::error!(%error, "a result could not be written");
        out.truncate(start);
        out.extend_from_slice(b"{}");
    }
}

/// Appends a result's JSON: `body` as it is, and in stateless revisions also `resultType`, the cache hint and the
/// server's identity.
///
/// `body` must be an object in the shape of `revision` without any of those members. A result with a `_meta` of its own
/// gets the identity through [`project::call_result`].
///
/// # Errors
/// If `body` cannot be written as JSON.
pub(super) fn write_result<T: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    revision: Revision,
    body: &T,
    hint: Option<CacheHint>,
    identity: Option<&RawValue>,
) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *out, body)?;
    if !revision.results_describe_themselves() {
        return Ok(());
    }
    out.pop();
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    out.extend_from_slice(b"\"resultType\":\"complete\"");
    if let Some(hint) = hint {
        out.extend_from_slice(b",\"ttlMs\":");
        serde_json::to_writer(&mut *out, &hint.ttl_ms)?;
        out.extend_from_slice(b",\"cacheScope\":");
        serde_json::to_writer(&mut *out, &hint.cache_scope)?;
    }
    if let Some(identity) = identity {
        out.extend_from_slice(b",\"_meta\":{\"");
        out.extend_from_slice(SERVER_INFO.as_bytes());
        out.extend_from_slice(b"\":");
        out.extend_from_slice(identity.get().as_bytes());
        out.push(b'}');
    }
    out.push(b'}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::write_result;
    use crate::protocol::Revision;
    use crate::protocol::project::{CacheHint, CacheScope};

    #[test]
    fn only_modern_results_describe_themselves() {
        let hint = Some(CacheHint { ttl_ms: 5, cache_scope: CacheScope::Private });
        let write = |revision, body: Value| {
            let mut out = Vec::new();
            let identity = serde_json::value::to_raw_value(&json!({"name": "n"})).unwrap();
            write_result(&mut out, revision, &body, hint, Some(&identity)).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(write(Revision::NEWEST_LEGACY, json!({})), "{}");
        let described = r#""resultType":"complete","ttlMs":5,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n"}}}"#;
        assert_eq!(write(Revision::MODERN, json!({})), format!("{{{described}"));
        assert_eq!(write(Revision::MODERN, json!({"a": 1})), format!(r#"{{"a":1,{described}"#));
    }
}
