//! An HTTP server on a loopback socket that records its requests.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;

/// A recorded request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) query: HashMap<String, String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn form(&self) -> HashMap<String, String> {
        pairs(&self.body)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

pub(crate) type Reply = Response<Full<Bytes>>;

pub(crate) fn reply(status: u16, body: impl Into<Bytes>) -> Reply {
    Response::builder().status(status).body(Full::new(body.into())).unwrap()
}

pub(crate) fn json(status: u16, body: &Value) -> Reply {
    reply(status, body.to_string())
}

pub(crate) fn with(mut reply: Reply, name: &'static str, value: &str) -> Reply {
    reply.headers_mut().insert(name, value.parse().unwrap());
    reply
}

/// A server on a loopback socket.
pub(crate) struct StubServer {
    pub(crate) url: String,
    log: Arc<Mutex<Vec<Request>>>,
    task: tokio::task::JoinHandle<()>,
}

impl StubServer {
    /// A listener and its address, so that a server's responses can name other servers.
    pub(crate) async fn bind() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        (listener, url)
    }

    pub(crate) fn start(
        (listener, url): (TcpListener, String),
        answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let log = Arc::new(Mutex::new(Vec::new()));
        let (answer, seen) = (Arc::new(answer), log.clone());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, seen) = (answer.clone(), seen.clone());
                tokio::spawn(async move {
                    let service = service_fn(move |request| {
                        let (answer, seen) = (answer.clone(), seen.clone());
                        async move {
                            let request = read(request).await;
                            seen.lock().unwrap().push(request.clone());
                            Ok::<_, Infallible>(answer(&request))
                        }
                    });
                    let served = hyper::server::conn::http1::Builder::new();
                    drop(served.serve_connection(TokioIo::new(stream), service).await);
                });
            }
        });
        Self { url, log, task }
    }

    /// The requests at a path.
    pub(crate) fn requests(&self, path: &str) -> Vec<Request> {
        self.log.lock().unwrap().iter().filter(|request| request.path == path).cloned().collect()
    }

    /// The paths of all requests, in order.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.log.lock().unwrap().iter().map(|request| request.path.clone()).collect()
    }
}

impl Drop for StubServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read(request: http::Request<Incoming>) -> Request {
    let (head, body) = request.into_parts();
    Request {
        path: head.uri.path().to_owned(),
        query: pairs(head.uri.query().unwrap_or_default()),
        headers: head.headers,
        body: String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap(),
    }
}

fn pairs(text: &str) -> HashMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}
