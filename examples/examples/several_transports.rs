//! One server on stdio, HTTP and a Unix domain socket at once: what one client changes, the others see.
//!
//! ```sh
//! cargo build -p papertape-examples --example several_transports
//! papertape call 'target/debug/examples/several_transports 127.0.0.1:8080 /tmp/counter.sock' count
//! ```

use std::sync::atomic::{AtomicU64, Ordering};

use papertape::http::{self, Options};
use papertape::{Cx, Server, ToolError, stdio, unix};
use tokio::net::TcpListener;
use tokio::sync::watch;

struct App {
    url: String,
    count: AtomicU64,
}

async fn count(_: (), cx: Cx<App>) -> Result<String, ToolError> {
    Ok((cx.state().count.fetch_add(1, Ordering::Relaxed) + 1).to_string())
}

async fn url(_: (), cx: Cx<App>) -> Result<String, ToolError> {
    Ok(cx.state().url.clone())
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let socket = arguments.next().unwrap_or_else(|| "counter.sock".to_owned());

    let listener = TcpListener::bind(address).await?;
    let socket = unix::Listener::bind(socket)?;
    let url_of_http = format!("http://{}/mcp", listener.local_addr()?);
    let service = Server::new("counter", "1.0.0")
        .with_state(App { url: url_of_http, count: AtomicU64::new(0) })
        .tool("count", count)
        .tool("url", url)
        .build()?;

    // When the client on stdio has gone, or a signal has come, all end.
    let (ended, end) = watch::channel(());
    let stop = || {
        let mut end = end.clone();
        async move { drop(end.changed().await) }
    };
    tokio::try_join!(
        async {
            let served = stdio::serve(service.clone()).await;
            drop(ended);
            served
        },
        http::serve_until(listener, service.clone(), Options::new(), stop()),
        unix::serve_until(socket, service.clone(), stop()),
    )?;
    Ok(())
}
