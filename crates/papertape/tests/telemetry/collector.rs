//! An application with OpenTelemetry: exported spans are sent to the test that waits for their trace.

use std::collections::HashMap;
use std::future::{Future, ready};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry::trace::{SpanKind, Status, TraceContextExt, TraceId, TracerProvider};
use opentelemetry::{Value, global};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::{Instrument, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// All spans that have ended.
static SPANS: LazyLock<watch::Sender<Vec<SpanData>>> = LazyLock::new(|| watch::Sender::new(Vec::new()));

pub(crate) static METRICS: LazyLock<InMemoryMetricExporter> = LazyLock::new(InMemoryMetricExporter::default);

pub(crate) static METER: LazyLock<SdkMeterProvider> = LazyLock::new(|| {
    let reader = PeriodicReader::builder(METRICS.clone()).build();
    SdkMeterProvider::builder().with_reader(reader).build()
});

/// What an application sets up once.
static APPLICATION: LazyLock<()> = LazyLock::new(|| {
    global::set_meter_provider(METER.clone());
    let propagator = opentelemetry::propagation::TextMapCompositePropagator::new(vec![
        Box::new(TraceContextPropagator::new()),
        Box::new(BaggagePropagator::new()),
    ]);
    global::set_text_map_propagator(propagator);
    let provider = SdkTracerProvider::builder().with_simple_exporter(ToTest).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    tracing_subscriber::registry().with(LevelFilter::INFO).with(layer).init();
    // It is never dropped.
    std::mem::forget(provider);
});

#[derive(Debug)]
struct ToTest;

impl SpanExporter for ToTest {
    fn export(&self, batch: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
        SPANS.send_modify(|spans| spans.extend(batch));
        ready(Ok(()))
    }
}

/// Runs a test in a span of its own, the root of a trace, and returns that trace when it has so many spans besides.
pub(crate) fn trace<F: Future<Output = ()>>(count: usize, test: F) -> Trace {
    LazyLock::force(&APPLICATION);
    // One worker more than the test, so that handlers run elsewhere than their clients.
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let _running = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    runtime.block_on(async {
        let root = tracing::info_span!("test");
        let id = root.context().span().span_context().trace_id();
        test.instrument(root).await;
        Trace::wait(id, count + 1).await
    })
}

/// The metrics of one test are read before the next one begins.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The trace id of the test that runs.
pub(crate) fn trace_id() -> TraceId {
    Span::current().context().span().span_context().trace_id()
}

/// The spans of one trace.
#[derive(Debug)]
pub(crate) struct Trace(pub(crate) Vec<SpanData>);

impl Trace {
    /// Waits for so many spans of a trace.
    pub(crate) async fn wait(id: TraceId, count: usize) -> Self {
        let of_trace = |spans: &[SpanData]| -> Vec<SpanData> {
            spans.iter().filter(|span| span.span_context.trace_id() == id).cloned().collect()
        };
        let mut spans = SPANS.subscribe();
        let all = spans.wait_for(|spans| of_trace(spans).len() >= count);
        // Fires on failure only.
        let Ok(all) = timeout(Duration::from_secs(60), all).await else {
            panic!("expected {count} spans: {:?}", Trace(of_trace(&SPANS.borrow())).names())
        };
        Trace(of_trace(&all.unwrap()))
    }

    /// The only span of that name and kind.
    #[track_caller]
    pub(crate) fn span(&self, name: &str, kind: &SpanKind) -> &SpanData {
        let mut found = self.0.iter().filter(|span| span.name == name && span.span_kind == *kind);
        match (found.next(), found.next()) {
            (Some(span), None) => span,
            (None, _) => panic!("there is no {kind:?} {name} among {:?}", self.names()),
            _ => panic!("there are several {kind:?} {name} among {:?}", self.names()),
        }
    }

    #[track_caller]
    pub(crate) fn client(&self, name: &str) -> &SpanData {
        self.span(name, &SpanKind::Client)
    }

    #[track_caller]
    pub(crate) fn server(&self, name: &str) -> &SpanData {
        self.span(name, &SpanKind::Server)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.0.iter().map(|span| format!("{:?} {}", span.span_kind, span.name)).collect()
    }
}

/// The attributes of a span that have these beginnings, as text.
pub(crate) fn attributes(span: &SpanData) -> HashMap<&str, String> {
    let text = |value: &Value| value.as_str().into_owned();
    span.attributes.iter().map(|attribute| (attribute.key.as_str(), text(&attribute.value))).collect()
}

/// The status of a span is this error.
#[track_caller]
pub(crate) fn assert_failed(span: &SpanData, class: &str, code: Option<&str>, description: &str) {
    let attributes = attributes(span);
    assert_eq!(attributes.get("error.type").map(String::as_str), Some(class), "{span:?}");
    assert_eq!(attributes.get("rpc.response.status_code").map(String::as_str), code, "{span:?}");
    match &span.status {
        Status::Error { description: given } => assert!(given.contains(description), "{given}"),
        other => panic!("{other:?}"),
    }
}

/// The parent of a span is this one.
#[track_caller]
pub(crate) fn assert_child(child: &SpanData, parent: &SpanData) {
    assert_eq!(child.parent_span_id, parent.span_context.span_id(), "{} is in {}", child.name, parent.name);
    assert_eq!(child.span_context.trace_id(), parent.span_context.trace_id());
}
