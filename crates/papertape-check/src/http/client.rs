//! Sends requests, and reads what comes back: bounded in time and size, without following redirects.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::http::exchange::{Cut, Events, Exchange, MOST, Response, Shown, responds_to};
use crate::http::failure::Failure;
use crate::http::redactor::Redactor;
use crate::options::Options;

pub(crate) const JSON: &str = "application/json";
pub(crate) const EVENTS: &str = "text/event-stream";
pub(crate) const BOTH: &str = "application/json, text/event-stream";

/// The longest time for a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// How long it is waited for an answer that may not come: to what must be refused, and on streams.
pub(crate) const PROBE: Duration = Duration::from_secs(10);

/// Sends requests to a server.
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    /// Where the server is.
    pub(crate) url: Url,
    /// How long to wait for each response.
    pub(crate) wait: Duration,
    pub(crate) redactor: Redactor,
    headers: HeaderMap,
    next_id: AtomicI64,
}

/// A request.
#[derive(Debug)]
pub(crate) struct Request {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Value>,
    is_anonymous: bool,
    until: Until,
    wait: Duration,
}

/// How far a response is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// To its end.
    End,
    /// To the response to a message, on a stream.
    Response(i64),
    /// To the first event, on a stream.
    Event,
}

impl Client {
    /// A client with headers that each request gets.
    ///
    /// # Errors
    /// What is wrong with the URL, or a header.
    pub(crate) fn new(url: &str, headers: &[(String, String)], options: &Options) -> Result<Self, String> {
        let wait = options.timeout;
        let mut url = Url::parse(url).map_err(|error| format!("it is not a valid URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("its scheme is {}, not http or https", url.scheme()));
        }
        url.set_fragment(None);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name =
                HeaderName::try_from(name).map_err(|_| format!("the header name {name:?} is invalid"))?;
            let mut value = HeaderValue::from_str(value)
                .map_err(|_| format!("the value of the header {name} is invalid"))?;
            value.set_sensitive(true);
            map.append(name, value);
        }
        if map.contains_key("authorization")
            && url.scheme() == "http"
            && !is_local(&url)
            && !options.allow_http
        {
            return Err("the token would be sent over plain http, where others can read it: use https, or allow it with \
                 `--insecure-http` if the network is trusted"
                .to_owned());
        }
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .user_agent(concat!("papertape-check/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(wait.min(CONNECT))
            .tcp_nodelay(true);
        if is_local(&url) {
            builder = builder.no_proxy();
        }
        if let Some(pem) = &options.root_certificates {
            let certificates = reqwest::Certificate::from_pem_bundle(pem)
                .map_err(|error| format!("the CA certificates cannot be read: {error}"))?;
            for certificate in certificates {
                builder = builder.add_root_certificate(certificate);
            }
        }
        let http = builder.build().map_err(|error| format!("cannot set up the HTTP client: {error}"))?;
        Ok(Self {
            http,
            url,
            wait,
            redactor: Redactor::new(headers),
            headers: map,
            next_id: AtomicI64::new(1),
        })
    }

    /// Whether requests have a header with a token.
    pub(crate) fn is_authenticated(&self) -> bool {
        self.headers.contains_key("authorization")
    }

    /// The token that requests have.
    pub(crate) fn token(&self) -> Option<&str> {
        let value = self.headers.get("authorization")?.to_str().ok()?;
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    }

    /// Goes to another URL. The headers go with it to the same host only.
    pub(crate) fn go_to(&mut self, url: Url) {
        if url.host() != self.url.host() || (self.url.scheme() == "https" && url.scheme() != "https") {
            self.headers.clear();
        }
        self.url = url;
    }

    /// A request with a message: its id is the next one.
    pub(crate) fn call(&self, method: &str, params: Option<Value>) -> Request {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let (Some(params), Some(members)) = (params, message.as_object_mut()) {
            members.insert("params".to_owned(), params);
        }
        Request { until: Until::Response(id), ..self.post(message) }
    }

    /// A request with a notification.
    pub(crate) fn notify(&self, method: &str) -> Request {
        self.post(json!({"jsonrpc": "2.0", "method": method}))
    }

    fn post(&self, body: Value) -> Request {
        let mut request = self.request(Method::POST, self.url.clone()).header(ACCEPT.as_str(), BOTH);
        request = request.header(CONTENT_TYPE.as_str(), JSON);
        Request { body: Some(body), ..request }
    }

    /// A GET for a stream.
    pub(crate) fn listen(&self) -> Request {
        let request = self.request(Method::GET, self.url.clone()).header(ACCEPT.as_str(), EVENTS);
        Request { until: Until::Event, ..request }
    }

    /// A GET for a JSON document, at a URL that the server has named: without the caller's headers.
    pub(crate) fn get_document(&self, url: Url) -> Request {
        self.request(Method::GET, url).header(ACCEPT.as_str(), JSON).anonymous().within(PROBE)
    }

    /// Any request.
    pub(crate) fn request(&self, method: Method, url: Url) -> Request {
        Request {
            method,
            url,
            headers: HeaderMap::new(),
            body: None,
            is_anonymous: false,
            until: Until::End,
            wait: self.wait,
        }
    }

    /// The request for reqwest, and as bytes.
    fn build(&self, request: &Request) -> (reqwest::RequestBuilder, Vec<u8>) {
        let mut headers = if request.is_anonymous { HeaderMap::new() } else { self.headers.clone() };
        for (name, value) in &request.headers {
            headers.insert(name, value.clone());
        }
        let body = request.body.as_ref().map(Value::to_string);
        let url = &request.url;
        let query = if url.query().is_some() { "?[redacted]" } else { "" };
        let host = url.host_str().unwrap_or_default();
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let mut shown = format!("{} {}{query} HTTP/1.1\n", request.method, url.path());
        if !headers.contains_key("host") {
            shown += &format!("host: {host}{port}\n");
        }
        for (name, value) in &headers {
            let is_callers = !request.headers.contains_key(name);
            let value = if is_callers { "[redacted]" } else { value.to_str().unwrap_or_default() };
            shown += &format!("{name}: {value}\n");
        }
        shown.push('\n');
        shown += body.as_deref().unwrap_or_default();
        let mut builder = self.http.request(request.method.clone(), url.clone()).headers(headers);
        if let Some(body) = body {
            builder = builder.body(body);
        }
        (builder, self.redactor.redact(&shown).into_bytes())
    }

    /// Sends a request, and reads the response.
    pub(crate) async fn send(&self, request: Request) -> Exchange {
        let began = Instant::now();
        let deadline = began + request.wait;
        let (builder, shown) = self.build(&request);
        let sent = timeout_at(deadline, builder.send()).await;
        let elapsed = began.elapsed();
        let outcome = match sent {
            Err(_) => Err(Failure::timeout()),
            Ok(Err(error)) => Err(Failure::of(&error)),
            Ok(Ok(response)) => Ok(self.read(response, request.until, deadline).await),
        };
        let method = request.body.as_ref().and_then(|body| body.get("method")?.as_str());
        let id = match request.until {
            Until::Response(id) => Some(id),
            Until::End | Until::Event => None,
        };
        let what = method.unwrap_or(request.method.as_str()).to_owned();
        Exchange { what, id, request: shown, outcome, elapsed }
    }

    /// Sends a request: the response as it comes.
    ///
    /// # Errors
    /// If it does not begin in time.
    pub(crate) async fn stream(&self, request: Request) -> Result<reqwest::Response, Failure> {
        let deadline = Instant::now() + request.wait;
        match timeout_at(deadline, self.build(&request).0.send()).await {
            Err(_) => Err(Failure::timeout()),
            Ok(sent) => sent.map_err(|error| Failure::of(&error)),
        }
    }

    async fn read(&self, mut response: reqwest::Response, until: Until, deadline: Instant) -> Response {
        let mut read = Response {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: Vec::new(),
            shown: Shown::default(),
            cut: None,
            events: Vec::new(),
            messages: Vec::new(),
            refused: None,
        };
        let is_stream = read.media_type() == EVENTS;
        let mut events = Events::new();
        let mut seen = 0;
        read.cut = loop {
            let bytes = match timeout_at(deadline, response.chunk()).await {
                Err(_) => break Some(Cut::Timeout),
                Ok(Err(error)) => break Some(Cut::Broken(Failure::of(&error).cause)),
                Ok(Ok(None)) => break None,
                Ok(Ok(Some(bytes))) => bytes,
            };
            if read.body.len().saturating_add(bytes.len()) > MOST || (is_stream && !events.push(&bytes)) {
                break Some(Cut::TooLong);
            }
            read.body.extend_from_slice(&bytes);
            for event in events.taken.iter().skip(seen).filter(|event| event.is_message()) {
                read.take(event.data.as_deref().unwrap_or_default());
            }
            let arrived = events.taken.len() > seen;
            seen = events.taken.len();
            let enough = match until {
                Until::End => false,
                Until::Event => arrived,
                Until::Response(id) => read.messages.iter().any(|message| responds_to(message, id)),
            };
            if is_stream && enough {
                break Some(Cut::Enough);
            }
        };
        if !is_stream {
            let body = std::mem::take(&mut read.body);
            read.take(&body);
            read.body = body;
        }
        read.events = events.taken;
        read.shown = Shown::new(read.status, &read.headers, &read.body, &self.redactor);
        read
    }
}

impl Request {
    /// With a header. An invalid value is left out.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(value)) {
            self.headers.insert(name, value);
        }
        self
    }

    /// Without a header that it would have.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    /// Without the headers of the caller.
    pub(crate) fn anonymous(mut self) -> Self {
        self.is_anonymous = true;
        self
    }

    /// For at most so long.
    pub(crate) fn within(mut self, wait: Duration) -> Self {
        self.wait = self.wait.min(wait);
        self
    }

    /// The parameters of its message.
    pub(crate) fn params(&self) -> Option<Value> {
        self.body.as_ref()?.get("params").cloned()
    }

    /// At another URL.
    pub(crate) fn at(mut self, url: Url) -> Self {
        self.url = url;
        self
    }
}

/// Whether a URL leads to this machine.
pub(crate) fn is_local(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback() || address.is_unspecified()),
        None => false,
    }
}

/// A URL in a sentence: without its query, which may be secret.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    _ = url.set_username("");
    _ = url.set_password(None);
    url.to_string()
}
