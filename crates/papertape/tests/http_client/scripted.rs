//! A server that handles each request as a function says, byte for byte.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape::client::{ClientError, ClientOptions, ErrorKind};
use papertape::protocol::Revision;
use papertape::{Client, http};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio_rustls::TlsAcceptor;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// How many came before it.
    pub(crate) number: usize,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| &value[..])
    }

    /// The MCP message in it; null if there is none.
    pub(crate) fn message(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// `GET`, `DELETE`, or the MCP method.
    pub(crate) fn what(&self) -> String {
        match &self.method[..] {
            "POST" => self.message()["method"].as_str().unwrap_or("an answer").to_owned(),
            other => other.to_owned(),
        }
    }
}

/// What a server does with a request.
#[derive(Clone)]
pub(crate) enum Step {
    Write(Vec<u8>),
    /// Waits until it is released.
    Wait(Arc<Notify>),
    /// Waits until the client ends the connection.
    Hold,
    Close,
}

pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// How many connections were ended by the client while they were held.
    left: watch::Receiver<usize>,
    _stop: watch::Sender<()>,
}

impl Server {
    pub(crate) async fn new(act: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::behind(None, act).await
    }

    /// The same with TLS.
    pub(crate) async fn behind(
        tls: Option<TlsAcceptor>,
        act: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}/mcp", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (tell, left) = watch::channel(0);
        let (stop, mut stopped) = watch::channel(());
        let (all, act) = (Arc::clone(&seen), Arc::new(act));
        tokio::spawn(async move {
            loop {
                let stream = tokio::select! {
                    accepted = listener.accept() => accepted.unwrap().0,
                    _ = stopped.changed() => return,
                };
                let (all, act, tell) = (Arc::clone(&all), Arc::clone(&act), tell.clone());
                let (mut stopped, tls) = (stopped.clone(), tls.clone());
                tokio::spawn(async move {
                    let served = async {
                        match tls {
                            None => serve(stream, all, act, tell).await,
                            Some(tls) => {
                                if let Ok(stream) = tls.accept(stream).await {
                                    serve(stream, all, act, tell).await;
                                }
                            }
                        }
                    };
                    tokio::select! {
                        () = served => {}
                        _ = stopped.changed() => {}
                    }
                });
            }
        });
        Self { url, seen, left, _stop: stop }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The requests, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.seen().iter().map(Seen::what).collect()
    }

    pub(crate) fn of(&self, what: &str) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.what() == what).collect()
    }

    /// Waits until so many held connections have been left.
    pub(crate) async fn left(&self, count: usize) {
        let mut left = self.left.clone();
        within(left.wait_for(|left| *left >= count)).await.unwrap();
    }

    pub(crate) async fn connect(&self) -> Client {
        self.try_connect(ClientOptions::new()).await.unwrap()
    }

    pub(crate) async fn try_connect(&self, options: ClientOptions) -> Result<Client, ClientError> {
        within(http::connect_with(http::Endpoint::new(&self.url), options)).await
    }
}

/// Nothing in these tests takes long; what does is a hang.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(120), work).await.expect("it hangs")
}

pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(within(test))
}

/// How long a call of [`quick`] takes at most: enough for one that is answered, also on a busy machine.
pub(crate) const QUICK: Duration = Duration::from_secs(2);

pub(crate) fn quick() -> ClientOptions {
    ClientOptions::new().timeout(QUICK).total_timeout(QUICK)
}

