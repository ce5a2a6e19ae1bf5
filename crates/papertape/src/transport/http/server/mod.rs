//! A server on HTTP: its entry points, and the way of a request to what serves it.
//!
//! In the order in which a request meets them: `route` here, with the `guard` of `Host` and `Origin`; `request` (its body) and
//! `post` (its message, which it serves if that is of a stateless revision, after its `mirror_headers`); `legacy` for one of a
//! session (`sessions`), `http_sse` for the transport of 2024-11-05; and on the way back `response`, and `events` for an SSE
//! stream (from a `stream` that a client can come back to; `turns` says on which connection). All of them share a `site`, and
//! may end with a `refusal`.

mod events;
mod guard;
mod http_sse;
mod legacy;
#[cfg_attr(not(feature = "metrics"), path = "metrics_off.rs")]
mod metrics;
mod mirror_headers;
mod options;
mod post;
mod refusal;
mod request;
mod response;
mod sessions;
mod site;
mod stream;
mod turns;

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::ALLOW;
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use papertape_oauth::server::{Admitted, Lease};
use tokio::net::TcpListener;

pub use guard::HostGuard;
pub use options::{ConnectionLimits, Options};
pub use response::HttpBody;

use crate::server::{IntoService, Principal, Service};
use refusal::Refusal;
use request::{NamedRevision, Readable};
use response::HttpResponse;
use site::Site;

/// Serves on HTTP until SIGTERM or SIGINT arrives. Then it stops accepting connections, running requests get the grace
/// period of the server's limits to finish, and streams end with their result. A second signal ends the process at once.
///
/// ```no_run
/// use papertape::http;
///
/// async fn serve(server: papertape::Server) -> std::io::Result<()> {
///     let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
///     http::serve(listener, server).await
/// }
/// ```
///
/// # Errors
/// If a tool has an invalid schema.
#[cfg(unix)]
pub async fn serve(listener: TcpListener, server: impl IntoService) -> io::Result<()> {
    serve_with(listener, server, Options::new()).await
}

/// [`serve`] with options.
///
/// # Errors
/// If a tool has an invalid schema, or the tape cannot be written.
#[cfg(unix)]
pub async fn serve_with(listener: TcpListener, server: impl IntoService, options: Options) -> io::Result<()> {
    let (stop, mut stopped) = tokio::sync::mpsc::channel(1);
    crate::transport::signals::watch_signals(stop)?;
    serve_until(listener, server, options, async move { stopped.recv().await.unwrap_or_default() }).await
}

/// [`serve_with`], until `stop` completes in place of a signal.
///
/// # Errors
/// If a tool has an invalid schema, or the tape cannot be written.
pub async fn serve_until(
    listener: TcpListener,
    server: impl IntoService,
    options: Options,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut options = options;
    options.connections.connections = papertape_http1::max_connections(&options.connections);
    let limits = options.connections.clone();
    let service = build(server.into_service()?, options)?;
    let _serving = service.site.service.background.serve();
    let grace = service.site.service.limits().grace;
    service.site.keep_tidy();
    let site = Arc::clone(&service.site);
    let stop = async move {
        stop.await;
        site.drain();
    };
    let site = service.site;
    let handle = move |request, peer: SocketAddr| {
        let site = Arc::clone(&site);
        async move { respond(&site, request, Some(peer.ip())).await }
    };
    papertape_http1::serve(listener, handle, limits, grace, stop).await
}

/// A server as a service to be mounted in an application (tower, axum) that accepts connections itself.
///
/// It serves the MCP endpoint where it is nested, and below that at the path of its options (`/mcp`):
///
/// ```
/// use axum::Router;
/// use papertape::{Server, http};
///
/// fn app() -> std::io::Result<Router> {
///     Ok(Router::new().nest_service("/mcp", http::service(Server::new("notes", "1.0.0"))?))
/// }
/// ```
///
/// `Router::route_service("/mcp", ..)` serves the endpoint alone. `Router::fallback_service` also serves OAuth metadata and what the
/// options add (`/healthz`, `/metrics`, `/sse`); with [`Options::only_at_path`] it leaves `/` to the application. Beside a nested
/// endpoint, `Router::route_service("/metrics", ..)` serves one of these. All other paths get 404. Limits on connections and
/// deadlines are the application's to set.
///
/// # Errors
/// If a tool has an invalid schema.
pub fn service(server: impl IntoService) -> io::Result<HttpService> {
    service_with(server, Options::new())
}

/// [`service`] with options.
///
/// # Errors
/// If a tool has an invalid schema, or the tape cannot be written.
pub fn service_with(server: impl IntoService, mut options: Options) -> io::Result<HttpService> {
    options.mounted = true;
    build(server.into_service()?, options)
}

fn build(service: Service, options: Options) -> io::Result<HttpService> {
    let service = if options.legacy { service } else { service.stateless_only() };
    Ok(HttpService { site: Site::new(Arc::clone(service.core()), options)? })
}

/// A server as a tower service, made by [`service`]. Clones are the same server.
#[derive(Debug, Clone)]
pub struct HttpService {
    site: Arc<Site>,
}

