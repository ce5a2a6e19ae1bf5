//! The GET stream of a legacy session, on which the server says what belongs to no request: kept open for as long as there is
//! a way to. If there is none, subscriptions that rely on it end with an error.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout};

use super::body::{self, Media, media};
use super::events::{End, For, Place};
use super::line::{SAYING_NO, retry_after};
use super::tries::{Tries, is_passing};
use super::{Carrier, fault};
use crate::client::{ErrorKind, Trouble};
use crate::wire::tape::Direction;

/// How long requests wait for the stream: until the server has seen that it is wanted.
const OPENING: Duration = Duration::from_secs(1);

/// A connection that has lasted so long was no failure, even if nothing came on it.
const LASTING: Duration = Duration::from_secs(30);

fn forgetful() -> Trouble {
    let problem =
        "the server forgets one session after the other as soon as its stream of notifications ends";
    Trouble::new(ErrorKind::Protocol(problem.to_owned()), "the server answered")
}

/// Why the stream is not read any more.
enum Unheard {
    /// The server has forgotten this session.
    Session(HeaderValue),
    /// It has no such stream, or none that can be read.
    Stream(Trouble),
}

impl Carrier {
    /// Begins to read the stream, and waits until the server has seen that it is wanted.
    pub(super) async fn listen(self: &Arc<Self>) {
        let (seen, was_seen) = oneshot::channel();
        let this = Arc::clone(self);
        let task = self.in_background(async move { this.keep_listening(seen).await });
        self.legacy.reads_unasked(task);
        drop(timeout(OPENING, was_seen).await);
    }

    /// Reads the stream until the session ends; when it is lost, it is opened again for the next subscription.
    ///
    /// Boxed, because what it begins may begin it again.
    fn keep_listening(
        self: Arc<Self>,
        seen: oneshot::Sender<()>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let mut seen = Some(seen);
            loop {
                match self.read_unasked(&mut seen).await {
                    Unheard::Session(forgotten) => {
                        let wait = self.legacy.forgotten().next(Some(Duration::ZERO));
                        let Some(wait) = wait else {
                            self.line.session.lose_listeners(&forgetful()).notified().await;
                            continue;
                        };
                        sleep(wait).await;
                        // Not from here: whoever opens another session ends this task.
                        let this = Arc::clone(&self);
                        self.in_background(async move { this.open_another(&forgotten).await });
                        return;
                    }
                    Unheard::Stream(trouble) => {
                        tracing::info!("no stream of notifications: {}", trouble.kind);
                        self.line.session.lose_listeners(&trouble).notified().await;
                    }
                }
            }
        })
    }

    async fn open_another(self: &Arc<Self>, forgotten: &HeaderValue) {
        if let Err(trouble) = self.reopen(forgotten).await {
            tracing::warn!("no other session could be opened: {}", trouble.kind);
        }
    }

    async fn read_unasked(self: &Arc<Self>, seen: &mut Option<oneshot::Sender<()>>) -> Unheard {
        let (mut place, mut tries, nobody) = (Place::default(), Tries::default(), Notify::new());
        let session = self.legacy.session();
        // Whether a connection has been accepted, and whether changes may have been missed since.
        let (mut accepted, mut missed) = (false, false);
        loop {
            let response = self.line.send(&self.get(&place)).await;
            drop(seen.take());
            let mut asked = place.retry;
            let trouble = match response {
                Ok(response) if response.status() == StatusCode::OK && media(&response) == Media::Events => {
                    // That a server closes a stream on which there was nothing to say is no failure.
                    tries.accepted();
                    if std::mem::replace(&mut accepted, true) {
                        self.subscribe_again(std::mem::take(&mut missed));
                    }
                    let (began, whom) = (Instant::now(), For { left: &nobody, opens: false });
                    let end = self.line.read_events(response, &mut place, whom, |_| {}).await;
                    asked = place.retry;
                    if std::mem::take(&mut place.news) || began.elapsed() >= LASTING {
                        tries.begin_anew();
                        self.legacy.forgotten().begin_anew();
                    }
                    match end {
                        End::Broken(problem) => {
                            return Unheard::Stream(fault::broken(problem, &place.latest));
                        }
                        End::BrokeOff(why) => {
                            missed |= place.last.is_none();
                            fault::broken(why, &place.latest)
                        }
                        End::Done | End::Ended => {
                            fault::broken("the stream of notifications ended".to_owned(), b"")
                        }
                    }
                }
                Ok(response) => {
                    let (status, wait) = (response.status(), retry_after(response.headers()));
                    let said = body::beginning(response, SAYING_NO).await;
                    self.line.see(Direction::ToClient, &said);
                    let trouble = fault::refused(&self.line.sender.url, status, &said);
                    match (status, &session) {
                        (StatusCode::NOT_FOUND, Some(session)) if accepted => {
                            return Unheard::Session(session.clone());
                        }
                        // What the stream was taken up after is not known there any more: from now on, then.
                        (StatusCode::BAD_REQUEST, _) if place.last.is_some() => {
                            place.last = None;
                            missed = true;
                        }
                        _ if is_passing(status) => asked = asked.max(wait),
                        _ => return Unheard::Stream(trouble),
                    }
                    trouble
                }
                Err(trouble) => {
                    missed = true;
                    trouble
                }
            };
            tracing::debug!("the stream of notifications is opened again: {}", trouble.kind);
            let Some(wait) = tries.next(asked) else { return Unheard::Stream(trouble) };
            sleep(wait).await;
        }
    }

    /// Subscribes again to what is watched. Changes may have been missed, which is told then.
    pub(super) fn subscribe_again(self: &Arc<Self>, missed: bool) {
        let session = Arc::clone(&self.line.session);
        self.in_background(async move { session.subscribe_again(missed).await });
    }
}
