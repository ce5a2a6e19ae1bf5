//! Preparation of methods and notifications that are not MCP's.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::DecodedRequest;
use super::prepare::{Arguments, asks_by_request, read_exactly, start, started};
use super::run::{Call, Run};
use crate::server::elicitation::request_state;
use crate::server::features::method::RegisteredMethod;
use crate::server::handler::context::Cx;
use crate::server::handler::middleware;
use crate::server::service::ServiceCore;
use crate::wire::RpcError;
use crate::wire::members::{self, Members};

/// A method or notification of the author's.
pub(super) fn method_call(
    call: &Arc<Call>,
    request: &DecodedRequest<'_>,
    method: &Arc<RegisteredMethod>,
) -> Result<Run, RpcError> {
    let arguments = method_params(&call.service, request)?;
    let repeats = asks_by_request(call);
    if call.has_middleware() {
        let (called, method) = (Arc::clone(call), Arc::clone(method));
        let handler = move |arguments: Arguments| {
            let method = Arc::clone(&method);
            let start = move |cx: Cx| method.start(arguments.clone(), cx);
            match start(Cx::new(&called)) {
                Ok(run) if repeats => request_state::repeated(&called, run, start),
                run => started(&called, run),
            }
        };
        return Ok(middleware::wrap(call, arguments, Arc::new(handler)));
    }
    let kept = repeats.then(|| arguments.clone());
    let run = start(call, |cx| method.start(arguments, cx))?.map_err(RpcError::invalid_params)?;
    let Some(kept) = kept else { return Ok(run) };
    let method = Arc::clone(method);
    Ok(request_state::repeated(call, run, move |cx: Cx| method.start(kept.clone(), cx)))
}

/// The params of a method of the author's, without what belongs to the protocol.
pub(super) fn method_params(
    service: &ServiceCore,
    request: &DecodedRequest<'_>,
) -> Result<Arguments, RpcError> {
    let params = &request.params;
    let stateless = !request.revision.opens_with_handshake();
    let resumes = stateless && (params.input_responses.is_some() || params.request_state.is_some());
    if params.meta.is_none() && !resumes {
        return read_exactly("params", request.raw, service.limits.tree);
    }
    let members = Members::read(request.raw.map_or("{}", RawValue::get));
    let mut members = members.map_err(|error| RpcError::invalid_params(format!("in `params`: {error}")))?.0;
    members.retain(|(name, _)| match &**name {
        "_meta" => false,
        "inputResponses" | "requestState" => !stateless,
        _ => true,
    });
    let json = members::object(members.iter().map(|(name, value)| (&**name, *value)));
    let json = RawValue::from_string(json).map_err(|error| RpcError::internal(error.to_string()))?;
    read_exactly("params", Some(&json), service.limits.tree)
}
