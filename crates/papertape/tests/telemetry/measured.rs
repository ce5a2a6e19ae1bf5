//! Metrics: names, attributes, buckets.

use std::collections::BTreeMap;

use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use papertape::protocol::RawJson;
use papertape::server::Tool;
use papertape::{Cx, Server, ToolError, memory};
use serde_json::{Value, json};

use crate::collector::{METER, METRICS, trace};

/// The counts of a histogram by its attributes.
fn counts(name: &str) -> BTreeMap<String, u64> {
    METER.force_flush().unwrap();
    let mut counts = BTreeMap::new();
    let exported = METRICS.get_finished_metrics().unwrap();
    let last = exported.last().unwrap();
    for metric in
        last.scope_metrics().flat_map(|scope| scope.metrics()).filter(|metric| metric.name() == name)
    {
        assert_eq!(metric.unit(), "s");
        let AggregatedMetrics::F64(MetricData::Histogram(histogram)) = metric.data() else {
            panic!("{metric:?}")
        };
        for point in histogram.data_points() {
            let bounds: Vec<f64> = point.bounds().collect();
            assert_eq!(
                bounds,
                [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0]
            );
            let mut attributes: Vec<String> = point
                .attributes()
                .map(|attribute| format!("{}={}", attribute.key, attribute.value.as_str()))
                .collect();
            attributes.sort();
            counts.insert(attributes.join(" "), point.count());
        }
    }
    counts
}

#[test]
fn operations_and_sessions_are_measured() {
    trace(0, async {
        let tool = |name: &str| Tool::new(name).input_schema(json!({"type": "object"}));
        let server = Server::new("measured", "1.0.0")
            .raw_tool(tool("measured"), |_: Value, _| async { Ok("done") })
            .raw_tool(tool("measured wrong"), |_: Value, _| async {
                Err::<String, _>(ToolError::failed("no"))
            });
        let client = memory::connect(server).await.unwrap();
        for _ in 0..3 {
            client.call("measured", json!({})).await.unwrap();
        }
        client.call("measured wrong", json!({})).await.unwrap();
        for method in ["made/up", "made/up/too"] {
            assert!(client.request(method, json!({})).await.is_err());
        }
        client.close().await;
    });
    for side in ["client", "server"] {
        let counts = counts(&format!("mcp.{side}.operation.duration"));
        let of = |attributes: &str| counts.get(attributes).copied().unwrap_or_default();
        let call = "mcp.method.name=tools/call mcp.protocol.version=2026-07-28";
        let operation = "gen_ai.operation.name=execute_tool gen_ai.tool.name=measured";
        assert_eq!(of(&format!("{operation} {call}")), 3, "{side}: {counts:?}");
        let failed = format!("error.type=tool_error {operation} wrong {call}");
        assert_eq!(of(&failed), 1, "{side}: {counts:?}");
        // Methods that a peer makes up are counted as one.
        let made_up = counts.keys().filter(|attributes| attributes.contains("made/up")).count();
        assert_eq!(made_up, if side == "client" { 2 } else { 0 }, "{counts:?}");
    }
    let unknown = counts("mcp.server.operation.duration");
    assert!(unknown.keys().any(|attributes| attributes.contains("mcp.method.name=_OTHER")), "{unknown:?}");
    for name in ["mcp.client.session.duration", "mcp.server.session.duration"] {
        assert!(counts(name).values().sum::<u64>() >= 1, "{name}");
    }
}

#[test]
fn names_that_only_a_fallback_refuses_are_not_kept() {
    trace(0, async {
        let server = Server::new("proxy", "1.0.0")
            .fallback_tool(async |name: String, _: RawJson, _: Cx| match &*name {
                "behind" => Ok("done"),
                _ => Err(ToolError::rpc(-32602, "unknown", None)),
            })
            .fallback_method(async |_: String, _: RawJson, _: Cx| {
                Err::<Value, _>(ToolError::rpc(-32000, "not now", None))
            });
        let client = memory::connect(server).await.unwrap();
        client.call("behind", json!({})).await.unwrap();
        assert!(client.call("made up", json!({})).await.is_err());
        assert!(client.request("com.example/made-up", json!({})).await.is_err());
        client.close().await;
    });
    let counts = counts("mcp.server.operation.duration");
    let has = |part: &str| counts.keys().any(|attributes| attributes.contains(part));
    assert!(has("gen_ai.tool.name=behind"), "{counts:?}");
    assert!(has("mcp.method.name=_OTHER") && has("rpc.response.status_code=-32000"), "{counts:?}");
    assert!(!has("gen_ai.tool.name=made up") && !has("com.example/made-up"), "{counts:?}");
}
