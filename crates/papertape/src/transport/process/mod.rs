//! A server in a process of its own: started in a process group, connected to over its standard streams, and ended
//! together with everything that it has started.

mod command;
mod process_group;
mod restarts;
mod running;
mod watchdog;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::ioctl_fionread;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

pub use command::ServerCommand;
pub use running::RunningServer;

use super::streams::client::{ClientConnection, Settings};
use crate::client::{
    Client, ClientError, ClientOptions, EXIT_TIMEOUT, ErrorKind, Evidence, Negotiated, OpenError,
    ProcessRecord, Restart, Session, StderrLines,
};
use crate::telemetry::Network;
use process_group::ProcessGroup;
use restarts::Restarts;
use watchdog::Watchdog;

/// The timeout of each step of ending a server with which no session could be opened.
const FAILED_EXIT_TIMEOUT: Duration = Duration::from_millis(300);

/// How often to check whether a server has read its stdin: the kernel sends no event for that.
const POLL_STDIN: Duration = Duration::from_millis(20);

/// How long to read stderr after the process has exited.
const STDERR_DRAIN: Duration = Duration::from_millis(100);

/// Starts a server process and opens a session with it over its stdin and stdout.
///
/// ```no_run
/// use papertape::stdio::{self, ServerCommand};
///
/// #[tokio::main]
/// async fn main() -> Result<(), papertape::client::ClientError> {
///     let client = stdio::connect(ServerCommand::new("papertape").args(["serve", "grammar"])).await?;
///     Ok(())
/// }
/// ```
///
/// # Errors
/// If the process cannot be started or the session does not open; the process is ended then.
pub async fn connect(command: ServerCommand) -> Result<Client, ClientError> {
    connect_with(command, ClientOptions::new()).await
}

/// [`connect`] with options.
///
/// A server that exits when it receives `server/discover`, or leaves it without a response and then rejects `initialize`,
/// is started a second time and opened with `initialize` alone. All of it takes at most
/// [`ClientOptions::open_timeout`].
///
/// If this process is killed, what is left of the server's process group is ended within two seconds. That is done by a
/// shell (`/bin/sh`) that runs beside each server; without one, a server that ignores the end of its stdin is left running.
///
/// # Errors
/// If the process cannot be started or the session does not open; the process is ended then.
pub async fn connect_with(command: ServerCommand, options: ClientOptions) -> Result<Client, ClientError> {
    let restart = options.restart.clone();
    let settings = Settings::new(options)?;
    let deadline = settings.opener.deadline();
    let mut first = ServerProcess::start(&command, &settings)?;
    let has_read = has_read(Arc::clone(&first.session), first.stdin.take());
    match settings.opener.open(&first.session, has_read, deadline).await {
        Ok(negotiated) => Ok(first.into_client(settings, negotiated, (command, restart))),
        Err(OpenError::Failed(error)) => {
            first.end().await;
            Err(error)
        }
        Err(OpenError::AfterProbe(error)) => {
            first.end().await;
            if Instant::now() >= deadline {
                return Err(error);
            }
            tracing::debug!(%error, "starting the server again, with `initialize` instead of `server/discover`");
            let second = ServerProcess::start(&command, &settings)?;
            match settings.opener.open_with_initialize(&second.session, deadline).await {
                Ok(negotiated) => Ok(second.into_client(settings, negotiated, (command, restart))),
                Err(error) => {
                    second.end().await;
                    Err(error)
                }
            }
        }
    }
}

/// Waits until a server has read everything that was sent to it. One that has not is still starting.
async fn has_read(session: Arc<Session>, stdin: Option<OwnedFd>) {
    let Some(stdin) = stdin else { return };
    loop {
        // Where the kernel does not say how much is unread, it counts as read.
        if session.all_sent() && ioctl_fionread(&stdin).map_or(true, |unread| unread == 0) {
            return;
        }
        sleep(POLL_STDIN).await;
    }
}

/// A running server, which is ended when this is dropped unless it has become a [`Client`]'s.
struct ServerProcess {
    session: Arc<Session>,
    /// A duplicate of the server's stdin, to see whether it reads it. While this is open, so is its stdin.
    stdin: Option<OwnedFd>,
    /// Set to stop this process, and not the session.
    stop: watch::Sender<bool>,
    gone: watch::Receiver<bool>,
    record: Arc<ProcessRecord>,
    kept: bool,
}

impl ServerProcess {
    fn start(command: &ServerCommand, settings: &Settings) -> Result<Self, ClientError> {
        let record = Arc::new(ProcessRecord::default());
        Self::start_in(command, settings, (settings.session(&record), record))
    }

