//! `papertape page`: a tape or a server in a browser.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use papertape::client::ClientOptions;
use papertape::wire::tape::HEADER;
use papertape_page as page;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::args::{Connect, Page};
use crate::connect::{ConfiguredConnector, unopened, with_options};
use crate::exit::Failure;
use crate::print::{self, Look, style};
use crate::runtime;
use crate::signals::Signals;
use crate::target::{self, Connector, Target};

pub(crate) fn run(args: &Page) -> Result<(), Failure> {
    let address = args.http.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    if !address.ip().is_loopback() {
        return Err(Failure::usage(format!(
            "--http {address}: not a loopback address; the page shows what is on tapes and starts servers, so it is for this \
             machine alone: give 127.0.0.1:PORT, and forward the port to reach it from elsewhere (ssh -L)"
        )));
    }
    // One worker serves the page, the other one the session with the server.
    let runtime = runtime::build(2, 1)?;
    let result = runtime.block_on(async {
        let page = match tape(args)? {
            Some(path) => open_tape(&path, args)?,
            None => open_server(args).await?,
        };
        serve(args, address, page).await
    });
    runtime.shutdown_background();
    result
}

/// The tape, if it is one: a file that exists and is not a program.
fn tape(args: &Page) -> Result<Option<PathBuf>, Failure> {
    let Some(text) = args.target.as_deref().filter(|_| args.connect.command.is_empty()) else {
        return Ok(None);
    };
    let path = Path::new(text);
    let looks_like_a_tape = path.extension().is_some_and(|end| end == "tape");
    if path.is_file() && (looks_like_a_tape || args.live || begins_like_a_tape(path)) {
        return Ok(Some(path.to_owned()));
    }
    if args.live || (looks_like_a_tape && !text.contains(' ')) {
        return Err(Failure::usage(format!(
            "{text}: there is no such tape; record one with `papertape tap` or --tape FILE"
        )));
    }
    Ok(None)
}

fn begins_like_a_tape(path: &Path) -> bool {
    let mut first = vec![0; HEADER.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == HEADER.as_bytes()
}

fn open_tape(path: &Path, args: &Page) -> Result<page::Page, Failure> {
    if let Some(option) = args.connect.process_only_option().or_else(|| args.connect.remote.given()) {
        return Err(Failure::usage(format!("{option} is for servers, and {} is a tape", path.display())));
    }
    if args.connect.tape.is_some() {
        return Err(Failure::usage(format!("--tape records a server, and {} is a tape", path.display())));
    }
    let opened = page::Page::of_tape(path, args.live);
    Ok(opened.with_context(|| format!("cannot open the tape {}", path.display()))?)
}

async fn open_server(args: &Page) -> Result<page::Page, Failure> {
    if args.live {
        return Err(Failure::usage(
            "--live is for tapes; the frames of a server are always shown as they cross",
        ));
    }
    if args.connect.trace {
        return Err(Failure::usage("--trace prints frames, and the page shows them: leave it out"));
    }
    let words = args.target.iter().cloned().collect();
    let (target, _) = target::split(words, args.connect.command.clone(), &args.connect.from_file)?;
    let connector = ConfiguredConnector::new(&args.connect, &target).await?;
    let start = start(&target)?;
    // The page records the frames, with stderr and events beside them.
    let connect = Connect { tape: None, ..args.connect.clone() };
    let name = target.to_string();
    let shared = Arc::new((connect, connector, target));
    let connect: page::Connect = Box::new(move |options: ClientOptions| {
        let shared = Arc::clone(&shared);
        Box::pin(async move {
            let (args, connector, target) = &*shared;
            let options = with_options(options, args, connector.content());
            let connected = connector.clone().connect(options).await;
            connected.map_err(|error| {
                let failure = unopened(error, || target.hint());
                match target.http_url() {
                    Some(url) => failure.at_url(url),
                    None => failure,
                }
                .to_string()
            })
        })
    });
    let opened = page::Page::of_server(page::Target { name, start, connect }, args.connect.tape.as_deref());
    Ok(opened.context("cannot record the frames of the server")?)
}

/// What the tape says of the start.
fn start(target: &Target) -> Result<Value, Failure> {
    let named = |name: &str| json!({"command": [name]});
    Ok(match target {
        Target::Command { program, arguments } => {
            let words = std::iter::once(program).chain(arguments).map(|word| word.to_string_lossy());
            json!({"command": words.collect::<Vec<_>>()})
        }
        Target::Bundled { name, options } => {
            let words = ["papertape", "serve", name].into_iter().chain(options.iter().map(String::as_str));
            json!({"command": words.collect::<Vec<_>>()})
        }
        Target::Url(url) => json!({"url": url}),
        Target::Unix(_) => json!({"url": target.to_string()}),
        Target::Configured(_) => match target.connector()? {
            Connector::Http { url, .. } => json!({"url": url}),
            _ => named(&target.to_string()),
        },
    })
}

async fn serve(args: &Page, address: SocketAddr, page: page::Page) -> Result<(), Failure> {
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let url = page.url(listener.local_addr().context("cannot tell the address")?);
    print::out(format!("{url}\n"))?;
    if std::io::stderr().is_terminal() {
        let look = Look::of_stderr();
        print::err(&look.paint(style::DIM, "The page is there until Ctrl-C.\n"));
        if !args.no_open
            && let Err(error) = open::that_detached(&url)
        {
            tracing::debug!("no browser was opened: {error}");
        }
    }
    let mut number = None;
    let stop = async { number = Some(signals.next().await) };
    page.serve(listener, stop).await.context("cannot serve the page")?;
    match number {
        Some(number) if number != crate::signals::SIGINT => Err(Failure::Signal(number)),
        _ => Ok(()),
    }
}
