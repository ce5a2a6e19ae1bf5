//! What all connections of a server share, and the first turns of every request: who may come in, and where to.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use http::header::ALLOW;
use http::request::Parts;
use http::{HeaderValue, Method, Request, StatusCode};

use super::clients::Clients;
use super::guard::Guard;
use super::metrics::Metrics;
use super::old::OldStreams;
use super::options::Options;
use super::post::Named;
use super::reply::{self, Answer, Refusal};
use super::request::{Budget, Readable};
use super::session::Sessions;
use super::{cors, legacy, old, post};
use crate::link::Link;
use crate::server::{Principal, Service};
use crate::transport::http::auth::{Admitted, Auth, Challenge, Lease};
use crate::transport::tap::Tap;
use crate::wire::tape::Direction;

/// How often what nobody uses any more is looked for.
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
    pub(crate) old: OldStreams,
    pub(crate) metrics: Metrics,
    tap: Option<Mutex<Tap>>,
    waiting: Mutex<Waiting>,
}

/// The links of requests that take their time: what becomes of them when the server ends is up to it.
#[derive(Debug, Default)]
struct Waiting {
    links: Vec<Weak<Link>>,
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
            old: OldStreams::default(),
            metrics: Metrics::default(),
            waiting: Mutex::default(),
            tap,
            service,
            options,
        }))
    }

    /// Serves one request, which comes from an address if that is known.
    pub(crate) async fn serve<B>(self: &Arc<Self>, request: Request<B>, address: Option<IpAddr>) -> Answer
    where
        B: Readable,
    {
        let (parts, body) = request.into_parts();
        let mut answer = self
            .route(&parts, body, address)
            .await
            .unwrap_or_else(|refusal| refusal.into_answer(Named::read(&parts.headers).omits_unreadable_id()));
        if self.guard.knows_origin(&parts.headers) {
            cors::let_read(&parts.headers, &mut answer);
        }
        self.metrics.answered(answer.status());
        answer
    }

    async fn route<B>(
        self: &Arc<Self>,
        parts: &Parts,
        body: B,
        address: Option<IpAddr>,
    ) -> Result<Answer, Refusal>
    where
        B: Readable,
    {
        self.guard.check(parts)?;
        if cors::is_preflight(parts) && self.guard.knows_origin(&parts.headers) {
            return Ok(cors::preflight(parts));
        }
        let path = parts.uri.path();
        if path == self.options.path {
            let (principal, lease) = self.admit(parts).await?;
            // To end something is never too much.
            if parts.method == Method::DELETE && self.options.legacy {
                return legacy::end(self, parts, principal.as_ref());
            }
            let place = self.clients.enter(principal.as_ref(), address)?;
            let answer = match parts.method {
                Method::POST => post::serve(self, parts, body, principal).await,
                Method::GET if self.options.legacy => legacy::listen(self, parts, principal.as_ref()),
                _ => Err(self.not_allowed()),
            };
            return Ok(ending_with(lease, reply::in_place(answer?, place)));
        }
        let read_only = parts.method == Method::GET || parts.method == Method::HEAD;
        match path {
            old::STREAM | old::MESSAGES if self.options.legacy && self.options.legacy_sse => {
                let (principal, lease) = self.admit(parts).await?;
                let place = self.clients.enter(principal.as_ref(), address)?;
                let answer = Box::pin(old::serve(self, parts, body, principal)).await?;
                Ok(ending_with(lease, reply::in_place(answer, place)))
            }
            "/healthz" if self.options.health && read_only => {
                Ok(reply::text(StatusCode::OK, "text/plain; charset=utf-8", "ok\n"))
            }
            "/metrics" if self.options.metrics && read_only => {
                let text = self.metrics.text(self.sessions.count());
                Ok(reply::text(StatusCode::OK, Metrics::TYPE, text))
            }
            _ => {
                match self.options.auth.as_ref().and_then(|auth| auth.metadata(path)).filter(|_| read_only) {
                    Some(metadata) => Ok(reply::json(StatusCode::OK, metadata.to_string())),
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

    /// Who asks and for how long they may, if that matters here.
    async fn admit(&self, parts: &Parts) -> Result<(Option<Arc<Principal>>, Option<Lease>), Refusal> {
        let Some(auth) = &self.options.auth else { return Ok((None, None)) };
        // Boxed: it may have to fetch keys, and every connection would hold the room for that.
        let Admitted { principal, lease } = Box::pin(auth.check(&parts.headers)).await?;
        Ok((Some(principal), Some(lease)))
    }

    /// Puts what crosses on the tape.
    pub(crate) fn tape(&self, direction: Direction, bytes: &[u8]) {
        if let Some(tap) = &self.tap {
            let mut tap = tap.lock().unwrap_or_else(PoisonError::into_inner);
            tap.frame(direction, bytes);
            tap.flush();
        }
    }

    /// Remembers the link of a request that takes its time. A subscription that comes when the server ends is ended at once.
    pub(crate) fn note_waiting(&self, link: &Arc<Link>) {
        let mut waiting = self.waiting();
        let Waiting { links, ending } = &mut *waiting;
        if *ending {
            self.service.end_subscriptions(link);
        }
        if links.len() == links.capacity() {
            links.retain(|link| link.strong_count() > 0);
        }
        links.push(Arc::downgrade(link));
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server is about to end: who listens is told so, and what runs may finish.
    pub(crate) fn drain(&self) {
        let mut waiting = self.waiting();
        waiting.ending = true;
        for link in waiting.links.iter().filter_map(Weak::upgrade) {
            self.service.end_subscriptions(&link);
        }
        drop(waiting);
        self.sessions.drain();
        self.old.drain(&self.service);
    }

    /// The server ends: what still runs, or waits for its client, is answered now.
    pub(crate) fn give_up(&self) {
        let error = Service::shutting_down();
        let waiting: Vec<_> = self.waiting().links.iter().filter_map(Weak::upgrade).collect();
        for link in waiting.into_iter().chain(self.sessions.links()).chain(self.old.links()) {
            link.give_up(&error);
        }
    }

    /// Looks after what nobody uses any more, until the server is gone.
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
fn ending_with(lease: Option<Lease>, mut answer: Answer) -> Answer {
    if let Some(lease) = lease {
        answer.body_mut().end_with(lease);
    }
    answer
}

impl From<Challenge> for Refusal {
    fn from(challenge: Challenge) -> Self {
        let refusal = Refusal::new(challenge.status, challenge.message);
        match HeaderValue::from_str(&challenge.authenticate) {
            Ok(value) => refusal.header(http::header::WWW_AUTHENTICATE, value),
            Err(_) => refusal,
        }
    }
}
