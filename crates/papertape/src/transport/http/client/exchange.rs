//! Sends a message and interprets the HTTP response: JSON, an event stream, or an error.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use reqwest::Response;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use url::Url;

use super::backoff::{Backoff, DEFAULT_DELAY, is_transient};
use super::body::{self, BodyError, MediaType, media_type};
use super::dispatcher::Dispatcher;
use super::event_stream::{Awaiting, StreamEnd, StreamState};
use super::http_sse::NotHttpSse;
use super::legacy_session::NOTIFICATION_TIMEOUT;
use super::outgoing_message::OutgoingMessage;
use super::sender::{ERROR_BODY, ExchangeNumber, Request, retry_after};
use super::{EVENTS, JSON, errors};
use crate::client::{ErrorKind, Failure};
use crate::protocol::method;
use crate::wire::message::{self, Bounds, Message, Payload};

/// How much of an error response is read that may have a JSON-RPC error.
const JSON_ERROR_BODY: usize = 1024 * 1024;

/// The result of an attempt to resume a stream.
enum Resumption {
    Stream(Response),
    /// It failed, and may be repeated after this delay.
    Retry(Option<Duration>),
}

impl Dispatcher {
    /// Sends a request and handles everything until its response has arrived, or it is not pending any more.
    pub(super) async fn request(
        self: &Arc<Self>,
        sent: &OutgoingMessage,
        id: i64,
        responded: &Notify,
    ) -> Result<(), Failure> {
        let is_initialize = sent.is(method::INITIALIZE);
        if is_initialize {
            self.legacy.begin(sent);
        }
        let sse_endpoint = self.legacy.state().sse_endpoint.clone();
        if let Some(endpoint) = sse_endpoint {
            return self.request_over_sse(sent, id, endpoint).await;
        }
        let session = if is_initialize || sent.is_stateless { None } else { self.legacy.session() };
        let mut response = self.post(sent, Some(id)).await?;
        if response.status() == StatusCode::NOT_FOUND
            && let Some(forgotten) = session
        {
            drop(response);
            self.reopen(&forgotten).await?;
            response = self.post(sent, Some(id)).await?;
        }
        match response.status() {
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
                if is_initialize =>
            {
                let (status, body) = self.read_error_body(response).await;
                match self.open_http_sse().await {
                    Ok(endpoint) => self.request_over_sse(sent, id, endpoint).await,
                    Err(NotHttpSse::NoStream(why)) => {
                        tracing::debug!("it does not use the HTTP+SSE transport either: {why}");
                        self.interpret_error(id, status, &body).map_or(Ok(()), Err)
                    }
                    Err(NotHttpSse::Invalid(problem)) => Err(errors::protocol(problem, b"")),
                }
            }
            status if status.is_success() => {
                if is_initialize {
                    self.legacy.set_id(response.headers());
                }
                self.read_response(sent, id, response, responded).await
            }
            _ => self.read_error_response(id, response).await,
        }
    }

    /// Sends a notification or a response. If the server rejects it, that is logged: no caller waits for it.
    pub(super) async fn notify(&self, sent: &OutgoingMessage) {
        let sse_endpoint = self.legacy.state().sse_endpoint.clone();
        let posted = match sse_endpoint {
            Some(endpoint) => self.post_to(endpoint, sent, None).await,
            None => self.post(sent, None).await,
        };
        match posted {
            Ok(response) => {
                let status = response.status();
                let body = self.sender.beginning(response, ERROR_BODY).await;
                if !status.is_success() {
                    let said = errors::quoted_body(&body).unwrap_or_default();
                    let what = if sent.method.is_empty() { "a response" } else { &sent.method };
                    tracing::warn!("the server rejected {what}: HTTP {status} {said}");
                }
            }
            Err(failure) => tracing::warn!("sending {} failed: {}", sent.method, failure.kind),
        }
    }

