//! A collector: it receives spans and metrics in OTLP over HTTP (protobuf), and keeps them for the test.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::ResourceMetrics;
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;
use prost::Message;

pub use opentelemetry_proto::tonic::trace::v1::{Span, span::SpanKind, status::StatusCode};

/// Fires on failure only.
const HANG: Duration = Duration::from_secs(300);

/// A collector on a free port of this machine.
#[derive(Debug, Clone)]
pub struct Collector {
    url: String,
    received: Arc<(Mutex<Received>, Condvar)>,
}

#[derive(Debug, Clone, Default)]
struct Received {
    spans: Vec<Exported>,
    metrics: Vec<String>,
    problems: Vec<String>,
}

/// A span, and the service that it is of.
#[derive(Debug, Clone)]
pub struct Exported {
    /// `service.name`.
    pub service: String,
    /// The span as it was sent.
    pub span: Span,
}

impl Exported {
    /// The value of an attribute as text.
    pub fn attribute(&self, name: &str) -> Option<String> {
        text(&self.span.attributes, name)
    }

    /// Its name and kind.
    pub fn is(&self, name: &str, kind: SpanKind) -> bool {
        self.span.name == name && self.span.kind() == kind
    }
}

impl Collector {
    /// Listens from now on.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let collector = Self { url, received: Arc::default() };
        let serving = collector.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let serving = serving.clone();
                // Each sender keeps its connection.
                thread::spawn(move || {
                    if let Err(error) = serving.serve(&stream.unwrap()) {
                        serving.lock(|received| received.problems.push(error.to_string()));
                    }
                });
            }
        });
        collector
    }

    /// Its URL, without a path.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits until the spans that have arrived are as many as `enough` wants.
    pub fn wait(&self, enough: impl Fn(&[Exported]) -> bool) -> Vec<Exported> {
        self.wait_for(|received| enough(&received.spans)).spans
    }

    /// Waits until metrics of these names have arrived.
    pub fn wait_for_metrics(&self, names: &[&str]) {
        self.wait_for(|received| {
            names.iter().all(|name| received.metrics.iter().any(|metric| metric == name))
        });
    }

    fn wait_for(&self, enough: impl Fn(&Received) -> bool) -> Received {
        let (received, arrived) = &*self.received;
        let received = received.lock().unwrap_or_else(PoisonError::into_inner);
        let (received, waited) =
            arrived.wait_timeout_while(received, HANG, |received| !enough(received)).unwrap();
        assert!(!waited.timed_out(), "not all has arrived: {received:?}");
        assert!(received.problems.is_empty(), "{received:?}");
        received.clone()
    }

    fn lock(&self, change: impl FnOnce(&mut Received)) {
        let (received, arrived) = &*self.received;
        change(&mut received.lock().unwrap_or_else(PoisonError::into_inner));
        arrived.notify_all();
    }

    /// Serves one connection until its client closes it.
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream);
        loop {
            let mut head = Vec::new();
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line)? == 0 {
                    return Ok(());
                }
                match line.trim_end() {
                    "" => break,
                    line => head.push(line.to_owned()),
                }
            }
            let header = |name: &str| {
                let found = head.iter().find_map(|line| {
                    line.split_once(": ").filter(|(given, _)| given.eq_ignore_ascii_case(name))
                });
                found.map(|(_, value)| value.to_owned())
            };
            let length = header("content-length").and_then(|length| length.parse().ok());
            let mut body = vec![0; length.ok_or_else(|| io::Error::other("no Content-Length"))?];
            reader.read_exact(&mut body)?;
            if header("content-type").as_deref() != Some("application/x-protobuf") {
                return Err(io::Error::other(format!("it is not protobuf: {head:?}")));
            }
            self.take(&head[0], &body)?;
            (&*stream).write_all(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n",
            )?;
        }
    }

    fn take(&self, request: &str, body: &[u8]) -> io::Result<()> {
        if request.starts_with("POST /v1/traces ") {
            let message = ExportTraceServiceRequest::decode(body)?;
            let spans: Vec<_> = message.resource_spans.into_iter().flat_map(spans).collect();
            self.lock(|received| received.spans.extend(spans));
        } else if request.starts_with("POST /v1/metrics ") {
            let message = ExportMetricsServiceRequest::decode(body)?;
            let names: Vec<_> = message.resource_metrics.into_iter().flat_map(metrics).collect();
            self.lock(|received| received.metrics.extend(names));
        } else {
            return Err(io::Error::other(format!("an unexpected request: {request}")));
        }
        Ok(())
    }
}

fn spans(of: ResourceSpans) -> Vec<Exported> {
    let resource = of.resource.unwrap_or_default();
    let service = text(&resource.attributes, "service.name").unwrap_or_default();
    let spans = of.scope_spans.into_iter().flat_map(|scope| scope.spans);
    spans.map(|span| Exported { service: service.clone(), span }).collect()
}

fn metrics(of: ResourceMetrics) -> Vec<String> {
    of.scope_metrics.into_iter().flat_map(|scope| scope.metrics).map(|metric| metric.name).collect()
}

fn text(attributes: &[KeyValue], name: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == name)?;
    match &found.value {
        Some(AnyValue { value: Some(any_value::Value::StringValue(text)) }) => Some(text.clone()),
        Some(AnyValue { value: Some(any_value::Value::IntValue(number)) }) => Some(number.to_string()),
        _ => None,
    }
}
