//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::header::CONNECTION;
use http::{HeaderValue, Request, Response};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{HttpService, service_fn};
use tokio::net::TcpStream;

use super::close;
use super::connection_state::{ConnectionState, Stage};
use super::scan::Fault;
use super::strict_stream::{Rules, StrictStream};

/// What all connections of a listener share.
#[derive(Debug)]
pub(super) struct Shared<H> {
    pub(super) handle: H,
    pub(super) http: http1::Builder,
    pub(super) rules: Arc<Rules>,
    pub(super) draining: AtomicU8,
}

/// How far the graceful shutdown is.
pub(super) mod draining {
    /// Not started.
    pub(crate) const NOT: u8 = 0;
    /// Requests are finished, and idle connections may send one more.
    pub(crate) const KEEP_ALIVE: u8 = 1;
    /// Idle connections are closed.
    pub(crate) const CLOSE_IDLE: u8 = 2;
}

/// Why a connection ends.
enum CloseReason {
    /// hyper has finished, perhaps with an error of the socket.
    Served,
    /// The scanner has found a fault, which can be reported or not.
    Invalid { report: bool },
    /// The peer has missed a deadline, and gets a 408.
    TimedOut(Fault),
    /// It waits for a request.
    Idle,
    /// The peer does not read or send, and a response is under way.
    Stalled,
}

const LATE_HEAD: Fault = Fault::late("the head of the request did not arrive in time");
const LATE_BODY: Fault = Fault::late("the body of the request did not arrive in time");

/// Serves a connection to its end. A future by hand: an async block would be half as large again, for ten thousand connections.
pub(super) fn serve_connection<H, F, B>(
    stream: TcpStream,
    peer: SocketAddr,
    shared: Arc<Shared<H>>,
    state: Arc<ConnectionState>,
) -> impl Future<Output = ()> + Send
where
    H: Fn(Request<Incoming>, SocketAddr) -> F + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    // A response is a small write that the peer waits for. Without this it is only slower.
    stream.set_nodelay(true).ok();
    let stream = StrictStream::new(stream, Arc::clone(&shared.rules), Arc::clone(&state));
    let service = service(peer, Arc::clone(&shared), Arc::clone(&state));
    let mut connection = Some(shared.http.serve_connection(stream, service));
    let mut waker = None;
    let mut graceful = false;
    let mut last = None;
    let guard = ConnectionGuard(state);
    poll_fn(move |cx| {
        let state = guard.state();
        register_waker(state, &mut waker, cx);
        if let Some(serving) = &mut connection {
            let Poll::Ready(end) = poll(serving, state, &shared, &mut graceful, cx) else {
                return Poll::Pending;
            };
            last = connection.take().and_then(|connection| closing(connection.into_parts().io, end));
        }
        last.as_mut().map_or(Poll::Ready(()), |last: &mut Closing| last.as_mut().poll(cx))
    })
}

/// The handler as a hyper service, which records when responses start and finish.
fn service<H, F, B>(
    peer: SocketAddr,
    shared: Arc<Shared<H>>,
    state: Arc<ConnectionState>,
) -> impl HttpService<
    Incoming,
    ResBody = impl Body<Data = Bytes, Error = B::Error> + Send + 'static,
    Error = Infallible,
    Future = impl Send,
