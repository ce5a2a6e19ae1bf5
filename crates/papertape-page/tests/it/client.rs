//! A page that is served, and a client that sends whatever a test wants.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use papertape::{Server, memory};
use papertape_page::{Connect, Page, Target};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A small session: a request that is answered, one that is not, and text on stdout.
pub(crate) const TAPE: &str = "papertape 1
# papertape 0.1.0, unix time 1790000000
1 * 0.000000 start {\"command\":[\"./server\",\"--flag\"],\"pid\":7}
2 > 0.001000 line {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"needle\"}}}
3 ! 0.002000 line one client
4 < 0.003500 line {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[],\"isError\":true}}
5 < 0.004000 line a banner
6 > 0.005000 raw {\"jsonrpc\":\"2.0\",\"id\":2,
7 > 0.006000 line \"method\":\"ping\"}
8 * 0.007000 end {}
";

pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    /// How often the target was connected to.
    pub(crate) connects: Arc<AtomicUsize>,
    pub(crate) folder: TempDir,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<std::io::Result<()>>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

impl Served {
    /// A page of a tape with this text.
    pub(crate) async fn tape(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.tape");
        std::fs::write(&path, text).unwrap();
        let page = Page::of_tape(&path, false).unwrap();
        Self::start(page, Arc::default(), folder).await
    }

    /// A page of a server in this process.
    pub(crate) async fn server(make: impl Fn() -> Server + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let connects = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connects);
        let connect: Connect = Box::new(move |options| {
            counted.fetch_add(1, Relaxed);
            let server = make();
            Box::pin(async move {
                let connected = memory::connect_with(server, options).await;
                connected.map_err(|error| error.to_string())
            })
        });
        let name = "the server".to_owned();
        let target = Target { name, start: json!({"command": ["./server"]}), connect };
        let tape: PathBuf = folder.path().join("recorded.tape");
        let page = Page::of_server(target, Some(&tape)).unwrap();
        Self::start(page, connects, folder).await
    }

    async fn start(page: Page, connects: Arc<AtomicUsize>, folder: TempDir) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let token = page.url(address).split_once("#token=").unwrap().1.to_owned();
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(page.serve(listener, async { drop(stopped.await) }));
        let this = Self { address, token, connects, folder, stop: Some(stop), served };
        // Until the tape is read, or the server open.
        let mut seen = 0;
        loop {
            let summary = this.get(&format!("/api/recording?seen={seen}")).await.json();
            seen = summary["generation"].as_u64().unwrap();
            let is_open = summary["try"]["state"] == "open" || summary["try"]["state"] == "failed";
            if is_open || (summary["try"].is_null() && summary["state"] != "reading") {
                return this;
            }
        }
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[("papertape-token", &self.token)], b"").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        let headers = [("papertape-token", self.token.as_str()), ("content-type", "application/json")];
        self.send("POST", path, &headers, body.to_string().as_bytes()).await
    }

    /// A request with a good `Host`, unless the headers have one.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head += &format!("host: {}\r\n", self.host());
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
        // The server may have refused the request before it has read the body.
        drop(stream.write_all(body).await);
        let mut all = Vec::new();
        drop(stream.read_to_end(&mut all).await);
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").expect("a response");
        let head = String::from_utf8(all[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = all[end + 4..].to_vec();
        let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        assert!(!chunked, "{head}");
        Answer { status, head, body }
    }

    pub(crate) async fn stop(mut self) -> TempDir {
        drop(self.stop.take());
        self.served.await.unwrap().unwrap();
        self.folder
    }
}
