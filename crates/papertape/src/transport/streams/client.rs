//! A client's connection over a pair of streams: bytes in, frames through the tap, requests out.

use std::future::{Future, pending};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until, timeout};

use crate::client::{
    Client, ClientError, ClientOptions, ErrorKind, Evidence, Handlers, Negotiated, OnStderr, OpenError,
    Opener, ProcessRecord, Session, Timeouts,
};
use crate::sync::lock;
use crate::telemetry::Network;
use crate::transport::tap::Tap;
use crate::wire::Framing;
use crate::wire::frame::{Decoder, OUTBOX, PieceKind, WriteBuffer};
use crate::wire::tape::Direction;

/// How long closing may wait for pending messages to be written.
const LAST_WRITES: Duration = Duration::from_millis(500);

/// How long to keep reading once the process has exited: what it has written is in the pipe by then.
const LAST_READS: Duration = Duration::from_millis(200);

/// How long to wait for the exit of a process that has closed its output and would be started again.
const RESTART_PATIENCE: Duration = Duration::from_secs(10);

/// Frames that are handled before other tasks get a turn.
const MOST_AT_ONCE: usize = 256;

/// Opens a session with a server over any pair of streams: a socket, a pair of pipes, a test.
///
/// # Errors
/// If the session does not open.
pub async fn connect<R, W>(reader: R, writer: W) -> Result<Client, ClientError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    connect_with(reader, writer, ClientOptions::new()).await
}

/// [`connect`] with options.
///
/// # Errors
/// If the session does not open, or the tape cannot be written.
pub async fn connect_with<R, W>(reader: R, writer: W, options: ClientOptions) -> Result<Client, ClientError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    connect_over(Network::Unknown, reader, writer, options).await
}

/// [`connect_with`] over a known kind of network.
pub(in crate::transport) async fn connect_over<R, W>(
    network: Network,
    reader: R,
    writer: W,
    options: ClientOptions,
) -> Result<Client, ClientError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let settings = Settings::new(options)?;
    let record = Arc::new(ProcessRecord::default());
    let session = settings.session(&record);
    session.set_peer(network, None);
    let (ended, gone) = watch::channel(false);
    let connection = ClientConnection::new(Arc::clone(&session), &settings);
    tokio::spawn(async move {
        connection.run(reader, writer, pending()).await;
        ended.send_replace(true);
    });
    let deadline = settings.opener.deadline();
    // Whether the peer of a stream has read it cannot be known.
    match settings.opener.open(&session, std::future::ready(()), deadline).await {
        Ok(negotiated) => Ok(settings.client(session, negotiated, gone, record)),
        Err(OpenError::Failed(error) | OpenError::AfterProbe(error)) => {
            session.request_close(Duration::ZERO);
            Err(error)
        }
    }
}

/// [`ClientOptions`] as the parts of a client that need them.
pub(in crate::transport) struct Settings {
    pub(in crate::transport) opener: Opener,
    timeouts: (Timeouts, Duration),
    handler_timeout: Duration,
    framing: Framing,
    pub(in crate::transport) frame_limit: usize,
    handlers: Handlers,
    /// For servers that are processes.
    pub(in crate::transport) on_stderr: Option<OnStderr>,
    pub(in crate::transport) tap: Arc<Mutex<Tap>>,
}

impl Settings {
    pub(in crate::transport) fn new(options: ClientOptions) -> Result<Self, ClientError> {
        let tap = match &options.tape {
            Some(path) => Tap::recording(path).map_err(|error| {
                let error = io::Error::new(error.kind(), format!("{}: {error}", path.display()));
                ClientError::new(
                    "opening the tape",
                    ErrorKind::Tape(error),
                    "not started",
                    Evidence::default(),
                )
            })?,
            None => Tap::default(),
        };
        Ok(Self {
            opener: Opener {
                identity: options.identity,
                capabilities: options.handlers.capabilities(),
                revision: options.revision,
                probe_timeout: options.probe_timeout,
                open_timeout: options.open_timeout,
            },
            timeouts: (options.timeouts, options.task_timeout),
            handler_timeout: options.handler_timeout,
            framing: options.framing,
            frame_limit: options.frame_limit,
            handlers: options.handlers,
            on_stderr: options.on_stderr,
            tap: Arc::new(Mutex::new(tap.observed_by(options.on_frame))),
        })
    }

    pub(in crate::transport) fn session(&self, record: &Arc<ProcessRecord>) -> Arc<Session> {
        Session::new(self.framing, self.handlers.clone(), self.handler_timeout, Arc::clone(record))
    }

    pub(in crate::transport) fn client(
        &self,
        session: Arc<Session>,
        negotiated: Negotiated,
        gone: watch::Receiver<bool>,
        record: Arc<ProcessRecord>,
    ) -> Client {
        Client::new(session, &self.opener, negotiated, self.timeouts, gone, record)
    }
}

/// One connection.
pub(in crate::transport) struct ClientConnection {
    session: Arc<Session>,
    tap: Arc<Mutex<Tap>>,
    decoder: Decoder,
    /// More frames may have arrived than were handled.
    more: bool,
    output: WriteBuffer,
}

