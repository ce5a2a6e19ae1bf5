//! A server process whose streams are used as they are, without a session.

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::process::{ExitStatus, Stdio};

use rustix::io::ioctl_fionread;
use rustix::process::{Signal, kill_process, kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::time::sleep;

use super::POLL_STDIN;
use super::command::ServerCommand;
use super::process_group::ProcessGroup;
use super::watchdog::Watchdog;
use crate::client::EXIT_TIMEOUT;

/// A server process in a group of its own, for what reads and writes its streams itself, such as a proxy that passes bytes
/// through. What it writes to stderr goes to that of this process. Dropping this kills it, and everything that it has started.
///
/// ```no_run
/// use papertape::stdio::ServerCommand;
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
///
/// #[tokio::main]
/// async fn main() -> std::io::Result<()> {
///     let (server, mut input, mut output) = ServerCommand::new("my-server").start()?;
///     input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await?;
///     // A server exits at the end of its stdin.
///     drop(input);
///     let mut response = String::new();
///     output.read_to_string(&mut response).await?;
///     println!("{response}, {}", server.end().await?);
///     Ok(())
/// }
/// ```
pub struct RunningServer {
    group: ProcessGroup,
    watchdog: Option<Watchdog>,
}

impl ServerCommand {
    /// Starts the server without opening a session: the process, its stdin and its stdout.
    ///
    /// # Errors
    /// If it cannot be started.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self) -> io::Result<(RunningServer, ChildStdin, ChildStdout)> {
        let mut process = self.spawn(Stdio::inherit())?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(no_pipes());
        };
        Ok((RunningServer::new(process), input, output))
    }

    /// [`start`](Self::start), with the server's stderr as a stream too.
    ///
    /// # Errors
    /// If it cannot be started.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start_with_stderr(&self) -> io::Result<(RunningServer, ChildStdin, ChildStdout, ChildStderr)> {
        let mut process = self.spawn(Stdio::piped())?;
        let (Some(input), Some(output), Some(errors)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            return Err(no_pipes());
        };
        Ok((RunningServer::new(process), input, output, errors))
    }
}

fn no_pipes() -> io::Error {
    io::Error::other("the process has no pipes")
}

impl RunningServer {
    fn new(process: Child) -> Self {
        let group = ProcessGroup::new(process);
        let watchdog = group.id().and_then(Watchdog::start);
        Self { group, watchdog }
    }

    /// The id of the process, which is that of its process group too.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.group.id().and_then(|id| u32::try_from(id.as_raw_nonzero().get()).ok())
    }

    /// Waits until the process has exited. It can be called again, and what the process has left running is ended by
    /// [`end`](Self::end).
    ///
    /// # Errors
    /// If its exit status cannot be read.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.group.wait().await
    }

    /// Sends a signal by its number: to the process, or, as a terminal does, to its whole group. A process that has exited, or a
    /// number that is not a signal's, is ignored.
    pub fn signal(&self, number: i32, to_group: bool) {
        if let (Some(id), Some(signal)) = (self.group.id(), Signal::from_named_raw(number)) {
            let send = if to_group { kill_process_group } else { kill_process };
            let _ = send(id, signal);
        }
    }

    /// Waits until a server has read everything that was written to its stdin: before, it is still starting.
    pub async fn has_read(input: &ChildStdin) {
        // Where the kernel does not say how much is unread, it counts as read.
        while ioctl_fionread(input.as_fd()).is_ok_and(|unread| unread > 0) {
            sleep(POLL_STDIN).await;
        }
    }

    /// Waits for the server to exit, now that its stdin is closed: if it does not, it gets SIGTERM and then SIGKILL, each after
    /// 2 s, and so does everything that it has left running.
    ///
    /// # Errors
    /// If its exit status cannot be read.
    pub async fn end(mut self) -> io::Result<ExitStatus> {
        let status = self.group.terminate_leader(EXIT_TIMEOUT).await;
        self.group.terminate_rest(EXIT_TIMEOUT).await;
        if let Some(watchdog) = self.watchdog {
            watchdog.stop().await;
        }
        status
    }
}

impl fmt::Debug for RunningServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningServer").field("group", &self.group.id()).finish_non_exhaustive()
    }
}
