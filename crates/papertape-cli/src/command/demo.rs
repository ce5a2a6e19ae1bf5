//! `papertape demo`: the whole idea in one screen.

use anyhow::Context;
use papertape::protocol::{CallToolResult, Revision};
use papertape::{Client, ClientError, ClientOptions, ErrorKind};
use serde_json::{Value, json};

use crate::args::{Demo, Framing};
use crate::connect;
use crate::exit::Failure;
use crate::print::{Look, style};
use crate::reel::Reel;
use crate::target;

pub(crate) fn run(args: &Demo) -> Result<(), Failure> {
    let look = Look::of_stdout();
    let reel = Reel::new(look, args.tape.as_deref()).with_context(|| {
        let path = args.tape.as_deref().unwrap_or_else(|| "".as_ref());
        format!("cannot write the tape {}", path.display())
    })?;
    reel.say(&title(look));
    reel.chapter("2025-11-25", "a conversation is opened, then used");
    converse(args, Revision::NEWEST_LEGACY, &reel, &OPENING, handshake)?;
    reel.chapter("2026-07-28", "nothing to open: each request stands alone");
    converse(args, Revision::MODERN, &reel, &DISCOVERY, stateless)?;
    let figures = reel.finish()?;
    reel.say(&ending(look, &figures, args));
    reel.finish()?;
    Ok(())
}

/// What is said about the frames of an opening, by direction.
type Opening = (&'static [&'static str], &'static [&'static str]);

const OPENING: Opening = (
    &[
        "The client says which revision it wants, and who it is.",
        "The client has understood. The conversation is open.",
    ],
    &["The server agrees, and says who it is and what it offers."],
);

const DISCOVERY: Opening = (
    &["What do you speak? Each request says all about itself in _meta."],
    &["Five revisions; and this answer may be kept for an hour."],
);

/// One server process, and what is said to it.
fn converse(
    args: &Demo,
    revision: Revision,
    reel: &Reel,
    opening: &Opening,
    script: impl AsyncFnOnce(&Client, &Reel) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let screen = reel.clone();
    let options = ClientOptions::new()
        .identity("papertape-demo", env!("CARGO_PKG_VERSION"))
        .revision(revision)
        .framing(args.framing.into())
        .on_frame(move |frame| screen.frame(frame));
    reel.expect(opening.0, opening.1);
    let command = target::bundled("grammar")?;
    connect::run(command, options, String::new, async |client| script(&client, reel).await)
}

async fn handshake(client: &Client, reel: &Reel) -> Result<(), Failure> {
    reel.expect(&["What can you do?"], &["Five tools and their arguments: this is what a model reads."]);
    client.tools().await?;

    reel.expect(&["A call: the past of \"eat\", for he or she."], &["The answer."]);
    said(call(client, "conjugate", eat()).await, "ate")?;

    reel.expect(&["And in Spanish?"], &["The answer: UTF-8, as it is."]);
    said(call(client, "lookup_spanish", json!({"english_form": "ate"})).await, "comió")?;

    reel.expect(
        &["A verb that this tutor does not know."],
        &["A tool that fails says why where a model can read it."],
    );
    let run = json!({"verb": "run", "tense": "past simple", "person": "3rd singular"});
    said(call(client, "conjugate", run).await, "out of scope")?;

    reel.expect(&["A method that does not exist."], &["That is an error, with the id of its request."]);
    match client.request("tools/sharpen", json!({})).await {
        Err(error) if matches!(error.kind(), ErrorKind::Rpc(_)) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(value) => Err(surprise("tools/sharpen", &value.to_string())),
    }
}

async fn stateless(client: &Client, reel: &Reel) -> Result<(), Failure> {
    reel.expect(
        &["The same call as above. It needs nothing that came before it."],
        &["The same answer, which now also says who gave it."],
    );
    said(call(client, "conjugate", eat()).await, "ate")
}

fn eat() -> Value {
    json!({"verb": "eat", "tense": "past simple", "person": "3rd singular"})
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Result<CallToolResult, ClientError> {
    client.call(tool, arguments).await
}

/// A demo that shows something else than it says is worse than none.
fn said(result: Result<CallToolResult, ClientError>, right: &str) -> Result<(), Failure> {
    let result = serde_json::to_string(&result?.content).unwrap_or_default();
    if result.contains(right) { Ok(()) } else { Err(surprise(right, &result)) }
}

fn surprise(expected: &str, got: &str) -> Failure {
    Failure::Output(format!("the demo has gone wrong: expected {expected}, got {got}"))
}

fn title(look: Look) -> String {
    format!(
        "\n{} {}\n{}  {}  {}\n",
        look.paint(style::NAME, "papertape demo"),
        look.paint(style::STRONG, "a client, a server, and every byte between them"),
        look.paint(style::DIM, "the server: papertape serve grammar"),
        look.paint(style::TO_SERVER, "→ to the server"),
        look.paint(style::TO_CLIENT, "← to the client"),
    )
}

fn ending(look: Look, figures: &str, args: &Demo) -> String {
    let tape = match &args.tape {
        Some(path) => format!("All of it is on the tape {}.", path.display()),
        None => "Both servers have ended.".to_owned(),
    };
    let framing = match args.framing {
        Framing::Line => ("papertape demo --framing content-length", "this, with headers"),
        Framing::ContentLength => ("papertape demo", "this, without headers"),
    };
    let mut text = format!(
        "\n{} {figures}. {}\n\n{}\n",
        look.paint(style::NAME, "✓"),
        look.paint(style::DIM, &tape),
        look.paint(style::HEADING, "Now you")
    );
    for (command, about) in [
        ("papertape list grammar", "what it offers"),
        ("papertape call grammar lookup_spanish english_form=ate", "a tool by hand"),
        ("papertape list --trace -- your-server", "any other server"),
        ("papertape demo --tape demo.tape", "keep every byte"),
        framing,
    ] {
        let about = look.paint(style::DIM, about);
        let space = " ".repeat(WIDEST_COMMAND.saturating_sub(command.len()));
        text += &format!("  {}{space}  {about}\n", look.paint(style::NAME, command));
    }
    text
}

/// Beside the commands there is room for a few words, also where a line has 80 columns.
const WIDEST_COMMAND: usize = 54;