impl ClientConnection {
    pub(in crate::transport) fn new(session: Arc<Session>, settings: &Settings) -> Self {
        let (tap, decoder) = (Arc::clone(&settings.tap), Decoder::new(settings.frame_limit));
        Self { session, tap, decoder, more: false, output: WriteBuffer::default() }
    }

    /// Runs until the server closes its output or the session is to close. `exited` is ready when its process has exited.
    pub(in crate::transport) async fn run<R, W>(
        mut self,
        mut reader: R,
        writer: W,
        exited: impl Future<Output = ()>,
    ) where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let _ended = EndWhenDropped(Arc::clone(&self.session));
        let mut writer = Some(writer);
        let session = Arc::clone(&self.session);
        let mut close = std::pin::pin!(session.close_requested());
        let mut exited = std::pin::pin!(exited);
        let mut closing: Option<(Duration, Instant)> = None;
        let (mut input_ended, mut has_exited) = (false, false);
        let mut deadline: Option<Instant> = None;
        loop {
            if self.output.is_empty() {
                self.output.refill(|frames| self.session.take(frames));
            }
            self.with_tap(|tap, _| tap.flush());
            // When the session is to close, pending messages are written, and then the server's input is closed.
            if let Some((grace, last_write)) = closing
                && !input_ended
                && (self.output.is_empty() || writer.is_none() || Instant::now() >= last_write)
            {
                input_ended = true;
                close_input(writer.take()).await;
                deadline = Some(Instant::now() + grace * 2 + LAST_WRITES);
            }
            // When the session is to close, no more responses are queued, so reading need not wait for room.
            let read_more = closing.is_some() || self.session.queued_bytes() < OUTBOX;
            tokio::select! {
                biased;
                written = write(&mut writer, self.output.rest()), if !self.output.is_empty() => match written {
                    Ok(count) if count > 0 => {
                        let frames = self.with_tap(|tap, output| output.advance(count, |frame| tap.frame(Direction::ToServer, frame)));
                        self.session.frames_written(frames);
                    }
                    // It may have closed its input and still be writing.
                    _ => {
                        tracing::debug!("the server has closed its input");
                        writer = None;
                    }
                },
                grace = &mut close, if closing.is_none() => {
                    closing = Some((grace, Instant::now() + LAST_WRITES.min(grace)));
                }
                () = until(closing.filter(|_| !input_ended).map(|(_, at)| at)) => {}
                () = &mut exited, if !has_exited => {
                    has_exited = true;
                    deadline = Some(Instant::now() + LAST_READS);
                }
                () = self.session.wake.notified() => {}
                () = until(deadline) => break,
                // Last, because a server that never stops writing must not keep anything else from being handled.
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
                        tracing::debug!(%error, "reading the server's output failed");
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
            output.abandon(|frame| tap.frame(Direction::ToServer, frame));
            tap.flush();
        });
        drop(writer);
        // Pending requests fail with the exit status of the process, if it is about to exit.
        if !has_exited && closing.is_none() {
            let patience = if self.session.can_restart() { RESTART_PATIENCE } else { LAST_WRITES };
            has_exited = tokio::select! {
                exited = timeout(patience, exited) => exited.is_ok(),
                _ = close => false,
            };
        }
        if has_exited && closing.is_none() {
            self.session.suspend();
        }
    }

    /// Hands the frames that have arrived to the session, as many as are handled at once. False if the framing is lost.
    fn receive(&mut self) -> bool {
        self.more = false;
        for _ in 0..MOST_AT_ONCE {
            let Some(piece) = self.decoder.next_piece() else {
                self.session.set_unfinished(self.decoder.unfinished());
                return true;
            };
            lock(&self.tap).frame(Direction::ToClient, piece.raw);
            match piece.kind {
                PieceKind::Frame(body) => self.session.receive(body),
                PieceKind::Blank | PieceKind::Skipped | PieceKind::Unfinished(_) => {}
                PieceKind::Broken(error) => {
                    self.session.receive_invalid(&error, piece.raw);
                    if error.is_fatal() {
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
            lock(&self.tap).frame(Direction::ToClient, piece.raw);
            match piece.kind {
                PieceKind::Unfinished(body) => self.session.receive_unfinished(body),
                PieceKind::Broken(error) => self.session.receive_invalid(&error, piece.raw),
                PieceKind::Frame(_) | PieceKind::Blank | PieceKind::Skipped => {}
            }
        }
    }

    fn with_tap<T>(&mut self, act: impl FnOnce(&mut Tap, &mut WriteBuffer) -> T) -> T {
        act(&mut lock(&self.tap), &mut self.output)
    }
}

/// Ends the session however the connection ends, so that every pending request fails; unless its server is started again.
pub(in crate::transport) struct EndWhenDropped(pub(in crate::transport) Arc<Session>);

impl Drop for EndWhenDropped {
    fn drop(&mut self) {
        self.0.connection_ended();
    }
}

async fn write<W: AsyncWrite + Unpin>(writer: &mut Option<W>, bytes: &[u8]) -> io::Result<usize> {
    match writer {
        Some(writer) => writer.write(bytes).await,
        // The requests that cannot be written run into their timeouts.
        None => pending().await,
    }
}

async fn close_input<W: AsyncWrite + Unpin>(writer: Option<W>) {
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
