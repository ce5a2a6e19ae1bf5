//! A server, and raw sockets as its clients.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Either, Full};
use hyper::body::Incoming;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::super::{ConnectionLimits, serve};

/// A wait longer than this is a hang.
const HANG_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(HANG_TIMEOUT, what).await.expect("this should have happened long ago")
}

/// The channel between a test and the handlers of its server.
#[derive(Default)]
pub(super) struct Marks {
    /// A handler of `/wait` has begun.
    pub(super) begun: Notify,
    /// A handler or a stream was dropped.
    pub(super) dropped: Notify,
    /// Handlers of `/wait` may respond, and bodies of `/stream` may end.
    pub(super) go: Notify,
}

pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) marks: Arc<Marks>,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<std::io::Result<()>>,
}

impl Server {
    pub(super) async fn start(limits: ConnectionLimits) -> Self {
        Self::start_with(limits, HANG_TIMEOUT).await
    }

    pub(super) async fn start_with(limits: ConnectionLimits, grace: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let marks = Arc::new(Marks::default());
        let (stop, stopped) = oneshot::channel::<()>();
        let handle = {
            let marks = Arc::clone(&marks);
            move |request, _| handle(request, Arc::clone(&marks))
        };
        let stopped = async { stopped.await.unwrap_or(()) };
        let running = tokio::spawn(serve(listener, handle, limits, grace, stopped));
        Self { address, marks, stop: Some(stop), running }
    }

    pub(super) async fn connect(&self) -> Peer {
        Peer { stream: TcpStream::connect(self.address).await.unwrap(), read: Vec::new() }
    }

    /// A connection on which bytes were sent.
    pub(super) async fn send(&self, bytes: impl AsRef<[u8]>) -> Peer {
        let mut peer = self.connect().await;
        peer.send(bytes).await;
        peer
    }

    pub(super) fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Drops the future that serves.
    pub(super) fn abandon(&self) {
        self.running.abort();
    }

    pub(super) async fn ended(self) {
        soon(self.running).await.unwrap().unwrap();
    }
}

struct Dropped(Arc<Marks>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.dropped.notify_one();
    }
}

/// One chunk, then nothing until it may end.
struct Stream {
    first: Option<Bytes>,
    end: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// A request body that is kept and read from, for `/keep`.
    request: Option<Incoming>,
    _dropped: Dropped,
}

impl Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(request) = &mut self.request {
            let _read = Pin::new(request).poll_frame(cx);
        }
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(Frame::data(first)))),
            None => self.end.as_mut().poll(cx).map(|()| None),
        }
    }
}

async fn handle(request: Request<Incoming>, marks: Arc<Marks>) -> Response<Either<Full<Bytes>, Stream>> {
    let whole = |bytes: Bytes| Response::new(Either::Left(Full::new(bytes)));
    let path = request.uri().path().to_owned();
    match path.as_str() {
        "/wait" => {
            let _dropped = Dropped(Arc::clone(&marks));
            marks.begun.notify_one();
            marks.go.notified().await;
            whole(Bytes::from_static(b"waited"))
        }
        path @ ("/stream" | "/keep") => {
            let request = if path == "/keep" { Some(request.into_body()) } else { None };
            let ending = Arc::clone(&marks);
            let end = Box::pin(async move { ending.go.notified().await });
            let first = Some(Bytes::from_static(b"first"));
            Response::new(Either::Right(Stream { first, end, request, _dropped: Dropped(marks) }))
        }
        "/panic" => panic!("a handler that panics"),
        "/big" => whole(Bytes::from(vec![b'x'; 10_000_000])),
        "/refuse" => {
            let mut response = whole(Bytes::from_static(b"too large"));
            *response.status_mut() = http::StatusCode::PAYLOAD_TOO_LARGE;
            response
        }
        _ => match request.into_body().collect().await {
            Ok(body) => whole(body.to_bytes()),
            Err(_) => std::future::pending().await,
        },
    }
}

/// The other end of a connection.
pub(super) struct Peer {
    pub(super) stream: TcpStream,
    read: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Received {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Peer {
    pub(super) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        soon(self.stream.write_all(bytes.as_ref())).await.unwrap();
    }

    async fn more(&mut self) -> usize {
        soon(self.stream.read_buf(&mut self.read)).await.unwrap_or(0)
    }

    /// The next response with a Content-Length, 1xx included.
    pub(super) async fn response(&mut self) -> Received {
        let head = self.head().await;
        let status = head.get(9..12).unwrap().parse().unwrap();
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok())
            .unwrap_or(0);
        while self.read.len() < length {
            assert!(self.more().await > 0, "closed in the middle of a body after {head}");
        }
        Received { status, head, body: self.read.drain(..length).collect() }
    }

    pub(super) async fn head(&mut self) -> String {
        loop {
            if let Some(end) = self.read.windows(4).position(|end| end == b"\r\n\r\n") {
                return String::from_utf8(self.read.drain(..end + 4).collect()).unwrap();
            }
            assert!(
                self.more().await > 0,
                "closed without a response; got {:?}",
                String::from_utf8_lossy(&self.read)
            );
        }
    }

    pub(super) async fn bytes(&mut self, wanted: &[u8]) {
        while self.read.len() < wanted.len() {
            assert!(self.more().await > 0, "closed in place of {wanted:?}");
        }
        assert_eq!(self.read.drain(..wanted.len()).collect::<Vec<_>>(), wanted);
    }

    /// Waits until the connection is closed; returns the bytes before that.
    pub(super) async fn closed(&mut self) -> Vec<u8> {
        while self.more().await > 0 {}
        std::mem::take(&mut self.read)
    }

    /// The connection still serves a request.
    pub(super) async fn serves(&mut self) {
        self.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nalso").await;
        let response = self.response().await;
        assert_eq!((response.status, response.body.as_slice()), (200, b"also".as_slice()));
    }
}

/// Sends bytes and returns the status of the first response; an error must close the connection.
pub(super) async fn status_of(server: &Server, bytes: impl AsRef<[u8]>) -> u16 {
    let bytes = bytes.as_ref();
    let mut peer = server.send(bytes).await;
    let response = peer.response().await;
    if response.status >= 400 {
        assert!(response.head.contains("connection: close"), "{}", response.head);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(120)]);
        assert!(!response.body.is_empty(), "no reason is given after {shown:?}: {}", response.head);
        assert_eq!(peer.closed().await, b"", "something after the error");
    }
    response.status
}

pub(super) const GET: &str = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
