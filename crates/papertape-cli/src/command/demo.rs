//! `papertape demo`: a client, a server, and every byte between them.

mod transcript;

use anyhow::Context;
use papertape::Client;
use papertape::client::{ClientError, ClientOptions, ErrorKind};
use papertape::protocol::{CallToolResult, Revision};
use serde_json::{Value, json};

use crate::args::{Demo, Framing};
use crate::connect;
use crate::exit::Failure;
use crate::print::{Look, style};
use crate::target;
use transcript::Transcript;

pub(crate) fn run(args: &Demo) -> Result<(), Failure> {
    let look = Look::of_stdout();
    let transcript = Transcript::new(look, args.tape.as_deref()).with_context(|| {
        let path = args.tape.as_deref().unwrap_or_else(|| "".as_ref());
        format!("cannot write the tape {}", path.display())
    })?;
    transcript.say(&title(look));
    transcript.chapter("2025-11-25", "a session: initialize, then requests");
    run_script(args, Revision::NEWEST_LEGACY, &transcript, &OPENING, handshake)?;
    transcript.chapter("2026-07-28", "stateless: no handshake, each request stands alone");
    run_script(args, Revision::MODERN, &transcript, &DISCOVERY, stateless)?;
    let totals = transcript.finish()?;
    transcript.say(&ending(look, &totals, args));
    transcript.finish()?;
    Ok(())
}

/// The explanations of the frames of an opening, by direction.
type Opening = (&'static [&'static str], &'static [&'static str]);

const OPENING: Opening = (
    &[
        "The client requests a protocol revision, and says who it is.",
        "The client is initialized. The session is open.",
    ],
    &["The server agrees, and says who it is and what it can do."],
);

const DISCOVERY: Opening = (
    &["Which revisions? Each request carries its own context in _meta."],
    &["Five revisions; this response may be cached for an hour."],
);

/// Starts one server process and runs the script against it.
fn run_script(
    args: &Demo,
    revision: Revision,
    transcript: &Transcript,
    opening: &Opening,
    script: impl AsyncFnOnce(&Client, &Transcript) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let screen = transcript.clone();
    let options = ClientOptions::new()
        .identity("papertape-demo", env!("CARGO_PKG_VERSION"))
        .revision(revision)
        .framing(args.framing.into())
        .on_frame(move |frame| screen.frame(frame));
    transcript.expect(opening.0, opening.1);
    let command = target::bundled("grammar")?;
    connect::run(command, options, async |client| script(&client, transcript).await)
}

async fn handshake(client: &Client, transcript: &Transcript) -> Result<(), Failure> {
    transcript
        .expect(&["List the tools."], &["Five tools with their input schemas: this is what a model reads."]);
    client.tools().await?;

    transcript.expect(&["Call a tool: the past of \"eat\", third person singular."], &["The result."]);
    expect(client.call("conjugate", eat()).await, "ate")?;

    transcript.expect(&["And in Spanish?"], &["The result: UTF-8, unescaped."]);
    expect(client.call("lookup_spanish", json!({"english_form": "ate"})).await, "comió")?;

    transcript.expect(
        &["A verb that this tutor does not know."],
        &["A tool error is a result, so that the model can read it."],
    );
    let run = json!({"verb": "run", "tense": "past simple", "person": "3rd singular"});
    expect(client.call("conjugate", run).await, "out of scope")?;

    transcript.expect(&["A method that does not exist."], &["A JSON-RPC error, with the id of its request."]);
    match client.request("tools/sharpen", json!({})).await {
        Err(error) if matches!(error.kind(), ErrorKind::Rpc(_)) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(value) => Err(unexpected("tools/sharpen", &value.to_string())),
    }
}

async fn stateless(client: &Client, transcript: &Transcript) -> Result<(), Failure> {
    transcript.expect(
        &["The same call as above. It needs nothing that came before it."],
        &["The same result, which now also names the server."],
    );
    expect(client.call("conjugate", eat()).await, "ate")
}

fn eat() -> Value {
    json!({"verb": "eat", "tense": "past simple", "person": "3rd singular"})
}

/// Checks that the result is what the demo explains.
fn expect(result: Result<CallToolResult, ClientError>, right: &str) -> Result<(), Failure> {
    let result = serde_json::to_string(&result?.content).unwrap_or_default();
    if result.contains(right) { Ok(()) } else { Err(unexpected(right, &result)) }
}

fn unexpected(expected: &str, got: &str) -> Failure {
    Failure::Output(format!("the demo failed: expected {expected}, got {got}"))
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

fn ending(look: Look, totals: &str, args: &Demo) -> String {
    let tape = match &args.tape {
        Some(path) => format!("All of it is recorded on the tape {}.", path.display()),
        None => "Both servers have exited.".to_owned(),
    };
    let framing = match args.framing {
        Framing::Line => ("papertape demo --framing content-length", "with Content-Length headers"),
        Framing::ContentLength => ("papertape demo", "one message per line"),
    };
    let mut text = format!(
        "\n{} {totals}. {}\n\n{}\n",
        look.paint(style::NAME, "✓"),
        look.paint(style::DIM, &tape),
        look.paint(style::HEADING, "Try it")
    );
    for (command, about) in [
        ("papertape list grammar", "tools, resources, prompts"),
        ("papertape call grammar lookup_spanish english_form=ate", "call a tool"),
        ("papertape list --trace -- your-server", "any MCP server"),
        ("papertape demo --tape demo.tape", "record every byte"),
        framing,
    ] {
        let about = look.paint(style::DIM, about);
        let space = " ".repeat(WIDEST_COMMAND.saturating_sub(command.len()));
        text += &format!("  {}{space}  {about}\n", look.paint(style::NAME, command));
    }
    text
}

/// The width of the column of commands, which leaves room for a short description in 80 columns.
const WIDEST_COMMAND: usize = 54;
