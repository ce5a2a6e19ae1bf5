//! `Host`, `Origin`, methods and paths: H-20 to H-22, H-30 to H-47, H-80.

use papertape::http::Options;
use serde_json::json;

use crate::fixture::Site;
use crate::request::Request;

fn echo() -> Request {
    Request::call(7, "echo", &json!({"text": "x"}))
}

/// A request for every route there is.
fn routes() -> Vec<Request> {
    let get = |path| Request::new("GET", path).header("Accept", "text/event-stream");
    vec![
        echo(),
        get("/mcp"),
        get("/healthz"),
        get("/metrics"),
        get("/sse"),
        Request::post("{}").line("POST /messages?session=x HTTP/1.1"),
        get("/"),
        get("/no/such"),
        get("/.well-known/oauth-protected-resource"),
        Request::new("OPTIONS", "/mcp"),
    ]
}

fn everything() -> Options {
    Options::new().health().metrics().legacy_sse()
}

// H-21, H-22
#[tokio::test]
async fn other_http_methods_get_405() {
    let site = Site::start().await;
    for method in ["PUT", "PATCH", "TRACE", "CONNECT", "FOO", "HEAD", "OPTIONS", "post", "M-SEARCH"] {
        let mut wire = site.connect().await;
        let answer = wire.begin(&Request::new(method, "/mcp")).await;
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(answer.header("allow"), Some("POST, GET, DELETE"), "{method}");
    }
    let preflight = Request::new("OPTIONS", "/mcp").header("Origin", "http://evil.example");
    let preflight = preflight.header("Access-Control-Request-Method", "POST");
    let answer = site.ask(&preflight).await;
    assert_eq!(answer.status, 403);
    assert!(!answer.headers.iter().any(|(name, _)| name.starts_with("access-control")), "{answer:?}");
}

/// A browser restricts pages of other origins to what the CORS headers allow.
#[tokio::test]
async fn an_allowed_origin_can_read_responses() {
    let site = Site::with(Options::new().origin("https://app.example"), |server| server).await;
    let preflight = Request::new("OPTIONS", "/mcp")
        .header("Origin", "https://app.example")
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "mcp-param-region, authorization");
    let answer = site.ask(&preflight).await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(answer.header("access-control-allow-methods"), Some("POST, GET, DELETE"));
    assert_eq!(answer.header("access-control-allow-headers"), Some("mcp-param-region, authorization"));
    let call = Request::modern(1, "tools/list", &json!({}));
    let answer = site.ask(&call.clone().header("Origin", "https://app.example")).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(answer.header("vary"), Some("Origin"));
    // Other origins get no CORS headers, not even the server's own, which needs none.
    for other in [call.clone(), call.header("Origin", "http://localhost")] {
        let answer = site.ask(&other).await;
        assert_eq!(answer.status, 200);
        assert!(!answer.headers.iter().any(|(name, _)| name.starts_with("access-control")), "{answer:?}");
    }
}

// H-30, H-31, H-32, H-34, H-35, H-47
#[tokio::test]
async fn other_origins_are_rejected_on_every_route() {
    let site = Site::with(everything(), |server| server).await;
    let port = site.address.port();
    let own = format!("127.0.0.1:{port}");
    let other = format!("http://127.0.0.1:{}", port ^ 1);
    let nearly = format!("http://{own}.evil.example");
    let user = format!("http://{own}@evil.example");
    let fragment = format!("http://evil.example#{own}");
    let slash = format!("http://{own}/");
    let double = format!("http://{own}, http://{own}");
    let evil = [
        "http://evil.example",
        "https://evil",
        "null",
        "file://",
        "http://127.0.0.1.evil.example",
        "http://localhost.evil",
        "http://evil#127.0.0.1",
        "http://localhost@evil",
        "http://[::1]",
        "chrome-extension://abc",
        "",
        "*",
        &other,
        &nearly,
        &user,
        &fragment,
        &slash,
        &double,
    ];
    for request in routes() {
        let request = request.with("Host", &*own);
        for origin in evil {
            let answer = site.ask(&request.clone().header("Origin", origin)).await;
            assert_eq!(answer.status, 403, "{origin} {request:?}");
        }
        let twice = request.clone().header("Origin", "http://x").header("Origin", format!("http://{own}"));
        assert_eq!(site.ask(&twice).await.status, 403, "{request:?}");
        let far = request.clone().header("Sec-Fetch-Site", "cross-site");
        assert_eq!(site.ask(&far).await.status, 403, "{request:?}");
    }
    // H-33
    let fine = echo().with("Host", &*own).header("Origin", format!("http://{own}"));
    assert_eq!(site.ask(&fine).await.status, 200);
    assert_eq!(site.ask(&fine.with("Host", "localhost")).await.status, 403, "one is not the other");
    site.assert_well().await;
}

// H-40, H-41, H-43, H-44, H-47
#[tokio::test]
async fn other_hosts_are_rejected_on_every_route() {
    let site = Site::with(everything(), |server| server).await;
    let port = site.address.port();
    let with_port = format!("evil.example:{port}");
    for request in routes() {
        for host in [
            "evil.example",
            &with_port,
            "localhost.evil.example",
            "127.0.0.1.nip.io",
            "0.0.0.0",
            "localhost.",
            "127.1",
            "2130706433",
            "[::ffff:127.0.0.1]",
            "127.0.0.01",
            "xn--localhost",
        ] {
            let answer = site.ask(&request.clone().with("Host", host)).await;
            assert_eq!(answer.status, 403, "{host} {request:?}");
        }
        for host in [
            "a@localhost",
            "localhost:99999",
            "localhost:0x50",
            "localhost:+80",
            "localhost:-1",
            "local host",
            "local\thost",
            "localhost,evil.example",
            "localhost/",
            "http://localhost",
            "localh\u{f6}st",
            "",
            "[::1",
            ":80",
        ] {
            let answer = site.ask(&request.clone().with("Host", host)).await;
            assert_eq!(answer.status, 400, "{host} {request:?}");
        }
        assert_eq!(site.ask(&request.clone().without("Host")).await.status, 400, "{request:?}");
        let twice = request.clone().header("Host", "localhost");
        assert_eq!(site.ask(&twice).await.status, 400, "{request:?}");
    }
}

