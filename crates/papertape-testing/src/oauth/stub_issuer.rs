//! An issuer on a loopback socket, with scripted responses, that records its requests.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use data_encoding::BASE64;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::signing::TokenSigner;

const JWKS: &str = "/keys";
const INTROSPECTION: &str = "/introspect";
/// The id and secret that may introspect tokens; both have characters that must be encoded.
pub const INTROSPECTION_CLIENT: (&str, &str) = ("mcp server", "s3cret:+%");

/// A scripted response.
#[derive(Debug, Clone)]
pub enum StubResponse {
    /// A JSON document.
    Json(Value),
    /// A body.
    Text(String),
    /// A status without a body.
    Status(StatusCode),
    /// A redirect to this URL.
    Redirect(String),
    /// A body without an end.
    Endless,
    /// A head without a body.
    Silent,
    /// Waits for a permit, then responds.
    Held(Arc<Semaphore>, Value),
}

#[derive(Debug, Default)]
struct Script {
    responses: HashMap<String, StubResponse>,
    requests: Vec<String>,
    /// What is known of each opaque token.
    tokens: HashMap<String, Value>,
}

/// An issuer on a loopback socket.
#[derive(Debug)]
pub struct StubIssuer {
    address: SocketAddr,
    script: Arc<Mutex<Script>>,
}

impl StubIssuer {
    /// Starts it without any response.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let script: Arc<Mutex<Script>> = Arc::default();
        tokio::spawn(serve(listener, Arc::clone(&script)));
        Self { address, script }
    }

    /// The issuer identifier.
    pub fn name(&self) -> String {
        self.url("")
    }

    /// The URL of the keys.
    pub fn jwks_url(&self) -> String {
        self.url(JWKS)
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sets the response at a path.
    pub fn respond(&self, path: &str, response: StubResponse) {
        self.script.lock().unwrap().responses.insert(path.to_owned(), response);
    }

    /// The response with the keys.
    pub fn respond_with_keys(&self, response: StubResponse) {
        self.respond(JWKS, response);
    }

    /// Publishes these keys.
    pub fn publish(&self, signers: &[&TokenSigner]) {
        self.respond_with_keys(StubResponse::Json(key_set(signers)));
    }

    /// The URL where tokens are introspected (RFC 7662), by [`INTROSPECTION_CLIENT`].
    pub fn introspection_url(&self) -> String {
        self.url(INTROSPECTION)
    }

    /// Issues an opaque token with these claims.
    pub fn issue(&self, token: &str, mut claims: Value) {
        claims["active"] = json!(true);
        self.script.lock().unwrap().tokens.insert(token.to_owned(), claims);
    }

    /// Revokes an opaque token.
    pub fn revoke(&self, token: &str) {
        self.script.lock().unwrap().tokens.remove(token);
    }

    /// Sets the response to every introspection.
    pub fn respond_to_introspection(&self, response: StubResponse) {
        self.respond(INTROSPECTION, response);
    }

    /// How often a token was introspected.
    pub fn introspections(&self) -> usize {
        self.requests().iter().filter(|path| *path == INTROSPECTION).count()
    }

    /// The paths of the requests, in order.
    pub fn requests(&self) -> Vec<String> {
        self.script.lock().unwrap().requests.clone()
    }

    /// How often the keys were fetched.
    pub fn fetches(&self) -> usize {
        self.requests().iter().filter(|path| *path == JWKS).count()
    }
}

/// The JWKS of these keys.
pub fn key_set(signers: &[&TokenSigner]) -> Value {
    json!({"keys": signers.iter().map(|signer| signer.jwk()).collect::<Vec<_>>()})
}

async fn serve(listener: TcpListener, script: Arc<Mutex<Script>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let script = Arc::clone(&script);
        let service = service_fn(move |request: Request<Incoming>| {
            let script = Arc::clone(&script);
            async move { Ok::<_, Infallible>(respond(request, &script).await) }
        });
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move { drop(connection.await) });
    }
}

async fn respond(request: Request<Incoming>, script: &Mutex<Script>) -> Response<BoxBody<Bytes, Infallible>> {
    let path = request.uri().path().to_owned();
    let mut response = {
        let mut script = script.lock().unwrap();
        script.requests.push(path.clone());
        script.responses.get(&path).cloned()
    };
    if response.is_none() && path == INTROSPECTION {
        response = Some(introspect(request, script).await);
    }
    let full = |text: String| Response::new(Full::from(text).boxed());
    let status = |status| {
        let mut response = full(String::new());
        *response.status_mut() = status;
        response
    };
    match response.unwrap_or(StubResponse::Status(StatusCode::NOT_FOUND)) {
        StubResponse::Json(document) => full(document.to_string()),
        StubResponse::Text(text) => full(text),
        StubResponse::Status(code) => status(code),
        StubResponse::Redirect(to) => {
            let mut response = status(StatusCode::FOUND);
            response.headers_mut().insert(http::header::LOCATION, to.parse().unwrap());
            response
        }
        StubResponse::Endless => Response::new(Forever(Some(Bytes::from(vec![b' '; 16 * 1024]))).boxed()),
        StubResponse::Silent => Response::new(Forever(None).boxed()),
        StubResponse::Held(held, document) => {
            held.acquire().await.unwrap().forget();
            full(document.to_string())
        }
    }
}

/// The introspection of a token, for the client that may do that.
async fn introspect(request: Request<Incoming>, script: &Mutex<Script>) -> StubResponse {
    let (id, secret) = INTROSPECTION_CLIENT;
    let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = BASE64.encode(format!("{}:{}", encode(id), encode(secret)).as_bytes());
    if request
        .headers()
        .get(http::header::AUTHORIZATION)
        .is_none_or(|value| *value != format!("Basic {pair}"))
    {
        return StubResponse::Status(StatusCode::UNAUTHORIZED);
    }
    let form = request.method() == http::Method::POST
        && request.headers()[http::header::CONTENT_TYPE] == "application/x-www-form-urlencoded";
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let token = url::form_urlencoded::parse(&body).find(|(name, _)| form && name == "token");
    let Some((_, token)) = token else { return StubResponse::Status(StatusCode::BAD_REQUEST) };
    let known = script.lock().unwrap().tokens.get(&*token).cloned();
    StubResponse::Json(known.unwrap_or_else(|| json!({"active": false})))
}

/// A body that repeats its frame for ever, or never has one.
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
