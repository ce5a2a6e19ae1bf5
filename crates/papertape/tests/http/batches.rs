//! Batches, which only 2025-03-26 has: S-57 to S-61 on HTTP.

use serde_json::{Value, json};

use crate::fixture::{Act, Site};
use crate::request::{Request, Session};

fn ping(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

fn echo(id: u64) -> Value {
    let params = json!({"name": "echo", "arguments": {"text": id.to_string()}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// Every response of a batch, in whatever messages they came.
async fn answers(site: &Site, request: &Request) -> Vec<Value> {
    let answer = site.ask(request).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let all = answer.messages().into_iter();
    all.flat_map(|message| message.as_array().cloned().unwrap_or_else(|| vec![message.clone()])).collect()
}

// S-57, S-59
#[tokio::test]
async fn a_batch_gets_one_response_per_request() {
    let site = Site::start().await;
    let session = site.session("2025-03-26").await;
    let batch = json!([ping(1), echo(2), {"jsonrpc": "2.0", "method": "notifications/x"}, 3, echo(4)]);
    let mut all = answers(&site, &session.post(&batch)).await;
    assert_eq!(all.len(), 4, "{all:?}");
    all.sort_by_key(|answer| answer["id"].as_u64().unwrap_or(0));
    assert_eq!(all[0]["error"]["code"], -32600);
    assert_eq!(all[2]["result"]["content"][0]["text"], "2");
    assert_eq!(all[3]["result"]["content"][0]["text"], "4");
    let bad = answers(&site, &session.post(&json!([1, 2, 3]))).await;
    assert_eq!(bad.iter().filter(|answer| answer["error"]["code"] == -32600).count(), 3, "{bad:?}");
    let many: Vec<Value> = (0..100).map(echo).collect();
    assert_eq!(answers(&site, &session.post(&json!(many))).await.len(), 100);
}

// S-60
#[tokio::test]
async fn a_batch_without_requests_gets_202() {
    let mut site = Site::start().await;
    let session = site.session("2025-03-26").await;
    let note = json!({"jsonrpc": "2.0", "method": "notifications/x"});
    let answer = site.ask(&session.post(&json!([note, note]))).await;
    assert_eq!((answer.status, answer.body.len()), (202, 0));
    // A batch of responses is matched to earlier server requests, and a cancellation in a batch cancels any call.
    let mut wire = site.connect().await;
    wire.begin(&session.call(1, "roots", &json!({}))).await;
    let question = wire.message().await.unwrap();
    assert_eq!(question["method"], "roots/list");
    let roots = json!({"roots": [{"uri": "file:///a"}]});
    let replies = json!([{"jsonrpc": "2.0", "id": 99, "result": {}},
        {"jsonrpc": "2.0", "id": question["id"], "result": roots}]);
    assert_eq!(site.ask(&session.post(&replies)).await.status, 202);
    assert_eq!(wire.message().await.unwrap()["result"]["content"][0]["text"], "1 roots");
    let mut wire = site.connect().await;
    wire.begin(&session.call(8, "wait", &json!({"name": "y"}))).await;
    site.began("y").await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 8}});
    assert_eq!(site.ask(&session.post(&json!([note, cancel]))).await.status, 202);
    assert_eq!(site.act().await, Act::Dropped("y".to_owned()));
    // A call is cancelled by the notification after it, and then there is no response.
    let call = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call",
        "params": {"name": "wait", "arguments": {"name": "x"}}});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}});
    let answer = site.ask(&session.post(&json!([call, cancel]))).await;
    assert!(answer.status == 202 || answer.messages().is_empty(), "{answer:?}");
    // It may have been stopped before it began.
    site.assert_well().await;
    while let Ok(act) = tokio::time::timeout(std::time::Duration::ZERO, site.act()).await {
        assert_ne!(act, Act::Ended("x".to_owned()));
    }
}

// S-58, S-61
#[tokio::test]
async fn an_invalid_batch_is_rejected_as_a_whole() {
    let mut site = Site::start().await;
    let wait = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "wait", "arguments": {"name": "x"}}});
    let refused = |what: &'static str, answer: crate::connection::Response| {
        assert_eq!(answer.error(), (400, -32600, Value::Null), "{what}: {}", answer.json());
    };
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let session = site.session(revision).await;
        refused("a newer session", site.ask(&session.post(&json!([wait]))).await);
    }
    let session = site.session("2025-03-26").await;
    let many: Vec<Value> = (0..101).map(echo).collect();
    refused("too many", site.ask(&session.post(&json!(many))).await);
    refused("nothing", site.ask(&session.post(&json!([]))).await);
    refused("the same id twice", site.ask(&session.post(&json!([wait, ping(1)]))).await);
    let initialize = json!({"jsonrpc": "2.0", "id": 2, "method": "initialize",
        "params": {"protocolVersion": "2025-03-26", "capabilities": {}}});
    refused("an opening", site.ask(&session.post(&json!([wait, initialize]))).await);
    let alone = Request::post(json!([initialize]).to_string());
    assert_eq!(site.ask(&alone).await.status, 400);
    let nested = session.post(&json!([[ping(1)]]));
    assert_eq!(answers(&site, &nested).await[0]["error"]["code"], -32600);
    site.assert_no_act();
    let unknown = Session { id: "x".to_owned(), ..session };
    assert_eq!(site.ask(&unknown.post(&json!([ping(1)]))).await.status, 404);
}

// One slow member does not keep the others' connection from being kept alive, and leaving cancels none.
#[tokio::test]
async fn a_slow_batch_is_a_stream() {
    let mut site = Site::start().await;
    let session = site.session("2025-03-26").await;
    let wait = |id: u64| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "wait", "arguments": {"name": "x"}}})
    };
    let mut wire = site.connect().await;
    let head = wire.begin(&session.post(&json!([ping(1), wait(2), wait(3)]))).await;
    assert!(head.is_stream());
    site.began("x").await;
    site.began("x").await;
    let cancel = session.notify("notifications/cancelled", &json!({"requestId": 2}));
    assert_eq!(site.ask(&cancel).await.status, 202);
    assert_eq!(site.act().await, Act::Dropped("x".to_owned()));
    site.release(1);
    let answer = wire.message().await.unwrap();
    let mut ids: Vec<_> = answer.as_array().unwrap().iter().map(|answer| answer["id"].clone()).collect();
    ids.sort_by_key(Value::as_u64);
    assert_eq!(ids, [json!(1), json!(3)]);
    assert_eq!(wire.message().await, None);
}
