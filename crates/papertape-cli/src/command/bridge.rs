//! `papertape bridge`: servers for hosts of another revision, framing or transport.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use papertape::client::config::ServersFile;
use papertape::client::{ClientError, Restart};
use papertape::{http, stdio};
use papertape_bridge::{Bridge, BridgeError, Filter};

use super::serve;
use crate::args::{self, Connect, FromFile};
use crate::connect::{ConfiguredConnector, unopened, with_options};
use crate::exit::{self, Failure, LIMIT};
use crate::log;
use crate::print::text;
use crate::runtime;
use crate::servers_file;
use crate::signals::{SIGINT, SIGTERM, Signals};
use crate::target::{self, Target};

/// How often a server process that has exited is started again within 10 minutes, for its only host, and over HTTP.
const MOST_RESTARTS: u16 = 10;
const MOST_RESTARTS_ON_HTTP: u16 = 60;

pub(crate) fn run(args: &args::Bridge) -> Result<(), Failure> {
    if !args.connect.root.is_empty() {
        return Err(Failure::usage("--root: the roots are those of the host"));
    }
    let targets = targets(args)?;
    if args.connect.tape.is_some() && (args.per_session || matches!(targets, Targets::All(_))) {
        return Err(Failure::usage("--tape records one connection, and there are several servers here"));
    }
    let runtime = match args.http.http {
        Some(_) => runtime::build(runtime::parallelism(), 0)?,
        // Each message passes through one thread: a second one would have to be woken for it.
        None => runtime::on_this_thread()?,
    };
    let result = runtime.block_on(async {
        let bridge = bridge(args, &targets).await?;
        match args.http.http {
            Some(address) => on_http(args, address, bridge, &targets).await,
            None => on_stdio(bridge, &targets).await,
        }
    });
    // A thread that waits for stdin must not keep the process.
    runtime.shutdown_background();
    result
}

/// What is behind the bridge.
enum Targets {
    One(Target),
    /// The servers of a file that are not disabled.
    All(Vec<Target>),
}

fn targets(args: &args::Bridge) -> Result<Targets, Failure> {
    let options = &args.connect.from_file;
    if let (None, [], Some(path)) = (&args.target, &args.connect.command[..], &options.config) {
        let file = servers_file::open(path)?;
        let enabled = file.names().filter(|name| !file.is_disabled(name));
        let all: Vec<Target> =
            enabled.map(|name| configured(&file, name, options)).collect::<Result<_, _>>()?;
        if all.is_empty() {
            return Err(Failure::usage(format!("{} has no servers that are enabled", path.display())));
        }
        return Ok(Targets::All(all));
    }
    let words = args.target.iter().cloned().collect();
    let (target, _) = target::split(words, args.connect.command.clone(), options)?;
    Ok(Targets::One(target))
}

/// A server of a file, with those of the inputs that are its own.
fn configured(file: &ServersFile, name: &str, options: &FromFile) -> Result<Target, Failure> {
    let own = file.inputs(name);
    let mut options = options.clone();
    options.input.retain(|(id, _)| own.iter().any(|input| input.id == *id));
    servers_file::find(servers_file::open(file.path())?, name, &options).map(Target::Configured)
}