impl HttpService {
    /// Serves one request: for applications without tower.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<HttpBody>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        self.site.begin_serving();
        respond(&self.site, request, None).await
    }

    /// Begins the shutdown: to be called when the application stops accepting connections. Subscriptions and other open streams
    /// end at once. The grace period of the server's limits begins; shortly before its end, requests that still run or wait for
    /// their client receive an error, and background work ends.
    ///
    /// Call it within a Tokio runtime; outside of one there is no grace period, and running requests receive the error at once.
    pub fn drain(&self) {
        self.site.drain();
    }
}

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let site = Arc::clone(&self.site);
        Box::pin(async move {
            site.begin_serving();
            Ok(respond(&site, request, None).await)
        })
    }
}

/// Serves one request, which comes from an address if that is known.
async fn respond<B>(site: &Arc<Site>, request: Request<B>, address: Option<IpAddr>) -> HttpResponse
where
    B: Readable,
{
    let (mut parts, body) = request.into_parts();
    let exchange = site.record_request(&parts);
    if let Some(exchange) = exchange {
        parts.extensions.insert(exchange);
    }
    // Handlers can read it.
    let parts = Arc::new(parts);
    let mut response = route(site, &parts, body, address).await.unwrap_or_else(|refusal| {
        response::refused(refusal, NamedRevision::read(&parts.headers).omits_unreadable_id())
    });
    if site.guard.knows_origin(&parts.headers) {
        guard::let_read(&parts.headers, response.headers_mut());
    }
    if let Some(metrics) = &site.metrics {
        metrics.responded(response.status());
    }
    if let Some(exchange) = exchange {
        site.record_response(exchange, response.status(), response.headers());
        response.body_mut().record(site, exchange);
    }
    response
}

/// The first steps of every request: `Host` and `Origin`, authentication, path.
async fn route<B>(
    site: &Arc<Site>,
    parts: &Arc<Parts>,
    body: B,
    address: Option<IpAddr>,
) -> Result<HttpResponse, Refusal>
where
    B: Readable,
{
    site.guard.check(parts)?;
    if guard::is_preflight(parts) && site.guard.knows_origin(&parts.headers) {
        let mut response = response::empty(StatusCode::NO_CONTENT);
        guard::answer_preflight(parts, response.headers_mut());
        return Ok(response);
    }
    let path = parts.uri.path();
    if site.options.is_endpoint(path) {
        let (principal, lease) = admit(site, parts).await?;
        // A session can be ended however many requests its client has open.
        if parts.method == Method::DELETE && site.options.legacy {
            return legacy::end(site, parts, principal.as_ref());
        }
        let place = site.clients.enter(principal.as_ref(), address)?;
        let response = match parts.method {
            Method::POST => post::serve(site, parts, body, principal).await,
            Method::GET if site.options.legacy => legacy::listen(site, parts, principal.as_ref()),
            _ => Err(not_allowed(site)),
        };
        return Ok(ending_with(lease, response::in_place(response?, place)));
    }
    let read_only = parts.method == Method::GET || parts.method == Method::HEAD;
    match path {
        http_sse::STREAM | http_sse::MESSAGES if site.options.legacy && site.options.legacy_sse => {
            let (principal, lease) = admit(site, parts).await?;
            let place = site.clients.enter(principal.as_ref(), address)?;
            let response = Box::pin(http_sse::serve(site, parts, body, principal)).await?;
            Ok(ending_with(lease, response::in_place(response, place)))
        }
        "/healthz" if site.options.health && read_only => {
            Ok(response::text(StatusCode::OK, "text/plain; charset=utf-8", "ok\n"))
        }
        #[cfg(feature = "metrics")]
        "/metrics" if site.metrics.is_some() && read_only => {
            let text = site.metrics.as_ref().map(|metrics| metrics.text(site.sessions.count()));
            Ok(response::text(StatusCode::OK, metrics::Metrics::TYPE, text.unwrap_or_default()))
        }
        _ => match site.options.auth.as_ref().and_then(|auth| auth.metadata(path)).filter(|_| read_only) {
            Some(metadata) => Ok(response::json(StatusCode::OK, metadata.to_string())),
            None => {
                let message = format!("there is nothing here: MCP is at {}", site.options.path);
                Err(Refusal::new(StatusCode::NOT_FOUND, message))
            }
        },
    }
}

fn not_allowed(site: &Site) -> Refusal {
    let allowed = if site.options.legacy { "POST, GET, DELETE" } else { "POST" };
    let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, format!("only {allowed} can be done here"));
    refusal.header(ALLOW, HeaderValue::from_static(allowed))
}

/// The principal of a request, and its lease, if the server authenticates.
async fn admit(site: &Site, parts: &Parts) -> Result<(Option<Arc<Principal>>, Option<Lease>), Refusal> {
    let Some(auth) = &site.options.auth else { return Ok((None, None)) };
    // Boxed: it may have to fetch keys, and every connection would hold the room for that.
    let Admitted { principal, lease } =
        Box::pin(auth.check_request(&parts.headers, &parts.extensions)).await?;
    Ok((Some(principal), Some(lease)))
}

/// A stream ends when its principal's key is revoked or token has expired.
fn ending_with(lease: Option<Lease>, mut response: HttpResponse) -> HttpResponse {
    if let Some(lease) = lease {
        response.body_mut().end_with(lease);
    }
    response
}
