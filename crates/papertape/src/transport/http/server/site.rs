//! What all requests of a server share: its options and bounds, its sessions, the tape, and what becomes of them when it ends.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, StatusCode};
use tokio::runtime::Handle;

use super::guard::Guard;
use super::metrics::{Metrics, Timed};
use super::options::Options;
use super::refusal::Refusal;
use super::request::{Budget, Clients};
use super::sessions::{HttpSseStreams, SWEEP, Sessions};
use crate::server::pipeline::subscribe;
use crate::server::session::Session;
use crate::server::{Principal, ServiceCore, Serving};
use crate::sync::lock;
use crate::transport::http::heads;
use crate::transport::tap::Tap;
use crate::wire::tape::Direction;
use papertape_oauth::server::Auth;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) service: Arc<ServiceCore>,
    pub(crate) options: Options,
    pub(crate) guard: Guard,
    pub(crate) budget: Arc<Budget>,
    pub(crate) clients: Arc<Clients>,
    pub(crate) sessions: Sessions,
    pub(crate) http_sse: HttpSseStreams,
    /// Only if they are exposed.
    pub(crate) metrics: Option<Metrics>,
    tap: Option<Mutex<Tap>>,
    waiting: Mutex<Waiting>,
    /// Where the application serves it: since its first request, until the end of the grace period.
    serving: OnceLock<Mutex<Option<Serving>>>,
}

/// The sessions of requests that take their time: what becomes of them when the server ends is up to it.
#[derive(Debug, Default)]
struct Waiting {
    sessions: Vec<Weak<Session>>,
    /// Nothing goes on for ever any more.
    ending: bool,
    /// Nothing waits any more.
    ended: bool,
}

/// The number of a request on the tape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExchangeNumber(u64);

impl Site {
    pub(crate) fn new(service: Arc<ServiceCore>, options: Options) -> std::io::Result<Arc<Self>> {
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
            metrics: Metrics::new(&options),
            waiting: Mutex::default(),
            serving: OnceLock::new(),
            tap,
            service,
            options,
        }))
    }

    /// The service is served from now on, until this is gone or gives up.
    pub(crate) fn begin_serving(&self) {
        self.serving.get_or_init(|| Mutex::new(Some(self.service.background.serve())));
    }

    /// The refusal of a principal that lacks some of these scopes.
    pub(crate) fn forbidden(&self, principal: Option<&Arc<Principal>>, scopes: &[String]) -> Refusal {
        match (&self.options.auth, principal) {
            (Some(auth), Some(principal)) => auth.lacking(principal, scopes).into(),
            _ => Refusal::new(StatusCode::FORBIDDEN, "this needs an authenticated principal"),
        }
    }

    /// A request begins, and is timed if there are metrics.
    pub(crate) fn time(&self, method: &str) -> Option<Timed> {
        self.metrics.as_ref().map(|metrics| metrics.began(method))
    }

    /// Records the head of a request, which gets a number, if there is a tape.
    pub(crate) fn record_request(&self, parts: &Parts) -> Option<ExchangeNumber> {
        let mut tap = lock(self.tap.as_ref()?);
        let number = tap.next_exchange()?;
        let target = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        tap.head(number, Direction::ToServer, &heads::of_request(&parts.method, target, &parts.headers));
        tap.flush();
        Some(ExchangeNumber(number))
    }

    /// Records the head of its response.
    pub(crate) fn record_response(&self, number: ExchangeNumber, status: StatusCode, headers: &HeaderMap) {
        if let Some(tap) = &self.tap {
            let mut tap = lock(tap);
            tap.head(number.0, Direction::ToClient, &heads::of_response(status, headers));
            tap.flush();
        }
    }

    /// Records a body, or an event of it.
    pub(crate) fn record(&self, number: ExchangeNumber, direction: Direction, bytes: &[u8]) {
        if let Some(tap) = &self.tap {
            let mut tap = lock(tap);
            tap.frame_of(Some(number.0), direction, bytes);
            tap.flush();
        }
    }

    /// Records the body of a request.
    pub(crate) fn record_body(&self, parts: &Parts, bytes: &[u8]) {
        if let Some(number) = parts.extensions.get::<ExchangeNumber>() {
            self.record(*number, Direction::ToServer, bytes);
        }
    }

    /// Remembers the session of a request that takes its time. A subscription that comes when the server ends is ended at once,
    /// and all else that comes after the grace period.
    pub(crate) fn note_waiting(&self, session: &Arc<Session>) {
        let mut waiting = self.waiting();
        let Waiting { sessions, ending, ended } = &mut *waiting;
        if *ending {
            subscribe::end_all(&self.service, session);
        }
        if *ended {
            session.give_up(&ServiceCore::shutting_down());
        }
        if sessions.len() == sessions.capacity() {
            sessions.retain(|session| session.strong_count() > 0);
        }
        sessions.push(Arc::downgrade(session));
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }

    /// The server is about to end: subscriptions end, and what runs may finish within the grace period.
    pub(crate) fn drain(self: &Arc<Self>) {
        let mut waiting = self.waiting();
        if waiting.ending {
            return;
        }
        waiting.ending = true;
        for session in waiting.sessions.iter().filter_map(Weak::upgrade) {
            subscribe::end_all(&self.service, &session);
        }
        drop(waiting);
        self.sessions.drain();
        self.http_sse.drain(&self.service);
        let Ok(runtime) = Handle::try_current() else { return self.give_up() };
        let (site, grace) = (Arc::downgrade(self), self.service.limits().grace);
        runtime.spawn(async move {
            // A little before its end, so that the responses can arrive.
            tokio::time::sleep(grace.mul_f32(0.9)).await;
            if let Some(site) = site.upgrade() {
                site.give_up();
            }
        });
    }

    /// The server ends: what still runs, or waits for its client, is answered now, and background work is over.
    fn give_up(&self) {
        let error = ServiceCore::shutting_down();
        let mut waiting = self.waiting();
        waiting.ended = true;
        let sessions: Vec<_> = waiting.sessions.iter().filter_map(Weak::upgrade).collect();
        drop(waiting);
        for session in sessions.into_iter().chain(self.sessions.sessions()).chain(self.http_sse.sessions()) {
            session.give_up(&error);
        }
        // A request that is still to come does not start it again.
        drop(lock(self.serving.get_or_init(Mutex::default)).take());
    }

    /// Whether the grace period is over: what begins now is not waited for.
    pub(crate) fn has_given_up(&self) -> bool {
        self.waiting().ended
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
