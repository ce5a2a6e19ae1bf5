//! What must not be possible: for other web pages, for other programs without the token, for requests as such.

use std::sync::atomic::Ordering::Relaxed;

use papertape::Server;
use serde_json::json;
use tokio::net::TcpListener;

use crate::client::{Served, TAPE};

/// All routes but those of static files.
const READS: [&str; 9] = [
    "recording",
    "frames",
    "frame?number=2",
    "find?number=2",
    "next",
    "overview?width=9",
    "findings",
    "body?number=2",
    "server",
];
const ACTIONS: [&str; 6] = ["call", "read", "prompt", "app", "connect", "tapes"];

#[tokio::test]
async fn no_route_answers_without_the_token() {
    let page = Served::server(|| Server::new("a", "1")).await;
    let kind = ("content-type", "application/json");
    let other = "0".repeat(64);
    let routes = READS.map(|route| ("GET", route)).into_iter().chain(ACTIONS.map(|route| ("POST", route)));
    for (method, route) in routes {
        let path = format!("/api/{route}");
        let answer = page.send(method, &path, &[kind], b"{}").await;
        assert_eq!(answer.status, 401, "{path}");
        for wrong in
            [other.as_str(), "", "Bearer", page.token.get(..63).unwrap(), &format!("{}0", page.token)]
        {
            let answer = page.send(method, &path, &[kind, ("papertape-token", wrong)], b"{}").await;
            assert_eq!(answer.status, 403, "{path} {wrong}");
        }
        // Neither a cookie nor the URL can have it: those could be sent by another page.
        let path = format!("{path}{}token={}", if path.contains('?') { '&' } else { '?' }, page.token);
        let answer = page
            .send(method, &path, &[kind, ("cookie", &format!("papertape-token={}", page.token))], b"{}")
            .await;
        assert_eq!(answer.status, 401, "{path}");
    }
    assert_eq!(page.connects.load(Relaxed), 1);
    page.stop().await;
}

/// DNS rebinding and 0.0.0.0, as in CVE-2025-49596.
#[tokio::test]
async fn other_hosts_and_origins_are_refused_on_every_route() {
    let page = Served::server(|| Server::new("a", "1")).await;
    let port = page.address.port();
    let evil = [
        ("host", format!("evil.example:{port}")),
        ("host", "evil.example".to_owned()),
        ("host", format!("0.0.0.0:{port}")),
        ("host", "localhost".to_owned()),
        ("origin", "http://evil.example".to_owned()),
        ("origin", "null".to_owned()),
        ("origin", format!("http://localhost:{port}")),
        ("origin", format!("http://0.0.0.0:{port}")),
        ("sec-fetch-site", "cross-site".to_owned()),
        ("sec-fetch-site", "same-site".to_owned()),
    ];
    for path in ["/", "/main.js", "/api/recording", "/api/call", "/api/connect", "/app/0"] {
        for (name, value) in &evil {
            for method in ["GET", "POST", "OPTIONS"] {
                let headers = [
                    ("papertape-token", page.token.as_str()),
                    ("content-type", "application/json"),
                    (*name, value),
                ];
                let answer = page.send(method, path, &headers, b"{}").await;
                assert_eq!(answer.status, 403, "{method} {path} {name}: {value}");
                assert!(!answer.head.to_lowercase().contains("access-control"), "{}", answer.head);
            }
        }
    }
    assert_eq!(page.connects.load(Relaxed), 1);
    page.stop().await;
}

