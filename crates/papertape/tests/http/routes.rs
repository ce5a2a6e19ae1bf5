//! Around a server on HTTP: other routes, tapes, traces, applications it is mounted in, scopes.

use std::path::PathBuf;

use papertape::Server;
use papertape::http::{Auth, Keys, NewKey, Options};
use papertape::server::ResourceTemplate;
use papertape::wire::tape::{self, Direction};
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;

use crate::connection::{Response, Wire};
use crate::fixture::Site;
use crate::request::Request;

#[tokio::test]
async fn health_and_metrics_are_opt_in_and_check_host_and_origin() {
    let site = Site::start().await;
    for path in ["/healthz", "/metrics"] {
        assert_eq!(site.ask(&Request::new("GET", path)).await.status, 404, "{path}");
    }
    let site = Site::with(Options::new().health().metrics(), |server| server).await;
    let health = site.ask(&Request::new("GET", "/healthz")).await;
    assert_eq!((health.status, &*health.body), (200, &b"ok\n"[..]));
    let lines = |response: &Response| String::from_utf8_lossy(&response.body).lines().count();
    let before = lines(&site.ask(&Request::new("GET", "/metrics")).await);
    // Unknown methods are counted under one label.
    for number in 0..50 {
        let method = format!("made/up{number}\"}}\n# EOF\nevil 1");
        let request = Request::modern(1, "x", &json!({})).changed(|body| body["method"] = json!(method));
        assert_eq!(site.ask(&request).await.status, 400);
    }
    let metrics = site.ask(&Request::new("GET", "/metrics")).await;
    let text = String::from_utf8(metrics.body.clone()).unwrap();
    assert!(metrics.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    assert!(text.contains("papertape_http_responses_total{status=\"400\"} 50"), "{text}");
    assert!(text.contains("papertape_request_seconds_count{method=\"other\"} 50"), "{text}");
    // A status that was not there before is all that is new.
    assert_eq!(lines(&metrics), before + 1, "{text}");
    assert!(!text.contains("made") && !text.contains("evil"), "{text}");
    for path in ["/healthz", "/metrics"] {
        let evil = Request::new("GET", path).header("Origin", "http://evil.example");
        assert_eq!(site.ask(&evil).await.status, 403);
        assert_eq!(site.ask(&Request::new("GET", path).with("Host", "evil.example")).await.status, 403);
        assert_eq!(site.ask(&Request::new("DELETE", path)).await.status, 404);
        let mut wire = site.connect().await;
        let head = wire.begin(&Request::new("HEAD", path)).await;
        assert_eq!(head.status, 200);
    }
}

#[tokio::test]
async fn a_tape_has_every_message_both_ways() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("http-{}.tape", std::process::id()));
    let mut site = Site::with(Options::new().tape(&path), |server| server).await;
    site.assert_well().await;
    let session = site.session("2025-11-25").await;
    let mut wire = site.connect().await;
    wire.begin(&session.call(5, "wait", &json!({"name": "x"}))).await;
    site.began("x").await;
    site.release(1);
    assert_eq!(wire.message().await.unwrap()["id"], 5);
    site.ask(&Request::post("no JSON")).await;
    let text = std::fs::read_to_string(&path).unwrap();
    let entries = tape::read(&text).unwrap();
    let sent = |direction, part: &str| {
        let mut frames = entries.iter().filter_map(tape::Entry::as_frame);
        frames.any(|(of, bytes)| of == direction && String::from_utf8_lossy(bytes).contains(part))
    };
    for (direction, part) in [
        (Direction::ToServer, "\"text\":\"well\""),
        (Direction::ToClient, "\"id\":77"),
        (Direction::ToServer, "\"method\":\"initialize\""),
        (Direction::ToClient, "\"protocolVersion\":\"2025-11-25\""),
        (Direction::ToServer, "\"name\":\"wait\""),
        (Direction::ToClient, "done x"),
        (Direction::ToServer, "no JSON"),
        (Direction::ToClient, "-32700"),
    ] {
        assert!(sent(direction, part), "{direction:?} {part}\n{text}");
    }
    // Each request has a number, two heads, and its bodies between and after them.
    for exchange in 1..=4 {
        let of_exchange = entries.iter().filter_map(|entry| match entry {
            tape::Entry::Record(record) if record.exchange == Some(exchange) => Some(&record.content),
            _ => None,
        });
        let kinds: Vec<(bool, Direction)> = of_exchange
            .map(|content| match content {
                tape::Content::Head(direction, _) => (true, *direction),
                tape::Content::Frame(direction, _) => (false, *direction),
                other => panic!("{other:?}"),
            })
            .collect();
        let begin = [(true, Direction::ToServer), (false, Direction::ToServer), (true, Direction::ToClient)];
        assert!(kinds.starts_with(&begin), "{kinds:?}\n{text}");
        assert!(kinds[3..].iter().all(|kind| *kind == (false, Direction::ToClient)), "{kinds:?}\n{text}");
    }
    for part in [
        "head POST /mcp HTTP/1.1⟦0d 0a⟧",
        "head HTTP/1.1 200 OK⟦0d 0a⟧",
        "head HTTP/1.1 400 Bad Request⟦0d 0a⟧",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(text.contains(&format!("mcp-session-id: {}", session.id)), "{text}");
}

