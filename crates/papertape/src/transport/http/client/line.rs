//! One message to one response: who asks is shown, redirects and requests to wait are followed within bounds.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, Method, StatusCode};
use reqwest::Response;
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use super::body::{self, Told};
use super::endpoint::{Sender, shown};
use super::fault;
use crate::client::{ErrorKind, Session, Trouble};
use crate::transport::tap::Tap;
use crate::wire::error::excerpt;
use crate::wire::tape::Direction;

/// Redirects that are followed.
const MOST_REDIRECTS: usize = 5;
/// Requests that may be refused for want of the right credentials, whatever these say: they count by themselves, and a nonce
/// or a token that is a little too old is no reason to give up.
const MOST_REFUSALS: usize = 8;
/// How often a server may ask to wait.
const MOST_WAITS: usize = 5;
/// How long somebody may take to say who they are.
const AUTHORIZING: Duration = Duration::from_secs(10 * 60);
/// What is read of a body that only says no.
pub(super) const SAYING_NO: usize = 64 * 1024;

/// The way to a server, and everybody who sees what goes along it.
pub(super) struct Line {
    pub(super) session: Arc<Session>,
    pub(super) sender: Sender,
    pub(super) tap: Arc<Mutex<Tap>>,
    /// The most bytes of a body or an event.
    pub(super) limit: usize,
}

/// A request to be sent.
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
    /// The MCP request that it carries.
    pub(super) id: Option<i64>,
    /// Nobody waits for it, so that nobody is to be bothered for it either.
    pub(super) in_passing: bool,
}

impl Line {
    /// Sends a request until there is a response that is meant for it.
    pub(super) async fn send(&self, request: &Request) -> Result<Response, Trouble> {
        let mut url = request.url.clone();
        let (mut redirects, mut refusals, mut waits) = (0, 0, 0);
        loop {
            let response = self.send_once(request, &url).await?;
            match response.status() {
                status if status.is_redirection() && status != StatusCode::NOT_MODIFIED => {
                    redirects += 1;
                    url = redirected(&url, &response, redirects).map_err(|message| {
                        let kind = ErrorKind::Http { status: response.status().as_u16(), message };
                        Trouble::new(kind, "nothing was sent to the new address")
                    })?;
                }
                StatusCode::FORBIDDEN if !response.headers().contains_key(WWW_AUTHENTICATE) => {
                    return Err(self.forbidden(&url, response).await);
                }
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                    refusals += 1;
                    self.authorize(request, &url, response, refusals).await?;
                }
                StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
                    if !request.in_passing && waits < MOST_WAITS =>
                {
                    let Some(wait) = retry_after(response.headers()) else { return Ok(response) };
                    waits += 1;
                    self.wait(request, &url, response, wait).await?;
                }
                _ => return Ok(response),
            }
        }
    }

    async fn send_once(&self, request: &Request, url: &Url) -> Result<Response, Trouble> {
        let unauthorized =
            |why: String| Trouble::new(ErrorKind::Unauthorized(why), "the request was not sent");
        let credentials = {
            let _ours = self.session.excuse();
            let headers = self.sender.credentials.headers(&request.method, url);
            let headers = timeout(AUTHORIZING, headers).await;
            headers
                .map_err(|_| unauthorized("nobody said in time who asks".to_owned()))?
                .map_err(|error| unauthorized(error.to_string()))?
        };
        let mut headers = self.sender.headers.clone();
        replace(&mut headers, request.headers.clone());
        replace(&mut headers, credentials);
        let mut sending = self.sender.http.request(request.method.clone(), url.clone()).headers(headers);
        if let Some(body) = &request.body {
            let (session, tap, id) = (Arc::clone(&self.session), Arc::clone(&self.tap), request.id);
            sending = sending.body(reqwest::Body::wrap(Told::new(body.clone(), move |bytes| {
                see(&tap, Direction::ToServer, bytes);
                if let Some(id) = id {
                    session.has_reached(id, "the request was sent; no response came");
                }
            })));
        }
        let response = sending.send().await.map_err(|error| fault::not_sent(url, &error))?;
        self.sender.credentials.met(response.remote_addr());
        self.sender.credentials.observe(response.headers());
        if let Some(id) = request.id {
            self.session.has_reached(id, "the response began; the answer did not come");
        }
        Ok(response)
    }

    /// A refusal without a challenge: no credentials would change it, so it is told as what it says.
    async fn forbidden(&self, url: &Url, response: Response) -> Trouble {
        let status = response.status();
        let said = body::beginning(response, SAYING_NO).await;
        self.see(Direction::ToClient, &said);
        fault::refused(url, status, &said)
    }

    /// Shows who asks, so that the next attempt may be better; an error if it is not worth one.
    async fn authorize(
        &self,
        request: &Request,
        url: &Url,
        response: Response,
        refusals: usize,
    ) -> Result<(), Trouble> {
        let (status, headers) = (response.status(), response.headers().clone());
        let said = body::beginning(response, SAYING_NO).await;
        self.see(Direction::ToClient, &said);
        let unauthorized = |why: &str| {
            let said = fault::said(&said).map(|said| format!("; the server refused {said}"));
            let why = format!("{why}{}", said.unwrap_or_default());
            Trouble::new(ErrorKind::Unauthorized(why), "the server refused the request")
        };
        if request.in_passing {
            return Err(unauthorized(&format!("HTTP {status}")));
        }
        if refusals >= MOST_REFUSALS {
            let still = format!("HTTP {status}, after {refusals} attempts with the credentials there are");
            return Err(unauthorized(&still));
        }
        let _ours = self.session.excuse();
        let refused = self.sender.credentials.refused(url, status, &headers, refusals);
        match timeout(AUTHORIZING, refused).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(unauthorized(&error.to_string())),
            Err(_) => Err(unauthorized("nobody said in time who asks")),
        }
    }

    /// Waits as long as the server asks to, if the request has so much time.
    async fn wait(
        &self,
        request: &Request,
        url: &Url,
        response: Response,
        wait: Duration,
    ) -> Result<(), Trouble> {
        let status = response.status();
        let said = body::beginning(response, SAYING_NO).await;
        self.see(Direction::ToClient, &said);
        let until = request.id.and_then(|id| self.session.deadline(id));
        let time = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
        if wait >= time {
            let mut trouble = fault::refused(url, status, &said);
            if let ErrorKind::Http { message, .. } = &mut trouble.kind {
                let left = time.as_secs();
                *message +=
                    &format!("; it asks to wait {} s, but the call has only {left} s", wait.as_secs());
            }
            return Err(trouble);
        }
        tracing::info!("the server is busy (HTTP {status}) and asks to wait {} s", wait.as_secs());
        sleep(wait).await;
        Ok(())
    }

    /// Everything that crosses passes the tap.
    pub(super) fn see(&self, direction: Direction, bytes: &[u8]) {
        if !bytes.is_empty() {
            see(&self.tap, direction, bytes);
        }
    }
}

