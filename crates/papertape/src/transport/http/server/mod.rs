//! A server on HTTP: a request to a message, and its result to a response.
//!
//! In the order in which a request passes them: `site` (and its `guard`), `request` (its body), `post` (stateless or
//! session-based), then `modern` for a stateless one, or `legacy` within a `session`, or `http_sse` for the transport of
//! 2024-11-05; then `events` (from a `stream` that a client can resume; `turns` says on which connection) and `response`.

mod clients;
mod cors;
mod events;
mod guard;
mod http_sse;
mod legacy;
#[cfg_attr(not(feature = "metrics"), path = "metrics_off.rs")]
mod metrics;
mod mirror_headers;
mod modern;
mod options;
mod post;
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
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tokio::net::TcpListener;

pub use options::{ConnectionLimits, Options};
pub use response::HttpBody;

use crate::server::Server;
use site::Site;

/// Serves on HTTP until SIGTERM or SIGINT comes: then nothing more is accepted, what runs may finish within the grace
/// period of the server's limits, and streams end properly. A second signal ends the process at once.
///
/// ```no_run
/// # async fn f(server: papertape::Server) -> std::io::Result<()> {
/// use papertape::http;
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
/// http::serve(listener, server, http::Options::new()).await
/// # }
/// ```
///
/// # Errors
/// If a tool has a bad schema, or the tape cannot be written.
#[cfg(unix)]
pub async fn serve(listener: TcpListener, server: Server, options: Options) -> io::Result<()> {
    let (stop, mut stopped) = tokio::sync::mpsc::channel(1);
    crate::transport::signals::watch_signals(stop)?;
    serve_until(listener, server, options, async move { stopped.recv().await.unwrap_or_default() }).await
}

/// The same until a future completes.
///
/// # Errors
/// If a tool has a bad schema, or the tape cannot be written.
pub async fn serve_until(
    listener: TcpListener,
    server: Server,
    options: Options,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut options = options;
    options.connections.connections = papertape_http1::max_connections(&options.connections);
    let limits = options.connections.clone();
    let service = service(server, options)?;
    let grace = service.site.service.limits().grace;
    service.site.keep_tidy();
    let site = Arc::clone(&service.site);
    let stop = async move {
        stop.await;
        site.drain();
        give_up_after(&site, grace.mul_f32(0.9));
    };
    let site = service.site;
    let handle = move |request, peer: SocketAddr| {
        let site = Arc::clone(&site);
        async move { site.serve(request, Some(peer.ip())).await }
    };
    papertape_http1::serve(listener, handle, limits, grace, stop).await
}

/// Responds with an error to what still runs when the grace period is nearly over, so that the response can arrive.
fn give_up_after(site: &Arc<Site>, time: Duration) {
    let site = Arc::downgrade(site);
    tokio::spawn(async move {
        tokio::time::sleep(time).await;
        if let Some(site) = site.upgrade() {
            site.give_up();
        }
    });
}

/// A server as a service to be mounted in an application (tower, axum) that accepts connections itself.
///
/// It serves the path of its options and nothing around it, so that it can be a fallback or be nested. Limits on
/// connections and deadlines are then the application's to set.
///
/// # Errors
/// If a tool has a bad schema, or the tape cannot be written.
pub fn service(server: Server, options: Options) -> io::Result<HttpService> {
    let server = if options.legacy { server } else { server.stateless_only() };
    Ok(HttpService { site: Site::new(server.build()?, options)? })
}

/// A server that answers HTTP requests. Clones are the same server.
#[derive(Debug, Clone)]
pub struct HttpService {
    site: Arc<Site>,
}

impl HttpService {
    /// Answers one request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<HttpBody>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        self.site.serve(request, None).await
    }

    /// Ends subscriptions and other streams that would go on for ever, because the application is about to end.
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
        Box::pin(async move { Ok(site.serve(request, None).await) })
    }
}
