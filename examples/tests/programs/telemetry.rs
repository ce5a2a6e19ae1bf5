use papertape::client::ClientOptions;
use papertape::stdio::ServerCommand;
use papertape_testing::otlp::{Collector, SpanKind, StatusCode};
use serde_json::json;

use crate::run::{connect_with, path};

#[tokio::test]
async fn traces_and_metrics_reach_the_collector() {
    let collector = Collector::start();
    let command = ServerCommand::new(path("telemetry")).env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    let client = connect_with(command, ClientOptions::new()).await;
    assert!(!client.call("forecast", json!({"city": "Oslo"})).await.unwrap().is_error);
    assert!(client.call("forecast", json!({"city": "Atlantis"})).await.unwrap().is_error);
    client.close().await;

    let spans = tokio::task::spawn_blocking(move || {
        collector.wait_for_metrics(&["mcp.server.operation.duration"]);
        collector.wait(|spans| spans.iter().filter(|span| span.span.name == "look_up").count() == 2)
    });
    let spans = spans.await.unwrap();
    assert!(spans.iter().all(|span| span.service == "weather"));
    let calls: Vec<_> =
        spans.iter().filter(|span| span.is("tools/call forecast", SpanKind::Server)).collect();
    assert_eq!(calls.len(), 2, "{spans:?}");
    for inner in spans.iter().filter(|span| span.span.name == "look_up") {
        assert!(calls.iter().any(|call| call.span.span_id == inner.span.parent_span_id), "{spans:?}");
    }
    let failed = calls.iter().find(|call| call.attribute("error.type").is_some()).unwrap();
    assert_eq!(failed.attribute("error.type").as_deref(), Some("tool_error"));
    assert_eq!(failed.span.status.clone().unwrap_or_default().code(), StatusCode::Error);
}
