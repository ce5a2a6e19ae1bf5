//! Elicitation over several rounds: what was elicited so far, carried by the client in stateless revisions, and requested by
//! the server in session-based ones.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::ask::{ClientRequest, shaped};
use super::seal::Unsealed;
use crate::protocol::error_code::MISSING_CLIENT_CAPABILITY;
use crate::protocol::meta::SERVER_INFO;
use crate::protocol::method;
use crate::protocol::tools::CallToolResult;
use crate::server::handler::context::Cx;
use crate::server::handler::error::{Failure, ToolError};
use crate::server::pipeline::Params;
use crate::server::pipeline::prepare;
use crate::server::pipeline::respond::CallResult;
use crate::server::pipeline::run::{Call, Feature, Output, Run};
use crate::server::service::ServiceCore;
use crate::server::session::{ClientResponse, SentRequest};
use crate::sync::lock;
use crate::telemetry::{ObservedRequest, Outcome};
use crate::wire::RpcError;
use crate::wire::error::excerpt;
use crate::wire::message;

/// How often one request may elicit input.
const MOST_ROUNDS: usize = 10;

/// What one request has elicited so far, and what its handler keeps between two runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RequestState {
    pub(crate) answers: Map<String, Value>,
    pub(crate) kept: Map<String, Value>,
}

/// The content of `requestState`, which the client of a stateless revision carries.
#[derive(Serialize, Deserialize)]
struct CarriedState {
    answers: Map<String, Value>,
    kept: Map<String, Value>,
    /// The input requests that have no response yet.
    asked: Vec<String>,
}

/// The client's responses to input requests, each of which is an object.
pub(crate) fn input_responses(
    service: &ServiceCore,
    params: &Params<'_>,
) -> Result<Map<String, Value>, RpcError> {
    if params.input_responses.is_some_and(|raw| !raw.get().starts_with('{')) {
        return Err(RpcError::invalid_params("`params.inputResponses` must be a JSON object"));
    }
    let answers = prepare::read_object("params.inputResponses", params.input_responses, service.limits.tree)?;
    match answers.iter().find(|(_, answer)| !answer.is_object()) {
        Some((name, _)) => {
            let message = format!("`params.inputResponses`: {} must be an object", excerpt(name));
            Err(RpcError::invalid_params(message))
        }
        None => Ok(answers),
    }
}

/// The state that a client of a stateless revision sends with its request (`requestState`, `inputResponses`).
pub(crate) fn resume(
    service: &ServiceCore,
    params: &Params<'_>,
    purpose: &[u8],
) -> Result<RequestState, RpcError> {
    let answers = input_responses(service, params)?;
    let Some(raw) = params.request_state else {
        // A client that knows what will be requested may send it beforehand. Nothing is lost by that: what the user is said
        // to have answered is the client's word in either case.
        return Ok(RequestState { answers, kept: Map::new() });
    };
    let Some(sealed) = message::string(raw) else {
        return Err(RpcError::invalid_params("`params.requestState` must be a string"));
    };
    let opened =
        service.sealer.as_ref().ok_or(Unsealed::Foreign).and_then(|sealer| sealer.open(&sealed, purpose));
    let state = opened.map_err(|why| {
        RpcError::invalid_params(match why {
            Unsealed::Expired => "`params.requestState` has expired: make the request again without it",
            Unsealed::Foreign => {
                "`params.requestState` was not given for this request: hand it back as it came, with the same parameters"
            }
        })
    })?;
    let carried: CarriedState = serde_json::from_slice(&state).map_err(|_| {
        RpcError::invalid_params("`params.requestState` is of another version of this server")
    })?;
    let mut all = carried.answers;
    // Responses to what was not requested are ignored.
    all.extend(answers.into_iter().filter(|(name, _)| carried.asked.contains(name)));
    Ok(RequestState { answers: all, kept: carried.kept })
}

