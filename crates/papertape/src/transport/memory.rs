//! A client and a server in one process, connected in memory: for tests, and for hosts with built-in tools.

use super::streams::{client, server as connection};
use crate::client::{Client, ClientError, ClientOptions, ErrorKind, Evidence};
use crate::server::Server;

/// The capacity of the pipe in each direction.
const PIPE: usize = 64 * 1024;

/// Serves a server on a task of its own and opens a session with it.
///
/// ```
/// # async fn f(server: papertape::Server) -> Result<(), papertape::client::ClientError> {
/// use papertape::memory;
/// use serde_json::json;
///
/// let client = memory::connect(server).await?;
/// let result = client.call("shout", json!({"text": "hello"})).await?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// If a tool has an invalid schema, or the session does not open.
pub async fn connect(server: Server) -> Result<Client, ClientError> {
    connect_with(server, ClientOptions::new()).await
}

/// [`connect`] with options.
///
/// # Errors
/// If a tool has an invalid schema, or the session does not open.
pub async fn connect_with(server: Server, options: ClientOptions) -> Result<Client, ClientError> {
    let service = server.build().map_err(|error| {
        let kind = ErrorKind::NotStarted(error.into());
        ClientError::new("starting the server", kind, "not started", Evidence::default())
    })?;
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let (reader, writer) = tokio::io::split(theirs);
    // The error, if there is one, is about responses that were lost together with the client.
    tokio::spawn(connection::run(service, reader, writer));
    let (reader, writer) = tokio::io::split(ours);
    client::connect_with(reader, writer, options).await
}
