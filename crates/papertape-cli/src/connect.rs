//! A session with a server from the options: connect, run the command, close.

use std::cell::Cell;
use std::future::Future;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use papertape::client::{ClientError, ClientOptions, ErrorKind};
use papertape::http::{Credentials, Endpoint};
use papertape::protocol::Root;
use papertape::{Client, http, stdio, unix};

use crate::args::{Connect, Framing, RemoteServer, ServerProcess};
use crate::credentials;
use crate::elicitation::{self, ReadLine};
use crate::env_file;
use crate::exit::{self, Failure};
use crate::print::{self, Look, frame};
use crate::server_log::ServerLog;
use crate::signals::Signals;
use crate::target::{Connector, Target};

/// Connects to a server, runs `work` in the session, and closes it.
pub(crate) fn with_server<T>(
    args: &Connect,
    target: &Target,
    work: impl AsyncFnOnce(Client) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let connection = Connection::new(args, target, elicitation::stdin_lines(), ServerLog::new(None));
    let work = async |client: Client| {
        let result = work(client.clone()).await;
        connection.warn_of_stray_output(&client);
        result
    };
    run_session(connection.open(), work).map_err(|failure| connection.explained(failure))
}

/// [`with_server`] without a warning, for completion: the user is typing.
pub(crate) fn with_server_in_silence<T>(
    args: &Connect,
    target: &Target,
    work: impl AsyncFnOnce(Client) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let connection = Connection::new(args, target, elicitation::stdin_lines(), ServerLog::new(None));
    run_session(connection.open(), work).map_err(|failure| connection.explained(failure))
}

/// A server and the options to connect to it.
pub(crate) struct Connection<'a> {
    pub(crate) args: &'a Connect,
    pub(crate) target: &'a Target,
    /// Where a user responds to elicitation.
    pub(crate) lines: ReadLine,
    pub(crate) server_log: ServerLog,
    /// The user knows that the server writes something else than messages to stdout.
    warned: Cell<bool>,
}

impl<'a> Connection<'a> {
    pub(crate) fn new(args: &'a Connect, target: &'a Target, lines: ReadLine, server_log: ServerLog) -> Self {
        Self { args, target, lines, server_log, warned: Cell::new(false) }
    }

    /// Warns, once, of output that hosts reject.
    pub(crate) fn warn_of_stray_output(&self, client: &Client) {
        if !self.warned.get()
            && let Some(problem) = client.stray_output()
        {
            self.warned.set(true);
            exit::note(&format!("warning: hosts may reject the server: {problem}"));
        }
    }

    /// Opens a session, and requests log messages if the user wants them.
    pub(crate) async fn open(&self) -> Result<Client, Failure> {
        let client = self.open_without_logs().await?;
        if let Some(level) = self.server_log.requested()
            && client.capabilities().logging.is_some()
            && let Err(error) = client.set_log_level(level).await
        {
            exit::report(&error.into());
        }
        Ok(client)
    }

    async fn open_without_logs(&self) -> Result<Client, Failure> {
        let Self { args, target, .. } = self;
        let connector = ConfiguredConnector::new(args, target).await?;
        let options = self.options(connector.content())?;
        connector.connect(options).await.map_err(|error| unopened(error, || target.hint()))
    }

    /// A failure of the session, with what the target and the options tell about it.
    pub(crate) fn explained(&self, failure: Failure) -> Failure {
        let failure = match self.target.http_url() {
            Some(url) => failure.at_url(url),
            None => failure,
        };
        match self.target {
            Target::Bundled { .. } => failure.of_bundled_server(),
            _ if self.args.trace => failure.with_stderr_shown(),
            _ => failure,
        }
    }
}

/// The command with the variables of files, then those of options, and a working directory.
pub(crate) async fn with_environment(
    mut command: stdio::ServerCommand,
    options: &ServerProcess,
) -> Result<stdio::ServerCommand, Failure> {
    let files = options.env_file.clone();
    let read =
        move || files.iter().map(|path| env_file::read(path, "--env-file")).collect::<Result<Vec<_>, _>>();
    for (name, value) in read_files(read).await?.iter().flatten().chain(&options.env) {
        command = command.env(name, value);
    }
    Ok(match &options.cwd {
        Some(directory) => command.cwd(directory),
        None => command,
    })
}

