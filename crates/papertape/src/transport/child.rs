//! A server in a process of its own: started in a process group, listened to, and ended with all that it started.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::ioctl_fionread;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::pump::{Pump, Settings};
use super::watchdog::Watchdog;
use crate::client::{
    Client, ClientError, ClientOptions, ErrorKind, Evidence, NotOpened, Opened, PATIENCE, Remains, Session,
};

/// How long each step of the end may take for a server with which no conversation could be opened.
const LITTLE_PATIENCE: Duration = Duration::from_millis(300);

/// How often it is looked whether a server has read what it was sent: nobody tells.
const LOOK: Duration = Duration::from_millis(20);

/// How long the last words on stderr are waited for.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// A server's command line.
#[derive(Debug, Clone)]
#[must_use]
pub struct ServerCommand {
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    folder: Option<PathBuf>,
}

impl ServerCommand {
    /// A program, looked for on the `PATH` if it is no path.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self { program: program.into(), arguments: Vec::new(), environment: Vec::new(), folder: None }
    }

    /// More arguments.
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// A variable of its environment, which is otherwise ours.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// The folder it runs in, if not ours.
    pub fn cwd(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    fn start(&self) -> io::Result<tokio::process::Child> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(folder) = &self.folder {
            if !folder.is_dir() {
                return Err(io::Error::new(
                    io::ErrorKind::NotFound,
                    format!("there is no folder {}", folder.display()),
                ));
            }
            command.current_dir(folder);
        }
        command.spawn().map_err(|error| {
            let program = self.program.display();
            let way_out = match error.kind() {
                io::ErrorKind::NotFound => ": is it installed, and is its folder on the PATH?",
                io::ErrorKind::PermissionDenied => ": is it a program, and may it be run?",
                _ => "",
            };
            io::Error::new(error.kind(), format!("{program}: {error}{way_out}"))
        })
    }
}

/// Starts a server and opens a conversation with it.
///
/// # Errors
/// If it cannot be started, or does not open the conversation; nothing of it is left then.
pub async fn spawn<A: Into<OsString>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Client, ClientError> {
    spawn_with(ServerCommand::new(program.as_ref()).args(arguments), ClientOptions::new()).await
}

/// The same, with options.
///
/// A server that exits when it is asked what it speaks, or does not answer that and then refuses `initialize`, is started a
/// second time, and opened with `initialize` alone. All of it ends within [`ClientOptions::open_timeout`].
///
/// If this process is killed, what is left of the server's process group is ended within two seconds. That is done by a
/// shell (`/bin/sh`) that waits beside each server; where there is none, a server that ignores the end of its input is left
/// running.
///
/// # Errors
/// If it cannot be started, or does not open the conversation; nothing of it is left then.
pub async fn spawn_with(command: ServerCommand, options: ClientOptions) -> Result<Client, ClientError> {
    let settings = Settings::new(options)?;
    let deadline = settings.introduction.deadline();
    let mut first = Started::start(&command, &settings)?;
    let has_read = has_read(Arc::clone(&first.session), first.input.take());
    match settings.introduction.open(&first.session, has_read, deadline).await {
        Ok(opened) => Ok(first.keep(settings, opened)),
        Err(NotOpened::Failed(error)) => {
            first.end().await;
            Err(error)
        }
        Err(NotOpened::AfterProbe(error)) => {
            first.end().await;
            if Instant::now() >= deadline {
                return Err(error);
            }
            tracing::debug!(%error, "starting the server again, with the handshake of older revisions");
            let second = Started::start(&command, &settings)?;
            match settings.introduction.open_with_handshake(&second.session, deadline).await {
                Ok(opened) => Ok(second.keep(settings, opened)),
                Err(error) => {
                    second.end().await;
                    Err(error)
                }
            }
        }
    }
}

/// Waits until a server has read all that was sent to it. One that has not is still starting.
async fn has_read(session: Arc<Session>, input: Option<OwnedFd>) {
    let Some(input) = input else { return };
    loop {
        // Where the kernel does not say how much is unread, it counts as read.
        if session.all_sent() && ioctl_fionread(&input).map_or(true, |unread| unread == 0) {
            return;
        }
        sleep(LOOK).await;
    }
}

/// A server that runs, and is ended unless it is kept.
struct Started {
    session: Arc<Session>,
    /// The server's input once more, to see whether it reads it. While this is open, so is the input.
    input: Option<OwnedFd>,
    gone: watch::Receiver<bool>,
    remains: Arc<Remains>,
    kept: bool,
}

impl Started {
    fn start(command: &ServerCommand, settings: &Settings) -> Result<Self, ClientError> {
        let not_started = |error| {
            let reached = "nothing was started";
            ClientError::new(
                "starting the server",
                ErrorKind::NotStarted(error),
                reached,
                Evidence::default(),
            )
        };
        let mut process = command.start().map_err(not_started)?;
        let (Some(input), Some(output), Some(errors)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            return Err(not_started(io::Error::other("it has no pipes")));
        };
        let again = input.as_fd().try_clone_to_owned().ok();
        let group = process.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let child = Child { process, group };
        let remains = Arc::new(Remains::default());
        let session = settings.session(&remains);
        let (exited, exit) = watch::channel(false);
        let (tell, gone) = watch::channel(false);
        let errors = tokio::spawn(drain(errors, Arc::clone(&remains)));
        let pump = Pump::new(Arc::clone(&session), settings).run(output, input, is_true(exit));
        let tasks = Tasks { pump: tokio::spawn(pump), errors };
        tokio::spawn(child.keep(Arc::clone(&session), Arc::clone(&remains), exited, tasks, tell));
        Ok(Self { session, input: again, gone, remains, kept: false })
    }

