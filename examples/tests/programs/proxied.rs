//! A server to be put behind the proxy: progress, a task, `_meta`, forms, a list that changes, a method of its own.

use std::sync::Arc;

use papertape::server::{Elicited, Form, Tool};
use papertape::{Cx, Server, ToolError, stdio};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;

#[derive(Debug, Deserialize, JsonSchema)]
struct Guest {
    name: String,
}

async fn greet(_: (), cx: Cx) -> Result<String, ToolError> {
    let mut names = Vec::new();
    for round in ["first", "second"] {
        match cx.ask(round, Form::<Guest>::new(format!("The {round} guest?")))? {
            Elicited::Accepted(guest) => names.push(guest.name),
            other => return Ok(format!("{other:?}")),
        }
    }
    Ok(format!("hello {}", names.join(" and ")))
}

async fn work(_: (), cx: Cx) -> Result<String, ToolError> {
    cx.progress(1, 2, "half done");
    Ok("done".to_owned())
}

/// The `_meta` of the request.
async fn meta(_: (), cx: Cx) -> Result<String, ToolError> {
    Ok(Value::from(cx.meta().clone()).to_string())
}

async fn refuse(_: (), _: Cx) -> Result<String, ToolError> {
    Err(ToolError::rpc(1001, "the quota is used up", json!({"seconds": 60})))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let finish = Arc::new(Notify::new());
    let finished = Arc::clone(&finish);
    let mut server = Server::new("proxied", "1.0.0")
        .tool(Tool::new("greet").title("Greet"), greet)
        .tool("work", work)
        .tool("refuse", refuse)
        .tool("meta", meta)
        .tool(Tool::new("task").long_running(), move |_: (), cx: Cx| {
            let finished = Arc::clone(&finished);
            async move {
                cx.progress(1, 2, "half done");
                finished.notified().await;
                Ok("done")
            }
        })
        .method("com.example/finish", move |_: (), _: Cx| {
            finish.notify_one();
            async { Ok(()) }
        })
        .method("com.example/meta", async |_: (), cx: Cx| Ok(Value::from(cx.meta().clone())))
        .prompt("hello", async |_: (), _: Cx| Ok("hello".to_owned()))
        .resource("note:one", async |_: Cx| Ok("the first note"))
        .resource_template("note:{number}", async |guest: Number, _: Cx| Ok(format!("note {}", guest.number)))
        .method("com.example/double", async |number: Number, _: Cx| {
            Ok(json!({"doubled": number.number * 2}))
        });
    let tools = server.tools();
    let server = server.tool("grow", move |_: (), _: Cx| {
        let tools = tools.clone();
        async move {
            tools.add("grown", work)?;
            Ok("grown")
        }
    });
    stdio::serve(server).await
}

#[derive(Deserialize)]
struct Number {
    number: u32,
}