/// A handler that is run again, with the responses, each time it requests input.
pub(crate) fn repeated<F>(call: &Arc<Call>, run: Run, again: F) -> Run
where
    F: Fn(Cx) -> Result<Run, String> + Send + Sync + 'static,
{
    let call = Arc::clone(call);
    Box::pin(async move {
        let mut outcome = run.await;
        for _ in 0..MOST_ROUNDS {
            let Err(ToolError(Failure::InputRequired(requests))) = outcome else { return outcome };
            let answers = ask_client(&call, &requests).await?;
            lock(&call.request_state).answers.extend(answers);
            outcome = again(Cx::new(&call)).map_err(ToolError::failed)?.await;
        }
        outcome
    })
}

/// Sends all input requests to the client at once.
async fn ask_client(
    call: &Arc<Call>,
    requests: &[(String, ClientRequest)],
) -> Result<Map<String, Value>, ToolError> {
    if let Some((_, request)) = requests.iter().find(|(_, request)| !request.needs.is_among(&call.abilities))
    {
        return Err(ToolError::failed(missing_capability(request)));
    }
    let mut waiting = Vec::new();
    for (name, request) in requests {
        waiting.push((name, request, Asked::send(call, request)?));
    }
    let mut answers = Map::new();
    for (name, request, asked) in waiting {
        let elicits = request.method == method::ELICIT;
        let answer = match asked.response(call).await {
            Ok(Some(Ok(result))) => read_response(call, &result)?,
            Ok(None) => return Err(ToolError::failed(CLIENT_GONE)),
            // The handler decides what a missing response of the user means.
            Ok(Some(Err(error))) if elicits => {
                tracing::info!(%error, "the client rejected an elicitation");
                json!({"action": "cancel"})
            }
            Err(_) if elicits => json!({"action": "cancel"}),
            Ok(Some(Err(error))) => {
                return Err(ToolError::failed(format!("the client refused a request: {error}")));
            }
            Err(_) => return Err(ToolError::failed(TIMED_OUT)),
        };
        answers.insert(name.clone(), answer);
    }
    Ok(answers)
}

const CLIENT_GONE: &str = "the client has gone before it responded to a request";
const TIMED_OUT: &str = "the client did not respond to a request in time";

/// Sends one input request to a session-based client; its response, or its error as it is.
pub(crate) async fn ask_now(call: Arc<Call>, request: ClientRequest) -> Result<Value, RpcError> {
    let refused = |error: ToolError| RpcError::invalid_params(error.to_string());
    if !request.needs.is_among(&call.abilities) {
        return Err(RpcError::invalid_params(missing_capability(&request)));
    }
    let asked = Asked::send(&call, &request).map_err(refused)?;
    match asked.response(&call).await {
        Ok(Some(Ok(result))) => read_response(&call, &result).map_err(refused),
        Ok(Some(Err(error))) => Err(error),
        Ok(None) => Err(RpcError::internal(CLIENT_GONE)),
        Err(_) => Err(RpcError::internal(TIMED_OUT)),
    }
}

fn read_response(call: &Call, result: &RawValue) -> Result<Value, ToolError> {
    let result = prepare::read_object("result", Some(result), call.service.limits.tree);
    result.map(Value::Object).map_err(|error| ToolError::failed(error.message))
}

/// An input request that was sent to a session-based client.
struct Asked {
    sent: SentRequest,
    observed: ObservedRequest<'static>,
}

impl Asked {
    fn send(call: &Call, request: &ClientRequest) -> Result<Self, ToolError> {
        let mut params = shaped(request, call.revision)?;
        let observed = ObservedRequest::send(request.method, call.observed.network(), None, || {
            (None, None, Some(call.revision))
        });
        observed
            .trace(|| params.as_object_mut()?.entry("_meta").or_insert_with(|| json!({})).as_object_mut());
        let sent = call.session.request(request.method, &params);
        observed.record_id(sent.id());
        Ok(Self { sent, observed })
    }

