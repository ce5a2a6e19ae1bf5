//! `papertape serve SERVER`: a bundled server over stdio or HTTP.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use papertape::http::{Auth, Keys, OAuthServer};
use papertape::server::Limits;
use papertape::streams::Undelivered;
use papertape::{Server, http, stdio};
use papertape_search::embed::Choice;
use papertape_search::store::StoreError;
use papertape_servers::{all, blog, grammar, text};
use tokio::net::TcpListener;

use crate::args::{BundledServer, Http, Serve, Transport};
use crate::exit::Failure;
use crate::runtime;

/// How long the response to an elicitation may take.
const STATE_LIFETIME: Duration = Duration::from_secs(10 * 60);

pub(crate) fn run(args: Serve) -> Result<(), Failure> {
    match args.server {
        BundledServer::Grammar(transport) => {
            run_server("grammar", async { Ok(grammar::server()) }, *transport, 0)
        }
        BundledServer::Text(transport) => run_server("text", async { Ok(text::server()) }, *transport, 0),
        BundledServer::All(transport) => run_server("all", async { Ok(all::server()) }, *transport, 0),
        BundledServer::Blog(args) => {
            let options = args.options();
            if matches!(options.embed, Some(Choice::Local { .. })) {
                // A service that fails may come back, but a build without local models stays without them.
                options.embedder().map_err(|error| Failure::usage(format!("--embed: {error}")))?;
            }
            let server = blog::server_with(options, args.extras());
            run_server("blog", server, args.transport, 2 * runtime::parallelism())
        }
    }
}

/// Serves on a runtime of its own; `search_threads` are those that the server starts besides.
fn run_server(
    name: &str,
    server: impl Future<Output = Result<Server, StoreError>>,
    transport: Transport,
    search_threads: usize,
) -> Result<(), Failure> {
    // Over stdio fast handlers run on the thread that reads stdin; these are for the slow ones.
    let workers = if transport.http.http.is_some() { runtime::parallelism() } else { 2 };
    let runtime = runtime::build(workers, search_threads)?;
    let result = runtime.block_on(async {
        let server = server.await.map_err(|error| Failure::usage(error.to_string()))?;
        serve(name, server, transport).await
    });
    // A blocking tool that has outlived the grace period must not keep the process.
    runtime.shutdown_background();
    result
}

async fn serve(name: &str, server: Server, transport: Transport) -> Result<(), Failure> {
    let Transport { tape, grace, outlive_parent, http } = transport;
    let server = server.limits(Limits { grace: Duration::from_secs_f64(grace), ..Limits::default() });
    let served = match http.http {
        Some(address) => on_http(name, server, address, tape, &http).await,
        None => on_stdio(name, server, tape, outlive_parent).await,
    };
    match served {
        Err(error) if is_undelivered(&error) => Err(Failure::Output(error.to_string())),
        served => Ok(served.with_context(|| format!("cannot serve {name}"))?),
    }
}

/// Whether it was served, but not every response was delivered.
fn is_undelivered(error: &anyhow::Error) -> bool {
    let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    inner.is_some_and(|inner| inner.is::<Undelivered>())
}

async fn on_stdio(
    name: &str,
    server: Server,
    tape: Option<PathBuf>,
    outlive_parent: bool,
) -> anyhow::Result<()> {
    let mut options = stdio::Options::default();
    options.tape = tape;
    options.outlive_parent = outlive_parent;
    if std::io::stdin().is_terminal() {
        let hint = "reads stdin and writes stdout: type one JSON-RPC message per line, Ctrl-D to exit";
        drop(writeln!(std::io::stderr(), "papertape: {name} {hint}"));
    }
    Ok(stdio::serve_with(server, options).await?)
}

async fn on_http(
    name: &str,
    server: Server,
    address: SocketAddr,
    tape: Option<PathBuf>,
    args: &Http,
) -> anyhow::Result<()> {
    let (listener, server, mut options) = listen(name, server, address, args).await?;
    if let Some(path) = tape {
        options = options.tape(path);
    }
    Ok(http::serve_with(listener, server, options).await?)
}

/// Listens for HTTP connections. What is to be served there, and how.
pub(crate) async fn listen(
    name: &str,
    mut server: Server,
    address: SocketAddr,
    args: &Http,
) -> anyhow::Result<(TcpListener, Server, http::Options)> {
    // Each connection needs a descriptor, and the usual soft limit of 1,024 is soon used up.
    if let Err(error) = http::raise_open_file_limit() {
        tracing::warn!("cannot raise the limit of open files: {error}");
    }
    if let Some(key) = state_key(args)? {
        server = server.state_key(key, STATE_LIFETIME);
    }
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let address = listener.local_addr()?;
    let mut options = options(args, address);
    if let Some(auth) = auth(args)? {
        options = options.auth(auth);
    }
    drop(writeln!(std::io::stderr(), "papertape: {name} is at http://{address}/mcp"));
    Ok((listener, server, options))
}

fn options(args: &Http, address: SocketAddr) -> http::Options {
    let Http { allow_host, allow_origin, requests_per_client, legacy_sse, health, metrics, .. } = args;
    let mut options = http::Options::new();
    if let Some(requests) = requests_per_client {
        options = options.requests_per_client(*requests);
    }
    for host in allow_host {
        options = options.host(host);
    }
    for origin in allow_origin {
        options = options.origin(origin);
    }
    if !address.ip().is_loopback() && allow_host.is_empty() {
        tracing::warn!(
            "the server listens on {address}, but only loopback names are allowed in the Host header: add its name with --allow-host"
        );
    }
    if *legacy_sse {
        options = options.legacy_sse();
    }
    if *health {
        options = options.health();
    }
    if *metrics {
        options = options.metrics();
    }
    options
}

/// The required authentication, if there is any.
fn auth(args: &Http) -> anyhow::Result<Option<Auth>> {
    if args.auth.is_none() && args.issuer.is_empty() {
        return if args.require_scope.is_empty() {
            Ok(None)
        } else {
            bail!(
                "--require-scope needs authentication: give --auth FILE, or --issuer URL and --resource URL"
            )
        };
    }
    let mut auth = Auth::new().require_scopes(&args.require_scope);
    if let Some(path) = &args.auth {
        auth = auth.keys(Keys::open(path)?);
    }
    if let Some(resource) = &args.resource {
        let oauth = args.issuer.iter().fold(OAuthServer::new(resource), |oauth, issuer| oauth.issuer(issuer));
        auth = auth.oauth(oauth);
    }
    Ok(Some(auth))
}

/// The key that all replicas share.
fn state_key(args: &Http) -> anyhow::Result<Option<[u8; 32]>> {
    let Some(path) = &args.state_key else { return Ok(None) };
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let bytes = data_encoding::BASE64.decode(text.trim().as_bytes()).ok();
    let key = bytes.and_then(|bytes| bytes.try_into().ok());
    let remedy = "it must hold 32 bytes in base64: openssl rand -base64 32 writes such a file";
    key.map(Some).with_context(|| format!("{}: {remedy}", path.display()))
}