    /// Sends `initialize` again, without a pending request.
    pub(super) async fn reinitialize(&self, initialize: &OutgoingMessage) -> Result<(), Failure> {
        let response = self.post(initialize, None).await?;
        if !response.status().is_success() {
            let status = response.status();
            let body = self.sender.beginning(response, ERROR_BODY).await;
            return Err(errors::http_status(&self.sender.target.url, status, &body));
        }
        self.legacy.set_id(response.headers());
        if media_type(&response) == MediaType::EventStream {
            let (mut stream, responded) = (StreamState::default(), Notify::new());
            let awaiting = Awaiting { responded: &responded, is_initialize: true };
            let initialized = |response: &[u8]| {
                self.legacy.set_revision(response);
                responded.notify_one();
            };
            drop(
                timeout(
                    NOTIFICATION_TIMEOUT,
                    self.sender.read_events(response, &mut stream, awaiting, initialized),
                )
                .await,
            );
        } else {
            let body = self.sender.beginning(response, self.sender.limit).await;
            self.legacy.set_revision(&body);
        }
        Ok(())
    }

    async fn post(&self, sent: &OutgoingMessage, id: Option<i64>) -> Result<Response, Failure> {
        self.post_to(self.sender.target.url.clone(), sent, id).await
    }

    pub(super) async fn post_to(
        &self,
        url: Url,
        sent: &OutgoingMessage,
        id: Option<i64>,
    ) -> Result<Response, Failure> {
        let mut headers = if sent.is_stateless || sent.is(method::INITIALIZE) {
            sent.headers.clone()
        } else {
            self.legacy.headers()
        };
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let body = Some(sent.body.clone());
        self.sender
            .send(&Request { method: Method::POST, url, headers, body, id, is_background: false })
            .await
    }

    /// Reads a successful HTTP response.
    async fn read_response(
        &self,
        sent: &OutgoingMessage,
        id: i64,
        response: Response,
        responded: &Notify,
    ) -> Result<(), Failure> {
        let (status, media_type) = (response.status(), media_type(&response));
        if media_type == MediaType::EventStream {
            return self.follow_stream(sent, id, response, responded).await;
        }
        let exchange = ExchangeNumber::of(&response);
        let body = match body::read(response, self.sender.limit).await {
            Ok(body) => body,
            Err(BodyError::TooLong) => {
                let problem = format!("the response is larger than the limit of {} bytes", self.sender.limit);
                return Err(errors::protocol(problem, b""));
            }
            Err(BodyError::Interrupted(problem)) => return Err(errors::protocol(problem, b"")),
        };
        self.sender.record(exchange, &body);
        if body.is_empty() {
            let problem = format!("HTTP {} with an empty body instead of a response", status.as_u16());
            return Err(errors::protocol(problem, b""));
        }
        if let MediaType::Other(media_type) = media_type {
            let problem = format!("the response is {media_type}, which is neither {JSON} nor {EVENTS}");
            return Err(errors::protocol(problem + "; is it the right URL?", &body));
        }
        if sent.is(method::INITIALIZE) {
            self.legacy.set_revision(&body);
        }
        if !self.take(id, &body) {
            let problem = "the HTTP response has no response to the request".to_owned();
            return Err(errors::protocol(problem, &body));
        }
        Ok(())
    }

    /// Reads an error response: with a JSON-RPC error, or without.
    pub(super) async fn read_error_response(&self, id: i64, response: Response) -> Result<(), Failure> {
        let (status, body) = self.read_error_body(response).await;
        self.interpret_error(id, status, &body).map_or(Ok(()), Err)
    }

    async fn read_error_body(&self, response: Response) -> (StatusCode, Vec<u8>) {
        let (status, body) = (response.status(), self.sender.beginning(response, JSON_ERROR_BODY).await);
        (status, body)
    }

    /// The failure, if the body did not have a JSON-RPC response.
    fn interpret_error(&self, id: i64, status: StatusCode, body: &[u8]) -> Option<Failure> {
        (!self.take(id, body)).then(|| errors::http_status(&self.sender.target.url, status, body))
    }

