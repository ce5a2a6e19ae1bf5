//! stdio: the process's own standard input and output as one connection, and other processes' as theirs.
//!
//! The wire gets a thread of its own, which reads, serves what is ready at once, and writes; everything slower runs on
//! the caller's runtime. See `wire.rs` for what becomes of functions that keep the thread.
//! While serving, file descriptors 0 and 1 are moved out of the reach of tools: a stray print or a child process that
//! inherits them can neither corrupt what goes out nor steal what comes in.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::net::AddressFamily;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream, unix::pipe};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

pub use super::child::{ServerCommand, spawn, spawn_with};
use super::connection::{Connection, Ended};
use super::tap::Tap;
use super::thread;
use super::wire::Wire;
use crate::server::Server;

/// How to serve on stdio.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// Where to record every frame.
    pub tape: Option<PathBuf>,
    /// Serve on when the process that started this one has died, as long as the input is open.
    pub outlive_parent: bool,
    /// Leave the process alone when a tool did not end within the grace period.
    ///
    /// Otherwise it is ended when the grace period is over, with exit code 0, or 1 if answers could not be delivered.
    pub keep_process: bool,
}

impl Options {
    /// Records every frame into a file.
    #[must_use]
    pub fn tape(mut self, path: impl Into<PathBuf>) -> Self {
        self.tape = Some(path.into());
        self
    }

    /// Leaves the process alone when a tool did not end within the grace period.
    #[must_use]
    pub fn keep_process(mut self) -> Self {
        self.keep_process = true;
        self
    }

    /// Serve on when the process that started this one has died, as long as the input is open.
    #[must_use]
    pub fn outlive_parent(mut self) -> Self {
        self.outlive_parent = true;
        self
    }
}

/// How often to look whether the parent process lives.
const PARENT_WATCH: Duration = Duration::from_secs(5);

/// What the process has logged needs a moment to be written, however short the grace period is.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// Serves on this process's stdin and stdout until the input ends, or SIGTERM or SIGINT comes.
///
/// Whatever the program prints to stdout from here on goes to stderr, also after this returns.
///
/// # Errors
/// If a tool has a bad schema, the standard streams cannot be used, no thread can be started, or answers could not be
/// delivered, for example because the client did not read for as long as [`Limits::grace`](crate::Limits::grace) after the
/// input ended: that is [`Undelivered`](crate::Undelivered) inside.
pub async fn serve(server: Server) -> io::Result<()> {
    serve_with(server, Options::default()).await
}

/// The same, with options.
///
/// # Errors
/// As with [`serve`], and if the tape cannot be written.
pub async fn serve_with(server: Server, options: Options) -> io::Result<()> {
    let service = server.build()?;
    let tap = match &options.tape {
        Some(path) => Tap::recording(path).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot write the tape {}: {error}", path.display()))
        })?,
        None => Tap::default(),
    };
    let grace = service.limits().grace;
    let (stop, stopped) = mpsc::channel(1);
    // Whoever drops the future that serves ends the input too.
    let _stop_when_dropped = StopWhenDropped(stop.clone());
    let (done, wait) = oneshot::channel();
    let (input, output) = claim_standard_streams()?;
    open_wire(Connection::new(service, tap), (input, output), (stop, stopped), done, &options)?.start()?;
    let Ended { gave_up, lost } =
        wait.await.map_err(|_| io::Error::other("the wire's thread has died: this is a bug in papertape"))?;
    if gave_up && !options.keep_process {
        // Requests were given up when nine tenths of the grace period were over.
        end_process_after(grace.mul_f32(0.1).max(LAST_WORDS), i32::from(lost.is_some()))?;
    }
    match lost {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Makes all that the wire's thread needs.
fn open_wire(
    connection: Connection,
    (input, output): (OwnedFd, OwnedFd),
    (stop, mut stopped): (mpsc::Sender<()>, mpsc::Receiver<()>),
    done: oneshot::Sender<Ended>,
    options: &Options,
) -> io::Result<Wire> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let entered = runtime.enter();
    let (reader, writer) = (open_input(input)?, open_output(output)?);
    watch_signals(stop.clone())?;
    if !options.outlive_parent {
        runtime.spawn(watch_parent(stop));
    }
    drop(entered);
    let stop = Box::pin(async move { stopped.recv().await.unwrap_or_default() });
    Ok(Wire { connection, runtime, reader, writer, stop, handlers: Handle::current(), done })
}

struct StopWhenDropped(mpsc::Sender<()>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        let _ = self.0.try_send(());
    }
}

/// Ends the process in a while, if it has not ended by itself.
///
/// A tool that would not end may keep a thread, and a runtime waits for its threads when it is dropped: the client would
/// wait for ever for a server that has long said its last word.
fn end_process_after(time: Duration, code: i32) -> io::Result<()> {
    thread::spawn("end", move || {
        std::thread::sleep(time);
        std::process::exit(code);
    })
    .map(drop)
}

