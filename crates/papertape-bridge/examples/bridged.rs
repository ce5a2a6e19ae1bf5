//! A server on stdio with something of everything that a bridge passes on: progress, log messages, cancellation, forms, tasks,
//! resources, prompts, completion, lists that change, and a method of its own.
//!
//! ```sh
//! cargo build -p papertape-bridge --example bridged
//! papertape list 'papertape bridge --revision 2025-11-25 -- target/debug/examples/bridged'
//! ```

use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use papertape::protocol::LogLevel;
use papertape::server::{CompletionRequest, Elicited, Form, Prompt, Resource, ResourceTemplate, Tool};
use papertape::{Cx, Server, ToolError, stdio};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Default)]
struct App {
    cancelled: AtomicU64,
    marks: AtomicU64,
}

/// Counts calls that are dropped before they have returned.
struct Call<'a>(&'a App);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.cancelled.fetch_add(1, Ordering::Relaxed);
    }
}

/// Count to a number, with progress and a log message for each.
#[derive(Deserialize, JsonSchema)]
struct Count {
    to: u32,
}

async fn count(count: Count, cx: Cx<App>) -> Result<String, ToolError> {
    for step in 1..=count.to {
        cx.progress(step, count.to, format!("step {step}"));
        cx.log(LogLevel::Info, json!({"step": step}));
    }
    Ok(format!("counted to {}", count.to))
}

/// Never return.
async fn wait(_: (), cx: Cx<App>) -> Result<String, ToolError> {
    let _call = Call(cx.state());
    cx.progress(1, None, "waiting");
    std::future::pending().await
}

/// How many calls were cancelled.
async fn cancelled(_: (), cx: Cx<App>) -> Result<String, ToolError> {
    Ok(cx.state().cancelled.load(Ordering::Relaxed).to_string())
}

#[derive(Deserialize, JsonSchema)]
struct Seat {
    row: u8,
}

/// Ask the user for a seat.
async fn seat(_: (), cx: Cx<App>) -> Result<String, ToolError> {
    Ok(match cx.ask("seat", Form::<Seat>::new("Which row?"))? {
        Elicited::Accepted(seat) => format!("row {}", seat.row),
        Elicited::Declined => "declined".to_owned(),
        Elicited::Cancelled => "cancelled".to_owned(),
    })
}

/// A report that takes long, if the client knows tasks.
async fn report(_: (), _: Cx<App>) -> Result<String, ToolError> {
    Ok("the report".to_owned())
}

/// The id of this process.
async fn pid(_: (), _: Cx<App>) -> Result<String, ToolError> {
    Ok(process::id().to_string())
}

/// End this process.
async fn exit(_: (), _: Cx<App>) -> Result<String, ToolError> {
    process::exit(3)
}

async fn names(request: CompletionRequest) -> Result<Vec<String>, ToolError> {
    let names = ["ada", "alan", "grace"].into_iter();
    Ok(names.filter(|name| name.starts_with(&request.value)).map(str::to_owned).collect())
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut server = Server::new("bridged", "1.0.0").with_state(App::default());
    let (tools, resources) = (server.tools(), server.resources());
    let server = server
        .instructions("Count first.")
        .logging()
        .tool(Tool::new("count").read_only(), count)
        .tool("wait", wait)
        .tool("cancelled", cancelled)
        .tool("seat", seat)
        .tool(Tool::new("report").long_running(), report)
        .tool("hail", async |_: (), cx: Cx<App>| {
            cx.notify("notifications/com.example/hail", json!({"a": 1}))?;
            Ok("hailed")
        })
        .notification("notifications/com.example/mark", async |_: Value, cx: Cx<App>| {
            cx.state().marks.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
        .tool("marks", async |_: (), cx: Cx<App>| Ok(cx.state().marks.load(Ordering::Relaxed).to_string()))
        .tool(Tool::new("dream").long_running(), wait)
        .tool("pid", pid)
        .tool("exit", exit)
        .tool("grow", move |_: (), _: Cx<App>| {
            let tools = tools.clone();
            async move {
                tools.add("grown", async |_: (), _: Cx<App>| Ok("grown"))?;
                Ok("there is a tool more")
            }
        })
        .tool("update", move |_: (), _: Cx<App>| {
            let resources = resources.clone();
            async move {
                resources.updated("note://plain");
                Ok("updated")
            }
        })
        .resource(Resource::new("note://plain").mime_type("text/plain"), async |_| Ok("a note"))
        .resource_template(
            ResourceTemplate::new("note://of/{name}").complete("name", names),
            async |of: Named, _| Ok(format!("the note of {}", of.name)),
        )
        .prompt(Prompt::new("greet").complete("name", names), async |named: Greeted, _| {
            Ok(format!("Hello, {}", named.name))
        })
        .method("com.example/echo", async |params: Value, _: Cx<App>| Ok(json!({"params": params})));
    stdio::serve(server).await
}

/// Greet a person.
#[derive(Deserialize, JsonSchema)]
struct Greeted {
    name: String,
}