    /// Hands the server on to a client, which ends it.
    fn keep(mut self, settings: Settings, opened: Opened) -> Client {
        self.kept = true;
        settings.client(Arc::clone(&self.session), opened, self.gone.clone(), Arc::clone(&self.remains))
    }

    /// Ends the server and waits until nothing of it is left.
    async fn end(mut self) {
        self.input = None;
        self.session.want_close(LITTLE_PATIENCE);
        is_true(self.gone.clone()).await;
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if !self.kept {
            self.session.want_close(LITTLE_PATIENCE);
        }
    }
}

/// Waits until it is so, or whoever would say so is gone.
async fn is_true(mut flag: watch::Receiver<bool>) {
    drop(flag.wait_for(|flag| *flag).await);
}

/// Reads stderr for as long as there is any: a server must never wait for us to read its logs.
async fn drain(mut errors: ChildStderr, remains: Arc<Remains>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count) = errors.read(&mut buffer).await {
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { return };
        remains.push_stderr(bytes);
        tracing::debug!(target: "papertape::stderr", "{}", String::from_utf8_lossy(bytes).trim_end());
    }
}

/// What goes on while a server runs.
struct Tasks {
    pump: JoinHandle<()>,
    errors: JoinHandle<()>,
}

/// A process and all that it has started in its group. Whatever is left of it when this is dropped is killed.
struct Child {
    process: tokio::process::Child,
    /// None when nothing is left.
    group: Option<Pid>,
}

impl Child {
    /// Watches over the process until it has ended or the conversation is to end; then ends all that is left.
    async fn keep(
        mut self,
        session: Arc<Session>,
        remains: Arc<Remains>,
        exited: watch::Sender<bool>,
        mut tasks: Tasks,
        gone: watch::Sender<bool>,
    ) {
        let watchdog = self.group.and_then(Watchdog::over);
        let by_itself = tokio::select! {
            status = self.process.wait() => Some(status),
            _ = session.close_wanted() => None,
        };
        let status = match by_itself {
            Some(status) => status,
            None => self.end(session.close_wanted().await).await,
        };
        if let Ok(status) = status {
            remains.set_exit(status);
        }
        // What it said last belongs to how it ended.
        let silent = timeout(LAST_WORDS, &mut tasks.errors).await.is_ok();
        exited.send_replace(true);
        // The pump has seen that the process has ended, and ends soon. Then nothing can be said to what is left of the group;
        // and once all of it has ended, its number may become that of another group, which must not be signalled.
        let patience = tokio::select! {
            patience = session.close_wanted() => patience,
            _ = &mut tasks.pump => PATIENCE,
        };
        self.end_group(patience).await;
        if let Some(watchdog) = watchdog {
            watchdog.dismiss().await;
        }
        if !tasks.pump.is_finished() {
            drop(tasks.pump.await);
        }
        if !silent {
            tasks.errors.abort();
        }
        gone.send_replace(true);
    }

    /// Waits for the process to end now that its input is closed, then asks it to, then makes it.
    async fn end(&mut self, patience: Duration) -> io::Result<ExitStatus> {
        for signal in [Signal::TERM, Signal::KILL] {
            if let Ok(status) = timeout(patience, self.process.wait()).await {
                return status;
            }
            self.signal(signal);
        }
        self.process.wait().await
    }

    /// Ends what the process has left running.
    async fn end_group(&mut self, patience: Duration) {
        for signal in [Signal::TERM, Signal::KILL] {
            self.signal(signal);
            let last = Instant::now() + patience;
            while self.group.is_some_and(is_alive) && Instant::now() < last {
                // Nobody tells when the last process of a group has ended.
                sleep(Duration::from_millis(5)).await;
            }
            if !self.group.is_some_and(is_alive) {
                self.group = None;
                return;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // There may be nobody left to hear it.
            let _ = kill_process_group(group, signal);
        }
    }
}

/// Whether a process of the group runs. Those that have ended and that nobody has buried yet do not count: what a server
/// leaves behind is buried by the first process of the system, which may take its time.
fn is_alive(group: Pid) -> bool {
    if test_kill_process_group(group).is_err() {
        return false;
    }
    let Ok(processes) = std::fs::read_dir("/proc") else { return true };
    let group = group.as_raw_nonzero().to_string();
    processes.flatten().any(|process| {
        let Ok(stat) = std::fs::read_to_string(process.path().join("stat")) else { return false };
        // The name, which may hold anything, ends with the last bracket; then come state, parent and group.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
        let (state, own) = (fields.next(), fields.nth(1));
        own == Some(&group) && !matches!(state, Some("Z" | "X"))
    })
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
