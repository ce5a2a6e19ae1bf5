//! `papertape serve NAME`: a bundled server on stdio, or on HTTP.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use papertape::http::{Auth, Keys, OAuthServer};
use papertape::{Limits, Server, Undelivered, http, stdio};
use papertape_servers::{Bundled, Make, blog};
use tokio::net::TcpListener;

use crate::args::{Http, Serve};
use crate::exit::Failure;
use crate::threads;

/// How long somebody may take to answer what a tool asks.
const STATE_LIFETIME: Duration = Duration::from_secs(10 * 60);

pub(crate) fn run(args: Serve) -> Result<(), Failure> {
    let found = papertape_servers::ALL.into_iter().find(|server| server.name == args.server);
    let Bundled { name, make, .. } =
        found.with_context(|| format!("there is no server \"{}\"", args.server))?;
    if let (Make::Alone(_), Some(option)) = (make, args.blog.given()) {
        return Err(Failure::usage(format!("{option} is for the server blog, and this is {name}")));
    }
    // On stdio fast handlers run on the wire's own thread; these are for the slow ones.
    let workers = if args.http.http.is_some() { threads::parallel() } else { 2 };
    let searching = if matches!(make, Make::Blog) { 2 * threads::parallel() } else { 0 };
    let runtime = threads::runtime(workers, searching)?;
    let result = runtime.block_on(serve(name, make, args));
    // A blocking tool that has outlived the grace period must not keep the process.
    runtime.shutdown_background();
    result
}

async fn serve(name: &str, make: Make, args: Serve) -> Result<(), Failure> {
    let Serve { tape, grace, outlive_parent, blog, http, .. } = args;
    let server = match make {
        Make::Alone(make) => make(),
        Make::Blog => {
            blog::server(blog.options()).await.map_err(|error| Failure::usage(error.to_string()))?
        }
    };
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

/// Whether it was served, but not everything that was answered has arrived.
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
        let hint = "serving on stdin and stdout: type a JSON-RPC message per line, Ctrl-D to end";
        drop(writeln!(std::io::stderr(), "papertape: {name} is {hint}"));
    }
    Ok(stdio::serve_with(server, options).await?)
}

async fn on_http(
    name: &str,
    mut server: Server,
    address: SocketAddr,
    tape: Option<PathBuf>,
    args: &Http,
) -> anyhow::Result<()> {
    // Each connection needs a descriptor, and the usual soft limit of 1,024 is soon used up.
    if let Err(error) = http::raise_open_file_limit() {
        tracing::warn!("the limit on open files cannot be raised: {error}");
    }
    if let Some(key) = state_key(args)? {
        server = server.state_key(key, STATE_LIFETIME);
    }
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let address = listener.local_addr()?;
    let mut options = options(args, address);
    if let Some(path) = tape {
        options = options.tape(path);
    }
    if let Some(auth) = auth(args)? {
        options = options.auth(auth);
    }
    let said = writeln!(std::io::stderr(), "papertape: {name} is at http://{address}/mcp");
    drop(said);
    Ok(http::serve(listener, server, options).await?)
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
            "the server listens to the network, but knows no name but localhost: give it one with --allow-host"
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

/// Who may ask, if not everybody may.
fn auth(args: &Http) -> anyhow::Result<Option<Auth>> {
    if args.auth.is_none() && args.issuer.is_empty() {
        return if args.require_scope.is_empty() {
            Ok(None)
        } else {
            bail!(
                "--require-scope needs to know who asks: give --auth FILE, or --issuer URL and --resource URL"
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

/// The key that replicas share.
fn state_key(args: &Http) -> anyhow::Result<Option<[u8; 32]>> {
    let Some(path) = &args.state_key else { return Ok(None) };
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let bytes = data_encoding::BASE64.decode(text.trim().as_bytes()).ok();
    let key = bytes.and_then(|bytes| bytes.try_into().ok());
    let way_out = "it must hold 32 bytes in base64: openssl rand -base64 32 writes such a file";
    key.map(Some).with_context(|| format!("{}: {way_out}", path.display()))
}
