//! The GET stream of a session (legacy revisions), for notifications and requests of the server that belong to no request of
//! the client. It is reopened when it ends; if that fails, subscriptions that rely on it end with an error.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout};

use super::backoff::{Backoff, is_transient};
use super::body::{MediaType, media_type};
use super::dispatcher::Dispatcher;
use super::errors;
use super::event_stream::{Awaiting, StreamEnd, StreamState};
use super::sender::{ERROR_BODY, retry_after};
use crate::client::{ErrorKind, Failure};

/// How long other requests wait for the response to the GET.
const OPEN_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection that has lasted this long does not count as a failure, even without any message.
const STABLE: Duration = Duration::from_secs(30);

fn forgetful() -> Failure {
    let problem = "the server forgets every session as soon as its notification stream ends";
    Failure::new(ErrorKind::Protocol(problem.to_owned()), "the response arrived")
}

/// Why the stream cannot be reopened.
enum StreamLoss {
    /// The server has forgotten this session.
    Session(HeaderValue),
    /// The server does not offer the stream, or it is invalid.
    Stream(Failure),
}

impl Dispatcher {
    /// Starts to read the stream, and waits for the response to the GET.
    pub(super) async fn listen(self: &Arc<Self>) {
        let (opened, was_opened) = oneshot::channel();
        let this = Arc::clone(self);
        let task = self.spawn_background(async move { this.keep_listening(opened).await });
        self.legacy.set_stream_task(task);
        drop(timeout(OPEN_TIMEOUT, was_opened).await);
    }

    /// Reads the stream until the session ends; when it is lost, it is reopened for the next subscription.
    ///
    /// Boxed, because reopening the session calls this again.
    fn keep_listening(
        self: Arc<Self>,
        opened: oneshot::Sender<()>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let mut opened = Some(opened);
            loop {
                match self.read_notifications(&mut opened).await {
                    StreamLoss::Session(forgotten) => {
                        let delay = self.legacy.reopen_backoff().next_delay(Some(Duration::ZERO));
                        let Some(delay) = delay else {
                            self.sender.session.fail_subscriptions(&forgetful()).notified().await;
                            continue;
                        };
                        sleep(delay).await;
                        // In another task: reopening the session ends this one.
                        let this = Arc::clone(&self);
                        self.spawn_background(async move { this.open_another(&forgotten).await });
                        return;
                    }
                    StreamLoss::Stream(failure) => {
                        tracing::info!("the notification stream is lost: {}", failure.kind);
                        self.sender.session.fail_subscriptions(&failure).notified().await;
                    }
                }
            }
        })
    }

    async fn open_another(self: &Arc<Self>, forgotten: &HeaderValue) {
        if let Err(failure) = self.reopen(forgotten).await {
            tracing::warn!("reopening the session failed: {}", failure.kind);
        }
    }

    async fn read_notifications(self: &Arc<Self>, opened: &mut Option<oneshot::Sender<()>>) -> StreamLoss {
        let (mut stream, mut backoff, never) = (StreamState::default(), Backoff::default(), Notify::new());
        let session = self.legacy.session();
        // Whether a connection was accepted, and whether notifications may have been missed since.
        let (mut accepted, mut missed) = (false, false);
        loop {
            let response = self.sender.send(&self.get(&stream)).await;
            drop(opened.take());
            let mut requested = stream.retry;
            let failure = match response {
                Ok(response)
                    if response.status() == StatusCode::OK
                        && media_type(&response) == MediaType::EventStream =>
                {
                    // A server that closes an idle stream has not failed.
                    backoff.accepted();
                    if std::mem::replace(&mut accepted, true) {
                        self.resubscribe(std::mem::take(&mut missed));
                    }
                    let (began, awaiting) =
                        (Instant::now(), Awaiting { responded: &never, is_initialize: false });
                    let end = self.sender.read_events(response, &mut stream, awaiting, |_| {}).await;
                    requested = stream.retry;
                    if std::mem::take(&mut stream.received) || began.elapsed() >= STABLE {
                        backoff.reset();
                        self.legacy.reopen_backoff().reset();
                    }
                    match end {
                        StreamEnd::Invalid(problem) => {
                            return StreamLoss::Stream(errors::protocol(problem, &stream.latest));
                        }
                        StreamEnd::Interrupted(why) => {
                            missed |= stream.last_event_id.is_none();
                            errors::protocol(why, &stream.latest)
                        }
                        StreamEnd::Responded | StreamEnd::Closed => {
                            errors::protocol("the notification stream ended".to_owned(), b"")
                        }
                    }
                }
                Ok(response) => {
                    let (status, retry_after) = (response.status(), retry_after(response.headers()));
                    let said = self.sender.beginning(response, ERROR_BODY).await;
                    let failure = errors::http_status(&self.sender.target.url, status, &said);
                    match (status, &session) {
                        (StatusCode::NOT_FOUND, Some(session)) if accepted => {
                            return StreamLoss::Session(session.clone());
                        }
                        // The server does not know the last event id any more: the stream starts now.
                        (StatusCode::BAD_REQUEST, _) if stream.last_event_id.is_some() => {
                            stream.last_event_id = None;
                            missed = true;
                        }
                        _ if is_transient(status) => requested = requested.max(retry_after),
                        _ => return StreamLoss::Stream(failure),
                    }
                    failure
                }
                Err(failure) => {
                    missed = true;
                    failure
                }
            };
            tracing::debug!("reopening the notification stream: {}", failure.kind);
            let Some(delay) = backoff.next_delay(requested) else { return StreamLoss::Stream(failure) };
            sleep(delay).await;
        }
    }

    /// Subscribes to the resources again. If notifications may have been `missed`, everything is reported as changed.
    pub(super) fn resubscribe(self: &Arc<Self>, missed: bool) {
        let session = Arc::clone(&self.sender.session);
        self.spawn_background(async move { session.resubscribe(missed).await });
    }
}