> + Send
+ Unpin
where
    H: Fn(Request<Incoming>, SocketAddr) -> F + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
{
    service_fn(move |request| {
        let response = (shared.handle)(request, peer);
        let (state, shared) = (Arc::clone(&state), Arc::clone(&shared));
        async move {
            let mut response = response.await;
            if shared.draining.load(Relaxed) != draining::NOT {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            state.response_started();
            let guard = ResponseGuard(state);
            // The error is unchanged: the point is that `guard` is dropped with the body.
            Ok::<_, Infallible>(response.map(|body| {
                body.map_err(move |error| {
                    let _ = &guard;
                    error
                })
            }))
        }
    })
}

/// Polls hyper, then checks whether the connection has to close.
fn poll<S, B, H>(
    connection: &mut http1::Connection<StrictStream, S>,
    state: &ConnectionState,
    shared: &Shared<H>,
    graceful: &mut bool,
    cx: &mut Context<'_>,
) -> Poll<CloseReason>
where
    S: HttpService<Incoming, ResBody = B, Error = Infallible> + Unpin,
    B: Body<Data = Bytes> + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let woken = state.take_wake();
    if woken {
        state.read_requested.store(false, Relaxed);
    }
    if Pin::new(&mut *connection).poll(cx).is_ready() {
        return Poll::Ready(CloseReason::Served);
    }
    if state.is_faulty() {
        return Poll::Ready(CloseReason::Invalid { report: state.can_report_fault() });
    }
    if state.take_resume() {
        cx.waker().wake_by_ref();
    }
    if !woken {
        return Poll::Pending;
    }
    if let Some(end) = check_deadlines(state, &shared.rules) {
        return Poll::Ready(end);
    }
    let draining = shared.draining.load(Relaxed);
    if draining == draining::NOT || *graceful {
        return Poll::Pending;
    }
    if is_between(state) {
        // A request may be under way, and would be lost.
        return if draining == draining::CLOSE_IDLE { Poll::Ready(CloseReason::Idle) } else { Poll::Pending };
    }
    *graceful = true;
    Pin::new(&mut *connection).graceful_shutdown();
    Pin::new(connection).poll(cx).map(|_| CloseReason::Served)
}

/// Lets the listener wake this task.
fn register_waker(state: &ConnectionState, known: &mut Option<Waker>, cx: &Context<'_>) {
    if !known.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
        *known = Some(cx.waker().clone());
        state.set_waker(cx.waker());
    }
}

/// Whether no complete request is being handled.
fn is_between(state: &ConnectionState) -> bool {
    matches!(state.stage(), Stage::Fresh | Stage::Head | Stage::Idle)
}

/// Checks the deadlines, after hyper had its chance to read and write.
fn check_deadlines(state: &ConnectionState, rules: &Rules) -> Option<CloseReason> {
    let now = rules.clock.now();
    if state.write_by.load(Relaxed) <= now {
        return Some(CloseReason::Stalled);
    }
    if state.read_by.load(Relaxed) <= now {
        match state.stage() {
            Stage::Fresh | Stage::Idle => return Some(CloseReason::Idle),
            Stage::Head => return Some(CloseReason::TimedOut(LATE_HEAD)),
            // The handler does not read, so the peer is not late.
            _ if !state.read_requested.load(Relaxed) => {
                state.read_by.store(rules.clock.deadline(rules.limits.body_idle), Relaxed);
            }
            Stage::Body if state.between_responses() => return Some(CloseReason::TimedOut(LATE_BODY)),
            Stage::Body => return Some(CloseReason::Stalled),
            Stage::Busy => {}
        }
    }
    (state.take_eviction() && is_between(state)).then_some(CloseReason::Idle)
}

/// Boxed, so that an open connection does not carry the size of its close.
type Closing = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What is left to do on the socket, if anything.
fn closing(stream: StrictStream, end: CloseReason) -> Option<Closing> {
    let owed = stream.is_owed_bytes();
    let (stream, fault) = stream.into_parts();
    match (end, fault) {
        (CloseReason::TimedOut(fault), _) | (CloseReason::Invalid { report: true }, Some(fault)) => {
            Some(Box::pin(close::with_error(stream, fault)))
        }
        (CloseReason::Served | CloseReason::Invalid { .. }, _) if owed => {
            Some(Box::pin(close::linger(stream)))
        }
        (CloseReason::Served | CloseReason::Invalid { .. } | CloseReason::Idle, _) => None,
        (CloseReason::Stalled, _) => {
            // Without this the kernel would keep what the peer does not read.
            stream.set_zero_linger().ok();
            None
        }
    }
}

/// Records that a response is finished when its body is dropped.
struct ResponseGuard(Arc<ConnectionState>);

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        self.0.response_finished();
    }
}

/// Records that a connection has closed, however it ended.
struct ConnectionGuard(Arc<ConnectionState>);

impl ConnectionGuard {
    fn state(&self) -> &ConnectionState {
        &self.0
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.0.close();
    }
}