/// The first SIGTERM or SIGINT ends the input; one that comes when there is nothing to end any more, or a second one, ends
/// the process, as it would have without us.
///
/// This has a thread of its own, because it must work when everything else has stopped.
pub(super) fn watch_signals(stop: mpsc::Sender<()>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut terminate, mut interrupt) = {
        let _entered = runtime.enter();
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?)
    };
    let watch = async move {
        let mut stopping = false;
        loop {
            let number = tokio::select! {
                _ = terminate.recv() => SignalKind::terminate().as_raw_value(),
                _ = interrupt.recv() => SignalKind::interrupt().as_raw_value(),
            };
            if stopping || stop.is_closed() {
                std::process::exit(128 + number);
            }
            tracing::info!(signal = number, "stopping: running requests may finish");
            stopping = true;
            let _ = stop.try_send(());
        }
    };
    thread::spawn("signals", move || runtime.block_on(watch)).map(drop)
}

/// Ends the input when the parent process has died.
///
/// Its end of the pipe is usually closed with it, but not if another of its children has inherited it.
async fn watch_parent(stop: mpsc::Sender<()>) {
    let parent = rustix::process::getppid();
    if parent.is_none_or(rustix::process::Pid::is_init) {
        return;
    }
    let mut clock = tokio::time::interval(PARENT_WATCH);
    while rustix::process::getppid() == parent {
        clock.tick().await;
    }
    tracing::info!("stopping: the parent process has died");
    let _ = stop.try_send(());
}

/// Takes stdin and stdout for the wire, and puts `/dev/null` and stderr in their places.
fn claim_standard_streams() -> io::Result<(OwnedFd, OwnedFd)> {
    let input = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let output = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    // What was printed without a line end before now must not come out on the wire later.
    drop(io::stdout().flush());
    Ok((input, output))
}

/// A readable stream for any kind of file descriptor, without changing anything that other processes share.
///
/// Pipes are opened anew, which gives them flags of their own; a socket is ours alone.
/// Anything else (a terminal, a file) is read by blocking on a thread.
fn open_input(fd: OwnedFd) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    if is_pipe(&fd)
        && let Ok(pipe) = pipe::OpenOptions::new().open_receiver(own_path(&fd))
    {
        return Ok(Box::new(pipe));
    }
    Ok(match socket_family(&fd) {
        Some(AddressFamily::UNIX) => Box::new(open_unix_socket(fd)?),
        Some(AddressFamily::INET | AddressFamily::INET6) => Box::new(open_tcp_socket(fd)?),
        _ => Box::new(open_file(fd, OpenOptions::new().read(true))?),
    })
}

/// A writable stream, likewise.
fn open_output(fd: OwnedFd) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
    if is_pipe(&fd)
        && let Ok(pipe) = pipe::OpenOptions::new().open_sender(own_path(&fd))
    {
        return Ok(Box::new(pipe));
    }
    Ok(match socket_family(&fd) {
        Some(AddressFamily::UNIX) => Box::new(open_unix_socket(fd)?),
        Some(AddressFamily::INET | AddressFamily::INET6) => Box::new(open_tcp_socket(fd)?),
        _ => Box::new(open_file(fd, OpenOptions::new().write(true))?),
    })
}

fn own_path(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

fn open_unix_socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(fd);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

fn open_tcp_socket(fd: OwnedFd) -> io::Result<TcpStream> {
    let socket = std::net::TcpStream::from(fd);
    socket.set_nonblocking(true)?;
    TcpStream::from_std(socket)
}

/// A file to block on. One that somebody has told not to block, as some do with terminals, is opened anew.
fn open_file(fd: OwnedFd, options: &OpenOptions) -> io::Result<tokio::fs::File> {
    // tokio reads and writes files on a thread, and panics if there can be none.
    drop(thread::spawn("file", || {})?.join());
    let blocks = rustix::fs::fcntl_getfl(&fd).is_ok_and(|flags| !flags.contains(OFlags::NONBLOCK));
    let anew = if blocks { None } else { options.open(own_path(&fd)).ok() };
    Ok(tokio::fs::File::from_std(anew.unwrap_or_else(|| File::from(fd))))
}

fn socket_family(fd: &OwnedFd) -> Option<AddressFamily> {
    rustix::net::getsockname(fd).ok().map(|name| name.address_family())
}

/// Whether a file descriptor is a pipe without a name. (A named one that is opened anew does not tell when its last
/// writer has gone.)
fn is_pipe(fd: &OwnedFd) -> bool {
    std::fs::read_link(own_path(fd)).is_ok_and(|target| target.to_string_lossy().starts_with("pipe:"))
}
