//! A message to what becomes of it: sent, and the response read for what it is.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use reqwest::Response;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use url::Url;

use super::body::{self, Media, Unread, media};
use super::events::{End, For, Place};
use super::legacy::WORD;
use super::line::{Request, SAYING_NO, retry_after};
use super::old::NotOld;
use super::outgoing::Sent;
use super::tries::{Tries, USUAL, is_passing};
use super::{Carrier, EVENTS, JSON, fault};
use crate::client::{ErrorKind, Trouble};
use crate::protocol::method;
use crate::wire::message::{self, Bounds, Message, Payload};
use crate::wire::tape::Direction;

/// The most that is read of a response that says no.
const MOST_REFUSAL: usize = 1024 * 1024;

/// What has become of an attempt to take up a stream.
enum Back {
    With(Response),
    /// It may be worth another one, after so long.
    Later(Option<Duration>),
}

impl Carrier {
    /// Carries a request until it is answered, or nobody waits for it any more.
    pub(super) async fn ask(self: &Arc<Self>, sent: &Sent, id: i64, left: &Notify) -> Result<(), Trouble> {
        let opens = sent.is(method::INITIALIZE);
        if opens {
            self.legacy.begins(sent);
        }
        let old = self.legacy.conversation().old.clone();
        if let Some(address) = old {
            return self.ask_old(sent, id, address).await;
        }
        let session = if opens || sent.stands_alone { None } else { self.legacy.session() };
        let mut response = self.post(sent, Some(id)).await?;
        if response.status() == StatusCode::NOT_FOUND
            && let Some(forgotten) = session
        {
            drop(response);
            self.reopen(&forgotten).await?;
            response = self.post(sent, Some(id)).await?;
        }
        match response.status() {
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED if opens => {
                let (status, body) = self.refusal(response).await;
                match self.open_old().await {
                    Ok(address) => self.ask_old(sent, id, address).await,
                    Err(NotOld::NoStream(why)) => {
                        tracing::debug!("nor is it a server of the first revision: {why}");
                        self.read_refusal(id, status, &body).map_or(Ok(()), Err)
                    }
                    Err(NotOld::Wrong(problem)) => Err(fault::broken(problem, b"")),
                }
            }
            status if status.is_success() => {
                if opens {
                    self.legacy.answered(response.headers());
                }
                self.answered(sent, id, response, left).await
            }
            _ => self.refused(id, response).await,
        }
    }

    /// Sends a message that wants no answer. If it is not taken, that is noted and nothing else: nobody waits for it.
    pub(super) async fn tell(&self, sent: &Sent) {
        let old = self.legacy.conversation().old.clone();
        let posted = match old {
            Some(address) => self.post_to(address, sent, None).await,
            None => self.post(sent, None).await,
        };
        match posted {
            Ok(response) => {
                let status = response.status();
                let body = body::beginning(response, SAYING_NO).await;
                self.line.see(Direction::ToClient, &body);
                if !status.is_success() {
                    let said = fault::said(&body).unwrap_or_default();
                    let what = if sent.method.is_empty() { "an answer" } else { &sent.method };
                    tracing::warn!("the server did not take {what}: HTTP {status} {said}");
                }
            }
            Err(trouble) => tracing::warn!("the server was not told {}: {}", sent.method, trouble.kind),
        }
    }

    /// Says `initialize` once more, without anybody who waits for the answer.
    pub(super) async fn ask_again(&self, initialize: &Sent) -> Result<(), Trouble> {
        let response = self.post(initialize, None).await?;
        if !response.status().is_success() {
            let status = response.status();
            let body = body::beginning(response, SAYING_NO).await;
            self.line.see(Direction::ToClient, &body);
            return Err(fault::refused(&self.line.sender.url, status, &body));
        }
        self.legacy.answered(response.headers());
        if media(&response) == Media::Events {
            let (mut place, nobody) = (Place::default(), Notify::new());
            let whom = For { left: &nobody, opens: true };
            let opened = |answer: &[u8]| {
                self.legacy.opened(answer);
                nobody.notify_one();
            };
            drop(timeout(WORD, self.line.read_events(response, &mut place, whom, opened)).await);
        } else {
            let body = body::beginning(response, self.line.limit).await;
            self.line.see(Direction::ToClient, &body);
            self.legacy.opened(&body);
        }
        Ok(())
    }

    async fn post(&self, sent: &Sent, id: Option<i64>) -> Result<Response, Trouble> {
        self.post_to(self.line.sender.url.clone(), sent, id).await
    }

    pub(super) async fn post_to(&self, url: Url, sent: &Sent, id: Option<i64>) -> Result<Response, Trouble> {
        let mut headers = if sent.stands_alone || sent.is(method::INITIALIZE) {
            sent.headers.clone()
        } else {
            self.legacy.headers()
        };
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let body = Some(sent.body.clone());
        self.line.send(&Request { method: Method::POST, url, headers, body, id, in_passing: false }).await
    }

