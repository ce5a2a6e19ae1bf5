//! A client and a server in one process, with nothing between them but memory: for tests, and for hosts with tools of their
//! own.

use super::pump;
use crate::client::{Client, ClientError, ClientOptions};
use crate::server::Server;

/// Bytes that may be under way each way.
const PIPE: usize = 64 * 1024;

/// Serves a server on a task of its own and opens a conversation with it.
///
/// ```
/// # #[tokio::main] async fn main() -> Result<(), papertape::ClientError> {
/// use papertape::{Server, Tool, ToolError, memory};
/// use serde_json::{Value, json};
///
/// let server = Server::new("letters", "1.0.0").tool("shout", |args: Value, _| async move {
///     Ok::<_, ToolError>(args["text"].as_str().unwrap_or_default().to_uppercase())
/// });
/// let client = memory::connect(server).await?;
/// let result = client.call("shout", json!({"text": "hello"})).await?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// If a tool has a bad schema, or the conversation does not open.
pub async fn connect(server: Server) -> Result<Client, ClientError> {
    connect_with(server, ClientOptions::new()).await
}

/// The same, with options.
///
/// # Errors
/// If a tool has a bad schema, or the conversation does not open.
pub async fn connect_with(server: Server, options: ClientOptions) -> Result<Client, ClientError> {
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let (reader, writer) = tokio::io::split(theirs);
    tokio::spawn(async move {
        if let Err(error) = super::serve(server, reader, writer).await {
            tracing::error!(%error, "the server in memory cannot serve");
        }
    });
    let (reader, writer) = tokio::io::split(ours);
    pump::connect(reader, writer, options).await
}
