//! Tools whose calls continue after their response: the tasks extension.

use std::time::Duration;

use papertape::server::{Form, Tool};
use papertape::{Cx, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::mrtr;
use crate::tools::named;

/// How long a task takes that has nothing to do.
const A_WHILE: Duration = Duration::from_millis(200);

/// The longest that anything takes.
const LONGEST: f64 = 600.0;

pub(crate) fn register(server: Server) -> Server {
    server
        .tool("greet", |args: Greet, _| async move { Ok(format!("Hello, {}!", args.name)) })
        .tool(Tool::new("slow_compute").long_running(), |args: Compute, _| compute(args))
        .tool(named("failing_job", "Fail after a while; only as a task.").task_only(), |(), _| async {
            tokio::time::sleep(A_WHILE).await;
            Err::<String, _>(ToolError::failed("The job failed, as it should."))
        })
        .tool(
            named("protocol_error_job", "Come to an error of the protocol.").long_running(),
            |(), _| async {
                tokio::time::sleep(A_WHILE).await;
                Err::<String, _>(ToolError::rpc(-32603, "the job broke, as it should", None))
            },
        )
        .tool(Tool::new("confirm_delete").long_running(), |args: Delete, cx| delete(args, cx))
        .tool(named("multi_input", "Ask two things at once.").long_running(), |(), cx| ask_two(cx))
        .tool(
            named("test_tool_with_task", "Ask for a name, then take a while.").task_after("user_name"),
            |(), cx: Cx| async move {
                let name = mrtr::name(&cx)?;
                tokio::time::sleep(A_WHILE).await;
                Ok(format!("Done for {name}."))
            },
        )
}

/// Greet the user, at once.
#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// Whom.
    name: String,
}

/// Compute for some seconds.
#[derive(Deserialize, JsonSchema)]
struct Compute {
    /// For how long.
    seconds: f64,
    /// What to call it.
    label: Option<String>,
}

async fn compute(args: Compute) -> Result<String, ToolError> {
    tokio::time::sleep(Duration::from_secs_f64(args.seconds.clamp(0.0, LONGEST))).await;
    Ok(format!("{} took {} seconds", args.label.as_deref().unwrap_or("it"), args.seconds))
}

/// Delete a file, if the user agrees. (Nothing is deleted.)
#[derive(Deserialize, JsonSchema)]
struct Delete {
    /// Which one.
    filename: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    /// Whether to go on.
    confirm: bool,
}

async fn delete(args: Delete, cx: Cx) -> Result<String, ToolError> {
    let question = Form::<Confirmation>::new(format!("Delete {}?", args.filename));
    let agreed = cx.ask("confirm", question)?.accepted().is_some_and(|answer| answer.confirm);
    Ok(if agreed { format!("{} would be gone", args.filename) } else { format!("{} stays", args.filename) })
}

async fn ask_two(cx: Cx) -> Result<String, ToolError> {
    let (first, second) = cx.ask_both(
        ("first", Form::<Confirmation>::new("Is the first all right?")),
        ("second", Form::<Confirmation>::new("Is the second all right?")),
    )?;
    let agreed = [first, second].into_iter().filter_map(papertape::server::Elicited::accepted);
    Ok(format!("{} of 2 are all right", agreed.filter(|answer| answer.confirm).count()))
}
