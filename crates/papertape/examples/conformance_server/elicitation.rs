//! Elicitation and sampling, as clients of session-based revisions know them: with a request.

use papertape::protocol::{Role, SamplingMessage, SamplingRequest};
use papertape::server::{Elicited, Form};
use papertape::{Cx, Server, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::tools::named;

pub(crate) fn register(server: Server) -> Server {
    server
        .tool("test_sampling", |args: Sampling, cx| sample(args, cx))
        .tool("test_elicitation", |args: Elicitation, cx: Cx| async move {
            described(&cx.ask("user", Form::<User>::new(args.message))?)
        })
        .tool(
            named("test_elicitation_sep1034_defaults", "Ask for values that have defaults."),
            |(), cx: Cx| async move {
                described(&cx.ask("defaults", Form::<Defaults>::new("Please look at the defaults."))?)
            },
        )
        .tool(
            named("test_elicitation_sep1330_enums", "Ask for choices of every kind."),
            |(), cx: Cx| async move { described(&cx.ask("choices", Form::<Choices>::new("Please choose."))?) },
        )
        .tool(named("test_streaming_elicitation", "Ask, and send nothing else."), |(), cx: Cx| async move {
            described(&cx.ask("user", Form::<User>::new("Who are you?"))?)
        })
        .tool(
            named("test_missing_capability", "Ask the client's model, which the client must have."),
            |(), cx: Cx| async move { said(&cx, "model", "Say something.") },
        )
}

/// Ask the client's model.
#[derive(Deserialize, JsonSchema)]
struct Sampling {
    /// What to ask it.
    prompt: String,
}

async fn sample(args: Sampling, cx: Cx) -> Result<String, ToolError> {
    said(&cx, "answer", &args.prompt)
}

/// What the client's model says.
fn said(cx: &Cx, name: &str, prompt: &str) -> Result<String, ToolError> {
    let said = cx.ask(name, question(prompt))?;
    Ok(format!(
        "LLM response: {}",
        said.content.get("text").and_then(|text| text.as_str()).unwrap_or_default()
    ))
}

/// A sampling request.
pub(crate) fn question(prompt: &str) -> SamplingRequest {
    let message = SamplingMessage::new(Role::User, json!({"type": "text", "text": prompt}));
    SamplingRequest::new(vec![message], 100)
}

/// What the user did, in words.
fn described<T: Serialize>(answer: &Elicited<T>) -> Result<String, ToolError> {
    Ok(match answer {
        Elicited::Accepted(content) => {
            format!("User response: action=accept, content={}", serde_json::to_string(content)?)
        }
        Elicited::Declined => "User response: action=decline".to_owned(),
        Elicited::Cancelled => "User response: action=cancel".to_owned(),
    })
}

/// Ask the user who they are.
#[derive(Deserialize, JsonSchema)]
struct Elicitation {
    /// What to say to the user.
    message: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct User {
    /// A name to be called by.
    username: String,
    /// An address to write to.
    email: String,
}

/// A value of every plain kind, each with a default.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Defaults {
    name: String,
    age: i64,
    score: f64,
    status: Status,
    verified: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { name: "John Doe".to_owned(), age: 30, score: 95.5, status: Status::Active, verified: true }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Active,
    Inactive,
    Pending,
}

/// A choice in every form there is.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Choices {
    untitled_single: Untitled,
    titled_single: Titled,
    legacy_enum: TitledBefore,
    untitled_multi: Vec<Untitled>,
    titled_multi: Vec<Titled>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Untitled {
    Option1,
    Option2,
    Option3,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Titled {
    /// First option
    Value1,
    /// Second option
    Value2,
    /// Third option
    Value3,
}

/// Titles as they were written before there were any.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(extend("enumNames" = ["Option One", "Option Two", "Option Three"]))]
enum TitledBefore {
    Opt1,
    Opt2,
    Opt3,
}
