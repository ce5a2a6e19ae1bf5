//! Requests to a service that embeds, to bodies or faults: within a time, within a size, from one host only.

use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Method, Response, StatusCode, redirect};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use url::{Host, Url};

use super::EmbedError;

/// How long to wait for a connection.
const CONNECT: Duration = Duration::from_secs(2);

/// The largest body: a thousand vectors of 3,072 numbers.
const LARGEST: usize = 64 << 20;

/// The largest body of an error response.
const LARGEST_COMPLAINT: usize = 64 << 10;

/// How much of an error message is quoted, in characters.
const LONGEST_COMPLAINT: usize = 300;

/// How often a request is repeated, and how long after the first time; then twice as long each time.
const RETRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);

/// One host, and how to talk to it.
pub(super) struct Http {
    client: reqwest::Client,
    base: Url,
    /// `Ollama at 127.0.0.1:11434`.
    service: String,
    key: Option<String>,
    time: Duration,
    /// It is on this machine.
    here: bool,
}

/// What went wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// Unreachable, or failing.
    Unavailable(String),
    /// No response in time.
    Late(String),
    /// The service rejects the request; 200 if the body of a success says so.
    Rejected { status: u16, said: String },
    /// An invalid response.
    InvalidResponse(String),
}

/// A fault, and how long to wait before the request is retried, if at all.
struct Failure(Fault, Option<Duration>);

impl Http {
    /// The service `name` at this address; a request takes at most `time`, repetitions and all.
    pub(super) fn new(
        name: &str,
        base: &str,
        key: Option<String>,
        time: Duration,
    ) -> Result<Self, EmbedError> {
        let wrong = |why: &str| EmbedError::Rejected(format!("the address of {name} cannot be used: {why}"));
        let base = Url::parse(base).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(wrong("it begins neither with http:// nor with https://"));
        }
        let host = base.host_str().ok_or_else(|| wrong("it names no host"))?;
        let service = format!("{name} at {host}:{}", base.port_or_known_default().unwrap_or_default());
        // A redirect could carry texts and key elsewhere; the new address of a service can be configured.
        let mut client =
            reqwest::Client::builder().redirect(redirect::Policy::none()).connect_timeout(CONNECT);
        // Requests to this machine are never proxied, whatever the environment says.
        let here = match base.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            None => false,
        };
        if here {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| wrong(&root_cause(&error)))?;
        Ok(Self { client, base, service, key, time, here })
    }

    /// Whether others could read a key on its way: it goes to another machine without encryption.
    pub(super) fn shows_key(&self) -> bool {
        self.key.is_some() && self.base.scheme() == "http" && !self.here
    }

    /// The name and address of the service, for messages.
    pub(super) fn service(&self) -> &str {
        &self.service
    }

    /// How long a request may take.
    pub(super) fn time(&self) -> Duration {
        self.time
    }

    /// The body of a successful response.
    pub(super) async fn ask(&self, path: &str, body: Option<&Value>) -> Result<Vec<u8>, Fault> {
        let until = Instant::now() + self.time;
        timeout(self.time, self.tries(path, body, until)).await.unwrap_or_else(|_| {
            let time = humane(self.time);
            Err(Fault::Late(format!(
                "{} did not respond within {time} (--embed-timeout gives it more)",
                self.service
            )))
        })
    }

    /// A body as JSON. Programs in Python write `NaN` and `Infinity` into it, which JSON does not have: they become
    /// `null`, so that they cost one vector and not all.
    pub(super) fn decode<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, Fault> {
        let error = match serde_json::from_slice(body) {
            Ok(read) => return Ok(read),
            Err(error) => error,
        };
        let mended = if body.windows(3).any(|word| word == b"NaN" || word == b"Inf") {
            let mended =
                String::from_utf8_lossy(body).replace("-Infinity", "null").replace("Infinity", "null");
            serde_json::from_str(&mended.replace("NaN", "null")).ok()
        } else {
            None
        };
        mended.ok_or_else(|| {
            Fault::InvalidResponse(format!(
                "{} sends what is not JSON, or not of the right shape: {error}",
                self.service
            ))
        })
    }

    /// Fails if a success says that it is none.
    pub(super) fn check(&self, error: Option<&Value>) -> Result<(), Fault> {
        match error.filter(|error| !error.is_null()) {
            None => Ok(()),
            Some(error) => {
                let said = complaint_in(&json!({ "error": error })).unwrap_or_default();
                Err(self.refusal(200, &said))
            }
        }
    }

    async fn tries(&self, path: &str, body: Option<&Value>, until: Instant) -> Result<Vec<u8>, Fault> {
        let mut tried = 0;
        loop {
            match self.once(path, body).await {
                Err(Failure(_, Some(wait)))
                    if tried < RETRIES && wait < until.saturating_duration_since(Instant::now()) =>
                {
                    sleep(wait.max(pause(tried))).await;
                    tried += 1;
                }
                done => return done.map_err(|Failure(fault, _)| fault),
            }
        }
    }

    async fn once(&self, path: &str, body: Option<&Value>) -> Result<Vec<u8>, Failure> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let mut request = self.client.request(method, url);
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        if let Some(key) = &self.key {
            let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
                .map_err(|_| Failure(self.refusal(0, "its key has characters that no key has"), None))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let mut response = request.send().await.map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            return self.body(&mut response, LARGEST).await;
        }
        Err(self.complaint(response).await)
    }

    /// A body, if it is not larger than that.
    async fn body(&self, response: &mut Response, largest: usize) -> Result<Vec<u8>, Failure> {
        let too_large = || {
            Failure(Fault::InvalidResponse(format!("{} sent more than {largest} bytes", self.service)), None)
        };
        if response.content_length().is_some_and(|length| length > largest as u64) {
            return Err(too_large());
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            if body.len() + chunk.len() > largest {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The error in a response that is not a success.
    async fn complaint(&self, mut response: Response) -> Failure {
        let status = response.status();
        if status.is_redirection() {
            let said = format!(
                "{} sends us elsewhere ({status}): give the address of the service itself",
                self.service
            );
            return Failure(Fault::InvalidResponse(said), None);
        }
        let after = response.headers().get(RETRY_AFTER).and_then(|it| it.to_str().ok()?.parse().ok());
        let body = self.body(&mut response, LARGEST_COMPLAINT).await.unwrap_or_default();
        let said = serde_json::from_slice(&body).ok().and_then(|body: Value| complaint_in(&body));
        let said = said.unwrap_or_else(|| status.canonical_reason().unwrap_or("no reason").to_owned());
        let again = status.is_server_error()
            || status == StatusCode::TOO_MANY_REQUESTS
            || status == StatusCode::REQUEST_TIMEOUT;
        let fault = self.refusal(status.as_u16(), &said);
        Failure(fault, again.then(|| Duration::from_secs(after.unwrap_or_default())))
    }

    /// The error for a status that is not a success. The body is quoted in part, and never with the key.
    pub(super) fn refusal(&self, status: u16, said: &str) -> Fault {
        let said = match &self.key {
            Some(key) if !key.is_empty() => said.replace(key.as_str(), "…"),
            _ => said.to_owned(),
        };
        let said =
            said.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST_COMPLAINT).collect();
        Fault::Rejected { status, said }
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let service = &self.service;
        if error.is_timeout() {
            let said = format!("{service} cannot be reached within {}", humane(CONNECT));
            return Failure(Fault::Unavailable(said), Some(Duration::ZERO));
        }
        let what = if error.is_connect() {
            "cannot be reached"
        } else {
            "closed the connection within its response"
        };
        Failure(Fault::Unavailable(format!("{service} {what}: {}", root_cause(error))), None)
    }
}

/// The error message in a body, in the format of Ollama, of OpenAI, or of FastAPI servers.
fn complaint_in(body: &Value) -> Option<String> {
    let messages = [body.get("error"), body.get("detail"), body.get("message")].into_iter().flatten();
    let mut messages = messages.filter(|it| !it.is_null());
    messages.find_map(|it| match it {
        Value::String(said) => Some(said.clone()),
        Value::Object(inner) => inner.get("message").and_then(Value::as_str).map(str::to_owned),
        other => Some(other.to_string()),
    })
}

impl fmt::Debug for Http {
    /// Without key and address, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("service", &self.service).finish_non_exhaustive()
    }
}

