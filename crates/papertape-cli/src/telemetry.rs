//! Traces and metrics to an OpenTelemetry collector, in OTLP over HTTP. `--otlp` or the standard environment variables turn
//! it on.
//!
//! Everything is sent by threads of its own, so that a collector that is slow or down delays nothing; what does not fit into
//! their queues is dropped.

use std::env;
use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use opentelemetry::propagation::TextMapCompositePropagator;
use opentelemetry::trace::TracerProvider;
use opentelemetry::{Key, global};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::{Builder, Runtime};
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::registry::LookupSpan;

use crate::args::{Args, Command};
use crate::exit::Failure;
use crate::runtime;

/// How long the process waits for the collector before it exits.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// How long one request to the collector may take, unless OTEL_EXPORTER_OTLP_TIMEOUT says otherwise.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// The most that is read of a response of the collector.
const MOST_RESPONSE: usize = 64 * 1024;

/// The threads that export: one for spans, one for metrics, one that ends them.
const THREADS: usize = 3;

/// What is exported, if anything is.
pub(crate) struct Telemetry(Option<Providers>);

struct Providers {
    /// Absent with OTEL_TRACES_EXPORTER=none.
    tracer: Option<SdkTracerProvider>,
    /// Absent with OTEL_METRICS_EXPORTER=none.
    meter: Option<SdkMeterProvider>,
}

impl Telemetry {
    /// Starts to export if the command line or the environment names a collector.
    pub(crate) fn start(args: &Args) -> Result<Self, Failure> {
        let log = &args.log;
        let is =
            |name: &str, value: &str| env::var(name).is_ok_and(|given| given.eq_ignore_ascii_case(value));
        let names = |signal: &str| {
            let of_signal = format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT");
            let is_named = |name: &str| env::var_os(name).is_some_and(|url| !url.is_empty());
            let is_on = log.otlp.is_some() || is_named(&of_signal) || is_named("OTEL_EXPORTER_OTLP_ENDPOINT");
            is_on && !is(&format!("OTEL_{signal}_EXPORTER"), "none")
        };
        let (traces, metrics) = (names("TRACES"), names("METRICS"));
        // Tab must not wait for a collector.
        let completes = matches!(args.command, Command::Complete(_));
        if completes || is("OTEL_SDK_DISABLED", "true") || !(traces || metrics) {
            return Ok(Self(None));
        }
        if let Some(url) = &log.otlp
            && !(url.starts_with("http://") || url.starts_with("https://"))
        {
            return Err(Failure::usage(format!(
                "--otlp {url}: write the URL of a collector that takes OTLP over HTTP, such as http://localhost:4318"
            )));
        }
        runtime::check(THREADS)?;
        let tracer = if traces { Some(tracer(log.otlp.as_deref())?) } else { None };
        let meter = if metrics { Some(meter(log.otlp.as_deref())?) } else { None };
        if let Some(meter) = &meter {
            global::set_meter_provider(meter.clone());
        }
        global::set_text_map_propagator(TextMapCompositePropagator::new(vec![
            Box::new(TraceContextPropagator::new()),
            Box::new(BaggagePropagator::new()),
        ]));
        Ok(Self(Some(Providers { tracer, meter })))
    }

