//! stdio: this process's standard streams as the connection of a server, and those of a server process as the connection
//! of a client.
//!
//! Input and output get a thread of their own, which reads, runs every call that is ready at its first poll, and writes;
//! slower calls run on the caller's runtime. `streams/server.rs` describes what happens when a handler blocks that thread.
//! While serving, file descriptors 0 and 1 are out of reach of tools: a stray print, or a child process that inherits
//! them, can neither corrupt the output nor steal input.

mod standard_streams;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, getppid};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

pub use super::process::{RunningServer, ServerCommand, connect, connect_with};
use super::signals::watch_signals;
use super::streams::server::{Connection, Ended, IoThread};
use super::tap::Tap;
use super::thread;
use crate::server::IntoService;
use crate::telemetry::Network;
use standard_streams::{open_input, open_output};

/// How to serve on stdio.
///
/// ```
/// let options = papertape::stdio::Options::new().tape("session.tape");
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// Where to record every frame.
    pub tape: Option<PathBuf>,
    /// Keep serving when the parent process has exited, as long as stdin is open.
    pub outlive_parent: bool,
    /// Do not exit the process when a handler is still running at the end of the grace period.
    ///
    /// By default the process exits then, with code 0, or 1 if responses could not be delivered.
    pub keep_process: bool,
}

impl Options {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records every frame into a file.
    #[must_use]
    pub fn tape(mut self, path: impl Into<PathBuf>) -> Self {
        self.tape = Some(path.into());
        self
    }

    /// Does not exit the process when a handler is still running at the end of the grace period.
    #[must_use]
    pub fn keep_process(mut self) -> Self {
        self.keep_process = true;
        self
    }

    /// Keeps serving when the parent process has exited, as long as stdin is open.
    #[must_use]
    pub fn outlive_parent(mut self) -> Self {
        self.outlive_parent = true;
        self
    }
}

/// How often to check whether the parent process is alive.
const PARENT_CHECK: Duration = Duration::from_secs(5);

/// The least time for pending log lines to be written before the process exits, however short the grace period is.
const LOG_FLUSH: Duration = Duration::from_millis(250);

/// This process's stdin.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;

/// This process's stdout.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// This process's stdin and stdout as asynchronous streams, for what does not serve them with [`serve`], such as a bridge.
///
/// From here on text that the program prints to stdout goes to stderr, and child processes do not inherit the two.
///
/// # Errors
/// If they cannot be used.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn claim() -> io::Result<(Input, Output)> {
    let (input, output) = standard_streams::claim()?;
    Ok((open_input(input)?, open_output(output)?))
}

/// Serves on this process's stdin and stdout until stdin ends, or SIGTERM or SIGINT arrives.
///
/// From here on, and also after this returns, text that the program prints to stdout goes to stderr.
///
/// # Errors
/// If a tool has an invalid schema, the standard streams cannot be used, no thread can be started, or responses could not
/// be delivered, for example because the client did not read for as long as
/// [`Limits::grace`](crate::server::Limits::grace) after stdin ended: that is
/// [`Undelivered`](crate::streams::Undelivered) inside.
pub async fn serve(server: impl IntoService) -> io::Result<()> {
    serve_with(server, Options::default()).await
}

/// [`serve`] with options.
///
/// # Errors
/// As with [`serve`], and if the tape cannot be written.
pub async fn serve_with(server: impl IntoService, options: Options) -> io::Result<()> {
    let service = server.into_service()?;
    let tap = match &options.tape {
        Some(path) => Tap::recording(path).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot write the tape {}: {error}", path.display()))
        })?,
        None => Tap::default(),
    };
    let grace = service.core().limits().grace;
    let (stop, stopped) = mpsc::channel(1);
    // Dropping the future of this function stops serving.
    let _stop_when_dropped = StopWhenDropped(stop.clone());
    let (done, wait) = oneshot::channel();
    let streams = standard_streams::claim()?;
    let connection = Connection::new(&service, tap, Network::Pipe);
    let io = open(connection, streams, (stop, stopped), done, &options)?;
    let serving = service.core().background.serve();
    io.start()?;
    let Ended { gave_up, lost } =
        wait.await.map_err(|_| io::Error::other("the I/O thread panicked: this is a bug in papertape"))?;
    // Requests were aborted after nine tenths of the grace period.
    let rest = grace.mul_f32(0.1).max(LOG_FLUSH);
    let ended = serving.end(rest).await;
    if !ended {
        tracing::warn!("background work has not ended: it does not await");
    }
    if (gave_up || !ended) && !options.keep_process {
        exit_after(rest, i32::from(lost.is_some()))?;
    }
    match lost {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Sets up all that the I/O thread needs.
fn open(
    connection: Connection,
    (input, output): (OwnedFd, OwnedFd),
    (stop, mut stopped): (mpsc::Sender<()>, mpsc::Receiver<()>),
    done: oneshot::Sender<Ended>,
    options: &Options,
) -> io::Result<IoThread> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let entered = runtime.enter();
    let (reader, writer) = (open_input(input)?, open_output(output)?);
    watch_signals(stop.clone())?;
    // Looked up here, before a request has been read, so that it is the process that started this one.
    if !options.outlive_parent
        && let Some(parent) = getppid().filter(|parent| !parent.is_init())
    {
        runtime.spawn(watch_parent(parent, stop));
    }
    drop(entered);
    let stop = Box::pin(async move { stopped.recv().await.unwrap_or_default() });
    Ok(IoThread { connection, runtime, reader, writer, stop, handlers: Handle::current(), done })
}

struct StopWhenDropped(mpsc::Sender<()>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        let _ = self.0.try_send(());
    }
}

/// Exits the process after a while, if it has not exited by then.
///
/// A handler that does not return may block a thread, and a runtime waits for its threads when it is dropped: without
/// this, the client would wait for ever for a server that has already sent its last response.
fn exit_after(time: Duration, code: i32) -> io::Result<()> {
    thread::spawn("exit", move || {
        std::thread::sleep(time);
        std::process::exit(code);
    })
    .map(drop)
}

/// Stops serving when the parent process has exited.
///
/// Its end of the pipe is usually closed then, but not if another of its children has inherited it.
async fn watch_parent(parent: Pid, stop: mpsc::Sender<()>) {
    let mut clock = tokio::time::interval(PARENT_CHECK);
    while getppid() == Some(parent) {
        clock.tick().await;
    }
    tracing::info!("shutting down: the parent process has exited");
    let _ = stop.try_send(());
}
