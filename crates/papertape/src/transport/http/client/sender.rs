//! One HTTP request to one response: credentials, redirects and `Retry-After` are handled within limits.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{HOST, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use reqwest::Response;
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use super::body::{self, ObservedBody};
use super::endpoint::{HttpTarget, shown};
use super::errors;
use crate::client::{ErrorKind, Failure, NOT_SENT, Session};
use crate::sync::lock;
use crate::transport::http::heads;
use crate::transport::tap::Tap;
use crate::wire::error::excerpt;
use crate::wire::tape::Direction;

/// How many redirects are followed.
const MOST_REDIRECTS: usize = 5;
/// How many times a request may be rejected with 401 or 403: the credentials have a limit of their own, and an expired nonce
/// or token is not a reason to give up.
const MOST_REJECTIONS: usize = 8;
/// How many times `Retry-After` is followed.
const MOST_WAITS: usize = 5;
/// The timeout of obtaining credentials, which may need the user.
const AUTHORIZATION_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// How much of the body of an error response is read.
pub(super) const ERROR_BODY: usize = 64 * 1024;

/// Sends HTTP requests to one server.
pub(super) struct HttpSender {
    pub(super) session: Arc<Session>,
    pub(super) target: HttpTarget,
    pub(super) tap: Arc<Mutex<Tap>>,
    /// The maximum size of a body or an event.
    pub(super) limit: usize,
}

/// An HTTP request to be sent.
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
    /// The id of the MCP request in it.
    pub(super) id: Option<i64>,
    /// No caller waits for it, so the user is not prompted for credentials.
    pub(super) is_background: bool,
}

