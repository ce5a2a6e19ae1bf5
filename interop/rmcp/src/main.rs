//! rmcp on the other end of the wire.
//!
//!     interop-rmcp                           the server, over stdio
//!     interop-rmcp http                      the server, over Streamable HTTP
//!     interop-rmcp client auto|legacy URL    the client: prints what it got of the grammar server as JSON

mod client;
mod server;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => server::on_stdio().await,
        ["http"] => server::on_http().await,
        ["client", mode, url] => client::run(mode, url).await,
        _ => anyhow::bail!("usage: interop-rmcp [http | client auto|legacy URL]"),
    }
}
