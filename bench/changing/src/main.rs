//! A papertape server on HTTP whose list of tools grows by one with every SIGUSR1.

use papertape::server::Tool;
use papertape::{Cx, Server, ToolError, http};
use tokio::signal::unix::{SignalKind, signal};

/// Nothing.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

async fn nothing(_: Nothing, _: Cx) -> Result<String, ToolError> {
    Ok(String::new())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut server = Server::new("changing", "1.0.0").tool("first", nothing);
    let tools = server.tools();
    let mut told = signal(SignalKind::user_defined1())?;
    tokio::spawn(async move {
        let mut number = 0;
        while told.recv().await.is_some() {
            number += 1;
            if let Err(error) = tools.add(Tool::new(format!("tool_{number}")), nothing) {
                eprintln!("{error}");
            }
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("at http://{}/mcp", listener.local_addr()?);
    Ok(http::serve(listener, server).await?)
}
