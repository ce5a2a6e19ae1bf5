//! `papertape tap`: a transparent proxy in front of a server, which records what crosses.

use std::fs::DirBuilder;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow};
use papertape::http::HostGuard;
use papertape::stdio::ServerCommand;
use papertape_tap::http::Upstream;
use papertape_tap::{Recorder, RecorderOptions, stdio};
use tokio::net::TcpListener;

use crate::args;
use crate::connect;
use crate::directories;
use crate::exit::{self, Failure};
use crate::runtime;
use crate::signals::Signals;
use crate::target::{self, Connector, Target};

/// Threads besides those of the runtime: three streams, the tape, and signals.
const THREADS: usize = 5;

/// The longest name of a server in the name of a tape.
const LONGEST_NAME: usize = 64;

pub(crate) fn run(args: &args::Tap) -> Result<(), Failure> {
    let (target, _) =
        target::split(args.target.iter().cloned().collect(), args.command.clone(), &args.from_file)?;
    if let Some(address) = args.http {
        connect::refuse(
            args.process.given(),
            "for servers that are started, and --http is for one at a URL",
        )?;
        let Some(url) = target.http_url() else {
            return Err(Failure::usage(format!(
                "--http is for a server at a URL, and {target} is not one: leave it out"
            )));
        };
        let runtime = runtime::build(2, THREADS)?;
        return runtime.block_on(on_http(args, &target, url, address));
    }
    let Connector::Process(command) = target.connector()? else { return Err(not_a_process(&target)) };
    runtime::check(THREADS)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let result = runtime.block_on(on_stdio(args, &target, command));
    // A thread that waits for stdin must not keep the process.
    runtime.shutdown_background();
    result
}

fn not_a_process(target: &Target) -> Failure {
    Failure::usage(if let Target::Unix(_) = target {
        format!("{target} is a socket; to record what crosses it: papertape bridge {target} --tape FILE")
    } else {
        format!("{target} is at a URL: add --http PORT, and let the host connect to that port")
    })
}

/// A proxy in front of a server at a URL.
async fn on_http(args: &args::Tap, target: &Target, url: &str, address: SocketAddr) -> Result<(), Failure> {
    let ca = args
        .ca
        .as_ref()
        .map(|path| std::fs::read(path).with_context(|| format!("cannot read {}", path.display())));
    let upstream =
        Upstream::new(url, ca.transpose()?.as_deref()).map_err(|error| Failure::usage(error.to_string()))?;
    // Each exchange needs two descriptors.
    if let Err(error) = papertape::http::raise_open_file_limit() {
        tracing::warn!("cannot raise the limit of open files: {error}");
    }
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let address = listener.local_addr().context("cannot listen")?;
    if !address.ip().is_loopback() && args.allow_host.is_empty() {
        tracing::warn!(
            "the tap listens on {address}, but only loopback names are allowed in the Host header: add its name with --allow-host"
        );
    }
    let guard = HostGuard::new(&args.allow_host, &args.allow_origin);
    let recorder = recorder(args, target)?;
    exit::note(&format!("a tap of {url} is at http://{address}{}", upstream.path()));
    let stop = async {
        signals.next().await;
    };
    let served = papertape_tap::http::serve(listener, upstream, guard, &recorder, stop).await;
    finish(&recorder);
    Ok(served.context("cannot serve")?)
}

async fn on_stdio(args: &args::Tap, target: &Target, command: ServerCommand) -> Result<(), Failure> {
    let command = connect::with_environment(command, &args.process).await?;
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let recorder = recorder(args, target)?;
    let ended = stdio::run(&command, &recorder, async || i32::from(signals.next().await)).await;
    finish(&recorder);
    let status = ended.map_err(|error| anyhow!("starting the server: {error}{}", target.hint()))?;
    status_of(status)
}

fn finish(recorder: &Recorder) {
    if let Err(error) = recorder.finish() {
        exit::note_without_waiting(&format!("the tape is incomplete: {error}"));
    }
}

/// A server's exit status as that of this command.
fn status_of(status: ExitStatus) -> Result<(), Failure> {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(Failure::Code(u8::try_from(code).unwrap_or(u8::MAX))),
        (None, signal) => {
            Err(Failure::Signal(signal.and_then(|signal| u8::try_from(signal).ok()).unwrap_or_default()))
        }
    }
}

fn recorder(args: &args::Tap, target: &Target) -> Result<Recorder, Failure> {
    let path = match &args.tape {
        Some(path) => path.clone(),
        None => default_tape(target)?,
    };
    let mut options = RecorderOptions::default();
    options.max_size = args.max_size;
    options.memory = usize::try_from(args.max_memory).unwrap_or(usize::MAX);
    let recorder = Recorder::create(&path, &options)
        .map_err(|error| anyhow!("cannot write the tape {}: {error}", path.display()))?;
    if args.tape.is_none() {
        exit::note(&format!("recording to {}", path.display()));
    }
    Ok(recorder)
}

/// A new file in the user's directory of data.
fn default_tape(target: &Target) -> Result<PathBuf, Failure> {
    let Some(data) = directories::data() else {
        return Err(Failure::usage("where is the tape to be? HOME is not set: give --tape FILE"));
    };
    let directory = data.join("tapes");
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .with_context(|| format!("cannot create {}: give --tape FILE", directory.display()))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let name = name(target);
    let path = directory.join(format!("{name}-{now}.tape"));
    // The same server may be started twice in a second.
    let is_taken = path.exists();
    Ok(if is_taken { directory.join(format!("{name}-{now}-{}.tape", std::process::id())) } else { path })
}

/// What a tape of this server is called.
fn name(target: &Target) -> String {
    let name = match target {
        Target::Bundled { name, .. } => name.clone(),
        Target::Configured(server) => server.name().to_owned(),
        Target::Command { program, .. } => {
            PathBuf::from(program).file_stem().unwrap_or_default().to_string_lossy().into_owned()
        }
        Target::Url(url) => {
            url.split('/').nth(2).unwrap_or_default().rsplit('@').next().unwrap_or_default().to_owned()
        }
        Target::Unix(path) => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    };
    let name: String = name
        .trim_start_matches('.')
        .chars()
        .take(LONGEST_NAME)
        .map(|c| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '_' })
        .collect();
    if name.is_empty() { "server".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::name;
    use crate::target::Target;

    #[test]
    fn a_tape_has_the_name_of_its_server() {
        let command = |program: &str| Target::of_words(vec![program.into()]).unwrap();
        assert_eq!(name(&command("/usr/bin/node")), "node");
        assert_eq!(name(&command("./my server.py")), "my_server");
        assert_eq!(name(&command("..")), "server");
        assert_eq!(
            name(&Target::Url("https://user:pass@tools.example:81/mcp".to_owned())),
            "tools.example_81"
        );
    }
}
