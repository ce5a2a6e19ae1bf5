//! Shutdown: running requests get a response, subscriptions end with a result (G9).

use papertape::Cx;
use papertape::http::Options;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::fixture::Site;
use crate::request::Request;

fn listen(id: u64) -> Request {
    Request::modern(id, "subscriptions/listen", &json!({"notifications": {"toolsListChanged": true}}))
}

#[tokio::test]
async fn shutdown_answers_running_requests_and_ends_subscriptions() {
    let mut site = Site::with(Options::new().legacy_sse(), |server| server).await;
    let session = site.session("2025-11-25").await;
    let (mut calls, mut older, mut listening) = (Vec::new(), Vec::new(), Vec::new());
    for id in 0..50 {
        let mut wire = site.connect().await;
        wire.send(Request::call(id, "wait", &json!({"name": "x"})).bytes()).await;
        site.began("x").await;
        calls.push(wire);
        let mut wire = site.connect().await;
        wire.begin(&session.call(id, "wait", &json!({"name": "x"}))).await;
        site.began("x").await;
        older.push(wire);
        let mut wire = site.connect().await;
        wire.begin(&listen(id)).await;
        assert_eq!(wire.message().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
        listening.push(wire);
    }
    let mut stream = site.connect().await;
    stream.begin(&session.get()).await;
    let mut old = site.connect().await;
    old.begin(&Request::new("GET", "/sse").header("Accept", "text/event-stream")).await;
    old.event().await.unwrap();
    site.stop();
    for (id, wire) in listening.iter_mut().enumerate() {
        let end = wire.message().await.unwrap();
        assert_eq!(end["id"], id, "{end}");
        assert_eq!(end["result"]["resultType"], "complete", "{end}");
        assert_eq!(wire.message().await, None);
    }
    assert_eq!(stream.message().await, None);
    assert_eq!(old.message().await, None);
    site.release(100);
    for (id, mut wire) in calls.into_iter().enumerate() {
        let answer = wire.response().await.json();
        assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(id), &json!("done x")));
    }
    for (id, mut wire) in older.into_iter().enumerate() {
        let answer = wire.message().await.unwrap();
        assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(id), &json!("done x")));
        assert_eq!(wire.message().await, None);
    }
    site.ended().await;
}

// A subscription that begins during shutdown ends like earlier ones.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_request_during_shutdown_does_not_hang() {
    for _ in 0..20 {
        let mut site = Site::start().await;
        let mut wires = Vec::new();
        for _ in 0..8 {
            let mut wire = site.connect().await;
            // The server knows the connection.
            assert_eq!(wire.ask(&Request::modern(1, "tools/list", &json!({}))).await.status, 200);
            wires.push(wire);
        }
        let late = wires.into_iter().map(|mut wire| {
            tokio::spawn(async move {
                wire.try_send(listen(5).bytes()).await;
                // It was served, got an error, or could not connect.
                let Some(head) = wire.try_head().await else { return };
                assert_eq!(head.status, 200);
                let mut last = None;
                while let Some(message) = wire.message().await {
                    last = Some(message);
                }
                assert_eq!(last.unwrap()["id"], 5);
            })
        });
        let late: Vec<_> = late.collect();
        site.stop();
        for one in late {
            one.await.unwrap();
        }
        site.ended().await;
    }
}

