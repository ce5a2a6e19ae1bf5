//! Sessions: notifications, streams, ids and their end.

use super::{check, is_only};
use crate::finding::Severity;
use crate::http::tests::server::{Ask, Reply};

#[tokio::test]
async fn notifications() {
    let initialized = |ask: &Ask| ask.call() == "notifications/initialized";
    let report = check(move |ask| initialized(ask).then(|| Reply::json(200, &serde_json::json!({})))).await;
    is_only(&report, "PT0813", Severity::Warning, "HTTP 200, not 202");
    let report = check(move |ask| initialized(ask).then(|| Reply::status(500))).await;
    is_only(&report, "PT0813", Severity::Breaks, "HTTP 500");
}

#[tokio::test]
async fn get() {
    let report = check(|ask| (ask.method == "GET").then(|| Reply::status(404))).await;
    is_only(&report, "PT0814", Severity::Warning, "HTTP 404");
    let report = check(|ask| (ask.method == "GET").then(|| Reply::text(200, "text/html", "x"))).await;
    is_only(&report, "PT0814", Severity::Warning, "text/html");
}

#[tokio::test]
async fn unknown_sessions() {
    let unknown = |ask: &Ask| ask.header("mcp-session-id").is_some_and(|id| id.contains("c0ffee"));
    let report = check(move |ask| unknown(ask).then(|| Reply::status(400))).await;
    is_only(&report, "PT0815", Severity::Warning, "HTTP 400, not 404");
    let report = check(move |ask| unknown(ask).then(|| ask.result(&serde_json::json!({})))).await;
    is_only(&report, "PT0815", Severity::Warning, "is served");
}

#[tokio::test]
async fn the_end() {
    let report = check(|ask| (ask.method == "DELETE").then(|| Reply::status(500))).await;
    is_only(&report, "PT0816", Severity::Warning, "HTTP 500");
    let report = check(|ask| (ask.method == "DELETE").then(|| Reply::status(200))).await;
    is_only(&report, "PT0816", Severity::Warning, "goes on");
    let report = check(|ask| (ask.method == "DELETE").then(|| Reply::status(405))).await;
    assert!(
        report.findings.iter().all(|finding| finding.severity == Severity::Note),
        "{:#?}",
        report.findings
    );
}

#[tokio::test]
async fn ids_that_can_be_guessed() {
    let report = check(|ask| {
        if ask.header("mcp-session-id").is_some_and(|id| id != "7") {
            return Some(Reply::status(404));
        }
        match ask.call() {
            "initialize" if ask.header("origin").is_none() && ask.header("host") != Some("evil.example") => {
                let result = serde_json::json!({
                    "protocolVersion": ask.body["params"]["protocolVersion"], "capabilities": {},
                    "serverInfo": {"name": "x", "version": "1"},
                });
                Some(ask.result(&result).header("mcp-session-id", "7"))
            }
            "notifications/initialized" => Some(Reply::status(202)),
            _ if ask.header("mcp-protocol-version") == Some("1999-01-01") => None,
            _ if ask.method == "DELETE" || ask.method == "GET" => Some(Reply::status(405)),
            _ => None,
        }
    })
    .await;
    is_only(&report, "PT0817", Severity::Warning, "guessed");
}

#[tokio::test]
async fn events_with_ids_that_cannot_be_resumed() {
    let with_id = |ask: &Ask| {
        let is_list = ask.call() == "tools/list" && !ask.is_stateless();
        is_list.then(|| {
            let message =
                serde_json::json!({"jsonrpc": "2.0", "id": ask.body["id"], "result": {"tools": []}});
            Reply::events(&format!("id: 5\ndata: {message}\n\n"))
        })
    };
    let report = check(with_id).await;
    is_only(&report, "PT0822", Severity::Warning, "GET is not supported");
    let report = check(move |ask| {
        let resumed = ask.header("last-event-id").is_some();
        if resumed { Some(Reply::events(": nothing\n\n")) } else { with_id(ask) }
    })
    .await;
    assert!(
        report.findings.iter().all(|finding| finding.severity == Severity::Note),
        "{:#?}",
        report.findings
    );
}