/// What a form of another page can send, and what debuggers have started processes from.
#[tokio::test]
async fn no_request_starts_a_process_that_the_command_line_does_not_name() {
    let page = Served::server(|| Server::new("a", "1")).await;
    let command = json!({"command": "touch", "args": ["pwned"], "transportType": "stdio", "serverConfig": {"command": "touch"}});
    for path in [
        "/api/mcp/connect",
        "/sse?transportType=stdio&command=touch&args=pwned",
        "/stdio?command=touch",
        "/mcp?command=touch",
        "/api/start",
        "/api/server",
        "/api/connect?command=touch",
    ] {
        let answer = page.post(path, &command).await;
        assert!(matches!(answer.status, 404 | 405 | 409), "{path}: {answer:?}");
    }
    // A running server is not started again, whatever the request says.
    assert_eq!(page.post("/api/connect", &command).await.status, 409);
    assert_eq!(page.connects.load(Relaxed), 1);
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a"] {
        let headers = [("papertape-token", page.token.as_str()), ("content-type", kind)];
        assert_eq!(page.send("POST", "/api/connect", &headers, b"{}").await.status, 415, "{kind}");
    }
    page.stop().await;
}

#[tokio::test]
async fn no_request_names_a_file() {
    let page = Served::tape(TAPE).await;
    let secret = page.folder.path().join("secret.tape");
    std::fs::write(&secret, "papertape 1\n1 > - line SECRET\n").unwrap();
    let secret = secret.to_str().unwrap();
    for path in [
        format!("/api/frames?tape={secret}"),
        format!("/api/recording?file={secret}"),
        format!("/{secret}"),
        "/../Cargo.toml".to_owned(),
        "/..%2fCargo.toml".to_owned(),
        "/page/index.html".to_owned(),
        "/app/../main.js".to_owned(),
        "/api/frames?tape=1".to_owned(),
        "/api/frames?tape=-1".to_owned(),
    ] {
        let answer = page.get(&path).await;
        assert!(!String::from_utf8_lossy(&answer.body).contains("SECRET"), "{path}");
        assert!(matches!(answer.status, 200 | 400 | 404), "{path}: {answer:?}");
    }
    page.stop().await;
}

#[tokio::test]
async fn methods_and_bodies_are_bounded() {
    let page = Served::tape(TAPE).await;
    let token = [("papertape-token", page.token.as_str())];
    for (method, path) in [
        ("POST", "/"),
        ("PUT", "/main.js"),
        ("DELETE", "/api/frames"),
        ("GET", "/api/call"),
        ("OPTIONS", "/api/call"),
    ] {
        assert_eq!(page.send(method, path, &token, b"").await.status, 405, "{method} {path}");
    }
    let headers = [("papertape-token", page.token.as_str()), ("content-type", "application/json")];
    let large = vec![b' '; 17 * 1024 * 1024];
    assert_eq!(page.send("POST", "/api/call", &headers, &large).await.status, 413);
    let long = "x".repeat(2_000);
    assert_eq!(page.get(&format!("/api/frames?q={long}")).await.status, 400);
    let rows = page.get("/api/frames?count=18446744073709551615").await.json();
    assert_eq!(rows["rows"].as_array().unwrap().len(), 7);
    page.stop().await;
}

/// CVE-2026-23744: a debugger that listened on all interfaces.
#[tokio::test]
async fn only_loopback_is_listened_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tape");
    std::fs::write(&path, TAPE).unwrap();
    let page = papertape_page::Page::of_tape(&path, false).unwrap();
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let error = page.serve(listener, std::future::pending()).await.unwrap_err();
    assert!(error.to_string().contains("not a loopback address"), "{error}");
}

#[tokio::test]
async fn every_response_has_the_policy() {
    let page = Served::tape(TAPE).await;
    for path in
        ["/", "/main.js", "/style.css", "/api/recording", "/api/body?number=2", "/nothing", "/api/nothing"]
    {
        let answer = page.get(path).await;
        let policy = answer.header("content-security-policy").unwrap_or_else(|| panic!("{path}"));
        assert!(policy.starts_with("default-src 'none';"), "{path}: {policy}");
        for part in [
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(answer.header("x-dns-prefetch-control"), Some("off"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        assert!(!answer.head.to_lowercase().contains("access-control"), "{path}");
    }
    // Bytes of a peer are never a document.
    let body = page.get("/api/body?number=2").await;
    assert_eq!(body.header("content-type"), Some("application/octet-stream"));
    page.stop().await;
}
