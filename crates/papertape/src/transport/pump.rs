//! The loop of a client's connection: bytes in, frames through the tap, requests out.

use std::future::{Future, pending};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until, timeout};

use super::tap::Tap;
use super::writing::Writing;
use crate::client::{
    Client, ClientError, ClientOptions, ErrorKind, Evidence, Introduction, NotOpened, Remains, Session,
    Timing,
};
use crate::outbox::OUTBOX;
use crate::wire::frame::{Decoder, Kind};
use crate::wire::tape::Direction;

/// How long requests that wait to be written may hold up the end.
const LAST_WRITES: Duration = Duration::from_millis(500);

/// How long a server may be silent once its process has ended: what it had written is in the pipe by then.
const LAST_READS: Duration = Duration::from_millis(200);

/// Frames that are looked at before somebody else gets a turn.
const MOST_AT_ONCE: usize = 256;

/// Opens a conversation with a server over any pair of streams: a socket, a pair of pipes, a test.
///
/// # Errors
/// If the conversation does not open, or the tape cannot be written.
pub async fn connect<R, W>(reader: R, writer: W, options: ClientOptions) -> Result<Client, ClientError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let settings = Settings::new(options)?;
    let remains = Arc::new(Remains::default());
    let session = settings.session(&remains);
    let (tell, gone) = watch::channel(false);
    let pump = Pump::new(Arc::clone(&session), &settings);
    tokio::spawn(async move {
        pump.run(reader, writer, pending()).await;
        tell.send_replace(true);
    });
    let deadline = settings.introduction.deadline();
    // Nobody tells whether a stream has been read.
    let opened = settings.introduction.open(&session, std::future::ready(()), deadline).await;
    match opened {
        Ok(opened) => Ok(settings.client(session, opened, gone, remains)),
        Err(NotOpened::Failed(error) | NotOpened::AfterProbe(error)) => {
            session.want_close(Duration::ZERO);
            Err(error)
        }
    }
}

/// What the options come to.
pub(super) struct Settings {
    pub(super) introduction: Introduction,
    timing: Timing,
    answering: Duration,
    framing: crate::wire::Framing,
    pub(super) frame: usize,
    handlers: crate::client::Handlers,
    pub(super) tap: Arc<Mutex<Tap>>,
}

impl Settings {
    pub(super) fn new(options: ClientOptions) -> Result<Self, ClientError> {
        let tap = match &options.tape {
            Some(path) => Tap::recording(path).map_err(|error| {
                let error = io::Error::new(error.kind(), format!("{}: {error}", path.display()));
                ClientError::new(
                    "opening the tape",
                    ErrorKind::Tape(error),
                    "the server was not started",
                    Evidence::default(),
                )
            })?,
            None => Tap::default(),
        };
        Ok(Self {
            introduction: Introduction {
                identity: options.identity,
                capabilities: options.handlers.capabilities(),
                revision: options.revision,
                probe_timeout: options.probe_timeout,
                open_timeout: options.open_timeout,
            },
            timing: options.timing,
            answering: options.answering,
            framing: options.framing,
            frame: options.frame,
            handlers: options.handlers,
            tap: Arc::new(Mutex::new(tap.shown_to(options.on_frame))),
        })
    }

    pub(super) fn session(&self, remains: &Arc<Remains>) -> Arc<Session> {
        Session::new(self.framing, self.handlers.clone(), self.answering, Arc::clone(remains))
    }

    pub(super) fn client(
        self,
        session: Arc<Session>,
        opened: crate::client::Opened,
        gone: watch::Receiver<bool>,
        remains: Arc<Remains>,
    ) -> Client {
        Client::new(session, self.introduction, opened, self.timing, gone, remains)
    }
}

/// One connection.
pub(super) struct Pump {
    session: Arc<Session>,
    tap: Arc<Mutex<Tap>>,
    decoder: Decoder,
    /// More may have arrived than has been looked at.
    more: bool,
    output: Writing,
}

impl Pump {
    pub(super) fn new(session: Arc<Session>, settings: &Settings) -> Self {
        let (tap, decoder) = (Arc::clone(&settings.tap), Decoder::new(settings.frame));
        Self { session, tap, decoder, more: false, output: Writing::default() }
    }