    /// Starts a process for a session.
    fn start_in(
        command: &ServerCommand,
        settings: &Settings,
        (session, record): (Arc<Session>, Arc<ProcessRecord>),
    ) -> Result<Self, ClientError> {
        let not_started = |error| {
            ClientError::new(
                "starting the server",
                ErrorKind::NotStarted(error),
                "not started",
                Evidence::default(),
            )
        };
        let mut process = command.spawn(Stdio::piped()).map_err(not_started)?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            return Err(not_started(io::Error::other("the process has no pipes")));
        };
        let lines = settings.on_stderr.clone().map(StderrLines::new);
        let duplicate = stdin.as_fd().try_clone_to_owned().ok();
        let group = ProcessGroup::new(process);
        session.set_peer(Network::Pipe, None);
        let (stop, stopped) = watch::channel(false);
        let (exited, exit) = watch::channel(false);
        let (all_gone, gone) = watch::channel(false);
        let connection = ClientConnection::new(Arc::clone(&session), settings);
        let supervisor = Supervisor {
            group,
            session: Arc::clone(&session),
            record: Arc::clone(&record),
            connection: tokio::spawn(connection.run(stdout, stdin, is_true(exit))),
            stderr: tokio::spawn(drain(stderr, Arc::clone(&record), lines)),
            stopped,
            exited,
            all_gone,
        };
        tokio::spawn(supervisor.run());
        Ok(Self { session, stdin: duplicate, stop, gone, record, kept: false })
    }

    /// Hands the server to a client, which ends it, or to what starts it again for the client.
    fn into_client(
        self,
        settings: Settings,
        negotiated: Negotiated,
        (command, restart): (ServerCommand, Option<Restart>),
    ) -> Client {
        let (session, record) = (Arc::clone(&self.session), Arc::clone(&self.record));
        let first_gone = self.gone.clone();
        let Some(policy) = restart else {
            self.keep();
            return settings.client(session, negotiated, first_gone, record);
        };
        let revision = negotiated.revision;
        let (all_gone, gone) = watch::channel(false);
        let client = settings.client(session, negotiated, gone, record);
        let restarts = Restarts::new((command, settings), policy, revision, &self, all_gone);
        self.keep();
        tokio::spawn(restarts.run(first_gone));
        client
    }

    /// From now on the session ends the process.
    fn keep(mut self) {
        self.kept = true;
    }

    /// Stops this process, and waits until none of its group is left. The session stays open.
    async fn stop(mut self) {
        self.kept = true;
        self.stdin = None;
        self.stop.send_replace(true);
        is_true(self.gone.clone()).await;
    }

    /// Ends the server and waits until no process of its group is left.
    async fn end(mut self) {
        self.stdin = None;
        self.session.request_close(FAILED_EXIT_TIMEOUT);
        is_true(self.gone.clone()).await;
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if !self.kept {
            self.session.request_close(FAILED_EXIT_TIMEOUT);
        }
    }
}

/// Waits until the flag is true, or its sender is dropped.
async fn is_true(mut flag: watch::Receiver<bool>) {
    drop(flag.wait_for(|flag| *flag).await);
}

/// Waits until the flag is true, and for ever if that cannot be any more.
async fn is_stopped(mut flag: watch::Receiver<bool>) {
    if flag.wait_for(|flag| *flag).await.is_err() {
        std::future::pending().await
    }
}

/// Reads stderr until its end: a server must never block on writing its logs.
async fn drain(mut stderr: ChildStderr, record: Arc<ProcessRecord>, mut lines: Option<StderrLines>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count) = stderr.read(&mut buffer).await {
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { return };
        record.push_stderr(bytes);
        if let Some(lines) = &mut lines {
            lines.add(bytes);
        }
        tracing::debug!(target: "papertape::stderr", "{}", String::from_utf8_lossy(bytes).trim_end());
    }
}

/// Watches a server process until it has exited or the session is to close; then ends what is left of its group.
struct Supervisor {
    group: ProcessGroup,
    session: Arc<Session>,
    record: Arc<ProcessRecord>,
    connection: JoinHandle<()>,
    stderr: JoinHandle<()>,
    /// Becomes true if this process is to be stopped, and not the session.
    stopped: watch::Receiver<bool>,
    /// Set when the leading process has exited.
    exited: watch::Sender<bool>,
    /// Set when no process of the group is left.
    all_gone: watch::Sender<bool>,
}

impl Supervisor {
    async fn run(mut self) {
        let watchdog = self.group.id().and_then(Watchdog::start);
        let by_itself = tokio::select! {
            status = self.group.wait() => Ok(status),
            grace = self.session.close_requested() => Err(grace),
            () = is_stopped(self.stopped.clone()) => Err(FAILED_EXIT_TIMEOUT),
        };
        let status = match by_itself {
            Ok(status) => status,
            Err(grace) => self.group.terminate_leader(grace).await,
        };
        if let Ok(status) = status {
            self.record.set_exit(status);
        }
        // An error that reports the exit also quotes what the process wrote to stderr before it.
        let stderr_ended = timeout(STDERR_DRAIN, &mut self.stderr).await.is_ok();
        self.exited.send_replace(true);
        // The connection has seen that the process has exited, and ends soon. Then the rest of the group cannot be reached
        // any more; and once all of it has exited, its id may become that of another group, which must not be signalled.
        let grace = tokio::select! {
            grace = self.session.close_requested() => grace,
            _ = &mut self.connection => EXIT_TIMEOUT,
        };
        self.group.terminate_rest(grace).await;
        if let Some(watchdog) = watchdog {
            watchdog.stop().await;
        }
        if !self.connection.is_finished() {
            drop(self.connection.await);
        }
        if !stderr_ended {
            self.stderr.abort();
        }
        self.all_gone.send_replace(true);
    }
}
