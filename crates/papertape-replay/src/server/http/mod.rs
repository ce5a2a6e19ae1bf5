//! A recorded server on Streamable HTTP: a player for each session, and one for all requests without a session.

mod body;
mod session;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use papertape::http::HostGuard;
use papertape_http1::ConnectionLimits;
use serde_json::json;
use tokio::net::TcpListener;

use super::player::{Pace, Player};
use crate::script::Script;
use body::Body;
use session::{Reply, Session};

/// The longest body of a request.
const LONGEST: usize = 16 * 1024 * 1024;

/// How many sessions there are at most; then the oldest one ends.
const MOST_SESSIONS: usize = 1_000;

/// How long requests may go on after the stop.
const GRACE: Duration = Duration::from_secs(2);

const SESSION: &str = "mcp-session-id";

/// Called with what a user should know.
type Note = Arc<dyn Fn(&str) + Send + Sync>;

struct Site {
    script: Arc<Script>,
    pace: Pace,
    guard: HostGuard,
    note: Note,
    /// For requests without a session.
    stateless: Session,
    sessions: Mutex<Sessions>,
}

#[derive(Default)]
struct Sessions {
    by_id: HashMap<String, Session>,
    in_order: VecDeque<String>,
    opened: u64,
}

/// Plays a recorded server on a listener, at any path, until `stop`. `note` is called with what a user should know.
///
/// `initialize` opens a session, in which the tape is played from its beginning; all requests without a session share another one.
/// Ids of sessions are not secret: `guard` decides who may connect.
///
/// # Errors
/// If connections cannot be accepted.
pub async fn serve_http(
    listener: TcpListener,
    script: Script,
    pace: Pace,
    guard: HostGuard,
    note: impl Fn(&str) + Send + Sync + 'static,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let (script, note): (Arc<Script>, Note) = (Arc::new(script), Arc::new(note));
    let stateless = Session::start(Player::new(Arc::clone(&script), pace), Arc::clone(&note));
    let site = Arc::new(Site { script, pace, guard, note, stateless, sessions: Mutex::default() });
    let handle = move |request, _| {
        let site = Arc::clone(&site);
        async move { site.respond(request).await }
    };
    papertape_http1::serve(listener, handle, ConnectionLimits::new(), GRACE, stop).await
}

impl Site {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        if let Err((status, why)) = self.guard.check(&head) {
            return refusal(status, &why);
        }
        let id = head.headers.get(SESSION).map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned());
        let session = match &id {
            Some(id) => match self.sessions().by_id.get(id) {
                Some(session) => session.clone(),
                None => return refusal(StatusCode::NOT_FOUND, "there is no such session: send `initialize`"),
            },
            None => self.stateless.clone(),
        };
        match head.method {
            Method::POST => match Limited::new(body, LONGEST).collect().await {
                Ok(body) => self.post(&body.to_bytes(), session, id).await,
                Err(_) => refusal(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large, or was cut off"),
            },
            Method::GET if id.is_some() => events(session.listen(), None),
            Method::DELETE if id.is_some() => {
                self.sessions().by_id.retain(|open, _| Some(open) != id.as_ref());
                Response::builder().status(StatusCode::NO_CONTENT).body(Body::empty()).unwrap_or_default()
            }
            _ => {
                let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, "send messages by POST");
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
                response
            }
        }
    }

    async fn post(&self, body: &Bytes, mut session: Session, id: Option<String>) -> Response<Body> {
        let mut opened = None;
        if id.is_none() && session::opens(body) {
            let mut sessions = self.sessions();
            sessions.opened += 1;
            let id = format!("replay-{}", sessions.opened);
            session =
                Session::start(Player::new(Arc::clone(&self.script), self.pace), Arc::clone(&self.note));
            sessions.by_id.insert(id.clone(), session.clone());
            sessions.in_order.push_back(id.clone());
            if sessions.in_order.len() > MOST_SESSIONS
                && let Some(oldest) = sessions.in_order.pop_front()
            {
                sessions.by_id.remove(&oldest);
            }
            opened = Some(id);
        }
        let mut response = match session.receive(body) {
            Reply::None => empty(StatusCode::ACCEPTED),
            Reply::Refused(text) => json(StatusCode::BAD_REQUEST, text),
            Reply::Messages(mut messages) => match messages.recv().await {
                None => empty(StatusCode::ACCEPTED),
                Some(first) if first.is_response => json(StatusCode::OK, first.text),
                Some(first) => events(messages, Some(first.text)),
            },
        };
        if let Some(id) = opened.and_then(|id| HeaderValue::try_from(id).ok()) {
            response.headers_mut().insert(SESSION, id);
        }
        response
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn json(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Body::whole(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn events(messages: session::Messages, first: Option<String>) -> Response<Body> {
    let mut response = Response::new(Body::events(messages, first));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

fn refusal(status: StatusCode, why: &str) -> Response<Body> {
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": why}});
    json(status, error.to_string())
}

#[cfg(test)]
mod tests;
