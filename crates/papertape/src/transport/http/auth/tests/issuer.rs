//! An issuer on a real socket, which answers what it is told to and counts what it is asked.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::signing::Signer;

const JWKS: &str = "/keys";

#[derive(Clone)]
pub(super) enum Answer {
    Json(Value),
    Text(String),
    Status(StatusCode),
    Redirect(String),
    /// A body without an end.
    Endless,
    /// A status and no more.
    Silent,
    /// Nothing until it is let go, then this.
    Held(Arc<Semaphore>, Value),
}

#[derive(Default)]
struct Told {
    answers: HashMap<String, Answer>,
    asked: Vec<String>,
}

pub(super) struct FakeIssuer {
    address: SocketAddr,
    told: Arc<Mutex<Told>>,
}

impl FakeIssuer {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let told: Arc<Mutex<Told>> = Arc::default();
        tokio::spawn(serve(listener, Arc::clone(&told)));
        Self { address, told }
    }

    pub(super) fn name(&self) -> String {
        self.url("")
    }

    pub(super) fn jwks_url(&self) -> String {
        self.url(JWKS)
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn answer(&self, path: &str, answer: Answer) {
        self.told.lock().unwrap().answers.insert(path.to_owned(), answer);
    }

    /// What it says of its keys.
    pub(super) fn answer_keys(&self, answer: Answer) {
        self.answer(JWKS, answer);
    }

    pub(super) fn publish(&self, signers: &[&Signer]) {
        self.answer_keys(Answer::Json(key_set(signers)));
    }

    /// The paths it was asked for, in order.
    pub(super) fn asked(&self) -> Vec<String> {
        self.told.lock().unwrap().asked.clone()
    }

    /// How often it was asked for its keys.
    pub(super) fn fetches(&self) -> usize {
        self.asked().iter().filter(|path| *path == JWKS).count()
    }
}

pub(super) fn key_set(signers: &[&Signer]) -> Value {
    json!({"keys": signers.iter().map(|signer| signer.jwk()).collect::<Vec<_>>()})
}

async fn serve(listener: TcpListener, told: Arc<Mutex<Told>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let told = Arc::clone(&told);
        let service = service_fn(move |request: Request<Incoming>| {
            let told = Arc::clone(&told);
            async move { Ok::<_, Infallible>(answer(request.uri().path(), &told).await) }
        });
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move { drop(connection.await) });
    }
}

async fn answer(path: &str, told: &Mutex<Told>) -> Response<BoxBody<Bytes, Infallible>> {
    let answer = {
        let mut told = told.lock().unwrap();
        told.asked.push(path.to_owned());
        told.answers.get(path).cloned()
    };
    let full = |text: String| Response::new(Full::from(text).boxed());
    let status = |status| {
        let mut response = full(String::new());
        *response.status_mut() = status;
        response
    };
    match answer.unwrap_or(Answer::Status(StatusCode::NOT_FOUND)) {
        Answer::Json(document) => full(document.to_string()),
        Answer::Text(text) => full(text),
        Answer::Status(code) => status(code),
        Answer::Redirect(to) => {
            let mut response = status(StatusCode::FOUND);
            response.headers_mut().insert(http::header::LOCATION, to.parse().unwrap());
            response
        }
        Answer::Endless => Response::new(Forever(Some(Bytes::from(vec![b' '; 16 * 1024]))).boxed()),
        Answer::Silent => Response::new(Forever(None).boxed()),
        Answer::Held(held, document) => {
            held.acquire().await.unwrap().forget();
            full(document.to_string())
        }
    }
}

/// The same again and again, or nothing ever.
struct Forever(Option<Bytes>);

impl Body for Forever {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &self.0 {
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes.clone())))),
            None => Poll::Pending,
        }
    }
}