    /// A response that should have the answer.
    async fn answered(&self, sent: &Sent, id: i64, response: Response, left: &Notify) -> Result<(), Trouble> {
        let (status, kind) = (response.status(), media(&response));
        if kind == Media::Events {
            return self.follow(sent, id, response, left).await;
        }
        let body = match body::read(response, self.line.limit).await {
            Ok(body) => body,
            Err(Unread::TooLong) => {
                let problem = format!("the answer is longer than the limit of {} bytes", self.line.limit);
                return Err(fault::broken(problem, b""));
            }
            Err(Unread::BrokeOff(problem)) => return Err(fault::broken(problem, b"")),
        };
        self.line.see(Direction::ToClient, &body);
        if body.is_empty() {
            let problem = format!("HTTP {} with an empty body instead of an answer", status.as_u16());
            return Err(fault::broken(problem, b""));
        }
        if let Media::Other(kind) = kind {
            let problem = format!("the answer is {kind}, which is neither {JSON} nor {EVENTS}");
            return Err(fault::broken(problem + "; is it the right address?", &body));
        }
        if sent.is(method::INITIALIZE) {
            self.legacy.opened(&body);
        }
        if !self.take(id, &body) {
            let problem = "the response is no answer to the request".to_owned();
            return Err(fault::broken(problem, &body));
        }
        Ok(())
    }

    /// A response that says no: with an error of MCP's, or without.
    pub(super) async fn refused(&self, id: i64, response: Response) -> Result<(), Trouble> {
        let (status, body) = self.refusal(response).await;
        self.read_refusal(id, status, &body).map_or(Ok(()), Err)
    }

    async fn refusal(&self, response: Response) -> (StatusCode, Vec<u8>) {
        let (status, body) = (response.status(), body::beginning(response, MOST_REFUSAL).await);
        self.line.see(Direction::ToClient, &body);
        (status, body)
    }

    /// What is to be told, if it was no answer.
    fn read_refusal(&self, id: i64, status: StatusCode, body: &[u8]) -> Option<Trouble> {
        (!self.take(id, body)).then(|| fault::refused(&self.line.sender.url, status, body))
    }

    /// Hands a body to the session. Whether the request has its answer now.
    fn take(&self, id: i64, body: &[u8]) -> bool {
        let bounds = Bounds { depth: 127, batch: 1_000 };
        let error = match message::parse(body, bounds) {
            // The error does not say which request it is about, but there is only this one.
            Ok(Payload::Single(Message::Response(response))) if response.id.is_none() => response.error,
            Ok(_) => {
                self.line.session.receive(body);
                None
            }
            // What has the request's id and is no answer fails it with a reason.
            Err(rejected) if rejected.id.is_some() => {
                self.line.session.receive(body);
                None
            }
            Err(_) => None,
        };
        if let Some(error) = error.and_then(|raw| serde_json::from_str(raw.get()).ok()) {
            self.line.session.refuse_request(id, error);
        }
        !self.line.session.awaits(id)
    }

    /// A response that is a stream: followed until the answer has come, also over the ends of connections.
    async fn follow(&self, sent: &Sent, id: i64, response: Response, left: &Notify) -> Result<(), Trouble> {
        let (mut place, mut tries) = (Place::default(), Tries::default());
        let whom = For { left, opens: sent.is(method::INITIALIZE) };
        let mut back = Back::With(response);
        loop {
            let mut asked = None;
            let end = match back {
                Back::With(response) => {
                    let opened = |answer: &[u8]| self.legacy.opened(answer);
                    self.line.read_events(response, &mut place, whom, opened).await
                }
                Back::Later(wait) => {
                    asked = wait;
                    End::Ended
                }
            };
            let why = match end {
                End::Done => return Ok(()),
                End::Broken(problem) => return Err(fault::broken(problem, &place.latest)),
                End::Ended => "the response ended before the answer came".to_owned(),
                End::BrokeOff(why) => why,
            };
            if !self.line.session.awaits(id) {
                return Ok(());
            }
            if std::mem::take(&mut place.news) {
                tries.begin_anew();
            }
            if sent.stands_alone || place.last.is_none() {
                let lost = "; it is lost: ask again if that does no harm";
                return Err(fault::broken(why + lost, &place.latest));
            }
            let Some(wait) = tries.next(asked.max(place.retry)) else {
                let problem = format!("{why}, nor after several attempts to come back for it");
                return Err(fault::broken(problem, &place.latest));
            };
            tokio::select! {
                () = left.notified() => return Ok(()),
                () = sleep(wait) => {}
            }
            back = self.come_back(id, &place).await?;
        }
    }

    /// Asks for the rest of a stream.
    async fn come_back(&self, id: i64, place: &Place) -> Result<Back, Trouble> {
        self.line.session.has_reached(id, "the server let go, and has not been back with the answer");
        let request = Request { id: Some(id), in_passing: false, ..self.get(place) };
        match self.line.send(&request).await {
            Ok(response) if response.status() == StatusCode::OK && media(&response) == Media::Events => {
                Ok(Back::With(response))
            }
            Ok(response) if is_passing(response.status()) => {
                // Without a wish of its own, the server still needs its time to notice that the other connection is dead.
                Ok(Back::Later(Some(retry_after(response.headers()).unwrap_or(USUAL))))
            }
            Ok(response) => {
                let status = response.status();
                let body = body::beginning(response, SAYING_NO).await;
                self.line.see(Direction::ToClient, &body);
                let said = fault::said(&body).unwrap_or_default();
                let problem = format!(
                    "the response ended before the answer came, and the rest of it was refused: HTTP {status} {said}"
                );
                Err(fault::broken(problem, &body))
            }
            Err(Trouble { kind: ErrorKind::Unreachable(_) | ErrorKind::Closed, .. }) => Ok(Back::Later(None)),
            Err(trouble) => Err(trouble),
        }
    }
}
