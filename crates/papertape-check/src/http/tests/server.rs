//! A small server with one fault: it answers as a closure says, and else as a healthy server would.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) method: String,
    pub(super) path: String,
    headers: Vec<(String, String)>,
    pub(super) body: Value,
    pub(super) origin: String,
}

impl Ask {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The method of the message.
    pub(super) fn call(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(super) fn is_stateless(&self) -> bool {
        self.body["params"]["_meta"].is_object()
    }

    /// A response with a result.
    pub(super) fn result(&self, result: &Value) -> Reply {
        Reply::json(200, &json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result}))
    }

    /// A response with an error.
    pub(super) fn error(&self, status: u16, code: i64) -> Reply {
        let error = json!({"code": code, "message": "no"});
        Reply::json(status, &json!({"jsonrpc": "2.0", "id": self.body["id"], "error": error}))
    }
}

/// A response.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// The connection stays open after the body, and the body has no length.
    open: bool,
}

impl Reply {
    pub(super) fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new(), open: false }
    }

    pub(super) fn text(status: u16, kind: &str, body: &str) -> Self {
        Self { body: body.as_bytes().to_vec(), ..Self::status(status) }.header("content-type", kind)
    }

    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self::text(status, "application/json", &body.to_string())
    }

    pub(super) fn events(body: &str) -> Self {
        Self::text(200, "text/event-stream", body)
    }

    /// A stream that does not end.
    pub(super) fn open_events(body: &str) -> Self {
        Self { open: true, ..Self::events(body) }
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(super) fn body(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

type Fault = dyn Fn(&Ask) -> Option<Reply> + Send + Sync;

pub(super) struct Server {
    address: SocketAddr,
}

impl Server {
    pub(super) async fn start(fault: impl Fn(&Ask) -> Option<Reply> + Send + Sync + 'static) -> Self {
        Self::behind(None, fault).await
    }

    /// A server with TLS.
    pub(super) async fn behind(
        tls: Option<TlsAcceptor>,
        fault: impl Fn(&Ask) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (fault, sessions): (Arc<Fault>, _) = (Arc::new(fault), Arc::new(Mutex::new(HashSet::new())));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (fault, sessions) = (Arc::clone(&fault), Arc::clone(&sessions));
                let (origin, tls) = (format!("http://{address}"), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => answer(stream, fault, sessions, origin).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                answer(stream, fault, sessions, origin).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

type Sessions = Arc<Mutex<HashSet<String>>>;

async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    fault: Arc<Fault>,
    sessions: Sessions,
    origin: String,
) {
    let Some(ask) = read(&mut stream, origin).await else { return };
    let reply = fault(&ask).unwrap_or_else(|| healthy(&ask, &sessions));
    let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", reply.status);
    if !reply.open {
        head += &format!("content-length: {}\r\n", reply.body.len());
    }
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    let bytes = [head.as_bytes(), b"\r\n", &reply.body].concat();
    drop(stream.write_all(&bytes).await);
    if reply.open {
        // Until the client has gone.
        drop(stream.read(&mut [0]).await);
    }
    drop(stream.shutdown().await);
}

async fn read(stream: &mut (impl AsyncRead + Unpin), origin: String) -> Option<Ask> {
    let mut bytes = Vec::new();
    let end = loop {
        let mut chunk = [0; 4096];
        let length = stream.read(&mut chunk).await.ok().filter(|length| *length > 0)?;
        bytes.extend_from_slice(&chunk[..length]);
        if let Some(end) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
            break end + 4;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, length)| length.parse().unwrap());
    while bytes.len() < end + length {
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&chunk[..read]);
    }
    let body = serde_json::from_slice(&bytes[end..]).unwrap_or_default();
    Some(Ask { method, path, headers, body, origin })
}

/// What a healthy server answers, in a session and without one.
fn healthy(ask: &Ask, sessions: &Sessions) -> Reply {
    let known_host = ask.header("host").is_some_and(|host| host.starts_with("127.0.0.1"));
    if ask.header("origin").is_some() || !known_host {
        return Reply::status(403);
    }
    if ask.path != "/mcp" {
        return Reply::status(404);
    }
    let capabilities = json!({"tools": {}});
    let info = json!({"name": "test", "version": "1"});
    let tools = json!([{"name": "a", "description": "Does it.", "inputSchema": {"type": "object", "properties": {}}}]);
    if ask.is_stateless() || ask.header("mcp-protocol-version") == Some("2026-07-28") {
        let meta = &ask.body["params"]["_meta"];
        if ask.header("mcp-method") != Some(ask.call())
            || ask.header("mcp-protocol-version") != meta["io.modelcontextprotocol/protocolVersion"].as_str()
        {
            return ask.error(400, -32020);
        }
        if ask.header("mcp-protocol-version") != Some("2026-07-28") {
            return ask.error(400, -32022);
        }
        return match ask.call() {
            "server/discover" => ask.result(&json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
                "ttlMs": 0, "cacheScope": "private", "_meta": {"io.modelcontextprotocol/serverInfo": info},
            })),
            "tools/list" => ask.result(
                &json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools}),
            ),
            _ => ask.error(404, -32601),
        };
    }
    let mut sessions = sessions.lock().unwrap();
    if ask.call() == "initialize" {
        let id = format!("0123456789abcdef-{}", sessions.len());
        sessions.insert(id.clone());
        let version = &ask.body["params"]["protocolVersion"];
        return ask
            .result(&json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}))
            .header("mcp-session-id", &id);
    }
    let Some(id) = ask.header("mcp-session-id") else { return Reply::status(400) };
    if !sessions.contains(id) {
        return Reply::status(404);
    }
    if ask.header("mcp-protocol-version").is_some_and(|version| !version.starts_with("202")) {
        return Reply::status(400);
    }
    match (ask.method.as_str(), ask.call()) {
        ("DELETE", _) => {
            sessions.remove(id);
            // Its place is not given to another one.
            sessions.insert(format!("ended {id}"));
            Reply::status(204)
        }
        ("GET", _) => Reply::status(405),
        (_, "tools/list") => ask.result(&json!({"tools": tools})),
        (_, "ping") => ask.result(&json!({})),
        (_, method) if method.starts_with("notifications/") => Reply::status(202),
        _ => ask.error(200, -32601),
    }
}
