//! Calls of tools, and what else is asked of a server in a session.

use std::time::Duration;

use serde_json::{Value, json};

use super::healthy::{is_healthy, serve};
use super::server::{Ask, Reply, Server};
use super::{is_only, only};
use crate::finding::Severity;
use crate::http::check_http;
use crate::options::Options;
use crate::report::Report;

/// A server with a read-only tool `add`, whose calls are answered as the closure says.
async fn calls(answer: impl Fn(&Ask, &Value) -> Reply + Send + Sync + 'static) -> Report {
    let options = Options::default().timeout(Duration::from_secs(30));
    calls_with(options, answer).await
}

async fn calls_with(
    options: Options,
    answer: impl Fn(&Ask, &Value) -> Reply + Send + Sync + 'static,
) -> Report {
    serve_tool(true, options, answer).await
}

async fn serve_tool(
    read_only: bool,
    options: Options,
    answer: impl Fn(&Ask, &Value) -> Reply + Send + Sync + 'static,
) -> Report {
    let integer = json!({"type": "integer", "description": "A number."});
    let schema = json!({"type": "object", "properties": {"a": integer}, "required": ["a"]});
    let tool = json!({
        "name": "add", "description": "Adds one.", "inputSchema": schema, "annotations": {"readOnlyHint": read_only},
    });
    let server = Server::start(move |ask| {
        let params = &ask.body["params"];
        match (ask.call(), ask.is_stateless()) {
            // In a session.
            ("server/discover", _) => Some(ask.error(404, -32601)),
            ("tools/list", _) => Some(ask.result(&json!({"tools": [tool]}))),
            ("tools/call", _) if params["name"] != "add" => Some(answer(ask, &json!("unknown"))),
            ("tools/call", _) => Some(answer(ask, &params["arguments"]["a"])),
            _ => None,
        }
    })
    .await;
    Box::pin(check_http(&server.url("/mcp"), &[], &options)).await
}

/// What a healthy server answers.
fn added(ask: &Ask, a: &Value) -> Reply {
    match a.as_i64() {
        Some(a) => ask.result(&json!({"content": [{"type": "text", "text": (a + 1).to_string()}]})),
        None => ask.error(200, -32602),
    }
}

#[tokio::test]
async fn read_only_tools_are_called_with_valid_and_invalid_arguments() {
    let report = calls(added).await;
    is_healthy(&report);
    for step in ["called \"add\"", "sent bad calls, 3 kinds of them"] {
        assert!(report.steps.iter().any(|made| made == step), "{:?}", report.steps);
    }
}

#[tokio::test]
async fn tools_that_may_change_something_are_called_if_they_are_named() {
    let options = || Options::default().timeout(Duration::from_secs(30));
    let made = |report: &Report| report.steps.iter().any(|step| step == "called \"add\"");
    let report = serve_tool(false, options(), added).await;
    assert!(!made(&report), "{:?}", report.steps);
    assert!(
        report.skipped.iter().any(|why| why.contains("not declared as read-only")),
        "{:?}",
        report.skipped
    );
    for options in [options().call(["add".to_owned()]), options().call_all(true)] {
        let report = serve_tool(false, options, added).await;
        is_healthy(&report);
        assert!(made(&report), "{:?}", report.steps);
        // It gets no arguments that its schema does not accept.
        assert!(
            report.steps.iter().any(|step| step == "sent bad calls, 1 kind of them"),
            "{:?}",
            report.steps
        );
    }
}

#[tokio::test]
async fn calls_without_a_session_have_the_headers_of_the_revision() {
    let server = serve(papertape::http::Options::new().modern_only()).await;
    let report = Box::pin(check_http(&format!("{server}/mcp"), &[], &Options::default())).await;
    is_healthy(&report);
    assert!(report.steps.iter().any(|step| step == "called \"echo\", \"word_count\""), "{:?}", report.steps);
}

#[tokio::test]
async fn results_that_are_not_valid() {
    let report =
        calls(
            |ask, a| {
                if a.is_i64() { ask.result(&json!({"content": [{"type": "json"}]})) } else { added(ask, a) }
            },
        )
        .await;
    is_only(&report, "PT0613", Severity::Breaks, "`json`");
    assert_eq!(only(&report, "PT0613").subject.as_deref(), Some("tool \"add\""));
}

#[tokio::test]
async fn arguments_that_are_not_validated_and_a_tool_that_does_not_exist() {
    let report = calls(|ask, a| if a.is_object() { added(ask, &json!(1)) } else { added(ask, a) }).await;
    is_only(&report, "PT0604", Severity::Warning, "an object as \"a\"");
    let report = calls(|ask, a| if a == "unknown" { added(ask, &json!(1)) } else { added(ask, a) }).await;
    is_only(&report, "PT0606", Severity::Warning, "unknown tool");
}

#[tokio::test]
async fn a_call_that_is_never_answered() {
    let options = Options::default().timeout(Duration::from_secs(2));
    let report =
        calls_with(
            options,
            |ask, a| {
                if a.is_i64() { Reply::open_events(": nothing\n\n") } else { added(ask, a) }
            },
        )
        .await;
    let finding = only(&report, "PT0616");
    assert!(finding.message.contains("while the server answers other requests"), "{finding:#?}");
    is_healthy(&report);
}

