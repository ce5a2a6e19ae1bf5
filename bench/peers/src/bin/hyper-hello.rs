//! hyper alone: reads a request and answers with a fixed JSON text of the length that was asked for. What is left of an
//! MCP server when nothing of MCP is.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response, body::Incoming, header::CONTENT_TYPE, server::conn::http1, service::service_fn,
};
use hyper_util::rt::TokioIo;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let length: usize = std::env::args().nth(1).unwrap_or_default().parse()?;
    let body = Bytes::from(format!("\"{}\"", "x".repeat(length.saturating_sub(2))));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("at http://{}/mcp", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let body = body.clone();
        let hello = service_fn(move |request: Request<Incoming>| {
            let body = body.clone();
            async move {
                // Read to its end, as every server must.
                drop(request.into_body().collect().await);
                let answer = Response::builder().header(CONTENT_TYPE, "application/json");
                Ok::<_, Infallible>(answer.body(Full::new(body)).unwrap_or_default())
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), hello));
    }
}
