//! Options to a conversation with a server: it is started or reached, worked with and ended, whatever happens between.

use std::future::Future;
use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Context;
use papertape::http::{Credentials, Endpoint};
use papertape::wire::tape::Direction;
use papertape::{Client, ClientError, ClientOptions, ErrorKind, http, stdio};

use crate::args::{Connect, Framing};
use crate::ask;
use crate::exit::Failure;
use crate::print::{self, Look, frame};
use crate::sign_in;
use crate::signals::Signals;
use crate::target::{Target, Way};

/// Starts or reaches a server, hands the conversation to `work`, and ends it.
pub(crate) fn with_server<T>(
    args: &Connect,
    target: &Target,
    work: impl AsyncFnOnce(Client) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let result = match target.way()? {
        Way::Start(mut command) => {
            refuse(args.of_addresses(), &format!("for servers at a URL, and {target} is started here"))?;
            for (name, value) in &args.env {
                command = command.env(name, value);
            }
            if let Some(folder) = &args.cwd {
                command = command.cwd(folder);
            }
            run(command, options(args, target, frame::line), || target.hint(), work)
        }
        Way::Reach(endpoint) => {
            refuse(
                args.of_commands(),
                &format!("for servers that are started here, and {target} runs already"),
            )?;
            let endpoint = reach(args, endpoint, &target.to_string())?;
            let opening = http::connect_with(endpoint, options(args, target, frame::line_on_http));
            converse(opening, |error| Failure::opening(error, String::new()), work)
        }
    };
    if args.trace { result.map_err(Failure::with_whole_stderr) } else { result }
}

/// An option that has no meaning for the server is a mistake.
fn refuse(given: Option<&str>, because: &str) -> Result<(), Failure> {
    match given {
        Some(option) => Err(Failure::usage(format!("{option} is {because}"))),
        None => Ok(()),
    }
}

/// What the options say about the way to a server.
fn reach(args: &Connect, mut endpoint: Endpoint, url: &str) -> Result<Endpoint, Failure> {
    for (name, value) in &args.header {
        endpoint = endpoint.header(name, value);
    }
    if let Some(path) = &args.bearer_file {
        let token = std::fs::read_to_string(path).map_err(|error| {
            Failure::usage(format!("--bearer-file {}: cannot be read: {error}", path.display()))
        })?;
        if token.trim().is_empty() {
            return Err(Failure::usage(format!("--bearer-file {}: there is no token in it", path.display())));
        }
        endpoint = endpoint.credentials(Credentials::Bearer(token.trim().to_owned()));
    } else if !args.header.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
        endpoint = endpoint.credentials(sign_in::credentials(url, args.ca.as_deref())?);
    }
    if let Some(path) = &args.ca {
        endpoint = endpoint.ca(path);
    }
    if args.insecure_http {
        endpoint = endpoint.allow_http();
    }
    Ok(endpoint)
}

/// The same for a command and options of one's own; `hint` is asked for if there is no such command.
pub(crate) fn run<T>(
    command: stdio::ServerCommand,
    options: ClientOptions,
    hint: impl FnOnce() -> String,
    work: impl AsyncFnOnce(Client) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let failed = |error: ClientError| {
        let not_found = matches!(error.kind(), ErrorKind::NotStarted(error) if error.kind() == std::io::ErrorKind::NotFound);
        let hint = if not_found { hint() } else { String::new() };
        Failure::opening(error, hint)
    };
    converse(stdio::spawn_with(command, options), failed, work)
}

/// Opens a conversation, has it, and ends it.
fn converse<T>(
    opening: impl Future<Output = Result<Client, ClientError>>,
    failed: impl FnOnce(ClientError) -> Failure,
    work: impl AsyncFnOnce(Client) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let result = runtime.block_on(async {
        let mut signals = Signals::listen().context("cannot listen for signals")?;
        let client = tokio::select! {
            opened = opening => opened.map_err(failed)?,
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

/// How a frame is shown.
type Line = fn(Look, u64, Direction, Duration, &[u8]) -> String;

fn options(args: &Connect, target: &Target, line: Line) -> ClientOptions {
    let mut options = ClientOptions::new()
        .identity("papertape", env!("CARGO_PKG_VERSION"))
        .framing(args.framing.unwrap_or(Framing::Line).into())
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
            print::err(&line(look, frame.number, frame.direction, frame.time, frame.bytes));
        });
    }
    // A server is told that it may ask only if there is somebody to answer.
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        // By the name that the user gave it: what a server says of itself is not to be believed here.
        let (form, page) = (target.to_string(), target.to_string());
        options = options
            .on_form(move |asked| ask::form(form.clone(), asked))
            .on_url(move |asked| ask::page(page.clone(), asked));
    }
    options
}
