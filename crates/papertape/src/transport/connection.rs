//! The loop of one connection: bytes in, frames through the tap, answers out.
//!
//! One task reads, dispatches and writes. Handlers that are ready at their first poll are answered into the output
//! buffer, which is written once per batch of input; while the peer does not read, nothing more is read from it.

use std::fmt;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep_until, timeout};

use super::tap::Tap;
use super::writing::Writing;
use crate::link::Link;
use crate::outbox::{OUTBOX, Outgoing};
use crate::server::{Begun, Calls, Server, Service};
use crate::wire::RpcError;
use crate::wire::frame::{Decoder, Fault, Framing, Kind};
use crate::wire::tape::Direction;

/// Serves one client over any pair of streams: a socket, a pair of pipes, a test.
///
/// Returns when the client has gone and everything that could be answered has been.
///
/// # Errors
/// If a tool has a bad schema, or answers could not be delivered ([`Undelivered`] inside): see
/// [`Limits::grace`](crate::Limits::grace).
pub async fn serve<R, W>(server: Server, reader: R, writer: W) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    match run(server.build()?, reader, writer).await.lost {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Serves one client over a pair of streams.
pub(super) async fn run<R, W>(service: Arc<Service>, mut reader: R, mut writer: W) -> Ended
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut connection = Connection::new(service, Tap::default());
    let mut stop = pin!(std::future::pending());
    loop {
        while let Some(call) = connection.next_call() {
            call.run_here();
        }
        if !connection.exchange(&mut reader, &mut writer, stop.as_mut()).await {
            break;
        }
    }
    connection.close(&mut writer).await
}

/// One connection.
///
/// Whoever drives it takes, by turns, each [`Connection::next_call`] to run it, and [`Connection::exchange`]s bytes; and in
/// the end [`Connection::close`]s it.
pub(crate) struct Connection {
    service: Arc<Service>,
    link: Arc<Link>,
    tap: Tap,
    decoder: Decoder,
    /// How answers are framed: as the peer frames what it sends.
    framing: Framing,
    /// The last frame was not JSON, so that the place in the stream may be lost.
    doubtful: bool,
    input: Input,
    /// It was not the peer that ended the input.
    interrupted: bool,
    /// Calls that are ready to run.
    calls: Calls,
    output: Writing,
    /// When running requests are given up, once all that was read is served.
    give_up_requests: Option<Instant>,
    /// When answers are given up, unless the peer reads some of them before; once the input has ended.
    give_up_answers: Option<Instant>,
    /// A call did not end in time.
    gave_up: bool,
    /// Why nothing more can be written, other than that the peer has gone.
    broken: Option<io::Error>,
}

/// Why and how much was not delivered when a connection ended.
#[derive(thiserror::Error)]
#[error("{cause}: answers not delivered: {answers}; messages not served: {requests}")]
#[non_exhaustive]
pub struct Undelivered {
    /// Answers and notifications that did not reach the client as a whole.
    pub answers: usize,
    /// Messages of the client's that were read and not served.
    pub requests: usize,
    /// What kept them from it.
    pub cause: io::Error,
}

/// As a person reads it: `fn main() -> io::Result<()>` shows errors this way.
impl fmt::Debug for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How a connection has ended.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// A call did not end in time.
    pub(crate) gave_up: bool,
    /// Why answers were not delivered, and how many.
    pub(crate) lost: Option<io::Error>,
}

/// How much of the input there still is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    /// More may come.
    Open,
    /// No more is read; what has been read is still served.
    Ended,
    /// All that was read has been served.
    Served,
}

impl Connection {
    pub(crate) fn new(service: Arc<Service>, tap: Tap) -> Self {
        Self {
            link: Link::new(None),
            decoder: Decoder::new(service.limits().frame),
            service,
            tap,
            framing: Framing::default(),
            doubtful: false,
            input: Input::Open,
            interrupted: false,
            calls: Calls::new(),
            output: Writing::default(),
            give_up_requests: None,
            give_up_answers: None,
            gave_up: false,
            broken: None,
        }
    }

