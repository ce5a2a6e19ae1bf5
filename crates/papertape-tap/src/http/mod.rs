//! A reverse proxy in front of a server at a URL: requests and responses pass as they come, and all of them to a tape.
//!
//! Heads are recorded with all headers, credentials included, and bodies as they are. Each request has a number, which its records
//! have too. Passed on is everything but the headers that concern one connection (RFC 9110, section 7.6.1); `Host` becomes that of
//! the server. Redirects are passed on, and not followed.

mod exchange;
mod head;
mod upstream;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ::http::{Request, Response, StatusCode, Version};
use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use papertape::http::HostGuard;
use papertape_http1::ConnectionLimits;
use serde_json::json;
use tokio::net::TcpListener;

use crate::ignore_file_size_limit;
use crate::item::{Parts, Source, Stream};
use crate::recorder::Recorder;
use exchange::{Exchange, RecordedBody};
pub use upstream::Upstream;

/// How long exchanges may go on after the stop.
const GRACE: Duration = Duration::from_secs(2);

/// The body of a response: that of the server, or an error.
type Body = Either<RecordedBody, Full<Bytes>>;

/// What requests share.
struct Proxy {
    upstream: Upstream,
    guard: HostGuard,
    recorder: Recorder,
    exchanges: AtomicU64,
}

/// Passes all requests on a listener to a server, until `stop`, and records them.
///
/// # Errors
/// If connections cannot be accepted.
pub async fn serve(
    listener: TcpListener,
    upstream: Upstream,
    guard: HostGuard,
    recorder: &Recorder,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let _ignored = ignore_file_size_limit();
    recorder.event("start", &json!({ "url": upstream.url() }));
    let recorder = recorder.clone();
    let proxy = Arc::new(Proxy { upstream, guard, recorder, exchanges: AtomicU64::new(0) });
    let handle = move |request, _| {
        let proxy = Arc::clone(&proxy);
        async move { proxy.respond(request).await }
    };
    let mut limits = ConnectionLimits::new();
    limits.connections = papertape_http1::max_connections(&limits) / 2;
    papertape_http1::serve(listener, handle, limits, GRACE, stop).await
}

impl Proxy {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let number = self.exchanges.fetch_add(1, Ordering::Relaxed) + 1;
        let (mut head, body) = request.into_parts();
        let source = |stream| Source { stream, exchange: Some(number) };
        self.recorder.head(source(Stream::Client), head::of_request(&head));
        self.recorder.wake();
        let exchange = Exchange::new(self.recorder.clone(), number);
        if let Err((status, message)) = self.guard.check(&head) {
            return exchange.refuse(status, &message);
        }
        head::remove_hop_by_hop(&mut head.headers);
        let body = RecordedBody::new(body, self.recorder.clone(), source(Stream::Client), Parts::Whole);
        match self.upstream.send(head, body).await {
            Ok(response) => {
                let (mut head, body) = response.into_parts();
                self.recorder.head(source(Stream::Server), head::of_response(&head));
                self.recorder.wake();
                head::remove_hop_by_hop(&mut head.headers);
                head.version = Version::HTTP_11;
                let parts = if head::is_event_stream(&head.headers) { Parts::Events } else { Parts::Whole };
                let body = RecordedBody::new(body, self.recorder.clone(), source(Stream::Server), parts);
                Response::from_parts(head, Either::Left(body.ending(exchange)))
            }
            Err(error) => exchange.refuse(StatusCode::BAD_GATEWAY, &error),
        }
    }
}
