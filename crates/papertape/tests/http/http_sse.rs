//! HTTP+SSE, the transport of 2024-11-05: off by default, and subject to the same checks.

use papertape::http::Options;
use serde_json::{Value, json};

use crate::connection::Wire;
use crate::fixture::{Act, Site};
use crate::request::Request;

async fn site() -> Site {
    Site::with(Options::new().legacy_sse(), |server| server).await
}

fn get() -> Request {
    Request::new("GET", "/sse").header("Accept", "text/event-stream")
}

/// Opens a stream; where messages go.
async fn open(site: &Site) -> (Wire, String) {
    let mut wire = site.connect().await;
    let head = wire.begin(&get()).await;
    assert!(head.status == 200 && head.is_stream(), "{head:?}");
    let first = wire.event().await.unwrap();
    assert_eq!(first.name.as_deref(), Some("endpoint"));
    let address = first.data.unwrap();
    assert!(address.starts_with("/messages?session="), "{address}");
    (wire, address)
}

fn post(address: &str, message: &Value) -> Request {
    Request::post(message.to_string()).line(&format!("POST {address} HTTP/1.1")).without("Accept")
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn initialize() -> Value {
    let params = json!({"protocolVersion": "2024-11-05", "capabilities": {"roots": {}},
        "clientInfo": {"name": "t", "version": "1"}});
    request(0, "initialize", &params)
}

#[tokio::test]
async fn http_sse_is_off_by_default() {
    let site = Site::start().await;
    assert_eq!(site.ask(&get()).await.status, 404);
    assert_eq!(site.ask(&post("/messages?session=x", &initialize())).await.status, 404);
}

#[tokio::test]
async fn a_whole_session_over_http_sse() {
    let mut site = site().await;
    let (mut wire, address) = open(&site).await;
    let said = |message: Value| post(&address, &message);
    let answer = site.ask(&said(initialize())).await;
    assert_eq!((answer.status, answer.body.len()), (202, 0));
    assert_eq!(wire.message().await.unwrap()["result"]["protocolVersion"], "2024-11-05");
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(site.ask(&said(note)).await.status, 202);
    let call = |id, tool: &str, arguments: Value| {
        said(request(id, "tools/call", &json!({"name": tool, "arguments": arguments})))
    };
    assert_eq!(
        site.ask(&call(1, "echo", json!({"text": "a\r\n\r\nevent: endpoint\ndata: /evil"}))).await.status,
        202
    );
    let echoed = wire.event().await.unwrap();
    assert_eq!((echoed.name, echoed.id), (None, None));
    assert_eq!(wire.event_count(), 0);
    // A server request, whose response is another message.
    assert_eq!(site.ask(&call(2, "roots", json!({}))).await.status, 202);
    let question = wire.message().await.unwrap();
    assert_eq!(question["method"], "roots/list");
    let roots = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}});
    assert_eq!(site.ask(&said(roots)).await.status, 202);
    assert_eq!(wire.message().await.unwrap()["result"]["content"][0]["text"], "0 roots");
    // Cancelled, and then gone.
    assert_eq!(site.ask(&call(3, "wait", json!({"name": "x"}))).await.status, 202);
    site.began("x").await;
    assert_eq!(site.ask(&call(3, "wait", json!({"name": "x"}))).await.status, 202);
    assert_eq!(wire.message().await.unwrap()["error"]["code"], -32600, "the id is in use");
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}});
    assert_eq!(site.ask(&said(cancel)).await.status, 202);
    assert_eq!(site.act().await, Act::Dropped("x".to_owned()));
    assert_eq!(site.ask(&call(4, "wait", json!({"name": "y"}))).await.status, 202);
    site.began("y").await;
    wire.reset();
    assert_eq!(
        site.act().await,
        Act::Dropped("y".to_owned()),
        "its only stream has gone, so that no client waits"
    );
    // Messages for it are dropped.
    while site.ask(&said(request(5, "ping", &json!({})))).await.status != 404 {}
    site.assert_well().await;
}

#[tokio::test]
async fn only_issued_session_ids_are_accepted() {
    let site = site().await;
    let (_wire, address) = open(&site).await;
    let (_other, another) = open(&site).await;
    assert_ne!(address, another);
    let name = address.split_once('=').unwrap().1;
    let short = format!("/messages?session={}", name.get(1..).unwrap());
    let long = format!("{address}A");
    for wrong in
        ["/messages", "/messages?session=", "/messages?session=x", "/messages?Session=x", &short, &long]
    {
        assert_eq!(site.ask(&post(wrong, &initialize())).await.status, 404, "{wrong}");
    }
    for (method, path) in [("POST", "/sse"), ("GET", &*address), ("DELETE", &*address), ("PUT", "/sse")] {
        let wrong = Request::new(method, path).header("Accept", "text/event-stream");
        assert_eq!(site.ask(&wrong.header("Content-Length", "0")).await.status, 405, "{method} {path}");
    }
    assert_eq!(site.ask(&get().without("Accept")).await.status, 406);
    assert_eq!(site.ask(&post(&address, &initialize()).with("Content-Type", "text/plain")).await.status, 415);
    assert_eq!(site.ask(&post(&address, &json!(1))).await.status, 400);
    assert_eq!(site.ask(&post(&address, &json!(null)).body("{")).await.status, 400);
}

// A client that does not read is not read from.
#[tokio::test]
async fn a_client_that_does_not_read_is_not_read_from() {
    let site = site().await;
    let (wire, address) = open(&site).await;
    site.ask(&post(&address, &initialize())).await;
    let big = request(1, "tools/call", &json!({"name": "big", "arguments": {"bytes": 4_000_000}}));
    let mut refused = false;
    for _ in 0..100 {
        match site.ask(&post(&address, &big)).await {
            answer if answer.status == 202 => {}
            answer => {
                assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
                refused = true;
                break;
            }
        }
    }
    assert!(refused, "400 MB are buffered for a client that does not read");
    drop(wire);
    site.assert_well().await;
}
