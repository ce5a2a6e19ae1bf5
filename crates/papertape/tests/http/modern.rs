//! Stateless requests, and errors in their bodies and headers: H-01 to H-23, M-02, M-03, M-14.

use serde_json::{Value, json};

use crate::fixture::Site;
use crate::request::{MODERN, Request};
use papertape::http::Options;

fn echo(text: &str) -> Request {
    Request::call(7, "echo", &json!({"text": text}))
}

fn list() -> Request {
    Request::modern(7, "tools/list", &json!({}))
}

/// The response to a table's request: the status, the code, the id.
async fn table(site: &Site, rows: Vec<(&str, Request, u16, i64, Value)>) {
    for (what, request, status, code, id) in rows {
        let answer = site.ask(&request).await;
        assert_eq!(answer.error(), (status, code, id), "{what}: {}", answer.json());
    }
    site.assert_well().await;
}

// H-01
#[tokio::test]
async fn one_message_is_json_and_several_are_events() {
    let mut site = Site::start().await;
    let answer = site.ask(&echo("hello")).await;
    assert_eq!((answer.status, &*answer.version), (200, "HTTP/1.1"));
    assert_eq!(answer.json()["result"]["content"][0]["text"], "hello");
    assert_eq!(answer.header("mcp-session-id"), None);

    let meta = json!({"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"});
    let params = json!({"name": "tell", "arguments": {"text": "half"}, "_meta": meta});
    let mut wire = site.connect().await;
    let head = wire.begin(&Request::modern(8, "tools/call", &params)).await;
    assert_eq!(head.status, 200);
    assert!(head.is_stream(), "{head:?}");
    assert_eq!(head.header("x-accel-buffering"), Some("no"));
    assert_eq!(head.header("cache-control"), Some("no-store"));
    site.began("tell").await;
    let progress = wire.event().await.unwrap();
    assert_eq!(progress.id, None, "there is nothing to come back to");
    assert_eq!(progress.json()["params"]["progressToken"], "p");
    assert_eq!(wire.message().await.unwrap()["params"]["data"], "half");
    site.release(1);
    assert_eq!(wire.message().await.unwrap()["params"]["data"], "after");
    assert_eq!(wire.message().await.unwrap()["id"], 8);
    assert_eq!(wire.message().await, None);
    // The connection goes on.
    assert_eq!(wire.ask(&echo("again")).await.status, 200);
}