// H-44: what the target says decides, and the header must be there all the same.
#[tokio::test]
async fn targets_that_name_a_host() {
    let site = Site::start().await;
    let to = |target: &str| echo().line(&format!("POST {target} HTTP/1.1"));
    assert_eq!(site.ask(&to("http://localhost/mcp")).await.status, 200);
    for evil in ["http://evil.example/mcp", "http://localhost.evil.example/mcp", "https://127.1/mcp"] {
        assert_eq!(site.ask(&to(evil)).await.status, 403, "{evil}");
    }
    assert_eq!(site.ask(&to("http://a@localhost/mcp")).await.status, 400);
    assert_eq!(site.ask(&to("http://localhost/mcp").with("Host", "evil.example")).await.status, 200);
    assert_eq!(site.ask(&to("http://localhost/mcp").without("Host")).await.status, 400);
    assert_eq!(site.ask(&to("http://localhost/mcp").header("Host", "localhost")).await.status, 400);
}

// H-42
#[tokio::test]
async fn loopback_hosts_are_allowed() {
    let site = Site::start().await;
    let port = site.address.port();
    for host in ["LOCALHOST", "localhost:1", "[::1]", "[::1]:80", "127.0.0.1", &format!("127.0.0.1:{port}")] {
        assert_eq!(site.ask(&echo().with("Host", host)).await.status, 200, "{host}");
    }
    let options = Options::new().host("Tools.Example").origin("https://App.example/");
    let site = Site::with(options, |server| server).await;
    let there = echo().with("Host", "tools.example:8443");
    assert_eq!(site.ask(&there).await.status, 200);
    assert_eq!(site.ask(&there.clone().header("Origin", "https://app.example")).await.status, 200);
    assert_eq!(site.ask(&there.header("Origin", "https://tools.example")).await.status, 403);
}

// H-45, and a second host is rejected in HTTP/2 as in HTTP/1.
#[tokio::test]
async fn the_http_2_authority_is_checked_like_host() {
    let server = papertape::Server::new("x", "1");
    let service = papertape::http::service_with(server, Options::new().health()).unwrap();
    for (target, host, status) in [
        ("http://localhost/healthz", None, 200),
        ("http://localhost/healthz", Some("localhost"), 200),
        ("http://evil.example/healthz", None, 403),
        ("http://evil.example/healthz", Some("localhost"), 403),
        ("http://localhost/healthz", Some("evil.example"), 403),
    ] {
        let mut request = http::Request::get(target).version(http::Version::HTTP_2);
        if let Some(host) = host {
            request = request.header("Host", host);
        }
        let body = http_body_util::Empty::<bytes::Bytes>::new();
        let answer = service.answer(request.body(body).unwrap()).await;
        assert_eq!(answer.status().as_u16(), status, "{target} {host:?}");
    }
}

// H-80
#[tokio::test]
async fn only_the_exact_path_is_served() {
    let site = Site::start().await;
    for path in [
        "//mcp",
        "//mcp/",
        "/MCP",
        "/mcp/../x",
        "/mcp/../mcp",
        "/mcp/%2e%2e/x",
        "/x/../mcp",
        "/%6dcp",
        "/mcp;a",
        "/mcp%00",
        "/mcp%3Fx",
        "/mcp/.",
        "/mcp//",
        "/",
        "/messages?session=x",
        "/sse",
        "/healthz",
        "/metrics",
    ] {
        let answer = site.ask(&echo().line(&format!("POST {path} HTTP/1.1"))).await;
        assert_eq!(answer.status, 404, "{path}");
        let answer = site.ask(&Request::new("GET", path).header("Accept", "*/*")).await;
        assert_eq!(answer.status, 404, "GET {path}");
    }
    for path in ["/mcp?x", "/mcp?", "/mcp?a=/../b", "/mcp/", "/mcp/?x"] {
        assert_eq!(site.ask(&echo().line(&format!("POST {path} HTTP/1.1"))).await.status, 200, "{path}");
    }
    let elsewhere = Site::with(Options::new().path("/a/b"), |server| server).await;
    assert_eq!(elsewhere.ask(&echo().line("POST /a/b HTTP/1.1")).await.status, 200);
    assert_eq!(elsewhere.ask(&echo()).await.status, 404);
}

// The body of a request that is rejected unread is not taken for a request.
#[tokio::test]
async fn the_body_of_a_rejected_request_is_not_parsed_as_a_request() {
    let mut site = Site::start().await;
    let hidden = Request::call(8, "wait", &json!({"name": "smuggled"})).bytes();
    for request in [
        echo().header("Origin", "http://evil.example"),
        echo().line("POST /nowhere HTTP/1.1"),
        echo().with("Content-Type", "text/plain"),
        echo().without("Accept"),
        echo().line("PUT /mcp HTTP/1.1"),
    ] {
        let mut wire = site.connect().await;
        let refused = wire.ask(&request.body(hidden.clone())).await;
        assert!(refused.status >= 400, "{refused:?}");
        if wire.try_send(echo().bytes()).await
            && let Some(next) = wire.try_head().await
        {
            assert_eq!(next.status, 200);
        }
    }
    site.assert_no_act();
}