fn see(tap: &Mutex<Tap>, direction: Direction, bytes: &[u8]) {
    let mut tap = tap.lock().unwrap_or_else(PoisonError::into_inner);
    tap.frame(direction, bytes);
    tap.flush();
}

/// What is said later counts.
fn replace(headers: &mut HeaderMap, later: HeaderMap) {
    for name in later.keys() {
        headers.remove(name);
    }
    let mut last = None;
    for (name, value) in later {
        last = name.or(last);
        if let Some(name) = &last {
            headers.append(name.clone(), value);
        }
    }
}

/// Where a redirect leads: on the same host only, and only those that send the same request there.
fn redirected(from: &Url, response: &Response, redirects: usize) -> Result<Url, String> {
    let status = response.status();
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let Some(location) = location else { return Err("a redirect that does not say where".to_owned()) };
    let Ok(to) = from.join(location) else {
        return Err(format!("a redirect to {}, which is no address", excerpt(location)));
    };
    if to.origin() != from.origin() {
        let to = shown(&to);
        return Err(format!("it has moved to {to}; if you trust that host, use this address"));
    }
    if !matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
        return Err(format!("it has moved to {}; use this address", shown(&to)));
    }
    if redirects > MOST_REDIRECTS {
        return Err(format!("more than {MOST_REDIRECTS} redirects, the last to {}", shown(&to)));
    }
    Ok(to)
}

/// How long a response asks to wait.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let then = httpdate::parse_http_date(text).ok()?;
    Some(then.duration_since(SystemTime::now()).unwrap_or_default())
}