// A subscription on the HTTP+SSE transport ends like one on Streamable HTTP.
#[tokio::test]
async fn subscriptions_on_http_sse_end_too() {
    let mut site = Site::with(Options::new().legacy_sse(), |server| server).await;
    let mut wire = site.connect().await;
    wire.begin(&Request::new("GET", "/sse").header("Accept", "text/event-stream")).await;
    let address = wire.event().await.unwrap().data.unwrap();
    let said = listen(5).line(&format!("POST {address} HTTP/1.1"));
    assert_eq!(site.ask(&said).await.status, 202);
    assert_eq!(wire.message().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
    site.stop();
    assert_eq!(wire.message().await.unwrap()["id"], 5);
    assert_eq!(wire.message().await, None);
    site.ended().await;
}

// Every request gets one response, also one that waits for its client when the grace period ends.
#[tokio::test]
async fn requests_beyond_the_grace_period_get_an_error() {
    let limits = papertape::server::Limits {
        grace: std::time::Duration::from_secs(2),
        ..papertape::server::Limits::default()
    };
    let mut site = Site::with(Options::new().legacy_sse(), |server| server.limits(limits)).await;
    let session = site.session("2025-11-25").await;
    let mut parked = site.connect().await;
    parked.begin(&session.call(1, "ask", &json!({}))).await;
    assert_eq!(parked.message().await.unwrap()["method"], "elicitation/create");
    let mut older = site.connect().await;
    older.begin(&session.call(2, "wait", &json!({"name": "x"}))).await;
    site.began("x").await;
    let mut modern = site.connect().await;
    modern.send(Request::call(3, "wait", &json!({"name": "x"})).bytes()).await;
    site.began("x").await;
    site.stop();
    let assert_ended = |answer: &serde_json::Value, id: u64| {
        let message = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(answer["id"] == id && message.contains("shutting down"), "{answer}");
    };
    assert_ended(&parked.message().await.unwrap(), 1);
    assert_ended(&older.message().await.unwrap(), 2);
    assert_eq!(older.message().await, None);
    assert_ended(&modern.response().await.json(), 3);
    site.ended().await;
}

// The same where an application accepts the connections, which waits for what is open.
#[tokio::test]
async fn a_mounted_server_ends_its_calls_and_background_work_after_the_grace_period() {
    struct Working(mpsc::UnboundedSender<&'static str>);
    impl Drop for Working {
        fn drop(&mut self) {
            self.0.send("dropped").unwrap_or_default();
        }
    }
    let limits = papertape::server::Limits {
        grace: std::time::Duration::from_secs(1),
        ..papertape::server::Limits::default()
    };
    let (working, mut worked) = mpsc::unbounded_channel();
    let (mut site, mcp) = Site::mounted(|server| {
        server.limits(limits).background(move |_| {
            let working = Working(working.clone());
            async move {
                working.0.send("began").unwrap();
                std::future::pending().await
            }
        })
    })
    .await;
    let session = site.session("2025-11-25").await;
    assert_eq!(worked.recv().await, Some("began"));
    let mut parked = site.connect().await;
    parked.begin(&session.call(1, "ask", &json!({}))).await;
    assert_eq!(parked.message().await.unwrap()["method"], "elicitation/create");
    let mut modern = site.connect().await;
    modern.send(Request::call(3, "wait", &json!({"name": "x"})).bytes()).await;
    site.began("x").await;
    site.stop();
    let ended = parked.message().await.unwrap();
    assert!(ended["error"]["message"].as_str().unwrap().contains("shutting down"), "{ended}");
    assert_eq!(parked.message().await.unwrap()["method"], "notifications/cancelled");
    assert_eq!(parked.message().await, None);
    assert_eq!(modern.response().await.json()["error"]["code"], -32603);
    site.ended().await;
    // A clone of the service is still there, but nothing works for it any more, and nothing begins that would wait.
    assert_eq!(worked.recv().await, Some("dropped"));
    let late = Request::call(4, "wait", &json!({"name": "x"})).handed_on();
    assert_eq!(mcp.answer(late).await.status(), 200);
    assert!(worked.try_recv().is_err());
}

// The response to a notification of a stateless revision comes when its handler is done.
#[tokio::test]
async fn a_mounted_server_ends_the_handlers_of_notifications_too() {
    struct Handling(mpsc::UnboundedSender<&'static str>);
    impl Drop for Handling {
        fn drop(&mut self) {
            self.0.send("dropped").unwrap_or_default();
        }
    }
    let limits = papertape::server::Limits {
        grace: std::time::Duration::from_secs(1),
        ..papertape::server::Limits::default()
    };
    let (handling, mut handled) = mpsc::unbounded_channel();
    let (mut site, _mcp) = Site::mounted(|server| {
        server.limits(limits).notification("notifications/vendor/endless", move |_: Value, _: Cx| {
            let handling = Handling(handling.clone());
            async move {
                handling.0.send("began").unwrap();
                std::future::pending().await
            }
        })
    })
    .await;
    let note = || {
        let note = json!({"jsonrpc": "2.0", "method": "notifications/vendor/endless", "params": {}});
        Request::post(note.to_string()).header("MCP-Protocol-Version", "2026-07-28")
    };
    let mut gone = site.connect().await;
    gone.send(note().bytes()).await;
    assert_eq!(handled.recv().await, Some("began"));
    gone.reset();
    assert_eq!(handled.recv().await, Some("dropped"), "its client has gone");
    let mut wire = site.connect().await;
    wire.send(note().bytes()).await;
    assert_eq!(handled.recv().await, Some("began"));
    site.stop();
    assert_eq!(wire.response().await.status, 202);
    assert_eq!(handled.recv().await, Some("dropped"));
    site.ended().await;
}
