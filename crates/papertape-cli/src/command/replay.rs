//! `papertape replay TAPE`: a recorded server for hosts, and a recorded client for servers.

use std::fs::File;
use std::io::{self, BufReader, BufWriter};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, anyhow};
use papertape::http::HostGuard;
use papertape::stdio::{self, ServerCommand};
use papertape_replay::{Ended, Faults, HostOptions, Pace, Player, Report, Script, Updated, Volatile};
use serde_json::json;
use tokio::net::TcpListener;

use super::tape::open_file;
use crate::args::{Replay, ReplayFormat};
use crate::connect::{until_signal, with_environment};
use crate::exit::{self, Failure};
use crate::print::text::{counted, one_line};
use crate::print::{self, Look, replay_report};
use crate::progress_line::ProgressLine;
use crate::sync::lock;
use crate::target::{self, Connector, Target};

pub(crate) fn run(args: &Replay) -> Result<(), Failure> {
    if let Some(option) = args.misplaced_option() {
        return Err(Failure::usage(if args.is_client() {
            format!("{option} is for replaying the server of a tape, and there is a server here")
        } else {
            format!(
                "{option} is for replaying the client of a tape: name the server, or give a command after --"
            )
        }));
    }
    let wrong = |problem: String| Failure::Tape(format!("{}: {problem}", args.tape.display()));
    let file = open_file(&args.tape)?;
    let script = Script::read(BufReader::new(file)).map_err(|error| wrong(error.to_string()))?;
    if let Some(missing) = script.missing() {
        exit::note(&format!("warning: the tape is incomplete: {missing}"));
    }
    match args.http {
        _ if args.is_client() => as_client(args, &script),
        Some(address) => over_http(args, script, address),
        None => as_server(args, script),
    }
}

/// Plays the server of the tape on stdin and stdout.
fn as_server(args: &Replay, script: Script) -> Result<(), Failure> {
    let player = Player::new(script, Pace { recorded: args.timing, delay: args.delay() });
    let faults = Faults { cut: args.cut, drop_newline: args.drop_newline };
    until_signal(async |signals| {
        let (input, output) = stdio::claim().context("cannot use stdin and stdout")?;
        tokio::select! {
            ended = papertape_replay::serve(player, input, output, faults, exit::note) => match ended {
                Ok(Ended::Input | Ended::Cut) => Ok(()),
                Ok(Ended::Framing) => Err(Failure::Exited("the framing of the host's messages is invalid".to_owned())),
                // The host has gone.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                Err(error) => Err(error.into()),
            },
            number = signals.next() => Err(Failure::Signal(number)),
        }
    })
}

/// Plays the server of the tape for all who connect.
fn over_http(args: &Replay, script: Script, address: SocketAddr) -> Result<(), Failure> {
    let pace = Pace { recorded: args.timing, delay: args.delay() };
    until_signal(async |signals| {
        let listener =
            TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        let address = listener.local_addr().context("cannot listen")?;
        if !address.ip().is_loopback() && args.allow_host.is_empty() {
            tracing::warn!(
                "the replay listens on {address}, but only loopback names are allowed in the Host header: add its name with --allow-host"
            );
        }
        let guard = HostGuard::new(&args.allow_host, &args.allow_origin);
        exit::note(&format!("the server of {} is at http://{address}/mcp", args.tape.display()));
        let stop = async {
            signals.next().await;
        };
        let served = papertape_replay::serve_http(listener, script, pace, guard, exit::note, stop).await;
        Ok(served.context("cannot serve")?)
    })
}

