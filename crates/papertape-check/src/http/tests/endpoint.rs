//! URLs at which MCP does not answer, or not by Streamable HTTP.

use serde_json::json;

use super::{check, check_url, evidence, is_only, only};
use crate::finding::Severity;
use crate::http::tests::server::{Reply, Server};

#[tokio::test]
async fn another_path() {
    let server = Server::start(|_| None).await;
    let report = check_url(&server.url("/"), &[]).await;
    is_only(&report, "PT0807", Severity::Breaks, "HTTP 404");
    assert!(only(&report, "PT0807").remedy.contains(&server.url("/mcp")));
}

/// Servers say so with an error of their own.
#[tokio::test]
async fn another_path_with_an_error() {
    let error = json!({"jsonrpc": "2.0", "error": {"code": -32600, "message": "MCP is elsewhere"}});
    let server = Server::start(move |ask| (ask.path == "/").then(|| Reply::json(404, &error))).await;
    let report = check_url(&server.url("/"), &[]).await;
    is_only(&report, "PT0807", Severity::Breaks, "`MCP is elsewhere`");
    assert!(only(&report, "PT0807").remedy.contains(&server.url("/mcp")));
}

#[tokio::test]
async fn a_page() {
    let report = check(|_| Some(Reply::text(200, "text/html; charset=utf-8", "<html>Sign in</html>"))).await;
    is_only(&report, "PT0807", Severity::Breaks, "a page in HTML");
    assert!(evidence(only(&report, "PT0807")).contains("Sign in"));
}

#[tokio::test]
async fn a_server_that_fails() {
    for (status, remedy) in [(500, "log of the server"), (502, "proxy"), (406, "Accept"), (403, "`Host`")] {
        let report = check(move |_| Some(Reply::text(status, "text/plain", "oh no"))).await;
        is_only(&report, "PT0808", Severity::Breaks, &format!("HTTP {status}: `oh no`"));
        assert!(only(&report, "PT0808").remedy.contains(remedy), "{status}");
    }
}

#[tokio::test]
async fn redirects() {
    let redirect = |status| {
        Server::start(move |ask| {
            (ask.path == "/mcp/").then(|| Reply::status(status).header("location", "/mcp"))
        })
    };
    let server = redirect(301).await;
    let report = check_url(&server.url("/mcp/"), &[]).await;
    is_only(&report, "PT0812", Severity::Warning, "HTTP 301");
    assert_eq!(report.server.tools, 1);
    let server = redirect(307).await;
    let report = check_url(&server.url("/mcp/"), &[]).await;
    is_only(&report, "PT0812", Severity::Note, "HTTP 307");
    let report = check(|_| Some(Reply::status(308).header("location", "/mcp"))).await;
    assert!(report.findings.iter().any(|finding| finding.message.contains("again and again")));
}

#[tokio::test]
async fn tokens_do_not_follow_a_redirect_to_another_host() {
    let other = Server::start(|ask| ask.header("authorization").map(|_| Reply::status(599))).await;
    // The same machine under another name is another host.
    let location = other.url("/mcp").replace("127.0.0.1", "localhost");
    let server = Server::start(move |_| Some(Reply::status(307).header("location", &location))).await;
    let report = check_url(&server.url("/mcp"), &[("Authorization", "Bearer secret-token")]).await;
    let all = format!("{report:?}");
    assert!(!all.contains("599") && !all.contains("secret-token"), "{all}");
}

#[tokio::test]
async fn http_sse_only() {
    let server = Server::start(|ask| {
        Some(match (ask.method.as_str(), ask.path.as_str()) {
            ("GET", "/sse") => Reply::open_events(concat!(
                "event: endpoint\ndata: /messages?s=1\n\n",
                "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"protocolVersion\":\"2024-11-05\",",
                "\"capabilities\":{},\"serverInfo\":{\"name\":\"old\",\"version\":\"1\"}}}\n\n",
                "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"protocolVersion\":\"2024-11-05\",",
                "\"capabilities\":{},\"serverInfo\":{\"name\":\"old\",\"version\":\"1\"}}}\n\n",
                "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}\n\n",
            )),
            ("POST", "/messages?s=1") => Reply::status(202),
            _ => Reply::json(405, &json!({"detail": "Method Not Allowed"})),
        })
    })
    .await;
    let report = check_url(&server.url("/sse"), &[]).await;
    is_only(&report, "PT0824", Severity::Warning, "HTTP+SSE");
    assert_eq!((report.server.name.as_deref(), report.server.revisions.len()), (Some("old"), 1));
    // The hint of another URL.
    let report = check_url(&server.url("/mcp"), &[]).await;
    is_only(&report, "PT0807", Severity::Breaks, "HTTP 405");
    assert!(only(&report, "PT0807").remedy.contains("/sse"));
}
