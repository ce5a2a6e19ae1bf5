//! A server in a process of its own, of which every byte is recorded. Dropping it ends everything that it has started.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use papertape::stdio::ServerCommand;
use rustix::io::ioctl_fionread;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::stdio::processes::{self, Process};
use crate::stdio::recording::Recording;

/// How often to look whether processes are gone: the kernel sends no event for that.
const POLL: Duration = Duration::from_millis(10);

/// How long what the process wrote before its end may take to arrive.
const DRAIN: Duration = Duration::from_millis(300);

/// Tells runs of this process apart.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// Why bytes could not be written to stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendError {
    /// The server has closed it, or has exited; or we have closed it.
    Closed,
    /// The pipe is full: the server does not read.
    Full,
}

/// A running server, or one that has exited.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: Child,
    group: i32,
    mark: String,
    stdin: Option<ChildStdin>,
    stdout: Arc<Stream>,
    stderr: Arc<Stream>,
    readers: [AbortHandle; 2],
    started: Instant,
    sent: u64,
    exit: Option<(ExitStatus, Duration)>,
    /// What it wrote before its end has arrived.
    drained: bool,
}

#[derive(Debug, Default)]
struct Stream {
    recording: Mutex<Recording>,
    /// How many bytes have arrived; one more when the stream has ended.
    changes: watch::Sender<u64>,
}

impl Stream {
    fn lock(&self) -> MutexGuard<'_, Recording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) -> bool {
        self.lock().ended.is_some()
    }

    async fn read(self: Arc<Self>, mut from: impl AsyncRead + Unpin, started: Instant) {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = from.read(&mut buffer).await.unwrap_or(0);
            {
                let mut recording = self.lock();
                match buffer.get(..count).filter(|bytes| !bytes.is_empty()) {
                    Some(bytes) => recording.add(bytes, started.elapsed()),
                    None => recording.ended = Some(started.elapsed()),
                }
            }
            self.changes.send_modify(|changes| *changes += 1);
            if count == 0 {
                return;
            }
        }
    }
}

impl ServerProcess {
    /// Starts a server in a process group of its own.
    ///
    /// # Errors
    /// Those of the operating system.
    pub(crate) fn start(command: &ServerCommand) -> io::Result<Self> {
        let mark = format!("{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
        let mut start = Command::new(command.program());
        start
            .args(command.arguments())
            .envs(command.environment().iter().map(|(name, value)| (name, value)))
            .env(processes::MARK, &mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(directory) = command.directory() {
            start.current_dir::<&Path>(directory);
        }
        let started = Instant::now();
        let mut child = start.spawn()?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("the process has no pipes"));
        };
        let group = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or_default();
        let (out, err) = (Arc::new(Stream::default()), Arc::new(Stream::default()));
        let readers = [
            tokio::spawn(Arc::clone(&out).read(stdout, started)).abort_handle(),
            tokio::spawn(Arc::clone(&err).read(stderr, started)).abort_handle(),
        ];
        Ok(Self {
            child,
            group,
            mark,
            stdin: Some(stdin),
            stdout: out,
            stderr: err,
            readers,
            started,
            sent: 0,
            exit: None,
            drained: false,
        })
    }

    /// How long ago it was started.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Writes to its stdin.
    pub(crate) async fn send(&mut self, mut bytes: &[u8], wait: Duration) -> Result<(), SendError> {
        let deadline = Instant::now() + wait;
        while !bytes.is_empty() {
            let stdin = self.stdin.as_mut().ok_or(SendError::Closed)?;
            let written =
                tokio::time::timeout_at(deadline, stdin.write(bytes)).await.map_err(|_| SendError::Full)?;
            let count = written.ok().filter(|count| *count > 0).ok_or(SendError::Closed)?;
            self.sent = self.sent.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
            bytes = bytes.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// How many bytes were written to its stdin.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// How many of them it has not read; nothing if that is not known.
    pub(crate) fn unread(&self) -> Option<u64> {
        ioctl_fionread(self.stdin.as_ref()?).ok()
    }

    /// Ends its input.
    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// What it has written to stdout so far.
    pub(crate) fn stdout(&self) -> MutexGuard<'_, Recording> {
        self.stdout.lock()
    }

    /// What it has written to stderr so far.
    pub(crate) fn stderr(&self) -> MutexGuard<'_, Recording> {
        self.stderr.lock()
    }

    /// What it has written to stdout and stderr, once it has ended: nothing is left of it here.
    pub(crate) fn take_recordings(&mut self) -> (Recording, Recording) {
        (std::mem::take(&mut *self.stdout.lock()), std::mem::take(&mut *self.stderr.lock()))
    }

    /// A receiver that is notified of each arrival on stdout, and of its end.
    pub(crate) fn arrivals(&self) -> watch::Receiver<u64> {
        self.stdout.changes.subscribe()
    }

    /// Its exit status and when it exited, once it has, and once all that it wrote has arrived.
    pub(crate) async fn exited(&mut self) -> (Option<ExitStatus>, Duration) {
        if self.exit.is_none() {
            let Ok(status) = self.child.wait().await else { return (None, self.started.elapsed()) };
            self.exit = Some((status, self.started.elapsed()));
        }
        if !self.drained {
            let ended = timeout(DRAIN, async {
                for stream in [&self.stdout, &self.stderr] {
                    let mut changes = stream.changes.subscribe();
                    while !stream.ended() && changes.changed().await.is_ok() {}
                }
            });
            // A child process may hold the streams open.
            drop(ended.await);
            self.drained = true;
        }
        self.exit.map_or((None, self.started.elapsed()), |(status, time)| (Some(status), time))
    }

    /// The same, if it exits in time.
    pub(crate) async fn exits_within(&mut self, wait: Duration) -> Option<(Option<ExitStatus>, Duration)> {
        if self.exit.is_none() {
            let status = timeout(wait, self.child.wait()).await.ok()?.ok()?;
            self.exit = Some((status, self.started.elapsed()));
        }
        Some(self.exited().await)
    }

    /// Whether it is known to have exited.
    pub(crate) fn exit(&self) -> Option<(ExitStatus, Duration)> {
        self.exit
    }

    /// Its processes: its group, and what it has started in other groups.
    pub(crate) fn processes(&self) -> Vec<Process> {
        processes::of(self.group, &self.mark)
    }

    /// Sends SIGTERM to the leading process, as hosts do.
    pub(crate) fn terminate(&self) {
        // Until it has been waited for, its id is not given to another process.
        if let Some(id) = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) {
            let _ = kill_process(id, Signal::TERM);
        }
    }

    /// Kills the leading process, and nothing that it has started.
    pub(crate) fn kill_leader(&mut self) {
        drop(self.child.start_kill());
    }

    /// Kills everything, and waits until nothing is left.
    pub(crate) async fn kill(&mut self) {
        self.close_stdin();
        self.kill_all();
        drop(self.child.wait().await);
        let deadline = Instant::now() + Duration::from_secs(5);
        while !self.processes().is_empty() && Instant::now() < deadline {
            self.kill_all();
            sleep(POLL).await;
        }
    }

    fn kill_all(&self) {
        let left = self.processes();
        // Without `/proc`, it is unknown whether the group is empty.
        let in_group = self.child.id().is_some()
            || !Path::new("/proc/self").exists()
            || left.iter().any(|process| process.group == self.group);
        if let (true, Some(group)) = (in_group, Pid::from_raw(self.group)) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        for id in left.iter().filter_map(|process| Pid::from_raw(process.id)) {
            let _ = kill_process(id, Signal::KILL);
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill_all();
        for reader in &self.readers {
            reader.abort();
        }
    }
}
