//! State that handlers share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use papertape::server::{Form, Resource};
use papertape::{Cx, Server, ToolError, memory};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Neither `Clone` nor `Debug`.
struct App {
    prefix: &'static str,
    calls: AtomicU64,
}

impl App {
    fn new(prefix: &'static str) -> Self {
        Self { prefix, calls: AtomicU64::new(0) }
    }

    fn count(&self) -> String {
        format!("{}{}", self.prefix, self.calls.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

#[derive(Deserialize, JsonSchema)]
struct Item {
    id: String,
}

async fn count(_: (), cx: Cx<App>) -> Result<String, ToolError> {
    Ok(cx.clone().state().count())
}

async fn count_raw(_: Value, cx: Cx<App>) -> Result<String, ToolError> {
    Ok(cx.state().count())
}

async fn read(cx: Cx<App>) -> Result<String, ToolError> {
    Ok(cx.state().count())
}

async fn item(item: Item, cx: Cx<App>) -> Result<String, ToolError> {
    Ok(format!("{} {}", item.id, cx.state().count()))
}

async fn plain(_: (), cx: Cx) -> Result<String, ToolError> {
    Ok(format!("{:?}", cx.state()))
}

async fn name(_: (), cx: Cx<App>) -> Result<String, ToolError> {
    let name = cx.ask("name", Form::<Item>::new("Which one?"))?;
    Ok(format!("{:?}", name.accepted().map(|item| item.id)))
}

fn server() -> Server<App> {
    Server::new("state", "1")
        .tool("plain", plain)
        .with_state(App::new("a"))
        .tool("count", count)
        .tool("name", name)
        .raw_tool(papertape::server::Tool::new("raw").input_schema(json!({"type": "object"})), count_raw)
        .resource("state://count", read)
        .resource_template("state://item/{id}", item)
        .prompt("count", count)
}

#[tokio::test]
async fn every_kind_of_handler_has_the_same_state() {
    let client = memory::connect(server()).await.unwrap();
    let text = async |tool: &str| {
        let result = client.call(tool, json!({})).await.unwrap();
        result.content[0].as_text().unwrap().to_owned()
    };
    assert_eq!(text("plain").await, "()");
    assert_eq!(text("count").await, "a1");
    assert_eq!(text("raw").await, "a2");
    let read = client.read("state://count").await.unwrap();
    assert_eq!(read[0].text.as_deref(), Some("a3"));
    let read = client.read("state://item/x").await.unwrap();
    assert_eq!(read[0].text.as_deref(), Some("x a4"));
    let prompt = client.prompt("count", serde_json::Map::new()).await.unwrap();
    assert_eq!(prompt.messages[0].content.as_text(), Some("a5"));
    assert_eq!(text("count").await, "a6");
    let refused = client.call("name", json!({})).await;
    assert!(format!("{refused:?}").contains("elicitation"), "{refused:?}");
}

#[tokio::test]
async fn a_mounted_server_and_a_handle_keep_their_state() {
    let mut inner = server();
    let tools = inner.tools();
    tools.add("late", count).unwrap();
    let mut outer = Server::new("outer", "1").with_shared_state(Arc::new(7_u8)).mount("in", inner);
    let resources = outer.resources();
    let seven = async |cx: Cx<u8>| Ok::<_, ToolError>(cx.state().to_string());
    resources.add(Resource::new("outer://seven"), seven).unwrap();
    let client = memory::connect(outer).await.unwrap();
    let result = client.call("in_late", json!({})).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("a1"));
    let result = client.call("in_count", json!({})).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("a2"));
    assert_eq!(client.read("outer://seven").await.unwrap()[0].text.as_deref(), Some("7"));
}
