//! The call race: how long one `papertape call` takes, beside a bare pipe to the same server and the MCP Inspector.

mod client;
mod report;
mod server;
mod tape;

use std::{
    env,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, ValueEnum};

use crate::{
    client::Clients,
    report::{Report, load_average},
    server::Server,
};

/// Times one tool call from the command line: how long `papertape call` takes beyond the server's own start.
///
/// Before the first round `papertape call --tape` records a session with each server. Every round then starts
/// each server three times, in a rotating order: from here, over a bare pipe, with the very bytes of that tape, which
/// tells when the server first answers and what a client costs that only writes and reads; by `papertape call`; and by
/// the MCP Inspector's command line. Differences and ratios are taken within a round; the figures are medians over
/// the rounds. Every answer is checked; a wrong one ends the race.
#[derive(Parser, Debug)]
#[command(name = "call-race")]
struct Args {
    /// Servers to call, separated by commas [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<Server>,

    /// Leave the Inspector out (it and the servers that are not in Rust need bench/call/install)
    #[arg(long)]
    no_inspector: bool,

    /// The papertape binary [default: the one beside this program, i.e. target/dist/papertape]
    #[arg(long, value_name = "PATH")]
    papertape: Option<PathBuf>,

    /// Rounds; the figures are medians over them
    #[arg(long, default_value_t = 21)]
    rounds: usize,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Output {
    /// Markdown, for people
    Table,
    /// One object with every round, for scripts
    Json,
}

fn main() -> Result<()> {
    let Args { only, no_inspector, papertape, rounds, output } = Args::parse();
    if cfg!(debug_assertions) {
        bail!("a debug build measures nothing: cargo run --profile dist -p call-race");
    }
    ensure!(rounds >= 6, "--rounds must be at least 6: fewer tell nothing");

    let places = Places::find(papertape)?;
    let clients = Clients::new(&places, !no_inspector)?;
    let load_at_start = load_average();

    let servers = if only.is_empty() { Server::value_variants() } else { &only };
    let mut order = Vec::new();
    let mut results = Vec::new();
    for &server in servers {
        progress(&format!("warming up: {}", server.name()));
        let recording = clients.record(server, &places).with_context(|| server.name())?;
        clients.race(server, &places, &recording, 0).with_context(|| server.name())?; // warm-up
        order.push((results.len(), server, recording));
        results.push((server, Vec::new()));
    }

    let mut idle_ms = Vec::new();
    for round in 0..rounds {
        idle_ms.push(client::idle(&places)?);
        for (place, server, recording) in &order {
            progress(&format!("round {}/{rounds}: {}", round + 1, server.name()));
            let result = clients
                .race(*server, &places, recording, round)
                .with_context(|| format!("{} in round {}", server.name(), round + 1))?;
            results[*place].1.push(result);
        }
        order.rotate_left(1); // the first place rotates
    }
    progress("");

    let report = Report { version: clients.version()?, rounds, load_at_start, idle_ms, results };
    match output {
        Output::Table => print!("{}", report.table()),
        Output::Json => println!("{:#}", report.json()),
    }
    Ok(())
}

/// Where programs are.
struct Places {
    papertape: PathBuf,
    /// Beside this program: the servers of bench/peers.
    peers: PathBuf,
    /// What bench/call/install has installed.
    tools: PathBuf,
}

impl Places {
    fn find(papertape: Option<PathBuf>) -> Result<Self> {
        let this = env::current_exe()?;
        let papertape = match papertape {
            Some(path) => path.canonicalize().with_context(|| path.display().to_string())?,
            None => this.with_file_name("papertape"),
        };
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/call-race");
        let places = Self { papertape, peers: this.with_file_name(""), tools };
        must_be(&places.papertape, "`cargo build --profile dist` in the root workspace")?;
        must_be(&places.peer("floor-copy"), "`cargo build --profile dist -p peers` in bench/")?;
        Ok(places)
    }

    fn peer(&self, name: &str) -> PathBuf {
        self.peers.join(name)
    }

    /// A file that was installed; all of them are there, or none.
    fn tool(&self, path: &str) -> Result<PathBuf> {
        must_be(&self.tools.join("complete"), "bench/call/install")?;
        Ok(self.tools.canonicalize()?.join(path))
    }
}

fn must_be(path: &Path, maker: &str) -> Result<()> {
    ensure!(path.is_file(), "there is no {}; {maker} makes it", path.display());
    Ok(())
}

/// A command with its defaults, whatever this shell has set.
fn command(words: &[impl AsRef<std::ffi::OsStr>]) -> Result<Command> {
    let (program, arguments) = words.split_first().context("no command")?;
    let mut command = Command::new(program);
    command.args(arguments).env_remove("RUST_LOG").env_remove("NODE_OPTIONS");
    Ok(command)
}

/// Shows on a terminal what is going on, in one line that is written over.
fn progress(text: &str) {
    if io::stderr().is_terminal() {
        eprint!("\r{text:<40}\r");
    }
}
