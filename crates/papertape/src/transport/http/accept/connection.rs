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

use super::farewell;
use super::pulse::{Pulse, Stage};
use super::scan::Fault;
use super::wire::{Rules, Wire};

/// What all connections of a listener share.
#[derive(Debug)]
pub(super) struct Shared<H> {
    pub(super) handle: H,
    pub(super) http: http1::Builder,
    pub(super) rules: Arc<Rules>,
    pub(super) draining: AtomicU8,
}

/// How far the end of all connections has come.
pub(super) mod draining {
    /// It has not begun.
    pub(crate) const NOT: u8 = 0;
    /// Each connection may finish what it has begun, or is about to begin, and then ends.
    pub(crate) const GENTLY: u8 = 1;
    /// Those that wait for a request end.
    pub(crate) const FIRMLY: u8 = 2;
}

/// Why a connection ends.
enum End {
    /// hyper is done with it, be it that something was wrong: nobody is left who could be told.
    Served,
    /// The scanner has found a fault, and may say so or not.
    Faulty { say: bool },
    /// The peer was too slow.
    Late(Fault),
    /// Nobody needs it.
    Unneeded,
    /// Nothing can be said any more.
    Lost,
}

const LATE_HEAD: Fault = Fault::late("the head of the request did not come in time");
const LATE_BODY: Fault = Fault::late("the body of the request did not come in time");

/// Serves a connection to its end. A plain future with one of everything in it: an async block would be half as large again,
/// ten thousand times.
pub(super) fn serve<H, F, B>(
    stream: TcpStream,
    peer: SocketAddr,
    shared: Arc<Shared<H>>,
    pulse: Arc<Pulse>,
) -> impl Future<Output = ()> + Send
where
    H: Fn(Request<Incoming>, SocketAddr) -> F + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    // An answer is a small write that somebody waits for. Failing that it is only slower.
    stream.set_nodelay(true).ok();
    let wire = Wire::new(stream, Arc::clone(&shared.rules), Arc::clone(&pulse));
    let service = service(peer, Arc::clone(&shared), Arc::clone(&pulse));
    let mut connection = Some(shared.http.serve_connection(wire, service));
    let mut waker = None;
    let mut graceful = false;
    let mut last = None;
    let leaving = Leaving(pulse);
    poll_fn(move |cx| {
        let pulse = leaving.pulse();
        listen(pulse, &mut waker, cx);
        if let Some(serving) = &mut connection {
            let Poll::Ready(end) = poll(serving, pulse, &shared, &mut graceful, cx) else {
                return Poll::Pending;
            };
            last = connection.take().and_then(|connection| last_words(connection.into_parts().io, end));
        }
        last.as_mut().map_or(Poll::Ready(()), |last: &mut LastWords| last.as_mut().poll(cx))
    })
}

/// A handler as hyper wants it, which tells when answers begin and end.
fn service<H, F, B>(
    peer: SocketAddr,
    shared: Arc<Shared<H>>,
    pulse: Arc<Pulse>,
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
        let answer = (shared.handle)(request, peer);
        let (pulse, shared) = (Arc::clone(&pulse), Arc::clone(&shared));
        async move {
            let mut response = answer.await;
            if shared.draining.load(Relaxed) != draining::NOT {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            pulse.answer_begins();
            let made = Made(pulse);
            // The error is passed on as it is: the point is that what drops the body drops `made`.
            Ok::<_, Infallible>(response.map(|body| {
                body.map_err(move |error| {
                    let _ = &made;
                    error
                })
            }))
        }
    })
}

/// Lets hyper go on, then looks whether it has to end.
fn poll<S, B, H>(
    connection: &mut http1::Connection<Wire, S>,
    pulse: &Pulse,
    shared: &Shared<H>,
    graceful: &mut bool,
    cx: &mut Context<'_>,
) -> Poll<End>
where
    S: HttpService<Incoming, ResBody = B, Error = Infallible> + Unpin,
    B: Body<Data = Bytes> + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let poked = pulse.take_poke();
    if poked {
        pulse.asked.store(false, Relaxed);
    }
    if Pin::new(&mut *connection).poll(cx).is_ready() {
        return Poll::Ready(End::Served);
    }
    if pulse.is_faulty() {
        return Poll::Ready(End::Faulty { say: pulse.can_tell_fault() });
    }
    if pulse.take_resume() {
        cx.waker().wake_by_ref();
    }
    if !poked {
        return Poll::Pending;
    }
    if let Some(end) = judge(pulse, &shared.rules) {
        return Poll::Ready(end);
    }
    let draining = shared.draining.load(Relaxed);
    if draining == draining::NOT || *graceful {
        return Poll::Pending;
    }
    if is_between(pulse) {
        // A request may be on its way, and would be lost.
        return if draining == draining::FIRMLY { Poll::Ready(End::Unneeded) } else { Poll::Pending };
    }
    *graceful = true;
    Pin::new(&mut *connection).graceful_shutdown();
    Pin::new(connection).poll(cx).map(|_| End::Served)
}

/// Lets whoever watches wake this task.
fn listen(pulse: &Pulse, known: &mut Option<Waker>, cx: &Context<'_>) {
    if !known.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
        *known = Some(cx.waker().clone());
        pulse.wake_by(cx.waker());
    }
}

/// Whether nothing of a complete request is at work.
fn is_between(pulse: &Pulse) -> bool {
    matches!(pulse.stage(), Stage::Fresh | Stage::Head | Stage::Idle)
}

/// Looks at the clock, after hyper had its chance to read and write.
fn judge(pulse: &Pulse, rules: &Rules) -> Option<End> {
    let now = rules.clock.now();
    if pulse.write_by.load(Relaxed) <= now {
        return Some(End::Lost);
    }
    if pulse.read_by.load(Relaxed) <= now {
        match pulse.stage() {
            Stage::Fresh | Stage::Idle => return Some(End::Unneeded),
            Stage::Head => return Some(End::Late(LATE_HEAD)),
            // Nobody reads, so that nothing can come: the peer is not to blame.
            _ if !pulse.asked.load(Relaxed) => {
                pulse.read_by.store(rules.clock.in_time(rules.limits.body_idle), Relaxed);
            }
            Stage::Body if pulse.between_answers() => return Some(End::Late(LATE_BODY)),
            Stage::Body => return Some(End::Lost),
            Stage::Busy => {}
        }
    }
    (pulse.take_eviction() && is_between(pulse)).then_some(End::Unneeded)
}

/// Boxed, so that a connection at work does not carry the size of its end.
type LastWords = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What is left to do on the socket, if anything.
fn last_words(wire: Wire, end: End) -> Option<LastWords> {
    let owed = wire.is_owed_bytes();
    let (stream, fault) = wire.into_parts();
    match (end, fault) {
        (End::Late(fault), _) | (End::Faulty { say: true }, Some(fault)) => {
            Some(Box::pin(farewell::say(stream, fault)))
        }
        (End::Served | End::Faulty { .. }, _) if owed => Some(Box::pin(farewell::linger(stream))),
        (End::Served | End::Faulty { .. } | End::Unneeded, _) => None,
        (End::Lost, _) => {
            // Without this the kernel would keep what the peer does not take.
            stream.set_zero_linger().ok();
            None
        }
    }
}

/// Tells that an answer is made when the body of it is dropped.
struct Made(Arc<Pulse>);

impl Drop for Made {
    fn drop(&mut self) {
        self.0.answer_made();
    }
}

/// Tells that a connection is no more, however it ended.
struct Leaving(Arc<Pulse>);

impl Leaving {
    fn pulse(&self) -> &Pulse {
        &self.0
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.leave();
    }
}