    /// The response within the limit; `None` if the connection has ended.
    async fn response(self, call: &Call) -> Result<Option<ClientResponse>, Elapsed> {
        let Self { sent, observed } = self;
        let answer = timeout(call.service.limits.answer, sent.response()).await;
        observed.end(&match &answer {
            Ok(Some(Ok(_))) => Outcome::Success,
            Ok(Some(Err(error))) => Outcome::Rpc(error),
            Ok(None) => Outcome::Failed("closed".into()),
            Err(_) => Outcome::Failed("timeout".into()),
        });
        answer
    }
}

/// The result for a handler that needs input which was not requested here.
pub(crate) fn input_required(
    call: &Call,
    requests: &[(String, ClientRequest)],
) -> Result<CallResult, RpcError> {
    if call.feature.is_notification() {
        return Err(RpcError::internal("the handler of a notification must not elicit input"));
    }
    if call.revision.opens_with_handshake() {
        let missing = requests.iter().find(|(_, request)| !request.needs.is_among(&call.abilities));
        let message = match missing {
            Some((_, request)) => missing_capability(request),
            None => format!("the {} elicited input more than {MOST_ROUNDS} times", call.feature.kind()),
        };
        return match call.feature {
            Feature::Tool(_) => Ok(CallResult::Complete(Output::Tool(CallToolResult::failed(message)))),
            _ => Err(RpcError::internal(message)),
        };
    }
    check_capabilities(call, requests)?;
    match call.feature {
        Feature::Completion(_) | Feature::List => {
            let kind = call.feature.kind();
            Err(RpcError::internal(format!("a {kind} must not elicit input")))
        }
        _ => carried_state(call, requests),
    }
}

/// Refuses input requests that need capabilities which the client has not declared.
pub(crate) fn check_capabilities(call: &Call, requests: &[(String, ClientRequest)]) -> Result<(), RpcError> {
    let mut missing =
        requests.iter().filter(|(_, request)| !request.needs.is_among(&call.abilities)).peekable();
    let Some((_, first)) = missing.peek() else { return Ok(()) };
    let message = missing_capability(first);
    let mut required = json!({});
    for (_, request) in missing {
        merge(&mut required, request.needs.required());
    }
    Err(RpcError::new(MISSING_CLIENT_CAPABILITY, message)
        .with_data(json!({"requiredCapabilities": required})))
}

/// The result with which the client is to repeat its request: the input requests, and the state so far, sealed.
fn carried_state(call: &Call, requests: &[(String, ClientRequest)]) -> Result<CallResult, RpcError> {
    let RequestState { answers, kept } = lock(&call.request_state).clone();
    let asked = requests.iter().map(|(name, _)| name.clone()).collect();
    let state = serde_json::to_vec(&CarriedState { answers, kept, asked }).unwrap_or_default();
    let sealed = call.service.sealer.as_ref().and_then(|sealer| sealer.seal(&state, &call.purpose));
    let Some(sealed) = sealed else {
        tracing::error!("the system provides no randomness: input cannot be elicited");
        return Err(RpcError::internal("internal error"));
    };
    // The client must be able to send it back, with all else that belongs to the request.
    if sealed.len() > call.service.limits.frame / 2 {
        let name = call.feature.name();
        tracing::error!(name, bytes = sealed.len(), "elicitation state is too large for a client to carry");
        return Err(RpcError::internal("the elicitation state has become too large"));
    }
    Ok(CallResult::InputRequired(json!({
        "resultType": "input_required",
        "inputRequests": as_json(requests),
        "requestState": sealed,
        "_meta": {SERVER_INFO: &*call.service.identity_json},
    })))
}

/// Input requests as the member `inputRequests` has them.
pub(crate) fn as_json(requests: &[(String, ClientRequest)]) -> Map<String, Value> {
    let as_json = |(name, request): &(String, ClientRequest)| {
        (name.clone(), json!({"method": request.method, "params": request.params}))
    };
    requests.iter().map(as_json).collect()
}

/// Adds the members of one object to another, and so on within them.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert_with(|| json!({})), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn missing_capability(request: &ClientRequest) -> String {
    format!("this needs a client that supports {}, and yours does not declare it", request.needs.name())
}
