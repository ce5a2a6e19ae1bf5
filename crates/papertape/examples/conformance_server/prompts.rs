//! Prompts: plain, with arguments that can be completed, with a resource, with a picture, and one that asks first.

use papertape::protocol::Content;
use papertape::protocol::PromptMessage;
use papertape::server::{Form, Prompt};
use papertape::{Cx, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::PNG;

pub(crate) fn register(server: Server) -> Server {
    server
        .prompt(described("test_simple_prompt", "A prompt without arguments."), |(), _| async {
            Ok("This is a simple prompt for testing.".to_owned())
        })
        .prompt(
            Prompt::new("test_prompt_with_arguments").complete("arg1", |so_far| async move {
                let known = ["testing", "tested", "paper"].into_iter();
                Ok(known.filter(|word| word.starts_with(&so_far.value)).map(str::to_owned).collect())
            }),
            |args: Arguments, _| async move {
                Ok(format!("Prompt with arguments: arg1='{}', arg2='{}'", args.arg1, args.arg2))
            },
        )
        .prompt("test_prompt_with_embedded_resource", |args: Embedded, _| async move {
            let resource =
                Content::text_resource(args.resource_uri, "text/plain", "The text of an embedded resource.");
            Ok(vec![
                PromptMessage::user(resource),
                PromptMessage::user("Please process the embedded resource above."),
            ])
        })
        .prompt(described("test_prompt_with_image", "A prompt with a picture."), |(), _| async {
            Ok(vec![
                PromptMessage::user(Content::image(PNG, "image/png")),
                PromptMessage::user("Please look at the picture above."),
            ])
        })
        .prompt(
            described("test_input_required_result_prompt", "A prompt that asks the user first."),
            |(), cx| in_context(cx),
        )
}

fn described(name: &str, description: &str) -> Prompt {
    Prompt::new(name).description(description)
}

/// A prompt with two arguments.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The first.
    arg1: String,
    /// The second.
    arg2: String,
}

/// A prompt with a resource.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Embedded {
    /// Which one.
    resource_uri: String,
}

#[derive(Deserialize, JsonSchema)]
struct Context {
    /// What it is about.
    context: String,
}

async fn in_context(cx: Cx) -> Result<String, ToolError> {
    let answer = cx.ask("user_context", Form::<Context>::new("What context should the prompt use?"))?;
    Ok(match answer.accepted() {
        Some(answer) => format!("Answer in this context: {}", answer.context),
        None => "Answer without any context.".to_owned(),
    })
}
