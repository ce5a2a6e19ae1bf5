//! Stateless requests: their headers, and how they are cancelled.

use papertape::client::{Change, ClientOptions, ErrorKind, SubscriptionFilter};
use serde_json::{Map, json};

use crate::scripted::{
    QUICK, Seen, Server, Step, chunk, discovered, error, event, json, quick, result, run, stream,
    stream_head, text, text_of,
};

fn modern(seen: &Seen) -> Option<Vec<Step>> {
    (seen.what() == "server/discover").then(|| discovered(seen))
}

#[test]
fn every_request_has_the_mcp_headers() {
    run(async {
        let server = Server::new(|seen| {
            modern(seen).unwrap_or_else(|| match &seen.what()[..] {
                "tools/call" => json("200 OK", &text(seen, "hello")),
                "resources/read" => json("200 OK", &result(seen, &json!({"contents": []}))),
                "prompts/get" => json("200 OK", &result(seen, &json!({"messages": []}))),
                _ => json("200 OK", &result(seen, &json!({}))),
            })
        })
        .await;
        let client = server.connect().await;
        assert_eq!(text_of(&client.call("été", json!({})).await.unwrap()), "hello");
        client.read("file:///path/to/file%20name.txt").await.unwrap();
        client.prompt("test_prompt", Map::new()).await.unwrap();
        client.request("tasks/get", json!({"taskId": "t 1"})).await.unwrap();
        client.close().await;
        let seen = server.seen();
        let said: Vec<_> =
            seen.iter().map(|seen| (seen.header("mcp-method"), seen.header("mcp-name"))).collect();
        assert_eq!(
            said,
            [
                (Some("server/discover"), None),
                (Some("tools/call"), Some("=?base64?w6l0w6k=?=")),
                (Some("resources/read"), Some("file:///path/to/file%20name.txt")),
                (Some("prompts/get"), Some("test_prompt")),
                (Some("tasks/get"), Some("t 1")),
            ]
        );
        for seen in seen {
            assert_eq!(seen.method, "POST");
            assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
            assert_eq!(seen.header("content-type"), Some("application/json"));
            assert_eq!(seen.header("accept"), Some("application/json, text/event-stream"));
            assert_eq!(seen.header("mcp-session-id"), None);
            let meta = &seen.message()["params"]["_meta"];
            assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        }
    });
}

#[test]
fn arguments_are_mirrored_in_param_headers() {
    run(async {
        let server = Server::new(|seen| {
            modern(seen).unwrap_or_else(|| match &seen.what()[..] {
                "tools/list" => {
                    let property = |kind, name| json!({"type": kind, "x-mcp-header": name});
                    let deep = json!({"type": "object", "properties": {"x": property("integer", "Deep")}});
                    let good = json!({"type": "object", "properties": {
                        "region": property("string", "Region"), "deep": deep, "on": property("boolean", "On"),
                        "gone": property("string", "Gone"), "plain": {"type": "string"}}});
                    let bad = json!({"type": "object", "properties": {"n": property("number", "N")}});
                    let tools =
                        json!([{"name": "bad", "inputSchema": bad}, {"name": "good", "inputSchema": good}]);
                    json("200 OK", &result(seen, &json!({"tools": tools})))
                }
                _ => json("200 OK", &text(seen, "ok")),
            })
        })
        .await;
        let client = server.connect().await;
        let tools = client.tools().await.unwrap();
        assert_eq!(tools.len(), 1, "a tool that HTTP cannot carry is left out");
        assert_eq!(tools[0].item.name, "good");
        assert!(tools[0].problems[0].contains("\"bad\" was left out"), "{:?}", tools[0].problems);
        let arguments = json!({"region": " é", "deep": {"x": 42}, "on": false, "gone": null, "plain": "p"});
        client.call("good", arguments).await.unwrap();
        let call = &server.of("tools/call")[0];
        assert_eq!(call.header("mcp-param-region"), Some("=?base64?IMOp?="));
        assert_eq!(call.header("mcp-param-deep"), Some("42"));
        assert_eq!(call.header("mcp-param-on"), Some("false"));
        assert_eq!(call.headers.iter().filter(|(name, _)| name.starts_with("mcp-param-")).count(), 3);
    });
}