    /// Waits until bytes have come or gone, a handler has answered, or time is up. False if it is all over.
    ///
    /// When `stop` is ready the input counts as ended.
    pub(crate) async fn exchange<R, W>(
        &mut self,
        reader: &mut R,
        writer: &mut W,
        stop: Pin<&mut (impl Future<Output = ()> + ?Sized)>,
    ) -> bool
    where
        R: AsyncRead + Unpin + ?Sized,
        W: AsyncWrite + Unpin + ?Sized,
    {
        if self.output.is_done() {
            self.output.begin(|frames| self.link.take(frames));
        }
        self.tap.flush();
        if self.input != Input::Open {
            self.set_deadlines();
        }
        let idle = self.link.is_idle();
        if self.input == Input::Served && idle && self.output.is_done() && self.link.pending() == 0 {
            return false;
        }
        let read_more = self.input == Input::Open && self.link.pending() < OUTBOX;
        tokio::select! {
            biased;
            written = writer.write(self.output.rest()), if !self.output.is_done() => match written {
                Ok(count) if count > 0 => {
                    self.output.advance(count, Direction::ToClient, &mut self.tap);
                    self.give_up_answers = None;
                }
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    self.broken = Some(error);
                    return false;
                }
                _ => {
                    tracing::info!("the client no longer reads");
                    return false;
                }
            },
            read = reader.read_buf(self.decoder.space()), if read_more => match read {
                Ok(count) if count > 0 => {}
                Ok(_) => self.input = Input::Ended,
                Err(error) => {
                    tracing::warn!(%error, "the input cannot be read any further");
                    self.input = Input::Ended;
                }
            },
            () = stop, if self.input == Input::Open => {
                self.input = Input::Ended;
                self.interrupted = true;
            }
            () = self.link.bell() => {}
            () = until(self.give_up_requests), if !idle => {
                self.gave_up |= self.link.abort_all(&Service::shutting_down());
            }
            () = until(self.give_up_answers), if !self.output.is_done() => {
                let message = format!("the client has not read for {:?}", self.service.limits().grace);
                self.broken = Some(io::Error::new(io::ErrorKind::TimedOut, message));
                return false;
            }
        }
        true
    }

    /// What the end of the input leaves time for. Requests count from when the last one has begun, answers from when the
    /// peer last read some of them: one that reads slowly gets them all.
    fn set_deadlines(&mut self) {
        let (now, grace) = (Instant::now(), self.service.limits().grace);
        if self.input == Input::Served {
            self.give_up_requests.get_or_insert(now + grace.mul_f32(0.9));
        }
        if !self.output.is_done() {
            self.give_up_answers.get_or_insert(now + grace);
        }
    }

    /// Ends what is still running and lets the last bytes go.
    pub(crate) async fn close<W: AsyncWrite + Unpin + ?Sized>(&mut self, writer: &mut W) -> Ended {
        self.gave_up |= self.link.abort_all(&RpcError::internal("the connection has ended"));
        self.output.give_up(Direction::ToClient, &mut self.tap);
        self.tap.flush();
        let patience = match self.broken {
            None if self.input == Input::Served => self.service.limits().grace,
            _ => Duration::from_millis(100),
        };
        let flushed = timeout(patience, writer.flush()).await.unwrap_or_else(|late| Err(late.into()));
        if let Err(error) = flushed
            && error.kind() != io::ErrorKind::BrokenPipe
            && self.input == Input::Served
        {
            self.broken.get_or_insert(error);
        }
        let broken = self.broken.take();
        Ended { gave_up: self.gave_up, lost: broken.map(|why| self.count_lost(why)) }
    }

    /// The error for answers that were not delivered.
    fn count_lost(&mut self, cause: io::Error) -> io::Error {
        let mut waiting = Outgoing::default();
        self.link.take(&mut waiting);
        let answers = self.output.unfinished() + waiting.ends.len();
        let mut requests = self.calls.len();
        while let Some(piece) = self.decoder.next_piece() {
            requests += usize::from(matches!(piece.kind, Kind::Frame(body) if !body.is_empty()));
        }
        io::Error::new(cause.kind(), Undelivered { answers, requests, cause })
    }

    /// Serves the frames that have arrived, as long as there is room for answers, up to the next call of a tool.
    pub(crate) fn next_call(&mut self) -> Option<Begun> {
        loop {
            if let Some(call) = self.calls.pop_front() {
                return Some(call);
            }
            if self.link.pending() >= OUTBOX {
                return None;
            }
            let Some(piece) = self.decoder.next_piece() else {
                if self.input != Input::Ended {
                    return None;
                }
                self.serve_the_end();
                continue;
            };
            self.tap.frame(Direction::ToServer, piece.raw);
            answer_in(piece.framing, &mut self.framing, &self.link);
            match piece.kind {
                // An empty frame is no message, but leaves no doubt about where the next one begins.
                Kind::Frame(body) => {
                    self.doubtful =
                        !self.service.receive(body, &self.link, &mut self.calls) && !body.is_empty();
                }
                Kind::Blank | Kind::Skipped | Kind::Unfinished(_) => {}
                Kind::Broken(fault) => {
                    if fault.is_fatal() {
                        self.input = Input::Ended;
                    }
                    refuse(&fault, self.doubtful, &self.link);
                }
            }
        }
    }

    fn serve_the_end(&mut self) {
        self.input = Input::Served;
        self.link.stop_asking();
        if let Some(piece) = self.decoder.finish() {
            self.tap.frame(Direction::ToServer, piece.raw);
            answer_in(piece.framing, &mut self.framing, &self.link);
            match piece.kind {
                Kind::Unfinished(body) => self.service.receive_unfinished(body, &self.link, &mut self.calls),
                // A frame that we have stopped reading is no fault of the peer's.
                Kind::Broken(fault) => refuse(&fault, self.doubtful || self.interrupted, &self.link),
                Kind::Frame(_) | Kind::Blank | Kind::Skipped => {}
            }
        }
        self.service.end_subscriptions(&self.link);
    }
}

/// Answers are framed as what they answer.
fn answer_in(framing: Framing, current: &mut Framing, link: &Link) {
    if framing != *current {
        *current = framing;
        link.set_framing(framing);
    }
}

/// Answers bytes that are no frame. Headers that make no sense after a body that made none are one fault, not two.
fn refuse(fault: &Fault, doubtful: bool, link: &Link) {
    let error = match fault {
        Fault::TooLong { .. } => RpcError::invalid_request(fault.to_string()),
        Fault::Header(_) | Fault::Truncated if doubtful => return,
        Fault::Header(_) | Fault::Truncated => RpcError::parse(fault.to_string()),
    };
    tracing::info!(code = error.code, "refused a frame: {}", error.message);
    link.reject(None, None, &error);
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
