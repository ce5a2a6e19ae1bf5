//! A client and a server in one process, with nothing between them but memory: for tests, and for hosts with tools of their
//! own.

use super::{connection, pump};
use crate::client::{Client, ClientError, ClientOptions, ErrorKind, Evidence};
use crate::server::Server;

/// Bytes that may be under way each way.
const PIPE: usize = 64 * 1024;

/// Serves a server on a task of its own and opens a conversation with it.
///
/// ```
/// # async fn f(server: papertape::Server) -> Result<(), papertape::ClientError> {
/// use papertape::memory;
/// use serde_json::json;
///
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
    let service = server.build().map_err(|error| {
        let kind = ErrorKind::NotStarted(error.into());
        ClientError::new("starting the server", kind, "nothing was started", Evidence::default())
    })?;
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let (reader, writer) = tokio::io::split(theirs);
    // What was lost was lost with the client, in this process.
    tokio::spawn(connection::run(service, reader, writer));
    let (reader, writer) = tokio::io::split(ours);
    pump::connect(reader, writer, options).await
}