/// Plays the client of the tape, and compares.
fn as_client(args: &Replay, script: &Script) -> Result<(), Failure> {
    let words = args.target.iter().cloned().collect();
    let (target, _) = target::split(words, args.command.clone(), &args.from_file)?;
    let command = process(&target)?;
    let mut options = HostOptions::default();
    if let Some(seconds) = args.timeout {
        options.timeout = Duration::from_secs_f64(seconds);
    }
    for rule in &args.ignore {
        let with = std::mem::replace(&mut options.volatile, Volatile::nothing()).ignore(rule);
        options.volatile = with.map_err(|problem| Failure::usage(format!("--ignore: {problem}")))?;
    }
    let report = until_signal(async |signals| {
        let command = with_environment(command, &args.process).await?;
        watched(&command, script, &options, signals).await
    })?;
    let updated =
        if args.update && report.failure.is_none() {
            Some(update(&args.tape, script, &report).map_err(|error| {
                Failure::Output(format!("cannot update {}: {error}", args.tape.display()))
            })?)
        } else {
            None
        };
    print_report(args, &target, &report, updated.as_ref())?;
    let is_updated = updated.is_some_and(|updated| updated.left.is_empty()) && report.others.is_empty();
    match &report.failure {
        Some(failure) => {
            let hint = if failure.at_start { target.hint() } else { String::new() };
            let cause = format!("{}{hint}", failure.cause);
            let failed = if failure.at_start { anyhow!(cause).into() } else { Failure::Exited(cause) };
            Err(if args.output == Some(ReplayFormat::Json) {
                Failure::Reported(Box::new(failed))
            } else {
                failed
            })
        }
        None if report.is_broken() => Err(Failure::Unhealthy),
        None if report.is_same() || is_updated => Ok(()),
        None => Err(Failure::Negative),
    }
}

/// The command of a server, which must be one that is started.
fn process(target: &Target) -> Result<ServerCommand, Failure> {
    let through = |what: &str, name: &str| {
        Failure::usage(format!(
            "{target} is {what}, and tapes are replayed to servers on stdio: -- papertape bridge {name}"
        ))
    };
    match target.connector()? {
        Connector::Process(command) => Ok(command),
        Connector::Http { url, .. } => Err(through("at a URL", &url)),
        Connector::Unix(path) => Err(through("a socket", &format!("unix:{}", path.display()))),
    }
}

/// The replay, with its requests on a line of the terminal. A signal ends it, and the server.
async fn watched(
    command: &ServerCommand,
    script: &Script,
    options: &HostOptions,
    signals: &mut crate::signals::Signals,
) -> Result<Report, Failure> {
    let look = Look::of_stderr();
    let line = ProgressLine::default();
    let write = Arc::new(Mutex::new(line.write(look)));
    let mut on_step = move |step: &papertape_replay::Step<'_>| {
        if look.redraws() {
            let call = one_line(&step.call.to_string());
            lock(&write)(&format!("{} of {}: {call}", step.sent, step.total));
        }
    };
    let mut replayed = pin!(papertape_replay::replay(command, script, options, &mut on_step));
    tokio::select! {
        report = &mut replayed => Ok(report),
        number = signals.next() => Err(Failure::Signal(number)),
    }
}

/// Writes the new responses to the tape: to a file beside it at first, so that it is never half of one.
fn update(tape: &Path, script: &Script, report: &Report) -> io::Result<Updated> {
    let tape = tape.canonicalize()?;
    let mut new = tape.clone().into_os_string();
    new.push(".new");
    let new = PathBuf::from(new);
    let written = (|| {
        let old = File::open(&tape)?;
        let file = File::create(&new)?;
        file.set_permissions(old.metadata()?.permissions())?;
        let updated = papertape_replay::update(script, report, BufReader::new(old), BufWriter::new(&file))?;
        file.sync_all()?;
        std::fs::rename(&new, &tape)?;
        Ok(updated)
    })();
    if written.is_err() {
        drop(std::fs::remove_file(&new));
    }
    written
}

fn print_report(
    args: &Replay,
    target: &Target,
    report: &Report,
    updated: Option<&Updated>,
) -> Result<(), Failure> {
    match args.output.unwrap_or(ReplayFormat::Text) {
        ReplayFormat::Text => {
            let mut text = replay_report::as_text(report, Look::of_stdout());
            if let Some(Updated { responses, left, .. }) = updated {
                text += &format!("{}: {} updated\n", args.tape.display(), counted(responses, "response"));
                for number in left {
                    text += &format!("response {number} is not updated: it shares its records with others\n");
                }
            }
            print::out(text)?;
        }
        ReplayFormat::Json => {
            let mut document = report.json();
            if let (Some(members), Some(updated)) = (document.as_object_mut(), updated) {
                members.insert("updated".to_owned(), json!(updated.responses));
            }
            print::document(&document)?;
        }
        ReplayFormat::Junit => {
            print::out(report.junit(&format!("{} {target}", args.tape.display())))?;
        }
    }
    Ok(())
}