#[test]
fn a_header_mismatch_lists_the_tools_and_retries_once() {
    run(async {
        let server = Server::new(|seen| {
            modern(seen).unwrap_or_else(|| match &seen.what()[..] {
                "tools/list" => {
                    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}});
                    json("200 OK", &result(seen, &json!({"tools": [{"name": "t", "inputSchema": schema}]})))
                }
                _ if seen.header("mcp-param-a") == Some("right") => json("200 OK", &text(seen, "ok")),
                _ => json("400 Bad Request", &error(seen, -32020, &json!(null))),
            })
        })
        .await;
        let client = server.connect().await;
        assert_eq!(text_of(&client.call("t", json!({"a": "right"})).await.unwrap()), "ok");
        assert_eq!(server.asked(), ["server/discover", "tools/call", "tools/list", "tools/call"]);
        let failed = client.call("t", json!({"a": "wrong"})).await.unwrap_err();
        assert!(matches!(failed.kind(), ErrorKind::Rpc(error) if error.code == -32020), "{failed:?}");
        assert_eq!(server.of("tools/call").len(), 4);
    });
}

#[test]
fn a_dropped_call_closes_its_connection() {
    run(async {
        let server = Server::new(|seen| {
            modern(seen).unwrap_or_else(|| match &seen.message()["params"]["name"] {
                name if name == "silent" => vec![Step::Hold],
                _ => vec![stream_head(), event(&json!({"jsonrpc": "2.0", "method": "x"})), Step::Hold],
            })
        })
        .await;
        let client = server.try_connect(quick()).await.unwrap();
        let failed = client.call("silent", json!({})).await.unwrap_err();
        assert!(matches!(failed.kind(), ErrorKind::TimedOut(_)), "{failed:?}");
        assert_eq!(failed.stage(), "the request was sent; no response arrived");
        server.left(1).await;
        let failed = client.call("streaming", json!({})).await.unwrap_err();
        assert_eq!(failed.stage(), "the response began; the result did not arrive");
        server.left(2).await;
        client.close().await;
        assert_eq!(server.asked(), ["server/discover", "tools/call", "tools/call"]);
    });
}

#[test]
fn progress_arrives_before_the_response_on_its_stream() {
    run(async {
        let server = Server::new(|seen| {
            modern(seen).unwrap_or_else(|| {
                let token = &seen.message()["params"]["_meta"]["progressToken"];
                let progress = |n| json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": n}});
                stream(&[progress(1), progress(2), text(seen, "done")])
            })
        })
        .await;
        let client = server.connect().await;
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let options = papertape::client::CallOptions::new()
            .on_progress(move |progress| sender.send(progress.progress).unwrap());
        assert_eq!(text_of(&client.call_with("t", json!({}), options).await.unwrap()), "done");
        assert_eq!(receiver.try_recv(), Ok(1.0));
        assert_eq!(receiver.try_recv(), Ok(2.0));
    });
}

#[test]
fn a_subscription_is_a_stream_that_outlives_every_time_out() {
    run(async {
        let go_on = std::sync::Arc::new(tokio::sync::Notify::new());
        let resume = std::sync::Arc::clone(&go_on);
        let server = Server::new(move |seen| {
            modern(seen).unwrap_or_else(|| {
                let meta = json!({"io.modelcontextprotocol/subscriptionId": seen.message()["id"]});
                let ack = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                    "params": {"_meta": meta, "notifications": {"toolsListChanged": true}}});
                let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": meta}});
                vec![stream_head(), event(&ack), chunk(": still here\n\n"), Step::Wait(std::sync::Arc::clone(&resume)), event(&changed), Step::Hold]
            })
        })
        .await;
        let client = server.try_connect(quick()).await.unwrap();
        let mut subscription = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
        let later = tokio::time::timeout(QUICK * 2, subscription.next()).await;
        assert!(later.is_err(), "it is still open after twice the timeout: {later:?}");
        go_on.notify_one();
        assert_eq!(subscription.next().await.unwrap(), Some(Change::Tools));
        drop(subscription);
        server.left(1).await;
        client.close().await;
        assert_eq!(server.asked(), ["server/discover", "subscriptions/listen"]);
    });
}

#[test]
fn the_probe_may_be_rejected_with_the_supported_versions() {
    run(async {
        let server = Server::new(|seen| match seen.number {
            0 => {
                let data = json!({"supported": ["2026-07-28"], "requested": "2026-07-28"});
                json("400 Bad Request", &error(seen, -32022, &data))
            }
            _ => discovered(seen),
        })
        .await;
        let client = server.try_connect(ClientOptions::new()).await.unwrap();
        assert!(client.capabilities().tools.is_some());
        assert_eq!(server.asked(), ["server/discover", "server/discover"]);
    });
}
