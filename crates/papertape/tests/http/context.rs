//! What handlers know of the HTTP request that they serve, in every mode; notifications and background work on HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::{BodyExt, Full};
use papertape::http::{self, Options};
use papertape::server::Tool;
use papertape::{Cx, Json, Server, ToolError};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::connection::Response;
use crate::fixture::Site;
use crate::request::{MODERN, Request};

fn describe(server: Server) -> Server {
    let any = Tool::new("describe").input_schema(json!({"type": "object"}));
    server.raw_tool(any, async |_: Value, cx: Cx| {
        let parts = cx.http().ok_or("no HTTP request")?;
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        Ok(Json(json!({
            "method": parts.method.as_str(),
            "path": parts.uri.path(),
            "tenant": header("x-tenant"),
            "extension": cx.extension::<Tenant>().map(|tenant| tenant.0),
            "client": cx.client().map(|client| &client.name),
            "roots": cx.client_capabilities().roots.is_some(),
            "session": cx.session_id(),
        })))
    })
}

#[derive(Clone)]
struct Tenant(&'static str);

/// What the handler saw; a slow machine's response is a stream.
fn described(response: &Response) -> Value {
    told(response.messages().last().unwrap())
}

fn told(reply: &Value) -> Value {
    let text = reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply}"));
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn a_handler_sees_the_http_request_in_every_mode() {
    let site = Site::with(Options::new().legacy_sse(), describe).await;
    let request = Request::call(1, "describe", &json!({})).header("X-Tenant", "blue");
    let seen = described(&site.ask(&request).await);
    let expected = json!({"method": "POST", "path": "/mcp", "tenant": "blue", "extension": null,
        "client": null, "roots": false, "session": null});
    assert_eq!(seen, expected);
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = site.session(revision).await;
        let mut ids = Vec::new();
        for tenant in ["red", "green"] {
            let request = session.call(1, "describe", &json!({})).header("X-Tenant", tenant);
            let seen = described(&site.ask(&request).await);
            assert_eq!(seen["tenant"], tenant);
            assert_eq!((&seen["client"], &seen["roots"]), (&json!("t"), &json!(true)), "{revision}");
            ids.push(seen["session"].as_str().unwrap().to_owned());
        }
        assert_eq!(ids[0], ids[1]);
        // The id that handlers see does not open the session.
        assert!(!session.id.contains(&ids[0]));
        let other = site.session(revision).await;
        let seen = described(&site.ask(&other.call(1, "describe", &json!({}))).await);
        assert_ne!(seen["session"], ids[0]);
    }
}

#[tokio::test]
async fn what_a_surrounding_layer_inserts_can_be_read() {
    let service = http::service(describe(Server::new("s", "1"))).unwrap();
    let params = json!({"name": "describe", "_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let request = ::http::Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", MODERN)
        .header("mcp-method", "tools/call")
        .header("mcp-name", "describe")
        .extension(Tenant("green"))
        .body(Full::new(bytes::Bytes::from(body)))
        .unwrap();
    let response = service.answer(request).await;
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(told(&serde_json::from_slice(&body).unwrap())["extension"], "green");
}

#[tokio::test]
async fn notifications_have_a_handler_in_every_mode() {
    let (seen, mut noted) = mpsc::unbounded_channel();
    let site = Site::with(Options::new(), |server| {
        server.notification("notifications/vendor/note", move |note: Value, cx: Cx| {
            let seen = seen.clone();
            async move {
                let tenant = cx.http().and_then(|parts| parts.headers.get("x-tenant")).cloned();
                seen.send((note["n"].clone(), tenant.unwrap().to_str().unwrap().to_owned()))?;
                Ok(())
            }
        })
    })
    .await;
    let note = json!({"jsonrpc": "2.0", "method": "notifications/vendor/note", "params": {"n": 1}});
    let stateless = Request::post(note.to_string())
        .header("MCP-Protocol-Version", MODERN)
        .header("Mcp-Method", "notifications/vendor/note")
        .header("X-Tenant", "blue");
    assert_eq!(site.ask(&stateless).await.status, 202);
    // It has been handled by then.
    assert_eq!(noted.try_recv().unwrap(), (json!(1), "blue".to_owned()));
    let session = site.session("2025-11-25").await;
    let request = session.notify("notifications/vendor/note", &json!({"n": 2})).header("X-Tenant", "red");
    assert_eq!(site.ask(&request).await.status, 202);
    assert_eq!(noted.recv().await.unwrap(), (json!(2), "red".to_owned()));
    site.assert_well().await;
}

#[tokio::test]
async fn methods_of_ones_own_are_called_in_every_mode() {
    let site = Site::with(Options::new(), |server| {
        server.method("vendor/double", async |params: Value, _: Cx| {
            Ok(json!({"n": params["n"].as_u64().ok_or("n must be a number")? * 2}))
        })
    })
    .await;
    let reply = site.ask(&Request::modern(1, "vendor/double", &json!({"n": 2}))).await;
    assert_eq!((reply.status, &reply.json()["result"]["n"]), (200, &json!(4)), "{reply:?}");
    let session = site.session("2025-06-18").await;
    let reply = site.ask(&session.request(1, "vendor/double", &json!({"n": 3}))).await;
    assert_eq!(reply.json()["result"]["n"], 6, "{reply:?}");
    let reply = site.ask(&Request::modern(1, "vendor/unknown", &json!({}))).await;
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (404, &json!(-32601)), "{reply:?}");
}

struct Ending(mpsc::UnboundedSender<&'static str>);

impl Drop for Ending {
    fn drop(&mut self) {
        // The test may be over.
        let _ = self.0.send("ended");
    }
}

fn working(server: Server) -> (Server, Arc<AtomicUsize>, mpsc::UnboundedReceiver<&'static str>) {
    let (events, seen) = mpsc::unbounded_channel();
    let started = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&started);
    let server = server.background(move |_| {
        let events = events.clone();
        count.fetch_add(1, Ordering::Relaxed);
        async move {
            events.send("began").unwrap();
            let _ending = Ending(events);
            std::future::pending().await
        }
    });
    (server, started, seen)
}

#[tokio::test]
async fn background_work_ends_with_the_server() {
    let mut seen = None;
    let mut site = Site::with(Options::new(), |server| {
        let (server, _, events) = working(server);
        seen = Some(events);
        server
    })
    .await;
    let mut seen = seen.unwrap();
    assert_eq!(seen.recv().await, Some("began"));
    site.assert_well().await;
    site.stop();
    site.ended().await;
    assert_eq!(seen.recv().await, Some("ended"));
}

#[tokio::test]
async fn a_mounted_service_works_from_its_first_request_until_it_is_dropped() {
    let (server, started, mut seen) = working(Server::new("s", "1"));
    let service = http::service(server).unwrap();
    assert_eq!(started.load(Ordering::Relaxed), 0);
    for _ in 0..3 {
        let request = ::http::Request::get("/mcp").header("host", "localhost");
        let request = request.body(Full::new(bytes::Bytes::new())).unwrap();
        drop(service.clone().answer(request).await);
    }
    assert_eq!(seen.recv().await, Some("began"));
    assert_eq!(started.load(Ordering::Relaxed), 1);
    drop(service);
    assert_eq!(seen.recv().await, Some("ended"));
}

/// For the `?` in handlers.
#[expect(dead_code, reason = "it only has to compile")]
async fn nested(cx: Cx) -> Result<String, ToolError> {
    Ok(cx.extension::<Tenant>().ok_or("no tenant")?.0.to_owned())
}