    /// Hands a body to the session. Whether the request has its response now.
    fn take(&self, id: i64, body: &[u8]) -> bool {
        let bounds = Bounds { depth: 127, batch: 1_000 };
        let error = match message::parse(body, bounds) {
            // The error has no id, but this exchange has only one request.
            Ok(Payload::Single(Message::Response(response))) if response.id.is_none() => response.error,
            Ok(_) => {
                self.sender.session.receive(body);
                None
            }
            // An invalid response with the id of the request fails it with a reason.
            Err(rejected) if rejected.id.is_some() => {
                self.sender.session.receive(body);
                None
            }
            Err(_) => None,
        };
        if let Some(error) = error.and_then(|raw| serde_json::from_str(raw.get()).ok()) {
            self.sender.session.reject_request(id, error);
        }
        !self.sender.session.is_pending(id)
    }

    /// Follows an event stream until the response has arrived, and resumes it when the connection ends.
    async fn follow_stream(
        &self,
        sent: &OutgoingMessage,
        id: i64,
        response: Response,
        responded: &Notify,
    ) -> Result<(), Failure> {
        let (mut stream, mut backoff) = (StreamState::default(), Backoff::default());
        let awaiting = Awaiting { responded, is_initialize: sent.is(method::INITIALIZE) };
        let mut next = Resumption::Stream(response);
        loop {
            let mut requested = None;
            let end = match next {
                Resumption::Stream(response) => {
                    let initialized = |response: &[u8]| self.legacy.set_revision(response);
                    self.sender.read_events(response, &mut stream, awaiting, initialized).await
                }
                Resumption::Retry(delay) => {
                    requested = delay;
                    StreamEnd::Closed
                }
            };
            let why = match end {
                StreamEnd::Responded => return Ok(()),
                StreamEnd::Invalid(problem) => return Err(errors::protocol(problem, &stream.latest)),
                StreamEnd::Closed => "the stream ended before the response arrived".to_owned(),
                StreamEnd::Interrupted(why) => why,
            };
            if !self.sender.session.is_pending(id) {
                return Ok(());
            }
            if std::mem::take(&mut stream.received) {
                backoff.reset();
            }
            if sent.is_stateless || stream.last_event_id.is_none() {
                let lost = "; it is lost: repeat the request if that is safe";
                return Err(errors::protocol(why + lost, &stream.latest));
            }
            let Some(delay) = backoff.next_delay(requested.max(stream.retry)) else {
                let problem = format!("{why}, nor after several attempts to resume the stream");
                return Err(errors::protocol(problem, &stream.latest));
            };
            tokio::select! {
                () = responded.notified() => return Ok(()),
                () = sleep(delay) => {}
            }
            next = self.resume(id, &stream).await?;
        }
    }

    /// Resumes a stream after its last event.
    async fn resume(&self, id: i64, stream: &StreamState) -> Result<Resumption, Failure> {
        self.sender.session.set_stage(id, "the connection was closed; the stream could not be resumed yet");
        let request = Request { id: Some(id), is_background: false, ..self.get(stream) };
        match self.sender.send(&request).await {
            Ok(response)
                if response.status() == StatusCode::OK && media_type(&response) == MediaType::EventStream =>
            {
                Ok(Resumption::Stream(response))
            }
            Ok(response) if is_transient(response.status()) => {
                // Even without `Retry-After`, the server needs time to notice that the other connection is dead.
                Ok(Resumption::Retry(Some(retry_after(response.headers()).unwrap_or(DEFAULT_DELAY))))
            }
            Ok(response) => {
                let status = response.status();
                let body = self.sender.beginning(response, ERROR_BODY).await;
                let said = errors::quoted_body(&body).unwrap_or_default();
                let problem = format!(
                    "the stream ended before the response arrived, and could not be resumed: HTTP {status} {said}"
                );
                Err(errors::protocol(problem, &body))
            }
            Err(Failure { kind: ErrorKind::Unreachable(_) | ErrorKind::Closed, .. }) => {
                Ok(Resumption::Retry(None))
            }
            Err(failure) => Err(failure),
        }
    }
}
