//! A client and a server in one process, connected in memory: for tests, and for hosts with built-in tools.

use std::sync::Arc;

use super::streams::{client, server as connection};
use crate::client::{Client, ClientError, ClientOptions, ErrorKind, Evidence};
use crate::server::{IntoService, Principal};
use crate::telemetry::Network;

/// The capacity of the pipe in each direction.
const PIPE: usize = 64 * 1024;

/// Serves a server on a task of its own and opens a session with it.
///
/// ```
/// use papertape::memory;
/// use serde_json::json;
///
/// async fn test(server: papertape::Server) -> Result<(), papertape::client::ClientError> {
///     let client = memory::connect(server).await?;
///     let result = client.call("shout", json!({"text": "hello"})).await?;
///     Ok(())
/// }
/// ```
///
/// # Errors
/// If a tool has an invalid schema, or the session does not open.
pub async fn connect(server: impl IntoService) -> Result<Client, ClientError> {
    connect_with(server, ClientOptions::new()).await
}

/// [`connect`] with options.
///
/// # Errors
/// If a tool has an invalid schema, or the session does not open.
pub async fn connect_with(server: impl IntoService, options: ClientOptions) -> Result<Client, ClientError> {
    open(server, None, options).await
}

/// [`connect_with`], with an authenticated principal at the client's end: for tests of what depends on it, such as scopes and
/// [`Server::visible`](crate::Server::visible).
///
/// ```
/// use papertape::client::ClientOptions;
/// use papertape::memory;
/// use papertape::server::Principal;
///
/// async fn test(server: papertape::Server) -> Result<(), papertape::client::ClientError> {
///     let ada = Principal::new("ada").scope("notes:read");
///     let client = memory::connect_as(server, ada, ClientOptions::new()).await?;
///     Ok(())
/// }
/// ```
///
/// # Errors
/// If a tool has an invalid schema, or the session does not open.
pub async fn connect_as(
    server: impl IntoService,
    principal: Principal,
    options: ClientOptions,
) -> Result<Client, ClientError> {
    open(server, Some(Arc::new(principal)), options).await
}

async fn open(
    server: impl IntoService,
    principal: Option<Arc<Principal>>,
    options: ClientOptions,
) -> Result<Client, ClientError> {
    let service = server.into_service().map_err(|error| {
        let kind = ErrorKind::NotStarted(error.into());
        ClientError::new("starting the server", kind, "not started", Evidence::default())
    })?;
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let (reader, writer) = tokio::io::split(theirs);
    // The error, if there is one, is about responses that were lost together with the client.
    let serving =
        connection::run_as(principal, service, reader, writer, Network::Unknown, std::future::pending());
    tokio::spawn(serving);
    let (reader, writer) = tokio::io::split(ours);
    client::connect_with(reader, writer, options).await
}
