//! Everything a server offers but plain tools, against hostile peers and handlers.

#![expect(
    clippy::too_many_lines,
    clippy::items_after_statements,
    reason = "a table of bad input is as long as it is, and stands where it is used"
)]

mod bounds;
mod changes;
mod errors;
mod input_requests;
mod middleware;
mod middleware_changes;
mod shapes;
mod task_cancellation;
mod task_status;
mod task_stores;
mod tasks;
mod templates;

use std::collections::BTreeMap;

use papertape::server::{Elicited, Form, Tool};
use papertape::{Cx, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::peer::{MODERN, Peer};

/// Takes anything.
#[derive(Deserialize, JsonSchema)]
struct Anything {}

/// One field.
#[derive(Debug, Deserialize, JsonSchema)]
struct Name {
    name: String,
}

const ALL: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

const FORM: &str = r#"{"elicitation":{"form":{}}}"#;

const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// A modern request of a client that can do what `abilities` say.
fn modern(abilities: &str, id: u64, method: &str, mut params: Value) -> String {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
    meta["io.modelcontextprotocol/clientCapabilities"] = serde_json::from_str(abilities).unwrap();
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

fn plain(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// Opens a legacy session with a client that can do what `abilities` say.
async fn legacy(server: Server, revision: &str, abilities: &str) -> Peer {
    let mut peer = Peer::connect(server);
    let params = json!({"protocolVersion": revision, "clientInfo": {"name": "t", "version": "1"},
        "capabilities": serde_json::from_str::<Value>(abilities).unwrap()});
    let replies = peer.line(plain(0, "initialize", &params)).await;
    assert_eq!(replies[0]["result"]["protocolVersion"], revision, "{replies:?}");
    assert!(peer.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await.is_empty());
    peer
}

/// The one message that comes back.
async fn one(peer: &mut Peer, line: String) -> Value {
    let mut all = peer.line(line).await;
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

async fn ask_name(_: Anything, cx: Cx) -> Result<String, ToolError> {
    match cx.ask("who", Form::<Name>::new("Who?"))? {
        Elicited::Accepted(name) => Ok(name.name),
        other => Ok(format!("{other:?}")),
    }
}

fn long(name: &str) -> Tool {
    Tool::new(name).description("Long.").long_running()
}

// Hooks and servers within servers.

fn named(name: &str) -> Server {
    Server::new(name, "1")
}

async fn hello(_: Anything, _: Cx) -> Result<&'static str, ToolError> {
    Ok("hello")
}

fn accept(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

fn rich() -> Server {
    use papertape::protocol::Content;
    use papertape::protocol::content::{Annotations, Icon, ResourceContents};
    use papertape::protocol::{PromptMessage, PromptResult, Role};
    use papertape::server::{Prompt, Resource, ResourceTemplate};
    let icon = || Icon::new("data:,");
    let hints =
        || Annotations::new().audience(Role::User).priority(1.0).last_modified("2026-01-01T00:00:00Z");
    let mut server = named("rich")
        .title("Rich")
        .description("d")
        .website("https://example.com")
        .icon(icon())
        .logging()
        .tool(
            Tool::new("t").title("T").icon(icon()).meta("ui", json!({})).long_running(),
            |_: Anything, cx: Cx| async move {
                cx.progress(1.0, 2.0, "half");
                cx.log(papertape::protocol::LogLevel::Error, "x");
                Ok(vec![
                    Content::audio(b"x", "audio/wav").annotated(Annotations::new().last_modified("x")),
                    Content::resource_link("x:y", "y"),
                ])
            },
        )
        .resource(
            Resource::new("x:y").title("Y").icon(icon()).annotations(hints()).size(3).meta("ui", json!({})),
            |_| async {
                let meta = json!({"ui": {}, "io.modelcontextprotocol/x": 1}).as_object().cloned();
                let mut contents = ResourceContents::text("x:y", "x");
                contents.meta = meta;
                Ok(contents)
            },
        )
        .resource_template(
            ResourceTemplate::new("z:{a}")
                .title("Z")
                .icon(icon())
                .annotations(hints())
                .meta("ui", json!({}))
                .complete("a", |_| async { Ok(vec!["b".into()]) }),
            |_: BTreeMap<String, String>, _| async { Ok("") },
        )
        .prompt(Prompt::new("p").title("P").icon(icon()).meta("ui", json!({})), |_: (), _| async move {
            let mut result = PromptResult::new(vec![
                PromptMessage::user(Content::audio(b"x", "audio/wav")),
                PromptMessage::user(Content::resource_link("x:y", "y")),
                PromptMessage::user(Content::text("x").annotated(Annotations::new().last_modified("x"))),
            ]);
            result.meta = json!({"io.modelcontextprotocol/serverInfo": 1}).as_object().cloned();
            Ok(result)
        });
    let (_, _, _) = (server.tools(), server.resources(), server.prompts());
    server
}

// Errors and codes.

async fn code(peer: &mut Peer, line: String) -> i64 {
    let reply = one(peer, line).await;
    reply["error"]["code"].as_i64().unwrap_or_else(|| panic!("{reply}"))
}

// Templates and words.