    /// What makes spans of the requests of this process.
    pub(crate) fn layer<S>(&self) -> Option<impl Layer<S> + use<S>>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let tracer = self.0.as_ref()?.tracer.as_ref()?.tracer("papertape");
        // Log lines are not exported: they may quote what peers say.
        let spans = filter_fn(|metadata| {
            metadata.is_span()
                && *metadata.level() <= Level::INFO
                && metadata.target().starts_with("papertape")
        });
        let spans = spans.with_max_level_hint(LevelFilter::INFO);
        Some(tracing_opentelemetry::layer().with_tracer(tracer).with_filter(spans))
    }

    /// Runs a command in a span, so that all its requests are one trace. A server has none: each of its requests belongs to
    /// the trace of its client. Neither has the shell, whose requests have nothing to do with each other.
    pub(crate) fn within<T>(&self, command: Command, run: impl FnOnce(Command) -> T) -> T {
        let name = match command {
            Command::Call(_) => "papertape call",
            Command::List(_) => "papertape list",
            Command::Prompt(_) => "papertape prompt",
            Command::Read(_) => "papertape read",
            Command::Request(_) => "papertape request",
            Command::Task(_) => "papertape task",
            _ => return run(command),
        };
        if self.0.is_none() {
            return run(command);
        }
        tracing::info_span!("command", otel.name = name).in_scope(|| run(command))
    }

    /// Sends what is left, and waits for the collector not longer than [`FLUSH_TIMEOUT`].
    pub(crate) fn end(self) {
        let Some(providers) = self.0 else { return };
        let (done, wait) = sync_channel(1);
        let flush = move || {
            if let Some(tracer) = providers.tracer {
                drop(tracer.shutdown_with_timeout(FLUSH_TIMEOUT));
            }
            if let Some(meter) = providers.meter {
                drop(meter.shutdown_with_timeout(FLUSH_TIMEOUT));
            }
            let _ = done.send(());
        };
        if thread::Builder::new().name("telemetry".to_owned()).spawn(flush).is_ok() {
            let _ = wait.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

fn tracer(otlp: Option<&str>) -> anyhow::Result<SdkTracerProvider> {
    let mut exporter = SpanExporter::builder().with_http().with_http_client(Sender::new("TRACES")?);
    if let Some(url) = otlp {
        exporter = exporter.with_endpoint(endpoint(url, "traces"));
    }
    let exporter = exporter.build().context("cannot export traces")?;
    Ok(SdkTracerProvider::builder().with_resource(resource()).with_batch_exporter(exporter).build())
}

fn meter(otlp: Option<&str>) -> anyhow::Result<SdkMeterProvider> {
    let mut exporter = MetricExporter::builder().with_http().with_http_client(Sender::new("METRICS")?);
    if let Some(url) = otlp {
        exporter = exporter.with_endpoint(endpoint(url, "metrics"));
    }
    let exporter = exporter.build().context("cannot export metrics")?;
    Ok(SdkMeterProvider::builder().with_resource(resource()).with_periodic_exporter(exporter).build())
}

fn endpoint(url: &str, signal: &str) -> String {
    format!("{}/v1/{signal}", url.trim_end_matches('/'))
}

/// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, with a name that says more than the default one.
fn resource() -> Resource {
    let resource = Resource::builder().build();
    let name = resource.get(&Key::from_static_str("service.name"));
    if name.is_some_and(|name| !name.as_str().starts_with("unknown_service")) {
        return resource;
    }
    Resource::builder().with_service_name("papertape").build()
}

/// Sends to the collector with the HTTP client that this program has anyway.
struct Sender {
    http: reqwest::Client,
    /// Driven by the thread that exports, as long as it waits for a response.
    runtime: Runtime,
    /// A failure has been logged; the ones after it are not.
    has_failed: AtomicBool,
}

impl Sender {
    fn new(signal: &str) -> anyhow::Result<Self> {
        let timeout = |name: &str| env::var(name).ok()?.parse().ok().map(Duration::from_millis);
        let timeout = timeout(&format!("OTEL_EXPORTER_OTLP_{signal}_TIMEOUT"))
            .or_else(|| timeout("OTEL_EXPORTER_OTLP_TIMEOUT"))
            .unwrap_or(EXPORT_TIMEOUT);
        // Between two exports nothing looks after a connection.
        let http = reqwest::Client::builder().timeout(timeout).pool_max_idle_per_host(0).build();
        let runtime = Builder::new_current_thread().enable_all().build().context(runtime::NO_THREAD)?;
        Ok(Self {
            http: http.context("cannot set up HTTP for telemetry")?,
            runtime,
            has_failed: AtomicBool::new(false),
        })
    }

    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let mut received = self.http.execute(request.try_into()?).await?;
        let mut body = Vec::new();
        while let Some(chunk) = received.chunk().await? {
            if body.len() + chunk.len() > MOST_RESPONSE {
                break;
            }
            body.extend_from_slice(&chunk);
        }
        let mut response = Response::builder().status(received.status());
        if let Some(headers) = response.headers_mut() {
            headers.clone_from(received.headers());
        }
        Ok(response.body(body.into())?)
    }
}

impl HttpClient for Sender {
    fn send_bytes<'this, 'sent>(
        &'this self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'sent>>
    where
        'this: 'sent,
        Self: 'sent,
    {
        let url = request.uri().clone();
        let sent = self.runtime.block_on(self.send(request));
        let problem = match &sent {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(format!("it responded with {}", response.status())),
            Err(error) => Some(format!("{:#}", anyhow::anyhow!(error.to_string()))),
        };
        if let Some(problem) = problem
            && !self.has_failed.swap(true, Ordering::Relaxed)
        {
            tracing::warn!("the collector at {url} does not take telemetry, which is lost: {problem}");
        }
        Box::pin(ready(sent))
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}
