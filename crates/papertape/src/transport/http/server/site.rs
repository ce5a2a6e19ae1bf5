//! What all connections of a server share, and the first steps of every request: `Host` and `Origin`, authentication, path.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use http::header::ALLOW;
use http::request::Parts;
use http::{HeaderValue, Method, Request, StatusCode};

use super::guard::{self, Guard};
use super::http_sse::HttpSseStreams;
use super::metrics::Metrics;
use super::options::Options;
use super::refusal::Refusal;
use super::request::{Budget, Clients, NamedRevision, Readable};
use super::response::{self, HttpResponse};
use super::sessions::Sessions;
use super::{http_sse, legacy, post};
use crate::server::pipeline::subscribe;
use crate::server::session::Session;
use crate::server::{Principal, Service};
use crate::sync::lock;
use crate::transport::tap::Tap;
use crate::wire::tape::Direction;
use papertape_oauth::server::{Admitted, Auth, Lease};

/// How often unused sessions are looked for.
pub(crate) const SWEEP: Duration = Duration::from_secs(30);

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) service: Arc<Service>,
    pub(crate) options: Options,
    guard: Guard,
    pub(crate) budget: Arc<Budget>,
    clients: Arc<Clients>,
    pub(crate) sessions: Sessions,
    pub(crate) http_sse: HttpSseStreams,
    pub(crate) metrics: Metrics,
    tap: Option<Mutex<Tap>>,
    waiting: Mutex<Waiting>,
}

/// The sessions of requests that take their time: what becomes of them when the server ends is up to it.
#[derive(Debug, Default)]
struct Waiting {
    sessions: Vec<Weak<Session>>,
    ending: bool,
}

impl Site {
    pub(crate) fn new(service: Arc<Service>, options: Options) -> std::io::Result<Arc<Self>> {
        if let Some(problem) = options.auth.as_ref().and_then(Auth::problem) {
            return Err(problem.clone().into());
        }
        let tap = match &options.tape {
            Some(path) => Some(Mutex::new(Tap::recording(path).map_err(|error| {
                let message = format!("cannot write the tape {}: {error}", path.display());
                std::io::Error::new(error.kind(), message)
            })?)),
            None => None,
        };
        Ok(Arc::new(Self {
            guard: Guard::new(&options.hosts, &options.origins, options.any_host),
            budget: Budget::new(service.limits().bytes_in_flight),
            clients: Clients::new(options.most_requests_per_client()),
            sessions: Sessions::new(&service),
            http_sse: HttpSseStreams::default(),
            metrics: Metrics::default(),
            waiting: Mutex::default(),
            tap,
            service,
            options,
        }))
    }

    /// Serves one request, which comes from an address if that is known.
    pub(crate) async fn serve<B>(
        self: &Arc<Self>,
        request: Request<B>,
        address: Option<IpAddr>,
    ) -> HttpResponse
    where
        B: Readable,
    {
        let (parts, body) = request.into_parts();
        let mut response = self.route(&parts, body, address).await.unwrap_or_else(|refusal| {
            response::refused(refusal, NamedRevision::read(&parts.headers).omits_unreadable_id())
        });
        if self.guard.knows_origin(&parts.headers) {
            guard::let_read(&parts.headers, response.headers_mut());
        }
        self.metrics.responded(response.status());
        response
    }

