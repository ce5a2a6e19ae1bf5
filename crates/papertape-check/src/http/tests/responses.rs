//! Responses that clients do not read.

use super::{check, check_url, evidence, is_only, only};
use crate::finding::Severity;
use crate::http::tests::server::{Ask, Reply, Server};
use crate::options::Options;

fn is_list(ask: &Ask) -> bool {
    ask.call() == "tools/list" && !ask.is_stateless()
}

/// A server whose response to `tools/list` is changed.
async fn changed(change: impl Fn(&Ask, String) -> Reply + Send + Sync + 'static) -> crate::report::Report {
    check(move |ask| is_list(ask).then(|| change(ask, ask.result(&serde_json::json!({"tools": []})).body())))
        .await
}

#[tokio::test]
async fn content_types() {
    for (kind, says) in [("text/plain", "`text/plain`"), ("text/html", "a page in HTML")] {
        let report = changed(move |_, body| Reply::text(200, kind, &body)).await;
        is_only(&report, "PT0810", Severity::Breaks, says);
    }
    let report = changed(|_, body| Reply::text(200, "application/json; charset=latin1", &body)).await;
    is_only(&report, "PT0810", Severity::Warning, "latin1");
    let report = changed(|_, body| Reply::text(200, "application/json; charset=UTF-8", &body)).await;
    assert!(!report.findings.iter().any(|finding| finding.code.name() == "PT0810"));
}

#[tokio::test]
async fn bodies_that_are_not_the_response() {
    for (body, says) in [
        ("", "is empty"),
        ("{\"jsonrpc\": ", "is not JSON"),
        ("{\"tools\": []}", "not a JSON-RPC message"),
        ("{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}", "has the id `999`"),
        ("data: {}\n\n", "is declared to be JSON"),
    ] {
        let report = changed(move |_, _| Reply::text(200, "application/json", body)).await;
        is_only(&report, "PT0811", Severity::Breaks, says);
    }
}

#[tokio::test]
async fn streams_that_clients_do_not_read() {
    let report = changed(|_, body| Reply::events(&format!("event: response\ndata: {body}\n\n"))).await;
    is_only(&report, "PT0811", Severity::Breaks, "an event named `response`");
    let report = changed(|_, body| Reply::events(&format!("{body}\n"))).await;
    is_only(&report, "PT0811", Severity::Breaks, "do not begin with `data:`");
    let report = changed(|_, _| Reply::events("data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n")).await;
    is_only(&report, "PT0811", Severity::Breaks, "ends without the response");
    let report = changed(|_, body| Reply::events(&format!("event: message\ndata: {body}\n\n"))).await;
    assert!(!report.breaks(), "{:#?}", report.findings);
}

#[tokio::test]
async fn a_stream_that_stays_open_without_the_response() {
    let server = Server::start(|ask| is_list(ask).then(|| Reply::open_events(": nothing\n\n"))).await;
    let options = Options::default().timeout(std::time::Duration::from_secs(2));
    let report = crate::check_http(&server.url("/mcp"), &[], &options).await;
    assert!(only(&report, "PT0809").message.contains("tools/list"), "{:#?}", report.findings);
}

#[tokio::test]
async fn an_error_status_in_a_session() {
    let report = changed(|_, _| Reply::text(500, "text/plain", "broken")).await;
    is_only(&report, "PT0808", Severity::Breaks, "`tools/list` is refused with HTTP 500");
}

#[tokio::test]
async fn values_of_headers_are_in_no_report() {
    let server = Server::start(|ask| {
        // It repeats the token everywhere.
        let token = ask.header("x-key").unwrap_or_default();
        Some(Reply::text(500, "text/plain", &format!("bad key {token}")).header("www-authenticate", token))
    })
    .await;
    let url = format!("{}?api_key=another-secret", server.url("/mcp"));
    let report = check_url(&url, &[("x-key", "my-secret-key")]).await;
    let text = format!("{}{report:?}", report.findings.iter().map(evidence).collect::<String>());
    assert!(!text.contains("my-secret-key") && !text.contains("another-secret"), "{text}");
    assert!(text.contains("x-key: [redacted]"), "{text}");
    only(&report, "PT0833");
}