impl HttpSender {
    /// Sends a request and returns its final response.
    pub(super) async fn send(&self, request: &Request) -> Result<Response, Failure> {
        let mut url = request.url.clone();
        let (mut redirects, mut rejections, mut waits) = (0, 0, 0);
        loop {
            let response = self.send_once(request, &url).await?;
            match response.status() {
                status if status.is_redirection() && status != StatusCode::NOT_MODIFIED => {
                    redirects += 1;
                    url = redirected(&url, &response, redirects).map_err(|message| {
                        let kind = ErrorKind::Http { status: response.status().as_u16(), message };
                        Failure::new(kind, "the request was not sent to the new address")
                    })?;
                }
                StatusCode::FORBIDDEN if !response.headers().contains_key(WWW_AUTHENTICATE) => {
                    return Err(self.forbidden(&url, response).await);
                }
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                    rejections += 1;
                    self.authorize(request, &url, response, rejections).await?;
                }
                StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
                    if !request.is_background && waits < MOST_WAITS =>
                {
                    let Some(wait) = retry_after(response.headers()) else { return Ok(response) };
                    waits += 1;
                    self.wait(request, &url, response, wait).await?;
                }
                _ => return Ok(response),
            }
        }
    }

    async fn send_once(&self, request: &Request, url: &Url) -> Result<Response, Failure> {
        let unauthorized =
            |why: &str| Failure::new(ErrorKind::Unauthorized(format!("{}: {why}", shown(url))), NOT_SENT);
        let credentials = {
            let _pause = self.session.pause_timeouts();
            let headers = self.target.credentials.headers(&request.method, url);
            let headers = timeout(AUTHORIZATION_TIMEOUT, headers).await;
            headers
                .map_err(|_| unauthorized("obtaining credentials timed out"))?
                .map_err(|error| unauthorized(&error.to_string()))?
        };
        let mut headers = self.target.headers.clone();
        replace(&mut headers, request.headers.clone());
        replace(&mut headers, credentials);
        let exchange = self.record_head(&request.method, url, &headers);
        let mut sending = self.target.http.request(request.method.clone(), url.clone()).headers(headers);
        if let Some(body) = &request.body {
            let (session, tap, id) = (Arc::clone(&self.session), Arc::clone(&self.tap), request.id);
            sending = sending.body(reqwest::Body::wrap(ObservedBody::new(body.clone(), move |bytes| {
                record(&tap, exchange, Direction::ToServer, bytes);
                if let Some(id) = id {
                    session.set_stage(id, "the request was sent; no response arrived");
                }
            })));
        }
        let mut outcome = sending.send().await.map_err(|error| errors::not_sent(url, &error));
        if let Some(exchange) = exchange {
            self.record_outcome(exchange, &mut outcome);
        }
        let response = outcome?;
        self.target.credentials.observe(response.headers(), response.remote_addr());
        if let Some(id) = request.id {
            self.session.set_stage(id, "the response began; the result did not arrive");
        }
        Ok(response)
    }

    /// A 403 without a challenge, which no credentials would change.
    async fn forbidden(&self, url: &Url, response: Response) -> Failure {
        let status = response.status();
        let said = self.beginning(response, ERROR_BODY).await;
        errors::http_status(url, status, &said)
    }

    /// Obtains credentials for the next attempt.
    async fn authorize(
        &self,
        request: &Request,
        url: &Url,
        response: Response,
        rejections: usize,
    ) -> Result<(), Failure> {
        let (status, headers) = (response.status(), response.headers().clone());
        let said = self.beginning(response, ERROR_BODY).await;
        let unauthorized = |why: &str| {
            let quoted =
                errors::quoted_body(&said).map(|said| format!("; the server rejected the request {said}"));
            let why = format!("{}: {why}{}", shown(url), quoted.unwrap_or_default());
            let mut failure = Failure::new(ErrorKind::Unauthorized(why), "the server rejected the request");
            failure.bytes = errors::keep(&said);
            failure
        };
        if request.is_background {
            return Err(unauthorized(&format!("HTTP {status}")));
        }
        if rejections >= MOST_REJECTIONS {
            let still = format!("HTTP {status}, after {rejections} attempts with the available credentials");
            return Err(unauthorized(&still));
        }
        let _pause = self.session.pause_timeouts();
        let refused = self.target.credentials.challenged(url, status, &headers, rejections);
        match timeout(AUTHORIZATION_TIMEOUT, refused).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(unauthorized(&error.to_string())),
            Err(_) => Err(unauthorized("obtaining credentials timed out")),
        }
    }

    /// Waits for `Retry-After`, if the timeout of the request allows it.
    async fn wait(
        &self,
        request: &Request,
        url: &Url,
        response: Response,
        wait: Duration,
    ) -> Result<(), Failure> {
        let status = response.status();
        let said = self.beginning(response, ERROR_BODY).await;
        let until = request.id.and_then(|id| self.session.deadline(id));
        let time = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
        if wait >= time {
            let mut failure = errors::http_status(url, status, &said);
            if let ErrorKind::Http { message, .. } = &mut failure.kind {
                let left = time.as_secs();
                *message += &format!(
                    "; it sent `Retry-After: {}`, but the request times out in {left} s",
                    wait.as_secs()
                );
            }
            return Err(failure);
        }
        tracing::info!("the server is busy (HTTP {status}): retrying after {} s", wait.as_secs());
        sleep(wait).await;
        Ok(())
    }

    /// Reads the beginning of a body that is only shown to users, and records it.
    pub(super) async fn beginning(&self, response: Response, limit: usize) -> Vec<u8> {
        let exchange = ExchangeNumber::of(&response);
        let body = body::beginning(response, limit).await;
        self.record(exchange, &body);
        body
    }

    /// Records what was received.
    pub(super) fn record(&self, exchange: Option<ExchangeNumber>, bytes: &[u8]) {
        if !bytes.is_empty() {
            record(&self.tap, exchange, Direction::ToClient, bytes);
        }
    }

    /// Gives a request its number, if there is a tape, and records its head.
    fn record_head(&self, method: &Method, url: &Url, headers: &HeaderMap) -> Option<ExchangeNumber> {
        let mut tap = lock(&self.tap);
        let number = tap.next_exchange()?;
        let target =
            url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        let mut headers = headers.clone();
        // What reqwest adds, as far as it is known here.
        if let Some(host) = url.host_str() {
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            headers.extend(HeaderValue::from_str(&format!("{host}{port}")).map(|host| (HOST, host)));
        }
        tap.head(number, Direction::ToServer, &heads::of_request(method, &target, &headers));
        tap.flush();
        Some(ExchangeNumber(number))
    }

    /// Records the head of its response, or that there is none.
    fn record_outcome(&self, exchange: ExchangeNumber, outcome: &mut Result<Response, Failure>) {
        let mut tap = lock(&self.tap);
        match outcome {
            Ok(response) => {
                let head = heads::of_response(response.status(), response.headers());
                tap.head(exchange.0, Direction::ToClient, &head);
                response.extensions_mut().insert(exchange);
            }
            Err(failure) => tap.failed(exchange.0, &failure.kind.to_string()),
        }
        tap.flush();
    }
}

/// The number of a request on the tape.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExchangeNumber(u64);

impl ExchangeNumber {
    pub(super) fn of(response: &Response) -> Option<Self> {
        response.extensions().get().copied()
    }
}

fn record(tap: &Mutex<Tap>, exchange: Option<ExchangeNumber>, direction: Direction, bytes: &[u8]) {
    let mut tap = lock(tap);
    tap.frame_of(exchange.map(|number| number.0), direction, bytes);
    tap.flush();
}

/// Sets headers, replacing those with the same names.
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

/// The target of a redirect: on the same host only, and only if the request does not change (307, 308).
fn redirected(from: &Url, response: &Response, redirects: usize) -> Result<Url, String> {
    let status = response.status();
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let Some(location) = location else { return Err("a redirect without `Location`".to_owned()) };
    let Ok(to) = from.join(location) else {
        return Err(format!("a redirect to {}, which is not a valid URL", excerpt(location)));
    };
    if to.origin() != from.origin() {
        let to = shown(&to);
        return Err(format!("it redirects to {to}; if you trust that host, use this URL"));
    }
    if !matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
        return Err(format!("it redirects to {}; use this URL", shown(&to)));
    }
    if redirects > MOST_REDIRECTS {
        return Err(format!("more than {MOST_REDIRECTS} redirects, the last to {}", shown(&to)));
    }
    Ok(to)
}

/// The `Retry-After` of a response.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let then = httpdate::parse_http_date(text).ok()?;
    Some(then.duration_since(SystemTime::now()).unwrap_or_default())
}
