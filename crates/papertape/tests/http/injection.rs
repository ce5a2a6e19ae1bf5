//! Injection: text of a peer never becomes a header, an event, or another request.

use serde_json::json;

use crate::fixture::{Act, Site};
use crate::request::Request;

const EVIL: &str = "a\r\n\r\nHTTP/1.1 200 OK\r\nx: y\n\nevent: endpoint\ndata: evil\rid: 9\r\rdata: {}\u{2028}\u{2029}\u{85}\0";

#[tokio::test]
async fn text_cannot_break_out_of_an_event() {
    let mut site = Site::start().await;
    let session = site.session("2025-11-25").await;
    let level = session.request(1, "logging/setLevel", &json!({"level": "debug"}));
    assert_eq!(site.ask(&level).await.status, 200);
    let params = json!({"name": "tell", "arguments": {"text": EVIL}, "_meta": {"progressToken": EVIL}});
    let mut wire = site.connect().await;
    wire.begin(&session.request(5, "tools/call", &params)).await;
    site.began("tell").await;
    site.release(1);
    // An event to come back to, two that quote, and two more.
    let mut events = Vec::new();
    while let Some(event) = wire.event().await {
        assert_eq!(event.name, None);
        events.push(event);
    }
    assert_eq!(events.len(), 5, "{events:?}");
    assert_eq!(events[1].json()["params"]["progressToken"], EVIL);
    assert_eq!(events[1].json()["params"]["message"], EVIL);
    assert_eq!(events[2].json()["params"]["data"], EVIL);
}

// Ids and names come back in errors, on whichever line they stand.
#[tokio::test]
async fn quoted_text_is_escaped_in_errors() {
    let site = Site::start().await;
    for text in [EVIL, "\"}{\"", "\\", "</script>"] {
        let request =
            Request::call(1, "echo", &json!({"text": text})).changed(|body| body["id"] = json!(text));
        let answer = site.ask(&request).await;
        assert_eq!(answer.json()["id"], text);
        assert_eq!(answer.json()["result"]["content"][0]["text"], text);
        let wrapped = format!("=?base64?{}?=", data_encoding::BASE64.encode(text.as_bytes()));
        let unknown =
            Request::call(1, "echo", &json!({})).changed(|body| body["params"]["name"] = json!(text));
        let answer = site.ask(&unknown.with("Mcp-Name", &*wrapped)).await;
        assert_eq!(answer.error(), (200, -32602, json!(1)));
        assert!(answer.headers.iter().all(|(name, _)| name != "x"), "{:?}", answer.headers);
        let mismatch = site.ask(&Request::call(1, "echo", &json!({})).with("Mcp-Name", wrapped)).await;
        assert_eq!(mismatch.error(), (400, -32020, json!(1)));
    }
    site.assert_well().await;
}

// H-46: only HTTP/1.1 is served, and no other version bypasses the checks.
#[tokio::test]
async fn other_versions_are_not_served() {
    let mut site = Site::start().await;
    let wait = || Request::call(1, "wait", &json!({"name": "x"}));
    for line in
        ["POST /mcp HTTP/1.0", "POST /mcp HTTP/9.9", "POST /mcp HTTP/2.0", "POST /mcp", "POST /mcp http/1.1"]
    {
        for request in [wait(), wait().without("Host"), wait().with("Host", "evil.example")] {
            let mut wire = site.connect().await;
            wire.send(request.line(line).bytes()).await;
            let answer = wire.try_head().await;
            let status = answer.map(|answer| answer.status);
            assert!(matches!(status, None | Some(400 | 403 | 505)), "{line}: {status:?}");
        }
    }
    site.assert_no_act();
}

// H-65, and a client that disconnects right after its request is gone.
#[tokio::test]
async fn pipelined_requests_get_responses_in_order() {
    let mut site = Site::start().await;
    let mut wire = site.connect().await;
    let all: Vec<u8> =
        (0..100).flat_map(|id| Request::call(id, "echo", &json!({"text": id.to_string()})).bytes()).collect();
    wire.send(all).await;
    for id in 0..100 {
        assert_eq!(wire.response().await.json()["result"]["content"][0]["text"], id.to_string());
    }
    let waits: Vec<u8> =
        ["a", "b"].iter().flat_map(|name| Request::call(1, "wait", &json!({"name": name})).bytes()).collect();
    wire.send(waits).await;
    site.began("a").await;
    wire.reset();
    assert_eq!(site.act().await, Act::Dropped("a".to_owned()), "although there was more to read");
    site.assert_well().await;
    site.assert_no_act();
}