async fn bridge(args: &args::Bridge, targets: &Targets) -> Result<Bridge, Failure> {
    let several = matches!(targets, Targets::All(_));
    let connect = |target: &Target, connector: ConfiguredConnector| {
        let name = if several { format!("{target}: ") } else { String::new() };
        let args = Arc::new(args.connect.clone());
        move |options| {
            let mut options = with_options(options, &args, connector.content());
            if !args.trace {
                let name = name.clone();
                options = options.on_stderr(move |line| log::print(format!("{name}{}\n", text::safe(line))));
            }
            connector.clone().connect(options)
        }
    };
    let most = if args.http.http.is_some() { MOST_RESTARTS_ON_HTTP } else { MOST_RESTARTS };
    let restarts = Restart::at_most(most).within(Duration::from_secs(10 * 60));
    let bridge = match targets {
        Targets::One(target) => {
            let connector = ConfiguredConnector::new(&args.connect, target).await?;
            let bridge = Bridge::new(connect(target, connector.clone()));
            match connector {
                ConfiguredConnector::Process(command) if passes_through(&args.connect) => {
                    bridge.pass_through(command).restart(restarts)
                }
                ConfiguredConnector::Process(_) => bridge.restart(restarts),
                ConfiguredConnector::Unix(_) | ConfiguredConnector::Http(_) => bridge,
            }
        }
        Targets::All(targets) => {
            let mut bridge = Bridge::of_several().restart(restarts);
            for target in targets {
                let connector = ConfiguredConnector::new(&args.connect, target).await?;
                bridge = bridge.server(target.to_string(), connect(target, connector));
            }
            bridge
        }
    };
    let bridge = bridge.on_notice(exit::note_without_waiting).timeout_option(LIMIT);
    let filter = Filter::new().only(&args.only).hide(&args.hide);
    let bridge = bridge.filter(if args.read_only { filter.read_only() } else { filter });
    Ok(if args.per_session { bridge.per_session() } else { bridge })
}

/// Whether bytes may pass unchanged: not if the revision or the framing is given, or frames are to be seen.
fn passes_through(args: &Connect) -> bool {
    args.revision.is_none() && args.framing.is_none() && args.tape.is_none() && !args.trace
}

async fn on_stdio(bridge: Bridge, targets: &Targets) -> Result<(), Failure> {
    let mut signals = listen_for_signals()?;
    let mut number = None;
    let stop = async { number = Some(signals.next().await) };
    let (input, output) = stdio::claim().context("cannot use stdin and stdout")?;
    match (bridge.serve_until(input, output, stop).await, number) {
        (Ok(()), None) => Ok(()),
        (Ok(()), Some(number)) => Err(Failure::Signal(number)),
        (Err(BridgeError::Server(error)), _) => Err(not_opened(error, targets)),
        (Err(error @ (BridgeError::Exited(_) | BridgeError::Lost(_))), _) => {
            Err(Failure::Exited(error.to_string()))
        }
        (Err(error), _) => Err(Failure::Output(error.to_string())),
    }
}

async fn on_http(
    args: &args::Bridge,
    address: SocketAddr,
    bridge: Bridge,
    targets: &Targets,
) -> Result<(), Failure> {
    let (mut signals, mut second) = (listen_for_signals()?, listen_for_signals()?);
    let opened = tokio::select! {
        opened = bridge.connect() => opened,
        number = signals.next() => return Err(Failure::Signal(number)),
    };
    let (server, connections) = opened.map_err(|error| not_opened(error, targets))?;
    let (mut ended, lost) = (Ok(()), connections.lost());
    let stop = async {
        tokio::select! {
            number = signals.next() => if ![SIGTERM, SIGINT].contains(&number) {
                ended = Err(Failure::Signal(number));
            },
            error = lost => ended = Err(Failure::Exited(BridgeError::Lost(error).to_string())),
        }
    };
    let serve = async {
        let (listener, server, options) = serve::listen("bridge", server, address, &args.http).await?;
        anyhow::Ok(http::serve_until(listener, server, options, stop).await?)
    };
    let served = tokio::select! {
        served = serve => served,
        number = async { second.next().await; second.next().await } => return Err(Failure::Signal(number)),
    };
    connections.close().await;
    served.context("cannot serve the bridge")?;
    ended
}

fn listen_for_signals() -> anyhow::Result<Signals> {
    Signals::listen().context("cannot listen for signals")
}

/// The failure to connect; what the server has written to stderr has been passed on.
fn not_opened(error: ClientError, targets: &Targets) -> Failure {
    let Targets::One(target) = targets else { return unopened(error, String::new).with_stderr_shown() };
    let failure = unopened(error, || target.hint()).with_stderr_shown();
    match target.http_url() {
        Some(url) => failure.at_url(url),
        None => failure,
    }
}
