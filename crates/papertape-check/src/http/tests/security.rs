//! `Origin`, `Host`, and headers that are compared with the body.

use super::{check, evidence, is_only, only};
use crate::finding::Severity;
use crate::http::tests::server::{Ask, Reply};

#[tokio::test]
async fn any_origin() {
    let report = check(|ask| ask.header("origin").map(|_| ask.result(&serde_json::json!({})))).await;
    is_only(&report, "PT0819", Severity::Warning, "any website can use this server");
    assert!(evidence(only(&report, "PT0819")).contains("origin: http://evil.example"));
    let readable = |ask: &Ask| {
        ask.header("origin")
            .map(|_| ask.result(&serde_json::json!({})).header("access-control-allow-origin", "*"))
    };
    is_only(&check(readable).await, "PT0819", Severity::Warning, "CORS");
}

#[tokio::test]
async fn any_host() {
    let evil = |ask: &Ask| ask.header("host") == Some("evil.example");
    let report = check(move |ask| evil(ask).then(|| ask.result(&serde_json::json!({})))).await;
    is_only(&report, "PT0820", Severity::Warning, "DNS rebinding");
}

#[tokio::test]
async fn headers_that_are_not_compared_with_the_body() {
    let discovered = serde_json::json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 0, "cacheScope": "private",
    });
    let report = check(move |ask| {
        (ask.is_stateless() && ask.header("origin").is_none() && ask.call() == "server/discover")
            .then(|| ask.result(&discovered))
    })
    .await;
    let found: Vec<&str> = report
        .findings
        .iter()
        .filter(|finding| finding.code.name() == "PT0821")
        .map(|finding| finding.message.as_str())
        .collect();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(only(&report, "PT0818").message.contains("stateless"));
}

#[tokio::test]
async fn any_revision_in_the_header() {
    let report = check(|ask| {
        let is_unknown = ask.header("mcp-protocol-version") == Some("1999-01-01") && !ask.is_stateless();
        is_unknown.then(|| ask.result(&serde_json::json!({})))
    })
    .await;
    is_only(&report, "PT0818", Severity::Warning, "1999-01-01");
}

#[tokio::test]
async fn hostile_responses_end() {
    // A stream of events without an end, and a body that never comes.
    let report = check(|ask| (ask.method == "GET").then(|| Reply::open_events(": nothing\n\n"))).await;
    assert!(!report.breaks(), "{:#?}", report.findings);
}