    /// Runs until the server has said its last word. `exited` is ready when its process has ended.
    pub(super) async fn run<R, W>(mut self, mut reader: R, writer: W, exited: impl Future<Output = ()>)
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let _ended = EndWhenDropped(Arc::clone(&self.session));
        let mut writer = Some(writer);
        let session = Arc::clone(&self.session);
        let mut close = std::pin::pin!(session.close_wanted());
        let mut exited = std::pin::pin!(exited);
        let mut closing: Option<(Duration, Instant)> = None;
        let (mut input_ended, mut has_exited) = (false, false);
        let mut deadline: Option<Instant> = None;
        loop {
            if self.output.is_done() {
                self.output.begin(|frames| self.session.take(frames));
            }
            self.with_tap(|tap, _| tap.flush());
            // Once the end is wanted, what was to be written is written, and then the server's input ends.
            if let Some((patience, last_write)) = closing
                && !input_ended
                && (self.output.is_done() || writer.is_none() || Instant::now() >= last_write)
            {
                input_ended = true;
                end_input(writer.take()).await;
                deadline = Some(Instant::now() + patience * 2 + LAST_WRITES);
            }
            // Once the end is wanted nothing more is answered, so that there is no reason to wait with reading.
            let read_more = closing.is_some() || self.session.pending() < OUTBOX;
            tokio::select! {
                biased;
                written = write(&mut writer, self.output.rest()), if !self.output.is_done() => match written {
                    Ok(count) if count > 0 => {
                        let crossed = self.with_tap(|tap, output| output.advance(count, Direction::ToServer, tap));
                        self.session.crossed(crossed);
                    }
                    // It may have closed its input and still be talking.
                    _ => {
                        tracing::debug!("the server no longer reads");
                        writer = None;
                    }
                },
                patience = &mut close, if closing.is_none() => {
                    closing = Some((patience, Instant::now() + LAST_WRITES.min(patience)));
                }
                () = until(closing.filter(|_| !input_ended).map(|(_, at)| at)) => {}
                () = &mut exited, if !has_exited => {
                    has_exited = true;
                    deadline = Some(Instant::now() + LAST_READS);
                }
                () = self.session.wake.notified() => {}
                () = until(deadline) => break,
                // Last, because a server that never stops talking must not keep anything else from being seen.
                () = yield_now(), if self.more => {
                    if !self.receive() {
                        break;
                    }
                }
                read = reader.read_buf(self.decoder.space()), if read_more && !self.more => match read {
                    Ok(count) if count > 0 => {
                        if !self.receive() {
                            break;
                        }
                    }
                    Ok(_) => break,
                    Err(error) => {
                        tracing::debug!(%error, "the server's output cannot be read any further");
                        break;
                    }
                },
            }
        }
        while self.more && self.receive() {
            yield_now().await;
        }
        self.receive_the_end();
        self.with_tap(|tap, output| {
            output.give_up(Direction::ToServer, tap);
            tap.flush();
        });
        drop(writer);
        // Those who wait are told how the process ended, if it is about to.
        if !has_exited && closing.is_none() {
            drop(timeout(LAST_WRITES, exited).await);
        }
    }

    /// Takes what has arrived to whoever waits for it, or so much of it that others get their turn in between. False if
    /// nothing more can be understood.
    fn receive(&mut self) -> bool {
        self.more = false;
        for _ in 0..MOST_AT_ONCE {
            let Some(piece) = self.decoder.next_piece() else {
                self.session.note_unfinished(self.decoder.unfinished());
                return true;
            };
            self.tap.lock().unwrap_or_else(PoisonError::into_inner).frame(Direction::ToClient, piece.raw);
            match piece.kind {
                Kind::Frame(body) => self.session.receive(body),
                Kind::Blank | Kind::Skipped | Kind::Unfinished(_) => {}
                Kind::Broken(fault) => {
                    self.session.broken(&fault, piece.raw);
                    if fault.is_fatal() {
                        return false;
                    }
                }
            }
        }
        self.more = true;
        true
    }

    fn receive_the_end(&mut self) {
        if let Some(piece) = self.decoder.finish() {
            self.tap.lock().unwrap_or_else(PoisonError::into_inner).frame(Direction::ToClient, piece.raw);
            match piece.kind {
                Kind::Unfinished(body) => self.session.receive_unfinished(body),
                Kind::Broken(fault) => self.session.broken(&fault, piece.raw),
                Kind::Frame(_) | Kind::Blank | Kind::Skipped => {}
            }
        }
    }

    fn with_tap<T>(&mut self, act: impl FnOnce(&mut Tap, &mut Writing) -> T) -> T {
        act(&mut self.tap.lock().unwrap_or_else(PoisonError::into_inner), &mut self.output)
    }
}

/// Whoever waits is told that nothing more will come, whatever has happened.
pub(super) struct EndWhenDropped(pub(super) Arc<Session>);

impl Drop for EndWhenDropped {
    fn drop(&mut self) {
        self.0.end();
    }
}

async fn write<W: AsyncWrite + Unpin>(writer: &mut Option<W>, bytes: &[u8]) -> io::Result<usize> {
    match writer {
        Some(writer) => writer.write(bytes).await,
        // What cannot be written any more is waited for in vain, until its time is over.
        None => pending().await,
    }
}

async fn end_input<W: AsyncWrite + Unpin>(writer: Option<W>) {
    if let Some(mut writer) = writer {
        drop(timeout(LAST_WRITES, writer.shutdown()).await);
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}
