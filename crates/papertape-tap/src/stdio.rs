//! A proxy in front of a server process: what the host writes goes to the server, what the server writes to the host, unchanged and
//! at once, and all of it to a tape.

use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use papertape::stdio::{RunningServer, ServerCommand};
use rustix::process::{Pid, Signal, getppid};
use serde_json::{Value, json};
use tokio::time::{interval, sleep};

use crate::ignore_file_size_limit;
use crate::item::Stream;
use crate::pump::Pump;
use crate::recorder::Recorder;
use crate::standard_streams;

/// How often to check whether the parent process is there, after the end of stdin.
const PARENT_CHECK: Duration = Duration::from_millis(500);

/// How often to check whether anything is left that a server wrote before it exited, and how often there must be nothing. Only if
/// a process that it has left running keeps its stdout open.
const DRAIN_CHECK: Duration = Duration::from_millis(50);
const DRAIN_CHECKS: u32 = 4;

/// Runs a server between this process's standard streams until it exits, and records its start, its streams, the signals that are
/// forwarded to it, and its exit. What it leaves running in its process group is ended.
///
/// `next_signal` waits for the number of the next signal to forward.
///
/// From here on, text that the program prints to stdout goes to stderr.
///
/// # Errors
/// If the server cannot be started, or its exit status cannot be read.
///
/// # Panics
/// Outside of a tokio runtime.
pub async fn run(
    command: &ServerCommand,
    recorder: &Recorder,
    mut next_signal: impl AsyncFnMut() -> i32,
) -> io::Result<ExitStatus> {
    let _ignored = ignore_file_size_limit();
    let mut tap = Tap::start(command, recorder).inspect_err(|error| {
        recorder.event("failed", &json!({ "error": error.to_string() }));
    })?;
    let exited = tap.wait(recorder, &mut next_signal).await;
    let Tap { server, mut output, mut errors, .. } = tap;
    let ended = server.end().await;
    let status = exited.and(ended)?;
    tokio::select! {
        () = async { tokio::join!(drain(&mut output), drain(&mut errors)); } => {}
        // The host does not wait for what is left.
        _ = next_signal() => {}
    }
    recorder.event("exit", &exit(status));
    Ok(status)
}

struct Tap {
    server: RunningServer,
    input: Pump,
    output: Pump,
    errors: Pump,
}

impl Tap {
    fn start(command: &ServerCommand, recorder: &Recorder) -> io::Result<Self> {
        let (server, input, output, errors) = command.start_with_stderr()?;
        recorder.event("start", &start(command, server.id()));
        let (our_input, our_output) = standard_streams::take()?;
        let file = |fd: io::Result<_>| fd.map(File::from);
        Ok(Self {
            input: Pump::start(Stream::Client, our_input, file(input.into_owned_fd())?, recorder)?,
            output: Pump::start(Stream::Server, file(output.into_owned_fd())?, our_output, recorder)?,
            errors: Pump::start(
                Stream::Stderr,
                file(errors.into_owned_fd())?,
                standard_streams::stderr()?,
                recorder,
            )?,
            server,
        })
    }

    /// Waits for the server to exit, and forwards signals.
    async fn wait(
        &mut self,
        recorder: &Recorder,
        next_signal: &mut impl AsyncFnMut() -> i32,
    ) -> io::Result<()> {
        let parent = getppid().filter(|parent| !parent.is_init());
        loop {
            tokio::select! {
                status = self.server.wait() => return status.map(drop),
                number = next_signal() => {
                    // Those of a terminal reach all processes in front of it.
                    let is_from_terminal = [Signal::INT, Signal::QUIT, Signal::HUP].iter().any(|s| s.as_raw() == number);
                    recorder.event("signal", &json!({ "name": signal_name(number) }));
                    self.server.signal(number, is_from_terminal);
                }
                () = parent_gone(&mut self.input, parent) => {
                    tracing::info!("the parent process has exited: the server is ended");
                    return Ok(());
                }
            }
        }
    }
}

/// Waits until the host has exited. Until then it is the host that ends a server that ignores the end of its stdin.
async fn parent_gone(input: &mut Pump, parent: Option<Pid>) {
    input.ended().await;
    let mut clock = interval(PARENT_CHECK);
    while parent.is_none() || getppid() == parent {
        clock.tick().await;
    }
}

/// Waits until all that a server has written is passed on.
async fn drain(pump: &mut Pump) {
    let mut idle = 0;
    while idle < DRAIN_CHECKS {
        tokio::select! {
            () = pump.ended() => return,
            () = sleep(DRAIN_CHECK) => {}
        }
        idle = if pump.is_idle() { idle + 1 } else { 0 };
    }
}

/// What starts a tape. The environment is left out, because it has secrets.
fn start(command: &ServerCommand, id: Option<u32>) -> Value {
    let words = std::iter::once(command.program()).chain(command.arguments().iter().map(AsRef::as_ref));
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let mut detail = json!({ "command": words });
    if let Some(members) = detail.as_object_mut() {
        let directory = command.directory().map(|directory| directory.display().to_string().into());
        members.extend(directory.map(|directory: Value| ("cwd".to_owned(), directory)));
        members.extend(id.map(|id| ("pid".to_owned(), id.into())));
    }
    detail
}

fn exit(status: ExitStatus) -> Value {
    match status.code() {
        Some(code) => json!({ "status": code }),
        None => json!({ "signal": signal_name(status.signal().unwrap_or_default()) }),
    }
}

/// The name of a signal, such as SIGTERM.
fn signal_name(number: i32) -> String {
    // `Signal(15, "SIGTERM")` or the like is for debugging, and not stable.
    let names = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::SYS, "SIGSYS"),
    ];
    let name = names.iter().find(|(signal, _)| signal.as_raw() == number);
    name.map_or_else(|| format!("signal {number}"), |(_, name)| (*name).to_owned())
}
