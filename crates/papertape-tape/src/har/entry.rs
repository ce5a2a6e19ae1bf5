//! One entry of an HTTP archive.

use std::io::{self, Read, Seek};
use std::time::{Duration, SystemTime};

use data_encoding::BASE64;
use papertape::wire::tape::{Content, Direction, Record};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::Serialize;

use super::Times;
use crate::{Call, Head, Outcome};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HarEntry {
    started_date_time: String,
    time: f64,
    request: Request,
    response: Response,
    cache: Empty,
    timings: Timings,
    #[serde(rename = "_mcp", skip_serializing_if = "Option::is_none")]
    mcp: Option<Mcp>,
}

#[derive(Debug, Serialize)]
struct Empty {}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    http_version: String,
    cookies: [Pair; 0],
    headers: Vec<Pair>,
    query_string: Vec<Pair>,
    #[serde(skip_serializing_if = "Option::is_none")]
    post_data: Option<PostData>,
    headers_size: i64,
    body_size: i64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    status: u16,
    status_text: String,
    http_version: String,
    cookies: [Pair; 0],
    headers: Vec<Pair>,
    content: Content64,
    #[serde(rename = "redirectURL")]
    redirect_url: String,
    headers_size: i64,
    body_size: i64,
}

#[derive(Debug, Serialize)]
struct Pair {
    name: String,
    value: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PostData {
    mime_type: String,
    params: [Pair; 0],
    text: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Content64 {
    size: i64,
    mime_type: String,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
}

/// In milliseconds.
#[derive(Debug, Serialize)]
struct Timings {
    send: f64,
    wait: f64,
    receive: f64,
}

/// What a request is that was not in an HTTP exchange.
#[derive(Debug, Serialize)]
struct Mcp {
    id: papertape::wire::Id,
    method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    outcome: &'static str,
}

/// The head and the body of one side.
struct Side<'a> {
    head: Option<Head<'a>>,
    head_size: Option<usize>,
    body: Vec<u8>,
}

impl<'a> Side<'a> {
    fn of(records: &'a [Record<'static>]) -> Self {
        let mut side = Self { head: None, head_size: None, body: Vec::new() };
        for record in records {
            match &record.content {
                Content::Head(_, bytes) => {
                    // The last one: informational responses (1xx) come before it.
                    side.head = Some(Head::read(bytes));
                    side.head_size = Some(bytes.len());
                }
                Content::Frame(_, bytes) => side.body.extend_from_slice(bytes),
                Content::Stderr(_) | Content::Event { .. } => {}
            }
        }
        side
    }

    fn headers(&self) -> Vec<Pair> {
        let headers = self.head.iter().flat_map(|head| &head.headers);
        headers.map(|(name, value)| Pair { name: name.clone(), value: value.clone() }).collect()
    }

    fn mime_type(&self) -> String {
        let header = self.head.as_ref().and_then(|head| head.header("content-type"));
        header.unwrap_or_default().to_owned()
    }

    fn headers_size(&self) -> i64 {
        self.head_size.map_or(-1, size)
    }
}

