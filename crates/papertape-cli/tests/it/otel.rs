//! Traces and metrics, exported by real processes to a collector in this one.

use std::net::TcpListener;

use papertape_testing::otlp::{Collector, SpanKind, StatusCode};

use crate::http::Served;
use crate::process::run;
use crate::{contains, papertape, text};

const CALL: [&str; 4] = ["conjugate", "verb=eat", "tense=past_simple", "person=3sg"];

#[test]
fn one_trace_across_two_processes() {
    let collector = Collector::start();
    let mut server = papertape(["serve", "grammar", "--http", "127.0.0.1:0"]);
    server.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()).env("OTEL_SERVICE_NAME", "verbs");
    let server =
        Served::start(server.env("OTEL_BSP_SCHEDULE_DELAY", "50").env("OTEL_METRIC_EXPORT_INTERVAL", "50"));
    let url = format!("http://{}/mcp", server.address);

    let end = run(papertape(["call", &url, "--otlp", collector.url()]).args(CALL), "");
    contains(text(end.is_clean()), &["ate"]);
    assert_eq!(end.log, "");

    let call = "tools/call conjugate";
    let spans = collector.wait(|spans| {
        let has = |name, kind| spans.iter().any(|span| span.is(name, kind));
        has(call, SpanKind::Client)
            && has(call, SpanKind::Server)
            && has("papertape call", SpanKind::Internal)
    });
    let find = |name, kind| spans.iter().find(|span| span.is(name, kind)).unwrap();
    let command = find("papertape call", SpanKind::Internal);
    let (sent, served) = (find(call, SpanKind::Client), find(call, SpanKind::Server));
    assert_eq!((&*command.service, &*sent.service, &*served.service), ("papertape", "papertape", "verbs"));
    assert!(command.span.parent_span_id.is_empty());
    assert_eq!(sent.span.parent_span_id, command.span.span_id);
    assert_eq!(served.span.parent_span_id, sent.span.span_id);
    // All that the command has requested is one trace, at both ends.
    assert!(spans.iter().all(|span| span.span.trace_id == command.span.trace_id), "{spans:?}");
    for span in [sent, served] {
        assert_eq!(span.attribute("gen_ai.tool.name").as_deref(), Some("conjugate"));
        assert_eq!(span.attribute("network.transport").as_deref(), Some("tcp"));
    }
    assert_eq!(sent.attribute("server.port"), Some(server.address.port().to_string()));
    collector.wait_for_metrics(&["mcp.client.operation.duration", "mcp.server.operation.duration"]);
}

#[test]
fn a_server_that_is_started_exports_too() {
    let collector = Collector::start();
    let mut command = papertape(["call", "grammar", "conjugate", "verb=eat", "tense=never", "person=3sg"]);
    let end = run(command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()), "");
    assert_ne!(end.status.code(), Some(0), "{end:?}");
    let name = "server/discover";
    let spans = collector.wait(|spans| spans.iter().filter(|span| span.span.name == name).count() == 2);
    let of = |kind| spans.iter().find(|span| span.is(name, kind)).unwrap();
    assert_eq!(of(SpanKind::Server).span.parent_span_id, of(SpanKind::Client).span.span_id);
    assert_eq!(of(SpanKind::Server).attribute("network.transport").as_deref(), Some("pipe"));
}

#[test]
fn a_collector_that_is_down_stops_nothing() {
    // A port on which nothing listens any more, and one whose connections are never accepted.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    for collector in [silent, closed] {
        let mut server = papertape(["serve", "grammar", "--http", "127.0.0.1:0", "--otlp", &collector]);
        let server = Served::start(server.env("OTEL_BSP_SCHEDULE_DELAY", "50"));
        let url = format!("http://{}/mcp", server.address);
        for _ in 0..3 {
            let end = run(papertape(["call", &url, "--otlp", &collector]).args(CALL), "");
            assert_eq!(end.status.code(), Some(0), "{end:?}");
            contains(text(&end), &["ate"]);
        }
    }
}

#[test]
fn it_is_off_unless_it_is_asked_for() {
    let collector = Collector::start();
    for (name, value) in [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none")] {
        let mut command = papertape(["call", "grammar"]);
        command.args(CALL).env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
        command.env("OTEL_METRICS_EXPORTER", "none").env(name, value);
        run(&mut command, "").is_clean();
    }
    let mut command = papertape(["call", "grammar"]);
    run(command.args(CALL).env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()), "").is_clean();
    let spans = collector.wait(|spans| spans.iter().any(|span| span.span.name == "papertape call"));
    assert_eq!(spans.iter().filter(|span| span.span.name == "papertape call").count(), 1);
    assert!(
        spans.iter().all(|span| span.span.status.clone().unwrap_or_default().code() == StatusCode::Unset)
    );
}

#[test]
fn the_url_is_checked() {
    let end = run(papertape(["call", "grammar", "--otlp", "localhost:4318"]).args(CALL), "");
    assert_eq!(end.status.code(), Some(2), "{end:?}");
    contains(&end.log, &["--otlp", "http://localhost:4318"]);
}
