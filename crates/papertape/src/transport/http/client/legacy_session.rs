//! The session of session-based (legacy) revisions: its id, its notification stream, and how both end and are reopened.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, HeaderName};
use http::{HeaderMap, HeaderValue, Method};
use serde::Deserialize;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use url::Url;

use super::super::headers;
use super::EVENTS;
use super::backoff::Backoff;
use super::dispatcher::Dispatcher;
use super::event_stream::StreamState;
use super::outgoing_message::OutgoingMessage;
use super::sender::Request;
use crate::client::Failure;
use crate::protocol::Revision;
use crate::sync::lock;
use crate::wire::message::{self, Bounds, Message, Payload};

/// The timeout of sending a notification.
pub(super) const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(30);

/// The state of a session.
#[derive(Default)]
pub(super) struct SessionState {
    /// The `initialize` request, in case the session has to be reopened.
    initialize: Option<Bytes>,
    revision: Option<Revision>,
    session: Option<HeaderValue>,
    /// The URL for messages, if the server uses the HTTP+SSE transport of 2024-11-05.
    pub(super) sse_endpoint: Option<Url>,
    /// The task that reads the notification stream.
    stream: Option<AbortHandle>,
}

/// The session, which may be reopened.
#[derive(Default)]
pub(super) struct LegacySession {
    state: Mutex<SessionState>,
    /// Held while the session is reopened.
    reopening: tokio::sync::Mutex<()>,
    /// Delays between sessions that were reopened because the server did not find the stream of the last one.
    reopen_backoff: Mutex<Backoff>,
}

impl LegacySession {
    pub(super) fn state(&self) -> MutexGuard<'_, SessionState> {
        lock(&self.state)
    }

    pub(super) fn session(&self) -> Option<HeaderValue> {
        self.state().session.clone()
    }

    /// Delays between sessions that the server forgets one after the other.
    pub(super) fn reopen_backoff(&self) -> MutexGuard<'_, Backoff> {
        lock(&self.reopen_backoff)
    }

    /// The headers of every request after `initialize`.
    pub(super) fn headers(&self) -> HeaderMap {
        let state = self.state();
        let mut map = HeaderMap::new();
        if let Some(session) = &state.session {
            map.insert(HeaderName::from_static(headers::SESSION_ID), session.clone());
        }
        if let Some(revision) = state.revision.filter(|revision| revision.is_named_in_headers()) {
            let value = HeaderValue::from_static(revision.as_str());
            map.insert(HeaderName::from_static(headers::PROTOCOL_VERSION), value);
        }
        map
    }

    /// `initialize` is about to be sent, which ends the last session.
    pub(super) fn begin(&self, initialize: &OutgoingMessage) {
        let mut state = self.state();
        if let Some(task) = state.stream.take() {
            task.abort();
        }
        let sse_endpoint = state.sse_endpoint.take();
        *state = SessionState {
            initialize: Some(initialize.body.clone()),
            sse_endpoint,
            ..SessionState::default()
        };
    }

    /// Sets the task that reads the notification stream.
    pub(super) fn set_stream_task(&self, task: AbortHandle) {
        if let Some(before) = self.state().stream.replace(task) {
            before.abort();
        }
    }

    /// The headers of the response to `initialize` have arrived.
    pub(super) fn set_id(&self, headers: &HeaderMap) {
        self.state().session = headers.get(headers::SESSION_ID).cloned();
    }

    /// The response to `initialize` has arrived.
    pub(super) fn set_revision(&self, response: &[u8]) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct InitializeResult {
            protocol_version: String,
        }
        let bounds = Bounds { depth: 127, batch: 0 };
        if let Ok(Payload::Single(Message::Response(response))) = message::parse(response, bounds)
            && let Some(result) = response.result
            && let Ok(opened) = serde_json::from_str::<InitializeResult>(result.get())
        {
            self.state().revision = Revision::parse(&opened.protocol_version);
        }
    }
}

impl Dispatcher {
    /// Sends `notifications/initialized` and opens the notification stream before any other message is sent: one that
    /// overtook either could be rejected.
    pub(super) async fn initialized(self: &Arc<Self>, sent: &OutgoingMessage) {
        if timeout(NOTIFICATION_TIMEOUT, self.notify(sent)).await.is_err() {
            tracing::warn!("sending `notifications/initialized` timed out");
        }
        if self.legacy.state().sse_endpoint.is_none() {
            self.listen().await;
        }
    }

    /// The request for a stream, after the last event that has arrived.
    pub(super) fn get(&self, stream: &StreamState) -> Request {
        let mut headers = self.legacy.headers();
        headers.insert(ACCEPT, HeaderValue::from_static(EVENTS));
        if let Some(last) = &stream.last_event_id {
            headers.insert(HeaderName::from_static("last-event-id"), last.clone());
        }
        let url = self.sender.target.url.clone();
        Request { method: Method::GET, url, headers, body: None, id: None, is_background: true }
    }

    /// The server has forgotten the session: opens another one, unless another task has done so meanwhile.
    pub(super) async fn reopen(self: &Arc<Self>, forgotten: &HeaderValue) -> Result<(), Failure> {
        let _guard = self.legacy.reopening.lock().await;
        if self.legacy.session().as_ref() != Some(forgotten) {
            return Ok(());
        }
        let Some(body) = self.legacy.state().initialize.clone() else { return Ok(()) };
        tracing::warn!("the server has forgotten the session: opening another one");
        let initialize = OutgoingMessage::read(&body, &self.sender.session);
        let revision = self.legacy.state().revision;
        self.legacy.begin(&initialize);
        if let Err(failure) = self.reinitialize(&initialize).await {
            // The next request finds the session forgotten again; until then subscriptions are ended.
            self.legacy.state().session = Some(forgotten.clone());
            self.legacy.state().revision = revision;
            self.listen().await;
            return Err(failure);
        }
        let initialized =
            Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
        let initialized = OutgoingMessage::read(&initialized, &self.sender.session);
        if timeout(NOTIFICATION_TIMEOUT, self.notify(&initialized)).await.is_err() {
            tracing::warn!("sending `notifications/initialized` timed out");
        }
        self.listen().await;
        self.resubscribe(true);
        Ok(())
    }

    /// Ends the session with DELETE.
    pub(super) async fn end_session(&self) {
        if self.legacy.session().is_none() {
            return;
        }
        let (url, headers) = (self.sender.target.url.clone(), self.legacy.headers());
        let request =
            Request { method: Method::DELETE, url, headers, body: None, id: None, is_background: true };
        match self.sender.send(&request).await {
            Ok(response) => tracing::debug!("the session has ended: HTTP {}", response.status()),
            Err(failure) => tracing::debug!("the session could not be ended: {}", failure.kind),
        }
    }
}