// H-02, H-03, H-04, M-14
#[tokio::test]
async fn invalid_bodies_are_rejected() {
    let site = Site::start().await;
    let with = |body: &[u8]| list().body(body);
    let deep = format!("{}1{}", "[".repeat(1_000), "]".repeat(1_000));
    let nothing = Value::Null;
    let request = list().bytes();
    let start = request.windows(2).position(|two| two == b"\n{").unwrap() + 1;
    let body = String::from_utf8(request[start..].to_vec()).unwrap();
    let bom = [b"\xef\xbb\xbf", body.as_bytes()].concat();
    assert_eq!(site.ask(&with(&bom)).await.json()["id"], 7, "as on stdio");
    let rows = vec![
        ("no JSON", with(b"hello"), 400, -32700, nothing.clone()),
        ("nothing", with(b""), 400, -32700, nothing.clone()),
        ("only a mark", with(b"\xef\xbb\xbf"), 400, -32700, nothing.clone()),
        ("no UTF-8", with(b"{\"id\":7,\"x\":\"\xff\xfe\"}"), 400, -32700, nothing.clone()),
        ("UTF-16", with(b"{\0}\0"), 400, -32700, nothing.clone()),
        ("too deep", with(deep.as_bytes()), 400, -32600, nothing.clone()),
        ("two", with(format!("{body}{body}").as_bytes()), 400, -32700, nothing.clone()),
        ("an array", with(format!("[{body}]").as_bytes()), 400, -32600, nothing.clone()),
        ("no array", with(b"[]"), 400, -32600, nothing.clone()),
        ("a number", with(b"1"), 400, -32600, nothing.clone()),
        ("an answer", with(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#), 400, -32600, json!(7)),
        ("no version", with(br#"{"id":7,"method":"tools/list"}"#), 400, -32600, json!(7)),
        ("no id", with(br#"{"jsonrpc":"2.0","id":null,"method":"x"}"#), 400, -32600, nothing.clone()),
        ("twice", with(br#"{"jsonrpc":"2.0","id":7,"id":7,"method":"x"}"#), 400, -32600, nothing),
    ];
    table(&site, rows).await;
}

// From 2025-11-25 on an error without an id has no `id` member; before, it is null.
#[tokio::test]
async fn an_error_without_an_id_follows_the_revision() {
    let site = Site::with(papertape::http::Options::new().legacy_sse(), |server| server).await;
    let get = || Request::new("GET", "/mcp").header("Accept", "text/event-stream");
    let requests = [
        ("no JSON", Request::post("hello"), 400),
        ("a batch", Request::post("[]"), 400),
        ("no session", Request::post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), 400),
        ("no session", get(), 400),
        ("unknown session", get().header("Mcp-Session-Id", "x"), 404),
        ("method", Request::new("PUT", "/mcp"), 405),
        ("content", Request::post("{}").with("Content-Type", "text/plain"), 415),
        ("accept", Request::post("{}").with("Accept", "text/html"), 406),
        ("path", Request::new("GET", "/elsewhere"), 404),
        ("origin", Request::post("{}").header("Origin", "http://evil.example"), 403),
        ("host", Request::post("{}").with("Host", "evil.example"), 403),
        ("too large", Request::post(" ".repeat(5 * 1024 * 1024)), 413),
    ];
    let versions = [
        (None, None),
        (Some("2024-11-05"), Some(Value::Null)),
        (Some("2025-03-26"), Some(Value::Null)),
        (Some("2025-06-18"), Some(Value::Null)),
        (Some("2025-11-25"), None),
        (Some(MODERN), None),
        (Some("3000-01-01"), None),
    ];
    for (what, request, status) in &requests {
        for (version, id) in &versions {
            let request = version
                .iter()
                .fold(request.clone(), |request, version| request.header("MCP-Protocol-Version", *version));
            // A stateless request is rejected for what it lacks, with its own id.
            if *what == "no session" && matches!(version, Some(MODERN | "3000-01-01")) {
                continue;
            }
            let answer = site.ask(&request).await;
            assert_eq!(answer.status, *status, "{what} {version:?}");
            assert_eq!(answer.json().get("id"), id.as_ref(), "{what} {version:?}: {}", answer.json());
        }
    }
}

// H-05
#[tokio::test]
async fn notifications_get_202_without_a_body() {
    let site = Site::start().await;
    for method in ["notifications/cancelled", "notifications/initialized", "no/such", "tools/call"] {
        let note = json!({"jsonrpc": "2.0", "method": method, "params": {"requestId": 7, "name": "panic"}});
        let answer = site.ask(&Request::post(note.to_string()).header("MCP-Protocol-Version", MODERN)).await;
        assert_eq!((answer.status, answer.body.len()), (202, 0), "{method}");
        assert_eq!(answer.header("content-type"), None);
    }
}

// H-06, H-07
#[tokio::test]
async fn the_accept_header_decides_the_response_type() {
    let site = Site::start().await;
    for refused in [
        "application/json",
        "text/event-stream",
        "text/html",
        "application/json, text/event-stream;q=0",
        "application/json;q=0, text/event-stream",
        "application/*, application/json",
        "",
    ] {
        let answer = site.ask(&echo("x").with("Accept", refused)).await;
        assert_eq!(answer.status, 406, "{refused}");
    }
    assert_eq!(site.ask(&echo("x").without("Accept")).await.status, 406);
    for taken in [
        "*/*",
        "application/*, text/*",
        "APPLICATION/JSON, Text/Event-Stream",
        "application/json;q=0.5, text/event-stream;q=0.001",
        "text/html, application/json;charset=utf-8 , text/event-stream",
    ] {
        assert_eq!(site.ask(&echo("x").with("Accept", taken)).await.status, 200, "{taken}");
    }
    let twice = echo("x").with("Accept", "application/json").header("Accept", "text/event-stream");
    assert_eq!(site.ask(&twice).await.status, 200);
}

// H-08, H-09, H-10
#[tokio::test]
async fn only_plain_json_bodies_are_accepted() {
    let mut site = Site::start().await;
    let wait = || Request::call(7, "wait", &json!({"name": "x"}));
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json;charset=utf-16",
        "application/jsonp",
        "application/json-rpc",
        "",
    ] {
        assert_eq!(site.ask(&wait().with("Content-Type", kind)).await.status, 415, "{kind}");
    }
    assert_eq!(site.ask(&wait().without("Content-Type")).await.status, 415);
    assert_eq!(site.ask(&wait().header("Content-Type", "application/json")).await.status, 415);
    for coding in ["gzip", "deflate, gzip", "x"] {
        let bomb = wait().header("Content-Encoding", coding).body(b"\x1f\x8b\x08\0\0\0".to_vec());
        assert_eq!(site.ask(&bomb).await.status, 415, "{coding}");
    }
    site.assert_no_act();
    for kind in ["application/json; charset=utf-8", "Application/JSON;charset=\"UTF-8\""] {
        assert_eq!(site.ask(&echo("x").with("Content-Type", kind)).await.status, 200, "{kind}");
    }
    assert_eq!(site.ask(&echo("x").header("Content-Encoding", "identity")).await.status, 200);
}

// H-11, H-12, H-13, M-02, M-03
#[tokio::test]
async fn the_version_header_must_match_the_body() {
    const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    let site = Site::start().await;
    let version =
        |request: Request, version: Value| request.changed(|body| body["params"]["_meta"][VERSION] = version);
    let without = |name: &'static str| {
        list().changed(|body| {
            body["params"]["_meta"].as_object_mut().unwrap().remove(name);
        })
    };
    let header = |value: &str| list().with("MCP-Protocol-Version", value);
    let id = || json!(7);
    let rows = vec![
        ("no header", list().without("MCP-Protocol-Version"), 400, -32020, id()),
        ("an older header", header("2025-06-18"), 400, -32020, id()),
        ("an unknown header", header("1.0.0"), 400, -32020, id()),
        ("an empty header", header(""), 400, -32020, id()),
        ("two headers", list().header("MCP-Protocol-Version", MODERN), 400, -32020, id()),
        ("another body", version(list(), json!("2025-11-25")), 400, -32020, id()),
        ("an unknown body", version(list(), json!("3000-01-01")), 400, -32020, id()),
        ("no version", without(VERSION), 400, -32602, id()),
        ("no capabilities", without(CAPABILITIES), 400, -32602, id()),
        ("no meta", list().changed(|body| body["params"] = json!({})), 400, -32602, id()),
        ("a number", version(list(), json!(5)), 400, -32602, id()),
        ("both unknown", version(header("3000-01-01"), json!("3000-01-01")), 400, -32022, id()),
        ("both legacy", version(header("2025-06-18"), json!("2025-06-18")), 400, -32022, id()),
    ];
    table(&site, rows).await;
    let unknown = site.ask(&version(header("3000-01-01"), json!("3000-01-01"))).await.json();
    assert_eq!(unknown["error"]["data"]["requested"], "3000-01-01");
    assert!(unknown["error"]["data"]["supported"].as_array().unwrap().contains(&json!(MODERN)), "{unknown}");
}

// H-11, H-20, M-06
#[tokio::test]
async fn a_modern_only_server_has_no_sessions() {
    let site = Site::with(Options::new().modern_only(), |server| server).await;
    for method in ["GET", "DELETE"] {
        let answer = site.ask(&Request::new(method, "/mcp").header("Accept", "text/event-stream")).await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")), "{method}");
    }
    let rows = vec![("no header", list().without("MCP-Protocol-Version"), 400, -32020, json!(7))];
    table(&site, rows).await;
    let answer = site.ask(&crate::request::Session::initialize("2025-06-18", &json!({}))).await;
    assert_eq!((answer.status, &answer.json()["id"]), (400, &json!(0)));
    assert_eq!(answer.header("mcp-session-id"), None);
    assert!(answer.json()["error"]["message"].as_str().unwrap().contains(MODERN), "{}", answer.json());
    assert_eq!(answer.json()["error"]["data"]["supported"], json!([MODERN]));
    // No revision is named that would be refused.
    let discovered = site.ask(&Request::modern(7, "server/discover", &json!({}))).await.json();
    assert_eq!(discovered["result"]["supportedVersions"], json!([MODERN]), "{discovered}");
    for version in ["3000-01-01", "2025-11-25"] {
        let key = "io.modelcontextprotocol/protocolVersion";
        let request = list().changed(|body| body["params"]["_meta"][key] = json!(version));
        let refused = site.ask(&request.with("MCP-Protocol-Version", version)).await.json();
        assert_eq!(refused["error"]["code"], -32022, "{refused}");
        assert_eq!(refused["error"]["data"]["supported"], json!([MODERN]), "{refused}");
        assert!(!refused["error"]["message"].as_str().unwrap().contains("initialize"), "{refused}");
    }
}

// The older transport has sessions, too.
#[tokio::test]
async fn a_modern_only_server_does_not_serve_http_sse() {
    let site = Site::with(Options::new().modern_only().legacy_sse(), |server| server).await;
    let answer = site.ask(&Request::new("GET", "/sse").header("Accept", "text/event-stream")).await;
    assert_eq!(answer.status, 404);
}

// H-19
#[tokio::test]
async fn unknown_methods_are_not_found() {
    let site = Site::start().await;
    let mut rows = Vec::new();
    for method in ["no/such", "ping", "initialize", "logging/setLevel", "resources/subscribe", "rpc.x"] {
        rows.push((method, Request::modern(7, method, &json!({})), 404, -32601, json!(7)));
    }
    table(&site, rows).await;
    // An invalid call of a known method would otherwise look like an unsupported revision.
    let unknown = site.ask(&Request::call(7, "no_such_tool", &json!({}))).await;
    assert_eq!(unknown.error(), (200, -32602, json!(7)));
    assert_eq!(site.ask(&Request::call(7, "panic", &json!({}))).await.error(), (200, -32603, json!(7)));
    // M-19
    assert_eq!(site.ask(&Request::call(7, "ask", &json!({}))).await.error(), (400, -32021, json!(7)));
}

// H-23, H-27
#[tokio::test]
async fn session_headers_are_ignored_in_modern_requests() {
    let site = Site::start().await;
    let session = site.session("2025-11-25").await;
    for id in ["nonsense", &*session.id] {
        let answer = site.ask(&echo("x").header("Mcp-Session-Id", id).header("Last-Event-ID", "0-1")).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("mcp-session-id"), None);
    }
}