#[tokio::test]
async fn a_call_that_the_caller_may_not_make() {
    let report = calls(|ask, a| if a.is_i64() { Reply::status(403) } else { added(ask, a) }).await;
    is_healthy(&report);
    assert!(report.skipped.iter().any(|why| why.contains("HTTP 403")), "{:?}", report.skipped);
}

#[tokio::test]
async fn a_body_that_some_parsers_refuse() {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    for (text, says) in [(r#""\ud83d""#, "half a surrogate pair"), (deep.as_str(), "nested deeper than 128")]
    {
        let odd = format!(r#""_meta":{{"x":{text}}},"content""#);
        let report = calls(move |ask, a| {
            let body = added(ask, a).body();
            Reply::text(200, "application/json", &body.replace("\"content\"", &odd))
        })
        .await;
        is_only(&report, "PT0811", Severity::Warning, says);
    }
    let report = calls(|ask, a| {
        let body = added(ask, a).body().replace("\"content\"", "\"_meta\":{\"x\":\"\\udc00\"},\"content\"");
        Reply::events(&format!("data: {body}\n\n"))
    })
    .await;
    is_only(&report, "PT0811", Severity::Warning, "half a surrogate pair");
}

/// A server in sessions that declares these capabilities, and answers as the closure says.
async fn declares(
    capabilities: Value,
    answer: impl Fn(&Ask) -> Option<Reply> + Send + Sync + 'static,
) -> Report {
    super::check(move |ask| match ask.call() {
        "server/discover" => Some(ask.error(404, -32601)),
        "initialize" => {
            let version = &ask.body["params"]["protocolVersion"];
            let info = json!({"name": "test", "version": "1"});
            Some(ask.result(
                &json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}),
            ))
        }
        "tools/list" => Some(ask.result(&json!({"tools": []}))),
        "ping" => answer(ask).or_else(|| Some(ask.result(&json!({})))),
        _ if ask.body.get("id").is_none() && ask.method == "POST" => Some(Reply::status(202)),
        "" => Some(Reply::status(405)),
        _ => answer(ask).or_else(|| Some(ask.error(200, -32601))),
    })
    .await
}

#[tokio::test]
async fn capabilities_and_pings() {
    let report = declares(json!({"tools": {}, "logging": true}), |_| None).await;
    assert!(only(&report, "PT0325").message.contains("`capabilities.logging` is `true`"));
    let report = declares(json!({"tools": {}, "resources": {}}), |_| None).await;
    let finding = only(&report, "PT0322");
    assert!(finding.message.contains("`resources/list`"), "{finding:#?}");
    assert_eq!(finding.severity, Severity::Breaks);
    let report =
        declares(json!({"tools": {}}), |ask| (ask.call() == "ping").then(|| ask.error(200, -32601))).await;
    assert_eq!(only(&report, "PT0326").severity, Severity::Breaks);
}

/// Some servers let everybody open them, and want authorization for the rest.
#[tokio::test]
async fn what_the_caller_may_not_do_is_no_fault() {
    let report = declares(json!({"tools": {}, "resources": {}}), |ask| {
        matches!(ask.call(), "ping" | "resources/list" | "resources/templates/list")
            .then(|| ask.error(401, -32001))
    })
    .await;
    let codes: Vec<&str> = report.findings.iter().map(|finding| finding.code.name()).collect();
    assert!(!codes.iter().any(|code| matches!(*code, "PT0322" | "PT0326")), "{codes:?}");
    let why = "`resources/list`: it is refused with HTTP 401";
    assert!(report.skipped.iter().any(|skipped| skipped == why), "{:?}", report.skipped);
}

#[tokio::test]
async fn calls_over_http_sse() {
    let link = json!({"type": "resource_link", "uri": "a:b", "name": "b"});
    let tool = json!({
        "name": "add", "description": "Adds.", "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": true}, "outputSchema": {"type": "object"},
    });
    let info = json!({"name": "old", "version": "1"});
    // The ids before 4 are those of requests over Streamable HTTP.
    let responses = [
        json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": info}),
        json!({}),
        json!({"tools": [tool]}),
        json!({"content": [link]}),
        json!({"content": [], "isError": true}),
    ];
    let mut events = "event: endpoint\ndata: /messages\n\n".to_owned();
    for (id, result) in (4..).zip(&responses) {
        events += &format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }
    let server = Server::start(move |ask| {
        Some(match (ask.method.as_str(), ask.path.as_str()) {
            ("GET", "/sse") => Reply::open_events(&events),
            ("POST", "/messages") => Reply::status(202),
            _ => Reply::status(405),
        })
    })
    .await;
    let options = Options::default().timeout(Duration::from_secs(30));
    let report = Box::pin(check_http(&server.url("/sse"), &[], &options)).await;
    // Clients open newer revisions over this transport, too: the link breaks none of them.
    is_only(&report, "PT0824", Severity::Warning, "HTTP+SSE");
    for step in ["called \"add\"", "sent bad calls, 1 kind of them"] {
        assert!(report.steps.iter().any(|made| made == step), "{:?}", report.steps);
    }
}
