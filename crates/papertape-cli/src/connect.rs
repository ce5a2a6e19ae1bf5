//! Options to a conversation with a server: it is started, worked with and ended, whatever happens between.

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Context;
use papertape::{Client, ClientOptions, ErrorKind, stdio};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::Connect;
use crate::ask;
use crate::exit::Failure;
use crate::print::{self, Look, frame};
use crate::target::Target;

const SIGINT: u8 = 2;
const SIGTERM: u8 = 15;

/// Starts a server, hands the conversation to `work`, and ends the server.
pub(crate) fn with_server<T>(
    args: &Connect,
    target: &Target,
    work: impl AsyncFnOnce(Client) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut command = target.command()?;
    for (name, value) in &args.env {
        command = command.env(name, value);
    }
    if let Some(folder) = &args.cwd {
        command = command.cwd(folder);
    }
    run(command, options(args), || target.hint(), work)
}

/// The same for a command and options of one's own; `hint` is asked for if there is no such command.
pub(crate) fn run<T>(
    command: stdio::ServerCommand,
    options: ClientOptions,
    hint: impl FnOnce() -> String,
    work: impl AsyncFnOnce(Client) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let result = runtime.block_on(async {
        let mut signals = Signals::listen().context("cannot listen for signals")?;
        let client = tokio::select! {
            opened = stdio::spawn_with(command, options) => opened.map_err(|error| {
                let not_found = matches!(error.kind(), ErrorKind::NotStarted(error) if error.kind() == std::io::ErrorKind::NotFound);
                let hint = if not_found { hint() } else { String::new() };
                Failure::opening(error, hint)
            })?,
            number = signals.next() => return Err(Failure::Signal(number)),
        };
        let result = tokio::select! {
            result = work(client.clone()) => result,
            number = signals.next() => Err(Failure::Signal(number)),
        };
        tokio::select! {
            _ = client.close() => result,
            // Who asks twice does not want to wait for the server.
            number = signals.next() => Err(Failure::Signal(number)),
        }
    });
    // A question to a person who does not answer must not keep the process.
    runtime.shutdown_background();
    result
}

fn options(args: &Connect) -> ClientOptions {
    let mut options = ClientOptions::new()
        .identity("papertape", env!("CARGO_PKG_VERSION"))
        .framing(args.framing.into())
        .probe_timeout(Duration::from_secs_f64(args.probe));
    if let Some(revision) = args.revision {
        options = options.revision(revision);
    }
    if let Some(seconds) = args.timeout {
        let time = Duration::from_secs_f64(seconds);
        options = options.timeout(time).longest(time).open_timeout(time);
    }
    if let Some(path) = &args.tape {
        options = options.tape(path);
    }
    if args.trace {
        let look = Look::of_stderr();
        options = options.on_frame(move |frame| {
            print::err(&frame::line(look, frame.number, frame.direction, frame.time, frame.bytes));
        });
    }
    // A server is told that it may ask only if there is somebody to answer.
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        options = options.on_form(ask::form).on_url(ask::page);
    }
    options
}

/// What wants the process to end.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// The number of the next one.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => SIGINT,
            _ = self.terminate.recv() => SIGTERM,
        }
    }
}