#[tokio::test]
async fn a_trace_is_passed_on() {
    let site = Site::start().await;
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let with = |meta: &serde_json::Value| {
        Request::modern(1, "tools/call", &json!({"name": "trace", "arguments": {}, "_meta": meta}))
    };
    let text = |answer: &crate::connection::Response| {
        answer.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let meta = json!({"traceparent": parent, "tracestate": "a=b", "baggage": "k=v"});
    let traced = text(&site.ask(&with(&meta)).await);
    assert!(traced.contains(parent) && traced.contains("a=b") && traced.contains("k=v"), "{traced}");
    assert_eq!(text(&site.ask(&with(&json!({}))).await), "none");
    for bad in [json!(5), json!(null), json!({"a": 1}), json!("x".repeat(100_000))] {
        let answer = site.ask(&with(&json!({"traceparent": bad}))).await;
        assert!(answer.status == 200 && answer.body.len() < 200_000, "{}", answer.status);
    }
}

/// A server as a service.
fn mounted(options: Options) -> papertape::http::HttpService {
    let server = Server::new("mounted", "1").raw_tool(
        papertape::server::Tool::new("echo").input_schema(json!({"type": "object"})),
        |arguments: serde_json::Value, _| async move { Ok(arguments.to_string()) },
    );
    papertape::http::service_with(server, options).unwrap()
}

/// An application with a page of its own, and MCP where the second argument mounts it.
async fn application(
    options: Options,
    mount: fn(axum::Router, papertape::http::HttpService) -> axum::Router,
) -> std::net::SocketAddr {
    let page = axum::routing::get(|| async { "a page" });
    let app = mount(axum::Router::new().route("/page", page), mounted(options));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

#[tokio::test]
async fn a_server_can_be_mounted_in_an_application() {
    let address = application(Options::new().body(100_000), axum::Router::fallback_service).await;
    let ask = |request: Request| async move { Wire::connect(address).await.ask(&request).await };
    assert_eq!(ask(Request::new("GET", "/page")).await.body, b"a page");
    let echo = |text: &str| Request::call(1, "echo", &json!({"text": text}));
    assert_eq!(ask(echo("x")).await.json()["result"]["content"][0]["text"], "{\"text\":\"x\"}");
    assert_eq!(ask(echo("x").with("Host", "evil.example")).await.status, 403);
    assert_eq!(ask(echo(&"x".repeat(200_000))).await.status, 413);
    assert_eq!(ask(Request::new("GET", "/nowhere")).await.status, 404);
    // Streams pass.
    let listen =
        Request::modern(1, "subscriptions/listen", &json!({"notifications": {"toolsListChanged": true}}));
    let mut wire = Wire::connect(address).await;
    assert!(wire.begin(&listen).await.is_stream());
    assert_eq!(wire.message().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
    let opened = ask(crate::request::Session::initialize("2025-06-18", &json!({}))).await;
    assert!(opened.header("mcp-session-id").is_some());
}

// docs/http.md, "Mount in an axum app".
#[tokio::test]
async fn a_server_can_be_mounted_at_a_path_of_an_application() {
    let addresses = [
        application(Options::new(), |app, mcp| app.route_service("/mcp", mcp)).await,
        application(Options::new().path("/"), |app, mcp| app.nest_service("/mcp", mcp)).await,
    ];
    for address in addresses {
        let echo = Request::call(1, "echo", &json!({"text": "x"}));
        let response = Wire::connect(address).await.ask(&echo).await;
        assert_eq!(response.json()["result"]["content"][0]["text"], "{\"text\":\"x\"}");
        let page = Wire::connect(address).await.ask(&Request::new("GET", "/page")).await;
        assert_eq!(page.body, b"a page");
    }
}

#[tokio::test]
async fn a_mounted_server_has_the_endpoints_that_its_options_say() {
    type Mount = fn(axum::Router, papertape::http::HttpService) -> axum::Router;
    let nested: Mount = |app, mcp| app.nest_service("/api", mcp);
    let fallback: Mount = axum::Router::fallback_service;
    for (options, mount, served, refused) in [
        (Options::new(), nested, &["/api", "/api/mcp"][..], &["/", "/mcp", "/api/api"][..]),
        (Options::new().path("/"), nested, &["/api"], &["/api/mcp", "/"]),
        (Options::new().only_at_path(), nested, &["/api/mcp"], &["/api", "/"]),
        (Options::new(), fallback, &["/mcp", "/"], &["/mcp/mcp"]),
        (Options::new().only_at_path(), fallback, &["/mcp", "/mcp/"], &["/", "/mcp/mcp"]),
    ] {
        let address = application(options, mount).await;
        let status = async |path: &str| {
            let echo = Request::call(1, "echo", &json!({"text": "x"}));
            let echo = echo.line(&format!("POST {path} HTTP/1.1"));
            Wire::connect(address).await.ask(&echo).await.status
        };
        for path in served {
            assert_eq!(status(path).await, 200, "{path}");
        }
        for path in refused {
            assert_eq!(status(path).await, 404, "{path}");
        }
    }
}

#[derive(Deserialize)]
struct Number {
    number: u8,
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

// A URI that fits two templates is read by the second if the first fails: then the second's scopes apply.
#[tokio::test]
async fn a_template_does_not_bypass_the_scopes_of_another() {
    let (open, trusted) = (
        NewKey::generate("open", [], None).unwrap(),
        NewKey::generate("trusted", ["secrets".to_owned()], None).unwrap(),
    );
    let keys = Keys::parse(&format!("{}{}", open.entry(), trusted.entry())).unwrap();
    let site = Site::with(Options::new().auth(Auth::new().keys(keys)), |server| {
        server
            .resource_template(ResourceTemplate::new("vault:{number}"), |number: Number, _| async move {
                Ok(number.number.to_string())
            })
            .resource_template(
                ResourceTemplate::new("vault:{name}").scopes(["secrets"]),
                |name: Name, _| async move { Ok(format!("the secret of {}", name.name)) },
            )
    })
    .await;
    let read = |key: &NewKey, uri: &str| {
        let request = Request::modern(1, "resources/read", &json!({"uri": uri}));
        request.header("Authorization", format!("Bearer {}", key.secret()))
    };
    let response = site.ask(&read(&trusted, "vault:bob")).await;
    assert_eq!(response.json()["result"]["contents"][0]["text"], "the secret of bob");
    let refused = site.ask(&read(&open, "vault:bob")).await;
    assert_eq!(refused.status, 403, "{}", String::from_utf8_lossy(&refused.body));
}
