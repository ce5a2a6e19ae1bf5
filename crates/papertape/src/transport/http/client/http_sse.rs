//! The HTTP+SSE transport of 2024-11-05: one event stream for every response, and a URL for every message.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;
use url::Url;

use super::body::{MediaType, media_type};
use super::dispatcher::Dispatcher;
use super::endpoint::shown;
use super::event_stream::{Awaiting, StreamEnd, StreamState};
use super::outgoing_message::OutgoingMessage;
use super::sender::{ERROR_BODY, Request};
use crate::client::Failure;
use crate::wire::error::excerpt;

/// The timeout of the `endpoint` event.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a server cannot be used with this transport.
pub(super) enum NotHttpSse {
    /// It has no event stream.
    NoStream(String),
    /// It has one, but an invalid one.
    Invalid(String),
}

impl Dispatcher {
    /// Opens the stream, and returns the URL for messages.
    pub(super) async fn open_http_sse(self: &Arc<Self>) -> Result<Url, NotHttpSse> {
        let request = Request { is_background: false, ..self.get(&StreamState::default()) };
        let response = match self.sender.send(&request).await {
            Ok(response)
                if response.status() == StatusCode::OK && media_type(&response) == MediaType::EventStream =>
            {
                response
            }
            Ok(response) => {
                return Err(NotHttpSse::NoStream(format!("GET gives HTTP {}", response.status())));
            }
            Err(failure) => return Err(NotHttpSse::NoStream(failure.kind.to_string())),
        };
        let (endpoint, received) = oneshot::channel();
        let this = Arc::clone(self);
        let stream = self.spawn_background(async move {
            let mut stream = StreamState { endpoint: Some(endpoint), ..StreamState::default() };
            let never = Notify::new();
            let awaiting = Awaiting { responded: &never, is_initialize: false };
            let end = this.sender.read_events(response, &mut stream, awaiting, |_| {}).await;
            // Without the stream no more responses can arrive.
            if stream.endpoint.is_none() {
                let problem = match end {
                    StreamEnd::Invalid(problem) => Some(problem),
                    StreamEnd::Responded | StreamEnd::Closed | StreamEnd::Interrupted(_) => None,
                };
                this.sender.session.lose(problem);
            }
        });
        let endpoint = match timeout(ENDPOINT_TIMEOUT, received).await {
            Ok(Ok(endpoint)) => self.same_origin(&endpoint),
            _ => Err("its stream does not begin with an `endpoint` event".to_owned()),
        };
        match endpoint {
            Ok(endpoint) => {
                self.legacy.state().sse_endpoint = Some(endpoint.clone());
                Ok(endpoint)
            }
            Err(why) => {
                stream.abort();
                Err(NotHttpSse::Invalid(format!(
                    "the server seems to use the HTTP+SSE transport of 2024-11-05, but {why}"
                )))
            }
        }
    }

    /// The URL that a server sent, if it is on the same origin: credentials are sent there.
    fn same_origin(&self, endpoint: &str) -> Result<Url, String> {
        let here = &self.sender.target.url;
        let there =
            here.join(endpoint.trim()).map_err(|_| format!("{} is not a valid URL", excerpt(endpoint)))?;
        if there.origin() == here.origin() {
            Ok(there)
        } else {
            Err(format!("its `endpoint` is on another host, {}", shown(&there)))
        }
    }

    /// Sends a request whose response arrives on the stream.
    pub(super) async fn request_over_sse(
        &self,
        sent: &OutgoingMessage,
        id: i64,
        endpoint: Url,
    ) -> Result<(), Failure> {
        let response = self.post_to(endpoint, sent, Some(id)).await?;
        self.sender.session.set_stage(id, "the request was sent; no response arrived");
        if !response.status().is_success() {
            return self.read_error_response(id, response).await;
        }
        drop(self.sender.beginning(response, ERROR_BODY).await);
        Ok(())
    }
}
