//! A server that exports traces and metrics to an OpenTelemetry collector.
//!
//! ```sh
//! cargo build -p papertape-examples --example telemetry
//! export OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318
//! papertape call target/debug/examples/telemetry forecast city=Oslo
//! ```

use std::error::Error;

use async_trait::async_trait;
use opentelemetry::global;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use papertape::{Cx, Server, ToolError, stdio};
use schemars::JsonSchema;
use serde::Deserialize;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt};

/// Forecast the weather of a city.
#[derive(Deserialize, JsonSchema)]
struct Forecast {
    /// The city.
    city: String,
}

async fn forecast(args: Forecast, _: Cx) -> Result<String, ToolError> {
    // Its span is a child of that of the request.
    let degrees = look_up(&args.city).await?;
    Ok(format!("{degrees} degrees"))
}

#[tracing::instrument(err)]
async fn look_up(city: &str) -> Result<i32, ToolError> {
    match city {
        "Oslo" => Ok(-3),
        "Lima" => Ok(22),
        _ => Err(ToolError::failed("only Oslo and Lima are known")),
    }
}

/// Sends what is exported, on threads of the SDK. With its default features `opentelemetry-otlp` brings such a client, and no
/// `with_http_client` is needed; here it is the reqwest of this workspace, which is another version.
#[derive(Debug, Clone, Default)]
struct Sender(reqwest::blocking::Client);

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let response = self.0.execute(request.try_into()?)?;
        Ok(Response::builder().status(response.status()).body(response.bytes()?)?)
    }
}

/// Sets up logging to stderr (`RUST_LOG`), and exporting as the standard variables say (`OTEL_EXPORTER_OTLP_ENDPOINT` and so
/// on).
fn start() -> Result<(SdkTracerProvider, SdkMeterProvider), Box<dyn Error>> {
    let resource = Resource::builder().with_service_name("weather").build();
    let sender = Sender::default();
    let spans = SpanExporter::builder().with_http().with_http_client(sender.clone()).build()?;
    let tracer =
        SdkTracerProvider::builder().with_resource(resource.clone()).with_batch_exporter(spans).build();
    let metrics = MetricExporter::builder().with_http().with_http_client(sender).build()?;
    let meter = SdkMeterProvider::builder().with_resource(resource).with_periodic_exporter(metrics).build();
    // Metrics of papertape go to the global provider, and `traceparent` is read and written by the global propagator.
    global::set_meter_provider(meter.clone());
    global::set_text_map_propagator(TraceContextPropagator::new());
    let exported = tracing_opentelemetry::layer().with_tracer(tracer.tracer("weather"));
    let logged = fmt::layer().with_writer(std::io::stderr).with_filter(EnvFilter::from_default_env());
    tracing_subscriber::registry().with(exported.with_filter(LevelFilter::INFO)).with(logged).init();
    Ok((tracer, meter))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (tracer, meter) = start()?;
    let runtime = tokio::runtime::Runtime::new()?;
    let served = runtime.block_on(stdio::serve(Server::new("weather", "1.0.0").tool("forecast", forecast)));
    // What has not been exported yet would be lost.
    tracer.shutdown()?;
    meter.shutdown()?;
    Ok(served?)
}
