//! The HTTP transport of a client: messages out as requests, messages in from responses.
//!
//! `endpoint` has the URL and how to connect to it; `dispatcher` starts an `exchange` for every queued `outgoing_message`,
//! which uses the `sender` (credentials, redirects, `Retry-After`) and reads the response, an `event_stream` or a `body`.
//! `legacy_session` keeps the session of older revisions, `notification_stream` its GET stream, and `http_sse` is the
//! transport of 2024-11-05. `backoff` has the delays between attempts, `errors` the error texts.

mod backoff;
mod body;
mod dispatcher;
mod endpoint;
mod errors;
mod event_stream;
mod exchange;
mod http_sse;
mod legacy_session;
mod notification_stream;
mod outgoing_message;
mod sender;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

pub use endpoint::Endpoint;

use crate::client::{Client, ClientError, ClientOptions, ErrorKind, Evidence, ProcessRecord, Session};
use crate::telemetry::Network;
use crate::transport::streams::client::Settings;
use dispatcher::Dispatcher;
use legacy_session::LegacySession;
use sender::HttpSender;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// How long closing may take to send the last notifications and to end the session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Opens a session with a server at a URL, in the newest revision that it supports. The server is its URL, or an [`Endpoint`]
/// with headers, credentials, a proxy and so on.
///
/// ```no_run
/// use papertape::http;
/// use serde_json::json;
///
/// #[tokio::main]
/// async fn main() -> Result<(), papertape::client::ClientError> {
///     let client = http::connect("https://tools.example/mcp").await?;
///     let result = client.call("word_count", json!({"text": "one two"})).await?;
///     client.close().await;
///     Ok(())
/// }
/// ```
///
/// # Errors
/// If the server cannot be reached, or the session does not open.
pub async fn connect(endpoint: impl Into<Endpoint>) -> Result<Client, ClientError> {
    connect_with(endpoint, ClientOptions::new()).await
}

/// [`connect`] with options.
///
/// # Errors
/// If the server cannot be reached, the session does not open, or the tape cannot be written.
pub async fn connect_with(
    endpoint: impl Into<Endpoint>,
    options: ClientOptions,
) -> Result<Client, ClientError> {
    let target = endpoint.into().build().map_err(|why| {
        let kind = ErrorKind::Unreachable(why);
        ClientError::new("connecting to the server", kind, "the request was not sent", Evidence::default())
    })?;
    let settings = Settings::new(options)?;
    let record = Arc::new(ProcessRecord::default());
    let session = settings.session(&record);
    session.use_http();
    session.set_peer(Network::Http, target.address());
    let (ended, gone) = watch::channel(false);
    let (tap, limit) = (Arc::clone(&settings.tap), settings.frame_limit);
    let sender = HttpSender { session: Arc::clone(&session), target, tap, limit };
    let dispatcher =
        Arc::new(Dispatcher { sender, legacy: LegacySession::default(), background: Mutex::default() });
    tokio::spawn(async move {
        dispatcher.run().await;
        ended.send_replace(true);
    });
    // Dropping this future closes the session.
    let mut guard = CloseWhenDropped(Some(Arc::clone(&session)));
    let negotiated = settings.opener.open_on_http(&session).await?;
    session.set_revision(negotiated.revision);
    guard.0 = None;
    Ok(settings.client(session, negotiated, gone, record))
}

/// Closes a session that was not opened completely.
struct CloseWhenDropped(Option<Arc<Session>>);

impl Drop for CloseWhenDropped {
    fn drop(&mut self) {
        if let Some(session) = &self.0 {
            session.request_close(CLOSE_TIMEOUT);
        }
    }
}
