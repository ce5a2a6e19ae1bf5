//! Elicitation, as clients of stateless revisions know it: the result is `input_required`.

use papertape::server::{Elicited, Form, Roots};
use papertape::{Cx, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::elicitation::question;
use crate::tools::named;

pub(crate) fn register(server: Server) -> Server {
    server
        .tool(
            named("test_input_required_result_elicitation", "Ask the user for a name."),
            |(), cx: Cx| async move { Ok(format!("Hello, {}!", name(&cx)?)) },
        )
        .tool(
            named("test_input_required_result_sampling", "Ask the client's model."),
            |(), cx: Cx| async move {
                let said = cx.ask("capital_question", question("What is the capital of France?"))?;
                Ok(format!("The model says {}", said.content))
            },
        )
        .tool(
            named("test_input_required_result_list_roots", "Ask where the user's files are."),
            |(), cx: Cx| async move { Ok(format!("Roots: {}", cx.ask("client_roots", Roots)?.len())) },
        )
        .tool(
            named("test_input_required_result_request_state", "Ask, and keep something meanwhile."),
            |(), cx| confirm(cx),
        )
        .tool(
            named("test_input_required_result_tampered_state", "Ask, and notice when the state was changed."),
            |(), cx| confirm(cx),
        )
        .tool(named("test_input_required_result_multiple_inputs", "Ask three things at once."), |(), cx| {
            ask_three(cx)
        })
        .tool(named("test_input_required_result_multi_round", "Ask one thing after another."), |(), cx| {
            ask_twice(cx)
        })
        .tool(
            named("test_input_required_result_capabilities", "Ask all that the client can be asked."),
            |(), cx| ask_what_can_be_asked(cx),
        )
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Name {
    /// What to call you.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    /// Whether it is all right.
    ok: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Color {
    /// The one you like best.
    color: String,
}

/// What the user wants to be called.
pub(crate) fn name(cx: &Cx) -> Result<String, ToolError> {
    Ok(called(cx.ask("user_name", Form::<Name>::new("What is your name?"))?))
}

fn called(answer: Elicited<Name>) -> String {
    answer.accepted().map_or_else(|| "guest".to_owned(), |answer| answer.name)
}

async fn confirm(cx: Cx) -> Result<String, ToolError> {
    let kept = cx.keep("kept", || "state-ok".to_owned())?;
    let answer = cx.ask("confirm", Form::<Confirmation>::new("Is that all right?"))?;
    Ok(format!("{kept}: {}", answer.accepted().is_some_and(|answer| answer.ok)))
}

async fn ask_three(cx: Cx) -> Result<String, ToolError> {
    let user = cx.ask("user_name", Form::<Name>::new("What is your name?"));
    let model = cx.ask("greeting", question("Greet the user."));
    let files = cx.ask("client_roots", Roots);
    let ((user, greeting), roots) = Cx::together(Cx::together(user, model), files)?;
    Ok(format!("{} {} {}", greeting.content, called(user), roots.len()))
}

async fn ask_twice(cx: Cx) -> Result<String, ToolError> {
    let name = called(cx.ask("step1", Form::<Name>::new("What is your name?"))?);
    let color = cx.ask("step2", Form::<Color>::new("What is your favourite colour?"))?;
    let color = color.accepted().map_or_else(|| "none".to_owned(), |answer| answer.color);
    Ok(format!("{name} likes {color}"))
}

async fn ask_what_can_be_asked(cx: Cx) -> Result<String, ToolError> {
    let user = cx.can_ask().then(|| cx.ask("user_name", Form::<Name>::new("What is your name?"))).transpose();
    let model = cx.can_sample().then(|| cx.ask("greeting", question("Greet the user."))).transpose();
    let files = cx.can_list_roots().then(|| cx.ask("client_roots", Roots)).transpose();
    let ((user, model), files) = Cx::together(Cx::together(user, model), files)?;
    let answers = usize::from(user.is_some()) + usize::from(model.is_some()) + usize::from(files.is_some());
    Ok(format!("{answers} questions were answered"))
}
