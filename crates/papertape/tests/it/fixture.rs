//! A server with a tool for everything that can happen to a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use papertape::protocol::Content;
use papertape::protocol::content::{Annotations, Role};
use papertape::server::Tool;
use papertape::{Cx, Json, Server, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Return the text unchanged.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Echo {
    /// Any text.
    text: String,
}

/// Add two integers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

/// Take some time.
#[derive(Deserialize, JsonSchema)]
struct Work {
    /// How many steps of 100 ms.
    #[schemars(range(max = 1000))]
    steps: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

pub(crate) async fn echo(args: Echo, _: Cx) -> Result<String, ToolError> {
    Ok(args.text)
}

async fn add(args: Add, _: Cx) -> Result<Json<Sum>, ToolError> {
    Ok(Json(Sum { sum: args.a + args.b }))
}

async fn work(args: Work, cx: Cx) -> Result<String, ToolError> {
    for step in 1..=args.steps {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cx.progress(step, args.steps, "working");
        // Neither of these grows.
        cx.progress(step, None, None);
        cx.progress(0.5, None, None);
    }
    Ok(format!("did {} steps", args.steps))
}

#[derive(Deserialize, JsonSchema)]
struct Wait {
    /// To make the request larger.
    #[expect(dead_code, reason = "only its size matters")]
    x: Option<String>,
}

async fn wait(_: Wait, _: Cx) -> Result<String, ToolError> {
    std::future::pending().await
}

async fn parse(args: Echo, _: Cx) -> Result<String, ToolError> {
    Ok(args.text.parse::<u8>()?.to_string())
}

async fn media(_: Nothing, _: Cx) -> Result<Vec<Content>, ToolError> {
    let hints = Annotations::new().audience(Role::User).priority(0.5).last_modified("2026-07-28T00:00:00Z");
    Ok(vec![
        Content::text("see and hear").annotated(hints),
        Content::image(b"\x89PNG", "image/png"),
        Content::audio(b"RIFF", "audio/wav"),
        Content::resource_link("file:///notes.md", "notes"),
        Content::text_resource("file:///a.txt", "text/plain", "a"),
        Content::blob_resource("file:///b.bin", "application/octet-stream", &[0, 255]),
    ])
}

/// A server with a tool for everything that can happen to a call.
pub(crate) fn server() -> Server {
    let mut server = Server::new("fixture", "1.2.3")
        .title("Fixture")
        .description("For tests.")
        .instructions("Call anything.")
        .tool("echo", echo)
        .tool(Tool::new("add").title("Add").read_only().idempotent().closed_world(), add)
        .tool("work", work)
        .tool(Tool::new("wait").description("Never return."), wait)
        .tool(Tool::new("parse").description("Parse a small number; fail otherwise."), parse)
        .tool(Tool::new("media").description("One of each kind of content."), media)
        .tool(Tool::new("refuse").description("Refuse."), async |_: Nothing, _: Cx| {
            Err::<(), _>(ToolError::refused("not today"))
        })
        .tool(Tool::new("broken").description("Fail inside."), async |_: Nothing, _: Cx| {
            Err::<(), _>(ToolError::internal("the password is swordfish"))
        })
        .tool(
            Tool::new("panic").description("Panic."),
            async |_: Nothing, _: Cx| -> Result<String, ToolError> { panic!("on purpose") },
        )
        .tool(Tool::new("late_panic").description("Panic, later."), async |_: Nothing, _: Cx| {
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
            if true {
                panic!("on purpose, later");
            }
            Ok("")
        })
        .tool(
            Tool::new("list").description("Structured content that is not an object."),
            async |_: Nothing, _: Cx| Ok(Json(vec![1, 2, 3])),
        )
        .raw_tool(
            Tool::new("liar")
                .description("Break its own output schema.")
                .input_schema(json!({"type": "object"}))
                .output_schema(json!({"type": "object", "required": ["truth"]})),
            async |_: Value, _: Cx| Ok(Json(json!({}))),
        )
        .raw_tool(
            Tool::new("tuple").description("A draft-07 schema.").input_schema(json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "properties": {"pair": {"type": "array", "items": [{"type": "integer"}, {"type": "string"}]}},
            })),
            async |arguments: Value, _: Cx| Ok(arguments.to_string()),
        );
    let tools = server.tools();
    server.tool(
        Tool::new("grow").description("Add or remove the tool \"grown\"."),
        move |_: Nothing, _: Cx| {
            let tools = tools.clone();
            async move {
                if tools.remove("grown") {
                    return Ok("removed");
                }
                tools.add("grown", echo)?;
                Ok("added")
            }
        },
    )
}

/// A server with one tool, `count`, that returns its `text`, and the number of times it ran.
pub(crate) fn counting() -> (Server, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&runs);
    let tool = Tool::new("count")
        .input_schema(json!({"type": "object", "properties": {"text": {"type": "string"}}}));
    let server = Server::new("counting", "1").raw_tool(tool, move |arguments: Value, _: Cx| {
        counter.fetch_add(1, Ordering::Relaxed);
        async move { Ok(arguments["text"].as_str().unwrap_or_default().to_owned()) }
    });
    (server, runs)
}