/// The bearer token and the CA certificates in the files of the command line.
pub(crate) async fn read_credentials(
    options: &RemoteServer,
) -> Result<(Option<String>, Option<Vec<u8>>), Failure> {
    let (token, ca) = (options.bearer_file.clone(), options.ca.clone());
    read_files(move || {
        let token = token.as_deref().map(credentials::read_token).transpose()?;
        Ok((token, ca.as_deref().map(credentials::read_certificates).transpose()?))
    })
    .await
}

/// An option that does not apply to the target is an error.
pub(crate) fn refuse(given: Option<&str>, because: &str) -> Result<(), Failure> {
    match given {
        Some(option) => Err(Failure::usage(format!("{option} is {because}"))),
        None => Ok(()),
    }
}

/// Reads files of the command line. Reading a pipe without a writer must not keep a signal from ending the command.
async fn read_files<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(read).await.context("cannot read the files of the command line")?
}

/// The endpoint with the options for servers at a URL: the token and the CA certificates of their files, and headers, which
/// replace those of an `mcpServers` file.
fn configured(
    options: &RemoteServer,
    url: &str,
    mut headers: Vec<(String, String)>,
    (token, ca): (Option<String>, Option<Vec<u8>>),
) -> Endpoint {
    let is = |name: &str, other: &str| name.eq_ignore_ascii_case(other);
    headers.retain(|(name, _)| {
        let by_token = token.is_some() && is(name, "authorization");
        !(by_token || options.header.iter().any(|(given, _)| is(given, name)))
    });
    headers.extend_from_slice(&options.header);
    let mut endpoint = Endpoint::new(url);
    for (name, value) in &headers {
        endpoint = endpoint.header(name, value);
    }
    if let Some(token) = token {
        endpoint = endpoint.credentials(Credentials::Bearer(token));
    } else if !headers.iter().any(|(name, _)| is(name, "authorization")) {
        endpoint = endpoint.credentials(credentials::credentials(url, ca.as_deref()));
    }
    if let Some(pem) = ca {
        endpoint = endpoint.root_certificates(pem);
    }
    if options.insecure_http {
        endpoint = endpoint.allow_http();
    }
    endpoint
}

/// Starts a server as a process with these options and runs `work` in the session.
pub(crate) fn run<T>(
    command: stdio::ServerCommand,
    options: ClientOptions,
    work: impl AsyncFnOnce(Client) -> Result<T, Failure>,
) -> Result<T, Failure> {
    run_session(open_process(command, options, String::new), work)
}

/// How a target is connected to, with all options for that.
#[derive(Clone)]
pub(crate) enum ConfiguredConnector {
    Process(stdio::ServerCommand),
    Unix(PathBuf),
    Http(Endpoint),
}

impl ConfiguredConnector {
    pub(crate) async fn new(args: &Connect, target: &Target) -> Result<Self, Failure> {
        match target.connector()? {
            Connector::Process(command) => {
                refuse(
                    args.remote.given(),
                    &format!("for servers at a URL, and {target} is started as a process"),
                )?;
                Ok(Self::Process(with_environment(command, &args.process).await?))
            }
            Connector::Unix(path) => {
                let only = |kind| format!("for servers {kind}, and {target} is a socket");
                refuse(args.process_only_option(), &only("that are started as a process"))?;
                refuse(args.remote.given(), &only("at a URL"))?;
                Ok(Self::Unix(path))
            }
            Connector::Http { url, headers } => {
                refuse(
                    args.process_only_option(),
                    &format!("for servers that are started as a process, and {target} is at a URL"),
                )?;
                Ok(Self::Http(configured(&args.remote, &url, headers, read_credentials(&args.remote).await?)))
            }
        }
    }

