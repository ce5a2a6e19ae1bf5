//! A session with a server from the options: connect, run the command, close.

use std::future::Future;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use papertape::client::{ClientError, ClientOptions, ErrorKind};
use papertape::http::{Credentials, Endpoint};
use papertape::protocol::Root;
use papertape::{Client, http, stdio};

use crate::args::{Connect, Framing};
use crate::credentials;
use crate::elicitation;
use crate::env_file;
use crate::exit::Failure;
use crate::print::{self, Look, frame};
use crate::signals::Signals;
use crate::target::{Connector, Target};

/// Connects to a server, runs `work` in the session, and closes it.
pub(crate) fn with_server<T>(
    args: &Connect,
    target: &Target,
    work: impl AsyncFnOnce(Client) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let result = match target.connector()? {
        Connector::Process(mut command) => {
            refuse(
                args.http_only_option(),
                &format!("for servers at a URL, and {target} is started as a process"),
            )?;
            for path in &args.env_file {
                for (name, value) in env_file::read(path)? {
                    command = command.env(name, value);
                }
            }
            for (name, value) in &args.env {
                command = command.env(name, value);
            }
            if let Some(folder) = &args.cwd {
                command = command.cwd(folder);
            }
            run(command, options(args, target, frame::stdio_content)?, || target.hint(), work)
        }
        Connector::Http { url, headers } => {
            refuse(
                args.process_only_option(),
                &format!("for servers that are started as a process, and {target} is at a URL"),
            )?;
            let endpoint = configured(args, &url, headers)?;
            let opening = http::connect_with(endpoint, options(args, target, frame::http_content)?);
            run_session(opening, |error| Failure::opening(error, String::new()), work)
                .map_err(|failure| failure.at_url(&url))
        }
    };
    result.map_err(|failure| match target {
        Target::Bundled { .. } => failure.of_bundled_server(),
        _ if args.trace => failure.with_whole_stderr(),
        _ => failure,
    })
}

/// An option that does not apply to the target is an error.
fn refuse(given: Option<&str>, because: &str) -> Result<(), Failure> {
    match given {
        Some(option) => Err(Failure::usage(format!("{option} is {because}"))),
        None => Ok(()),
    }
}

/// The endpoint with the options for servers at a URL. Options replace `headers`, which are those of an `mcpServers` file.
fn configured(args: &Connect, url: &str, mut headers: Vec<(String, String)>) -> Result<Endpoint, Failure> {
    let is = |name: &str, other: &str| name.eq_ignore_ascii_case(other);
    headers.retain(|(name, _)| {
        let by_token = args.bearer_file.is_some() && is(name, "authorization");
        !(by_token || args.header.iter().any(|(given, _)| is(given, name)))
    });
    headers.extend_from_slice(&args.header);
    let mut endpoint = Endpoint::new(url);
    for (name, value) in &headers {
        endpoint = endpoint.header(name, value);
    }
    if let Some(path) = &args.bearer_file {
        let token = std::fs::read_to_string(path).map_err(|error| {
            Failure::usage(format!("--bearer-file {}: cannot read the file: {error}", path.display()))
        })?;
        if token.trim().is_empty() {
            return Err(Failure::usage(format!("--bearer-file {}: the file is empty", path.display())));
        }
        endpoint = endpoint.credentials(Credentials::Bearer(token.trim().to_owned()));
    } else if !headers.iter().any(|(name, _)| is(name, "authorization")) {
        endpoint = endpoint.credentials(credentials::credentials(url, args.ca.as_deref())?);
    }
    if let Some(path) = &args.ca {
        endpoint = endpoint.ca(path);
    }
    if args.insecure_http {
        endpoint = endpoint.allow_http();
    }
    Ok(endpoint)
}

/// Starts a server as a process with these options and runs `work` in the session; `hint` is for a program that does not exist.
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
    run_session(stdio::connect_with(command, options), failed, work)
}

/// Opens a session, runs `work` in it, and closes it.
fn run_session<T>(
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
            // A second signal does not wait for the server.
            number = signals.next() => Err(Failure::Signal(number)),
        }
    });
    // A thread that waits for input on the terminal must not keep the process.
    runtime.shutdown_background();
    result
}

/// `content` is how `--trace` shows a frame.
fn options(args: &Connect, target: &Target, content: fn(&[u8]) -> String) -> Result<ClientOptions, Failure> {
    let mut options = ClientOptions::new()
        .identity("papertape", env!("CARGO_PKG_VERSION"))
        .framing(args.framing.unwrap_or(Framing::Line).into())
        .probe_timeout(Duration::from_secs_f64(args.probe));
    if let Some(revision) = args.revision {
        options = options.revision(revision);
    }
    if let Some(seconds) = args.timeout {
        let time = Duration::from_secs_f64(seconds);
        options = options.timeout(time).total_timeout(time).open_timeout(time);
    }
    if let Some(path) = &args.tape {
        options = options.tape(path);
    }
    if !args.root.is_empty() {
        options = options.roots(args.root.iter().map(|path| root(path)).collect::<Result<_, _>>()?);
    }
    if args.trace {
        let look = Look::of_stderr();
        options = options.on_frame(move |traced| print::err(&frame::line(look, traced, content)));
    }
    // Elicitation is declared only if a user can respond on a terminal.
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        // The target as the user typed it: the name that a server gives itself is not to be trusted here.
        let (form, url) = (target.to_string(), target.to_string());
        options = options
            .on_form(move |request| elicitation::form(form.clone(), request))
            .on_url(move |request| elicitation::url(url.clone(), request));
    }
    Ok(options)
}

/// A directory as a root: its absolute path, and its name.
fn root(path: &Path) -> Result<Root, Failure> {
    let wrong = |problem: String| Failure::usage(format!("--root {}: {problem}", path.display()));
    let absolute = path.canonicalize().map_err(|error| wrong(format!("cannot be used: {error}")))?;
    if !absolute.is_dir() {
        return Err(wrong("not a directory".to_owned()));
    }
    let uri = url::Url::from_file_path(&absolute).map_err(|()| wrong("has no file: URI".to_owned()))?;
    let mut root = Root::default();
    root.uri = uri.into();
    root.name = absolute.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(root)
}