    async fn route<B>(
        self: &Arc<Self>,
        parts: &Parts,
        body: B,
        address: Option<IpAddr>,
    ) -> Result<HttpResponse, Refusal>
    where
        B: Readable,
    {
        self.guard.check(parts)?;
        if guard::is_preflight(parts) && self.guard.knows_origin(&parts.headers) {
            let mut response = response::empty(StatusCode::NO_CONTENT);
            guard::answer_preflight(parts, response.headers_mut());
            return Ok(response);
        }
        let path = parts.uri.path();
        if path == self.options.path {
            let (principal, lease) = self.admit(parts).await?;
            // A session can be ended however many requests its client has open.
            if parts.method == Method::DELETE && self.options.legacy {
                return legacy::end(self, parts, principal.as_ref());
            }
            let place = self.clients.enter(principal.as_ref(), address)?;
            let response = match parts.method {
                Method::POST => post::serve(self, parts, body, principal).await,
                Method::GET if self.options.legacy => legacy::listen(self, parts, principal.as_ref()),
                _ => Err(self.not_allowed()),
            };
            return Ok(ending_with(lease, response::in_place(response?, place)));
        }
        let read_only = parts.method == Method::GET || parts.method == Method::HEAD;
        match path {
            http_sse::STREAM | http_sse::MESSAGES if self.options.legacy && self.options.legacy_sse => {
                let (principal, lease) = self.admit(parts).await?;
                let place = self.clients.enter(principal.as_ref(), address)?;
                let response = Box::pin(http_sse::serve(self, parts, body, principal)).await?;
                Ok(ending_with(lease, response::in_place(response, place)))
            }
            "/healthz" if self.options.health && read_only => {
                Ok(response::text(StatusCode::OK, "text/plain; charset=utf-8", "ok\n"))
            }
            #[cfg(feature = "metrics")]
            "/metrics" if self.options.metrics && read_only => {
                let text = self.metrics.text(self.sessions.count());
                Ok(response::text(StatusCode::OK, Metrics::TYPE, text))
            }
            _ => {
                match self.options.auth.as_ref().and_then(|auth| auth.metadata(path)).filter(|_| read_only) {
                    Some(metadata) => Ok(response::json(StatusCode::OK, metadata.to_string())),
                    None => {
                        let message = format!("there is nothing here: MCP is at {}", self.options.path);
                        Err(Refusal::new(StatusCode::NOT_FOUND, message))
                    }
                }
            }
        }
    }

    fn not_allowed(&self) -> Refusal {
        let allowed = if self.options.legacy { "POST, GET, DELETE" } else { "POST" };
        let refusal =
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, format!("only {allowed} can be done here"));
        refusal.header(ALLOW, HeaderValue::from_static(allowed))
    }

    /// The principal of a request, and its lease, if the server authenticates.
    async fn admit(&self, parts: &Parts) -> Result<(Option<Arc<Principal>>, Option<Lease>), Refusal> {
        let Some(auth) = &self.options.auth else { return Ok((None, None)) };
        // Boxed: it may have to fetch keys, and every connection would hold the room for that.
        let Admitted { principal, lease } = Box::pin(auth.check(&parts.headers)).await?;
        Ok((Some(principal), Some(lease)))
    }

    /// The refusal of a principal that lacks some of these scopes.
    pub(crate) fn forbidden(&self, scopes: &[String]) -> Refusal {
        match &self.options.auth {
            Some(auth) => auth.insufficient(scopes).into(),
            None => Refusal::new(StatusCode::FORBIDDEN, "this needs an authenticated principal"),
        }
    }

    /// Records what is sent and received.
    pub(crate) fn tape(&self, direction: Direction, bytes: &[u8]) {
        if let Some(tap) = &self.tap {
            let mut tap = lock(tap);
            tap.frame(direction, bytes);
            tap.flush();
        }
    }

    /// Remembers the session of a request that takes its time. A subscription that comes when the server ends is ended at once.
    pub(crate) fn note_waiting(&self, session: &Arc<Session>) {
        let mut waiting = self.waiting();
        let Waiting { sessions, ending } = &mut *waiting;
        if *ending {
            subscribe::end_all(&self.service, session);
        }
        if sessions.len() == sessions.capacity() {
            sessions.retain(|session| session.strong_count() > 0);
        }
        sessions.push(Arc::downgrade(session));
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }

    /// The server is about to end: subscriptions end, and what runs may finish.
    pub(crate) fn drain(&self) {
        let mut waiting = self.waiting();
        waiting.ending = true;
        for session in waiting.sessions.iter().filter_map(Weak::upgrade) {
            subscribe::end_all(&self.service, &session);
        }
        drop(waiting);
        self.sessions.drain();
        self.http_sse.drain(&self.service);
    }

    /// The server ends: what still runs, or waits for its client, is answered now.
    pub(crate) fn give_up(&self) {
        let error = Service::shutting_down();
        let waiting: Vec<_> = self.waiting().sessions.iter().filter_map(Weak::upgrade).collect();
        for session in waiting.into_iter().chain(self.sessions.sessions()).chain(self.http_sse.sessions()) {
            session.give_up(&error);
        }
    }

    /// Forgets unused sessions, until the server is gone.
    pub(crate) fn keep_tidy(self: &Arc<Self>) {
        let site = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SWEEP).await;
                let Some(site) = site.upgrade() else { return };
                site.sessions.sweep();
            }
        });
    }
}

/// A stream ends when its principal's key is revoked or token has expired.
fn ending_with(lease: Option<Lease>, mut response: HttpResponse) -> HttpResponse {
    if let Some(lease) = lease {
        response.body_mut().end_with(lease);
    }
    response
}
