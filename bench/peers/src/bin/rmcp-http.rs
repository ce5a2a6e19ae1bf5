//! rmcp on Streamable HTTP, served by axum as its documentation does it.
//!
//!     rmcp-http session      as it is by default: sessions for legacy clients, answers as event streams
//!     rmcp-http stateless    at its fastest: no sessions, answers as JSON

use peers::Echo;
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService,
    streamable_http_server::session::local::LocalSessionManager,
};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let config = match std::env::args().nth(1).as_deref() {
        Some("session") => StreamableHttpServerConfig::default(),
        Some("stateless") => {
            StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true)
        }
        _ => anyhow::bail!("usage: rmcp-http session|stateless"),
    };
    let echo = Echo::default();
    let service: StreamableHttpService<Echo, LocalSessionManager> =
        StreamableHttpService::new(move || Ok(echo.clone()), Default::default(), config);
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("at http://{}/mcp", listener.local_addr()?);
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, router).await?;
    Ok(())
}
