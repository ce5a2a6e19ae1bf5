//! Bytes on a socket to HTTP responses and events: a client that sends any bytes.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::request::Request;

/// Waiting longer than this is a hang. Less than the keep-alive interval of a silent stream.
const HANG: Duration = Duration::from_secs(12);

/// One connection.
pub(crate) struct Wire {
    stream: TcpStream,
    /// What has come and was not read yet.
    buffer: Vec<u8>,
    /// What has come of a stream of events.
    text: String,
    events: VecDeque<Event>,
    /// The body that is being read has ended.
    over: bool,
}

/// A response, whole or only its head.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) version: String,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// A server-sent event.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) data: Option<String>,
    pub(crate) retry: Option<u64>,
}

impl Event {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let data = self.data.as_deref().unwrap_or_default();
        serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Response {
    /// The value of a header that is there at most once.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} twice: {:?}", self.headers);
        value
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {} {text}", self.status))
    }

    /// All events of a stream.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Event> {
        assert!(self.is_stream(), "{self:?}");
        let mut text = String::from_utf8(self.body.clone()).unwrap();
        let mut events = VecDeque::new();
        take_events(&mut text, &mut events);
        assert_eq!(text, "", "half an event");
        events.into()
    }

    /// The messages of a stream, or the one message that is the body.
    #[track_caller]
    pub(crate) fn messages(&self) -> Vec<Value> {
        if !self.is_stream() {
            return vec![self.json()];
        }
        let events = self.events();
        let events = events.iter().filter(|event| event.data.as_deref().is_some_and(|data| !data.is_empty()));
        events.map(Event::json).collect()
    }

    /// The code of the error that the body is, and its id.
    #[track_caller]
    pub(crate) fn error(&self) -> (u16, i64, Value) {
        let body = self.json();
        let code =
            body["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {} {body}", self.status));
        (self.status, code, body["id"].clone())
    }
}

impl Wire {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::new(TcpStream::connect(address).await.unwrap())
    }

    /// From another address of this machine.
    pub(crate) async fn connect_from(from: [u8; 4], address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from((from, 0))).unwrap();
        Self::new(socket.connect(address).await.unwrap())
    }

    fn new(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::new(), text: String::new(), events: VecDeque::new(), over: true }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        timeout(HANG, self.stream.write_all(bytes.as_ref())).await.expect("the peer does not read").unwrap();
    }

    /// The same, for a peer that may have closed the connection.
    pub(crate) async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        timeout(HANG, self.stream.write_all(bytes.as_ref())).await.expect("the peer does not read").is_ok()
    }

    /// Sends a request and reads the head of its response.
    pub(crate) async fn begin(&mut self, request: &Request) -> Response {
        self.send(request.bytes()).await;
        self.head().await
    }

    /// Sends a request and reads the whole response.
    pub(crate) async fn ask(&mut self, request: &Request) -> Response {
        self.send(request.bytes()).await;
        self.response().await
    }

    /// No more will be sent, but all is read.
    pub(crate) async fn finish_sending(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    /// Resets the connection, so that the peer notices at once, in the middle of whatever it writes.
    pub(crate) fn reset(self) {
        self.stream.set_zero_linger().unwrap();
    }

    /// More bytes; false at the end.
    async fn fill(&mut self) -> bool {
        let read = timeout(HANG, self.stream.read_buf(&mut self.buffer)).await;
        let read =
            read.unwrap_or_else(|_| panic!("nothing came; {:?}", String::from_utf8_lossy(&self.buffer)));
        // A reset ends the connection too.
        read.unwrap_or(0) > 0
    }

    async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|two| two == b"\r\n") {
                let line = self.buffer.drain(..end + 2).take(end).collect();
                return Some(String::from_utf8(line).unwrap());
            }
            if !self.fill().await {
                return None;
            }
        }
    }

    async fn exactly(&mut self, length: usize) -> Vec<u8> {
        while self.buffer.len() < length {
            assert!(self.fill().await, "the body ended before its time");
        }
        self.buffer.drain(..length).collect()
    }

    /// The head of the next response, or nothing if the connection has ended.
    pub(crate) async fn try_head(&mut self) -> Option<Response> {
        let first = self.line().await?;
        let (version, status) = first.split_once(' ').unwrap_or_else(|| panic!("no status line: {first:?}"));
        let status = status.get(..3).unwrap_or_default().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line().await.expect("half a head");
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("no header: {line:?}"));
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        self.over = false;
        self.text.clear();
        Some(Response { version: version.to_owned(), status, headers, body: Vec::new() })
    }

    pub(crate) async fn head(&mut self) -> Response {
        self.try_head().await.expect("the connection ended without an answer")
    }

    /// The next response, all of it.
    pub(crate) async fn response(&mut self) -> Response {
        let mut response = self.head().await;
        if response.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk().await {
                response.body.extend(chunk);
            }
        } else if response.status != 204 && response.status >= 200 {
            let length = response.header("content-length").unwrap_or("0").parse().unwrap();
            response.body = self.exactly(length).await;
        }
        response
    }

    /// The next chunk of a body; nothing at its end.
    async fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = self.line().await.expect("the body was cut off");
        let size = usize::from_str_radix(&size, 16).unwrap_or_else(|_| panic!("no chunk size: {size:?}"));
        let chunk = self.exactly(size).await;
        assert_eq!(self.exactly(2).await, b"\r\n");
        self.over = size == 0;
        (size > 0).then_some(chunk)
    }

    /// The next event of a stream; nothing when it has ended as it should.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.over {
                assert_eq!(self.text, "", "half an event");
                return None;
            }
            if let Some(chunk) = self.chunk().await {
                self.text.push_str(std::str::from_utf8(&chunk).unwrap());
                take_events(&mut self.text, &mut self.events);
            }
        }
    }

    /// Events that came together with those that were read.
    pub(crate) fn event_count(&self) -> usize {
        self.events.len()
    }

    /// The next message of a stream; nothing when it has ended.
    pub(crate) async fn message(&mut self) -> Option<Value> {
        loop {
            let event = self.event().await?;
            if event.data.as_deref().is_some_and(|data| !data.is_empty()) {
                return Some(event.json());
            }
        }
    }

    /// The peer has closed the connection without another byte.
    pub(crate) async fn assert_ended(mut self) {
        while self.fill().await {}
        assert_eq!(String::from_utf8_lossy(&self.buffer), "", "more came");
    }
}

/// Takes whole events out of a text. Comments are not events.
fn take_events(text: &mut String, events: &mut VecDeque<Event>) {
    while let Some(end) = text.find("\n\n") {
        let block: String = text.drain(..end + 2).collect();
        let mut event = Event::default();
        for line in block.lines() {
            // A carriage return alone ends a line too, for readers of events.
            assert!(!line.contains('\r'), "{block:?}");
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match field {
                "id" => event.id = Some(value),
                "event" => event.name = Some(value),
                "retry" => event.retry = Some(value.parse().unwrap()),
                "data" => match &mut event.data {
                    Some(data) => *data = format!("{data}\n{value}"),
                    None => event.data = Some(value),
                },
                "" => {}
                other => panic!("the field {other:?} is none of ours: {block:?}"),
            }
        }
        if event != Event::default() {
            events.push_back(event);
        }
    }
}
