//! A service on a real socket that responds as the test specifies, valid or not.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) body: Value,
}

impl Request {
    /// The texts that vectors are wanted of.
    pub(crate) fn texts(&self) -> Vec<String> {
        let texts = self.body["input"].as_array().cloned().unwrap_or_default();
        texts.iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    }
}

/// What the service does then.
pub(crate) enum Reply {
    Json(u16, Value),
    /// A success with this body, whatever it is.
    Body(String),
    /// These bytes, head and all.
    Bytes(String),
    /// Nothing, and the connection stays.
    Hang,
    /// A good beginning, then a byte now and then for ever.
    Drip,
    /// A body without end.
    Flood,
}

/// A service. It ends with the test.
pub(crate) struct Stub {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Stub {
    /// A service whose response to a request depends on how many came before it.
    pub(crate) async fn start(reply: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (reply, all) = (Arc::new(reply), Arc::clone(&seen));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (reply, all) = (Arc::clone(&reply), Arc::clone(&all));
                tokio::spawn(async move {
                    let mut socket = socket;
                    let request = read(&mut socket).await;
                    let before = {
                        let mut all = all.lock().unwrap();
                        all.push(request.clone());
                        all.len() - 1
                    };
                    // The client may have disconnected.
                    drop(write(socket, reply(before, &request)).await);
                });
            }
        });
        Self { url, seen }
    }

    /// Every request so far.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }

    /// How many of them wanted vectors.
    pub(crate) fn embeds(&self) -> usize {
        self.seen().iter().filter(|request| request.path.contains("embed")).count()
    }
}

async fn read(socket: &mut TcpStream) -> Request {
    let mut bytes = Vec::new();
    loop {
        let mut more = [0; 4096];
        let length = socket.read(&mut more).await.unwrap_or_default();
        bytes.extend_from_slice(&more[..length]);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) || bytes.is_empty() {
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                return Request { path, body: serde_json::from_str(body).unwrap_or_default() };
            }
        }
        if length == 0 {
            return Request { path: String::new(), body: Value::Null };
        }
    }
}

async fn write(mut socket: TcpStream, reply: Reply) -> std::io::Result<()> {
    let head = |status: u16, length: usize| {
        format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    match reply {
        Reply::Json(status, body) => {
            let body = body.to_string();
            socket.write_all((head(status, body.len()) + &body).as_bytes()).await
        }
        Reply::Body(body) => socket.write_all((head(200, body.len()) + &body).as_bytes()).await,
        Reply::Bytes(bytes) => socket.write_all(bytes.as_bytes()).await,
        Reply::Hang => {
            // Until the other side goes.
            socket.read(&mut [0]).await.map(drop)
        }
        Reply::Drip => {
            socket.write_all(head(200, 1 << 20).as_bytes()).await?;
            loop {
                socket.write_all(b" ").await?;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Reply::Flood => {
            socket.write_all(b"HTTP/1.1 200 X\r\nconnection: close\r\n\r\n{\"embeddings\": [[").await?;
            let block = "0.25, ".repeat(20_000);
            loop {
                socket.write_all(block.as_bytes()).await?;
            }
        }
    }
}

/// The response of a working Ollama: vectors of four numbers.
pub(crate) fn good(request: &Request) -> Reply {
    match request.path.as_str() {
        "/api/tags" => tags("abc"),
        "/api/embed" => Reply::Json(200, json!({ "embeddings": vectors(request) })),
        _ => Reply::Json(404, json!({ "error": "no such path" })),
    }
}

/// The list of models, of which one has this digest.
pub(crate) fn tags(digest: &str) -> Reply {
    let models = json!([{"name": "other:latest", "digest": "x"}, {"name": "m:latest", "digest": digest}]);
    Reply::Json(200, json!({ "models": models }))
}

/// A vector for each text: how long it is, and three numbers more.
pub(crate) fn vectors(request: &Request) -> Vec<Value> {
    request.texts().iter().map(|text| json!([text.len(), 1, 2, 3])).collect()
}