    /// How `--trace` shows a frame.
    pub(crate) fn content(&self) -> fn(&[u8]) -> String {
        match self {
            Self::Process(_) | Self::Unix(_) => frame::stdio_content,
            Self::Http(_) => frame::http_content,
        }
    }

    pub(crate) async fn connect(self, options: ClientOptions) -> Result<Client, ClientError> {
        match self {
            Self::Process(command) => stdio::connect_with(command, options).await,
            Self::Unix(path) => unix::connect_with(path, options).await,
            Self::Http(endpoint) => http::connect_with(endpoint, options).await,
        }
    }
}

/// Starts a server as a process; `hint` is for a program that does not exist.
async fn open_process(
    command: stdio::ServerCommand,
    options: ClientOptions,
    hint: impl FnOnce() -> String,
) -> Result<Client, Failure> {
    stdio::connect_with(command, options).await.map_err(|error| unopened(error, hint))
}

/// The failure to open a session; `hint` is for a program that does not exist.
pub(crate) fn unopened(error: ClientError, hint: impl FnOnce() -> String) -> Failure {
    let not_found =
        matches!(error.kind(), ErrorKind::NotStarted(error) if error.kind() == std::io::ErrorKind::NotFound);
    let hint = if not_found { hint() } else { String::new() };
    Failure::opening(error, hint)
}

/// Opens a session, runs `work` in it, and closes it.
fn run_session<T>(
    opening: impl Future<Output = Result<Client, Failure>>,
    work: impl AsyncFnOnce(Client) -> Result<T, Failure>,
) -> Result<T, Failure> {
    until_signal(async |signals| {
        let client = tokio::select! {
            opened = opening => opened?,
            number = signals.next() => return Err(Failure::Signal(number)),
        };
        let result = tokio::select! {
            // A response that has arrived is read before a signal: the call may have become a task, which is to be cancelled.
            biased;
            result = work(client.clone()) => result,
            number = signals.next() => Err(Failure::Signal(number)),
        };
        tokio::select! {
            _ = client.close() => result,
            // A second signal does not wait for the server.
            number = signals.next() => Err(Failure::Signal(number)),
        }
    })
}

/// Runs `work` with the signals that may end it.
pub(crate) fn until_signal<T>(
    work: impl AsyncFnOnce(&mut Signals) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let result = runtime.block_on(async {
        let mut signals = Signals::listen().context("cannot listen for signals")?;
        work(&mut signals).await
    });
    // A thread that waits for input on the terminal must not keep the process.
    runtime.shutdown_background();
    result
}

impl Connection<'_> {
    /// `content` is how `--trace` shows a frame.
    fn options(&self, content: fn(&[u8]) -> String) -> Result<ClientOptions, Failure> {
        let Self { args, target, lines, server_log, .. } = self;
        let identified = ClientOptions::new().identity("papertape", env!("CARGO_PKG_VERSION"));
        let mut options = with_options(identified, args, content);
        if !args.root.is_empty() {
            options = options.roots(args.root.iter().map(|path| root(path)).collect::<Result<_, _>>()?);
        }
        let server_log = server_log.clone();
        options = options.on_log(move |message| server_log.print(&message));
        // Elicitation is declared only if a user can respond on a terminal.
        if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
            // The target as the user typed it: the name that a server gives itself is not to be trusted here.
            let (form, url) = (target.to_string(), target.to_string());
            let (form_lines, url_lines) = (lines.clone(), lines.clone());
            options = options
                .on_form(move |request| elicitation::form(form.clone(), request, form_lines.clone()))
                .on_url(move |request| elicitation::url(url.clone(), request, url_lines.clone()));
        }
        Ok(options)
    }
}

/// The options of a client with those of the command line that are for every command; `content` is how `--trace` shows a frame.
pub(crate) fn with_options(
    mut options: ClientOptions,
    args: &Connect,
    content: fn(&[u8]) -> String,
) -> ClientOptions {
    options = options
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
    if args.trace {
        let look = Look::of_stderr();
        options = options
            .on_frame(move |traced| print::err(&frame::line(look, traced, content)))
            .on_stderr(move |line| print::err(&frame::stderr_line(look, line)));
    }
    options
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