impl HarEntry {
    pub(super) fn of_exchange(
        start: SystemTime,
        server: Option<&str>,
        times: Times,
        request: &[Record<'static>],
        response: &[Record<'static>],
    ) -> Self {
        let (request, response) = (Side::of(request), Side::of(response));
        let words = |side: &Side<'_>| {
            let (a, b, c) = side.head.as_ref().map(Head::words).unwrap_or_default();
            (a.to_owned(), b.to_owned(), c.to_owned())
        };
        let (method, target, request_version) = words(&request);
        let (version, status, status_text) = words(&response);
        let host = request.head.as_ref().and_then(|head| head.header("host"));
        let url = url(&target, host, server);
        Self {
            started_date_time: date(start, times.request.or(times.response).map(|(first, _)| first)),
            time: 0.0,
            request: Request {
                method,
                query_string: query(&url),
                url,
                http_version: request_version,
                cookies: [],
                headers: request.headers(),
                headers_size: request.headers_size(),
                body_size: size(request.body.len()),
                post_data: (!request.body.is_empty()).then(|| PostData {
                    mime_type: request.mime_type(),
                    params: [],
                    text: String::from_utf8_lossy(&request.body).into_owned(),
                }),
            },
            response: Response {
                status: status.parse().unwrap_or_default(),
                status_text,
                http_version: version,
                cookies: [],
                headers: response.headers(),
                headers_size: response.headers_size(),
                body_size: size(response.body.len()),
                redirect_url: response
                    .head
                    .as_ref()
                    .and_then(|head| head.header("location"))
                    .unwrap_or_default()
                    .to_owned(),
                content: content(response.mime_type(), response.body),
            },
            cache: Empty {},
            timings: Timings { send: 0.0, wait: 0.0, receive: 0.0 },
            mcp: None,
        }
        .timed(times)
    }

    /// A request without HTTP: its method is in the URL.
    pub(super) fn of_call<T: Read + Seek>(start: SystemTime, call: &Call, tape: &mut T) -> io::Result<Self> {
        let (peer, back) = match call.direction {
            Direction::ToServer => ("server", Direction::ToClient),
            Direction::ToClient => ("client", Direction::ToServer),
        };
        let request = call.request.read_message(tape, call.direction, call.exchange)?;
        let response = match call.response {
            Some(place) => place.read_message(tape, back, call.response_exchange)?.body().to_vec(),
            None => Vec::new(),
        };
        let name = call.name.as_deref();
        let query_string: Vec<Pair> =
            name.map(|name| Pair { name: "name".to_owned(), value: name.to_owned() }).into_iter().collect();
        let query = name
            .map(|name| format!("?name={}", utf8_percent_encode(name, NON_ALPHANUMERIC)))
            .unwrap_or_default();
        let (status, status_text, outcome) = match call.outcome {
            Outcome::Ok => (200, "OK".to_owned(), "ok"),
            Outcome::ToolError => (200, "OK (isError)".to_owned(), "tool_error"),
            Outcome::Error(code) => (500, format!("JSON-RPC error {code}"), "error"),
            Outcome::Invalid => (502, "invalid response".to_owned(), "invalid"),
            Outcome::Cancelled => (0, "cancelled".to_owned(), "cancelled"),
            Outcome::None => (0, "no response".to_owned(), "none"),
        };
        let point = |time: Option<Duration>| time.map(|time| (time, time));
        let times = Times {
            request: point(call.request.time),
            response: point(call.response.and_then(|place| place.time)),
        };
        let json = || "application/json".to_owned();
        let entry = Self {
            started_date_time: date(start, call.request.time),
            time: 0.0,
            request: Request {
                method: "POST".to_owned(),
                url: format!("stdio://{peer}/{}{query}", call.method),
                http_version: "stdio".to_owned(),
                cookies: [],
                headers: Vec::new(),
                query_string,
                headers_size: -1,
                body_size: size(request.body().len()),
                post_data: Some(PostData {
                    mime_type: json(),
                    params: [],
                    text: request.text().into_owned(),
                }),
            },
            response: Response {
                status,
                status_text,
                http_version: "stdio".to_owned(),
                cookies: [],
                headers: Vec::new(),
                headers_size: -1,
                body_size: size(response.len()),
                redirect_url: String::new(),
                content: content(json(), response),
            },
            cache: Empty {},
            timings: Timings { send: 0.0, wait: 0.0, receive: 0.0 },
            mcp: Some(Mcp {
                id: call.id.clone(),
                method: call.method.to_string(),
                name: name.map(str::to_owned),
                outcome,
            }),
        };
        Ok(entry.timed(times))
    }

    fn timed(mut self, times: Times) -> Self {
        let millis = |from: Option<Duration>, to: Option<Duration>| {
            let span = from.zip(to).and_then(|(from, to)| to.checked_sub(from)).unwrap_or_default();
            span.as_secs_f64() * 1000.0
        };
        let (request, response) = (times.request, times.response);
        self.timings = Timings {
            send: millis(request.map(|(first, _)| first), request.map(|(_, last)| last)),
            wait: millis(request.map(|(_, last)| last), response.map(|(first, _)| first)),
            receive: millis(response.map(|(first, _)| first), response.map(|(_, last)| last)),
        };
        self.time = self.timings.send + self.timings.wait + self.timings.receive;
        self
    }
}

/// The URL of a request: its target at the server of the tape, or at its `Host`.
fn url(target: &str, host: Option<&str>, server: Option<&str>) -> String {
    if target.contains("://") {
        return target.to_owned();
    }
    let scheme = server.and_then(|url| url.split_once("://"));
    let authority = scheme.and_then(|(_, rest)| rest.split(['/', '?']).next());
    let host = authority.or(host).unwrap_or("unknown");
    format!("{}://{host}{target}", scheme.map_or("http", |(scheme, _)| scheme))
}

fn query(url: &str) -> Vec<Pair> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let decoded = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Pair { name: decoded(name), value: decoded(value) }
        })
        .collect()
}

fn content(mime_type: String, body: Vec<u8>) -> Content64 {
    let size = size(body.len());
    match String::from_utf8(body) {
        Ok(text) => Content64 { size, mime_type, text, encoding: None },
        Err(error) => {
            let text = BASE64.encode(error.as_bytes());
            Content64 { size, mime_type, text, encoding: Some("base64") }
        }
    }
}

fn size(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn date(start: SystemTime, time: Option<Duration>) -> String {
    // Later years cannot be written.
    const LATEST: Duration = Duration::from_secs(250_000_000_000);
    let at = start.checked_add(time.unwrap_or_default()).unwrap_or(start);
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().min(LATEST);
    let at = SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH);
    humantime::format_rfc3339_micros(at).to_string()
}
