//! Try it: lists, calls, and what is recorded of them.

use std::sync::atomic::Ordering::Relaxed;

use papertape::{Cx, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::client::Served;

/// Count to a number.
#[derive(Deserialize, JsonSchema)]
struct Count {
    /// Up to here.
    to: u64,
}

async fn count(args: Count, _: Cx) -> Result<String, ToolError> {
    if args.to > 9 {
        return Err(ToolError::failed("I can count to 9"));
    }
    Ok((1..=args.to).map(|number| number.to_string()).collect())
}

/// Never ends.
async fn wait(_: Wait, _: Cx) -> Result<String, ToolError> {
    std::future::pending().await
}

#[derive(Deserialize, JsonSchema)]
struct Wait {}

fn server() -> Server {
    Server::new("counter", "1.0.0").tool("count", count).tool("wait", wait)
}

fn result(answer: &Value) -> Value {
    serde_json::from_str(answer["result"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn tools_are_listed_and_called() {
    let page = Served::server(server).await;
    let lists = page.get("/api/server").await.json();
    assert_eq!(lists["tools"][0]["name"], "count");
    assert_eq!(lists["tools"][0]["inputSchema"]["properties"]["to"]["type"], "integer");
    assert_eq!(lists["problems"], json!([]));

    let answer = page.post("/api/call", &json!({"name": "count", "arguments": {"to": 3}})).await.json();
    assert_eq!(result(&answer)["content"][0]["text"], "123");
    // Its frames can be shown by then.
    let request = answer["request"].as_u64().unwrap();
    let frame = page.get(&format!("/api/frame?number={request}")).await.json();
    assert_eq!((&frame["row"]["w"], &frame["row"]["o"]), (&json!("count"), &json!("ok")));

    let answer = page.post("/api/call", &json!({"name": "count", "arguments": {"to": 10}})).await.json();
    assert_eq!(result(&answer)["isError"], true);
    page.stop().await;
}

#[tokio::test]
async fn arguments_that_violate_the_schema_are_sent_only_if_that_is_wanted() {
    let page = Served::server(server).await;
    page.get("/api/server").await;
    let mut call = json!({"name": "count", "arguments": {"to": "three"}});
    let answer = page.post("/api/call", &call).await.json();
    assert!(answer["violations"][0].as_str().unwrap().starts_with("/to: "), "{answer}");
    call["anyway"] = true.into();
    let answer = page.post("/api/call", &call).await.json();
    assert!(answer["request"].is_u64(), "{answer}");
    // Its frames can be shown by then, and those of the first call would be before them.
    let frames = page.get("/api/frames?from=0&count=100").await.json();
    let rows = frames["rows"].as_array().unwrap();
    let sent = rows.iter().filter(|row| row["d"] == ">" && row["w"] == "count").count();
    assert_eq!(sent, 1, "{frames}");
    assert_eq!(page.post("/api/call", &json!({"name": "count", "arguments": [1]})).await.status, 400);
    page.stop().await;
}

#[tokio::test]
async fn all_of_it_is_on_the_tape() {
    let page = Served::server(server).await;
    page.post("/api/call", &json!({"name": "count", "arguments": {"to": 3}})).await;
    assert_eq!(page.connects.load(Relaxed), 1);
    let folder = page.stop().await;
    let tape = std::fs::read_to_string(folder.path().join("recorded.tape")).unwrap();
    let events: Vec<_> = tape.lines().filter(|line| line.contains(" * ")).collect();
    assert!(events[0].ends_with(r#"start {"command":["./server"]}"#), "{tape}");
    assert!(events.last().unwrap().ends_with("end {}"), "{tape}");
    assert!(tape.contains("\"123\""), "{tape}");
    papertape::wire::tape::read(&tape).unwrap();
}

/// What *Cancel* does: the browser closes the connection.
#[tokio::test]
async fn a_call_whose_page_has_gone_is_cancelled() {
    let page = Served::server(server).await;
    let body = r#"{"name":"wait","arguments":{}}"#;
    let head = format!(
        "POST /api/call HTTP/1.1\r\nhost: {}\r\npapertape-token: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        page.host(),
        page.token,
        body.len()
    );
    let mut stream = TcpStream::connect(page.address).await.unwrap();
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    let listed = async |method: &str| {
        let mut seen = 0;
        while page.get(&format!("/api/frames?method={method}")).await.json()["total"] == 0 {
            let summary = page.get(&format!("/api/recording?seen={seen}")).await.json();
            seen = summary["generation"].as_u64().unwrap();
        }
    };
    listed("tools/call").await;
    drop(stream);
    listed("notifications/cancelled").await;
    page.stop().await;
}
