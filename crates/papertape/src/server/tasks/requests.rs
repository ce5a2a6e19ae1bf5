//! `tasks/get`, `tasks/update` and `tasks/cancel`.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::needs_tasks;
use crate::server::elicitation::request_state;
use crate::server::pipeline::DecodedRequest;
use crate::server::pipeline::resolve::TaskOperation;
use crate::server::pipeline::run::{Call, Output, PreparedCall, Run};
use crate::wire::RpcError;

/// A request about a task, ready to run.
pub(crate) fn prepare(
    call: Arc<Call>,
    request: &DecodedRequest<'_>,
    operation: TaskOperation,
    id: Option<String>,
) -> Result<PreparedCall, RpcError> {
    if !call.abilities.tasks {
        return Err(needs_tasks("tasks are for clients that declare them with each request"));
    }
    let Some(id) = id else {
        let message = format!("`{}` needs `params.taskId`, a string", request.method);
        return Err(RpcError::invalid_params(message));
    };
    let tasks = Arc::clone(&call.service.tasks);
    let principal = request.session.principal().cloned();
    let run: Run = match operation {
        TaskOperation::Get => Box::pin(async move {
            let task = tasks.find(&id, principal.as_deref()).await?;
            Ok(Output::Object(task.to_result("complete")))
        }),
        TaskOperation::Update => {
            if request.params.input_responses.is_none() {
                let message = "`tasks/update` needs `params.inputResponses`, an object";
                return Err(RpcError::invalid_params(message));
            }
            let answers = request_state::input_responses(&call.service, &request.params)?;
            Box::pin(async move {
                tasks.find(&id, principal.as_deref()).await?;
                tasks.update(&id, answers).await;
                Ok(Output::Object(acknowledged()))
            })
        }
        TaskOperation::Cancel => Box::pin(async move {
            tasks.cancel(&id, principal.as_deref()).await?;
            Ok(Output::Object(acknowledged()))
        }),
    };
    Ok(PreparedCall::new(call, run))
}

fn acknowledged() -> Map<String, Value> {
    Map::from_iter([("resultType".to_owned(), "complete".into())])
}