pub(crate) fn legacy() -> ClientOptions {
    ClientOptions::new().revision(Revision::NEWEST_LEGACY)
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin, A: Fn(&Seen) -> Vec<Step>>(
    mut stream: S,
    all: Arc<Mutex<Vec<Seen>>>,
    act: Arc<A>,
    left: watch::Sender<usize>,
) {
    let mut buffer = Vec::new();
    while let Some(mut seen) = read(&mut stream, &mut buffer).await {
        {
            let mut all = all.lock().unwrap();
            seen.number = all.len();
            all.push(seen.clone());
        }
        for step in act(&seen) {
            match step {
                Step::Write(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Step::Wait(go_on) => go_on.notified().await,
                Step::Hold => {
                    let mut rest = [0; 64];
                    while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
                    left.send_modify(|left| *left += 1);
                    return;
                }
                Step::Close => return,
            }
        }
    }
}

async fn read<S: AsyncRead + Unpin>(stream: &mut S, buffer: &mut Vec<u8>) -> Option<Seen> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(buffer[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap().split(' ');
    let (method, path) = (first.next().unwrap().to_owned(), first.next().unwrap().to_owned());
    let header = |line: &str| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_ascii_lowercase(), value.trim_matches([' ', '\t']).to_owned())
    };
    let headers: Vec<(String, String)> = lines.map(header).collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
    buffer.drain(..end + 4);
    while buffer.len() < length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body = buffer.drain(..length).collect();
    Some(Seen { method, path, headers, body, number: 0 })
}

// What servers say.

/// A whole response.
pub(crate) fn response(status: &str, headers: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![Step::Write(format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}").into())]
}

pub(crate) fn json(status: &str, body: &Value) -> Vec<Step> {
    response(status, "content-type: application/json\r\n", &body.to_string())
}

pub(crate) fn accepted() -> Vec<Step> {
    response("202 Accepted", "", "")
}

pub(crate) fn not_allowed() -> Vec<Step> {
    response("405 Method Not Allowed", "allow: POST\r\n", "")
}

/// The beginning of an event stream.
pub(crate) fn stream_head() -> Step {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    Step::Write(head.into())
}

/// A part of it.
pub(crate) fn chunk(text: impl AsRef<str>) -> Step {
    let text = text.as_ref();
    Step::Write(format!("{:x}\r\n{text}\r\n", text.len()).into())
}

pub(crate) fn event(message: &Value) -> Step {
    chunk(format!("data: {message}\n\n"))
}

/// Its end.
pub(crate) fn stream_end() -> Step {
    Step::Write(b"0\r\n\r\n".to_vec())
}

pub(crate) fn stream(messages: &[Value]) -> Vec<Step> {
    [vec![stream_head()], messages.iter().map(event).collect(), vec![stream_end()]].concat()
}

pub(crate) fn result(seen: &Seen, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": seen.message()["id"], "result": result})
}

pub(crate) fn error(seen: &Seen, code: i32, data: &Value) -> Value {
    let error = json!({"code": code, "message": "no", "data": data});
    json!({"jsonrpc": "2.0", "id": seen.message()["id"], "error": error})
}

pub(crate) fn text(seen: &Seen, text: &str) -> Value {
    result(seen, &json!({"resultType": "complete", "content": [{"type": "text", "text": text}]}))
}

/// The discover result of a modern server.
pub(crate) fn discovered(seen: &Seen) -> Vec<Step> {
    let versions = ["2026-07-28", "2025-11-25"];
    let offers = json!({"tools": {}, "resources": {"subscribe": true}});
    json(
        "200 OK",
        &result(
            seen,
            &json!({"resultType": "complete", "supportedVersions": versions, "capabilities": offers}),
        ),
    )
}

/// The response of a legacy server to everything but a test's own requests.
pub(crate) fn handshake(seen: &Seen) -> Option<Vec<Step>> {
    let opened = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}});
    Some(match &seen.what()[..] {
        "initialize" => {
            let headers = "content-type: application/json\r\nmcp-session-id: s-1\r\n";
            response("200 OK", headers, &result(seen, &opened).to_string())
        }
        "server/discover" => response("400 Bad Request", "", "who are you?"),
        "notifications/initialized" | "notifications/cancelled" | "an answer" => accepted(),
        "GET" => not_allowed(),
        "DELETE" => response("200 OK", "", ""),
        _ => return None,
    })
}

pub(crate) fn text_of(result: &papertape::protocol::CallToolResult) -> String {
    serde_json::to_value(result).unwrap()["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// The message of a protocol error.
pub(crate) fn broken(error: &ClientError) -> String {
    match error.kind() {
        ErrorKind::Protocol(problem) => problem.clone(),
        _ => panic!("{error:?}"),
    }
}