/// How long to wait before the next try: longer each time, with jitter.
fn pause(tried: u32) -> Duration {
    let any = RandomState::new().hash_one(tried) % 100;
    let longest = PAUSE * 2_u32.pow(tried);
    longest / 2 + longest * u32::try_from(any).unwrap_or_default() / 200
}

/// `30 s`, or `300 ms`.
fn humane(time: Duration) -> String {
    if time.subsec_millis() == 0 {
        format!("{} s", time.as_secs())
    } else {
        format!("{} ms", time.as_millis())
    }
}

fn root_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_key_is_sent_and_never_shown() {
        const KEY: &str = "sk-very-secret";
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://user:{KEY}@{}", listener.local_addr().unwrap());
        let echo = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 4096];
            let length = socket.read(&mut head).await.unwrap();
            let head = String::from_utf8(head[..length].to_vec()).unwrap();
            let body = serde_json::json!({"error": {"message": format!("no such key:\n{head}")}}).to_string();
            let response = format!("HTTP/1.1 401 No\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            socket.write_all(response.as_bytes()).await.unwrap();
            head
        });
        let http = Http::new("it", &base, Some(KEY.to_owned()), Duration::from_secs(9)).unwrap();
        let fault = http.ask("/x", None).await.unwrap_err();
        assert!(echo.await.unwrap().contains(&format!("Bearer {KEY}")));
        let Fault::Rejected { status: 401, said } = &fault else { panic!("{fault:?}") };
        assert!(said.starts_with("no such key: GET /x"), "{said}");
        assert!(!format!("{fault:?}{http:?}").contains(KEY), "{fault:?} {http:?}");
    }

    #[test]
    fn pauses_grow_and_differ() {
        for tried in 0..RETRIES {
            let longest = PAUSE * 2_u32.pow(tried);
            let pauses: Vec<Duration> = (0..100).map(|_| pause(tried)).collect();
            assert!(pauses.iter().all(|pause| (longest / 2..=longest).contains(pause)));
            assert!(pauses.iter().any(|pause| Some(pause) != pauses.first()));
        }
    }

    #[test]
    fn an_invalid_address_is_an_error_at_once() {
        for address in ["", "box", "ftp://box", "http://", "file:///etc/passwd", "http://bo x"] {
            let refused = Http::new("Ollama", address, None, CONNECT).unwrap_err().to_string();
            assert!(refused.starts_with("the address of Ollama cannot be used: "), "{address}: {refused}");
        }
    }
}
