//! A server that offers everything there is, for the tests of everything but tools.

use papertape::protocol::{Content, LogLevel};
use papertape::protocol::{PromptMessage, Role, SamplingMessage, SamplingRequest};
use papertape::server::{Elicited, Form, Prompt, Resource, ResourceTemplate, Roots, Tool, UrlElicitation};
use papertape::{Cx, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// A form with every kind of field.
#[derive(Debug, Deserialize, JsonSchema)]
struct Guest {
    /// As on the passport.
    name: String,
    #[schemars(range(min = 0, max = 120))]
    age: Option<u8>,
    #[serde(default)]
    vegetarian: bool,
    colour: Option<Colour>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Green,
}

/// Greet a guest, whom it asks for a name.
#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// How to begin.
    greeting: String,
    /// Anything else.
    #[expect(dead_code, reason = "a state is sealed for it")]
    more: Option<serde_json::Map<String, serde_json::Value>>,
}

async fn greet(args: Greet, cx: Cx) -> Result<String, ToolError> {
    let number: u32 = cx.keep("number", || 7)?;
    let guest = match cx.ask("guest", Form::<Guest>::new("Who are you?"))? {
        Elicited::Accepted(guest) => guest,
        Elicited::Declined => return Ok("a shy guest".to_owned()),
        Elicited::Cancelled => return Ok("no guest".to_owned()),
    };
    let Guest { name, age, vegetarian, colour } = guest;
    Ok(format!("{} {name} {age:?} {vegetarian} {colour:?} {number}", args.greeting))
}

/// Ask the model and look at the roots, both at once.
#[derive(Deserialize, JsonSchema)]
struct Consult {}

async fn consult(_: Consult, cx: Cx) -> Result<String, ToolError> {
    let message = SamplingMessage::new(Role::User, json!({"type": "text", "text": "?"}));
    let question = SamplingRequest::new(vec![message], 5);
    let (said, roots) = cx.ask_both(("said", question), ("roots", Roots))?;
    Ok(format!("{} {}", said.content["text"].as_str().unwrap_or_default(), roots.len()))
}

/// Send the user to a page.
#[derive(Deserialize, JsonSchema)]
struct SignIn {}

async fn sign_in(_: SignIn, cx: Cx) -> Result<String, ToolError> {
    let visit = cx.ask("page", UrlElicitation::new("Please sign in", "https://example.com/in"))?;
    Ok(format!("{visit:?}"))
}

/// Log at every level.
#[derive(Deserialize, JsonSchema)]
struct Chat {}

async fn chat(_: Chat, cx: Cx) -> Result<String, ToolError> {
    cx.log(LogLevel::Debug, "one");
    cx.log(LogLevel::Warning, json!({"two": 2}));
    cx.log(LogLevel::Emergency, "three");
    Ok("said".to_owned())
}

#[derive(Deserialize)]
struct Verse {
    book: String,
    number: u32,
}

/// Explain a word.
#[derive(Deserialize, JsonSchema)]
struct Explain {
    /// Which one.
    word: String,
    /// How long.
    lines: Option<u8>,
}

/// A server that offers everything.
pub(crate) fn server() -> Server {
    Server::new("everything", "1.0.0")
        .logging()
        .state_key([7; 32], std::time::Duration::from_secs(600))
        .tool("greet", greet)
        .tool("consult", consult)
        .tool("sign_in", sign_in)
        .tool("chat", chat)
        .tool(Tool::new("slowly").description("Greet, as a task.").long_running(), greet)
        .resource(
            Resource::new("note:one")
                .name("one")
                .title("One")
                .mime_type("text/plain")
                .meta("ui", json!({"a": 1})),
            |_| async { Ok("the first note") },
        )
        .resource(Resource::new("note:bytes").name("bytes").mime_type("image/png"), |_| async {
            Ok(vec![1_u8, 2, 3])
        })
        .resource("note:broken", |_| async { Err::<String, _>(ToolError::failed("the disk is gone")) })
        .resource_template(
            ResourceTemplate::new("verse:{book}/{number}").name("verse").mime_type("text/plain").complete(
                "book",
                |so_far| async move {
                    let books = ["genesis", "exodus", "galatians"].into_iter();
                    Ok(books.filter(|book| book.starts_with(&so_far.value)).map(str::to_owned).collect())
                },
            ),
            |verse: Verse, _| async move {
                if verse.number == 0 {
                    return Err(ToolError::refused("there is no verse 0"));
                }
                Ok(format!("{} {}", verse.book, verse.number))
            },
        )
        .prompt(
            Prompt::new("explain").title("Explain").complete("word", |so_far| async move {
                let known = so_far.known.get("lines").cloned().unwrap_or_default();
                Ok((0..150).map(|n| format!("{}{n}{known}", so_far.value)).collect())
            }),
            |args: Explain, _| async move { Ok(format!("Explain {} in {:?} lines.", args.word, args.lines)) },
        )
        .prompt("picture", |_: (), _| async {
            Ok(vec![PromptMessage::assistant(Content::audio(b"x", "audio/wav"))])
        })
}
