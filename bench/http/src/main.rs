//! The race over HTTP: starts each echo server, loads it over kept-alive connections, prints how they compare.

mod contender;
mod load;
mod report;

use std::{
    io::{self, IsTerminal},
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, ValueEnum};
use http_race::{cores::Cores, process::Process};

use crate::{
    contender::{Contender, Programs},
    load::{Connections, Part},
};

/// Races MCP echo servers on HTTP against each other, in one run.
///
/// Every round starts every server afresh, one after the other, and measures for each number of connections: calls per
/// second, the server's CPU time per call, and latency. Each connection is kept alive and has one call under way at any
/// time. Figures are medians over the rounds. Every answer is checked; a wrong one ends the race.
#[derive(Parser, Debug)]
#[command(name = "http-race")]
struct Args {
    /// Servers to race, separated by commas [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<Contender>,

    /// The papertape binary [default: the one beside this program, i.e. target/dist/papertape]
    #[arg(long, value_name = "PATH")]
    papertape: Option<PathBuf>,

    /// Leave out the servers on the TypeScript and Python SDKs, which `bench/http/sdks` installs
    #[arg(long)]
    no_sdks: bool,

    #[command(flatten)]
    settings: Settings,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

#[derive(clap::Args, serde::Serialize, Debug)]
struct Settings {
    /// Numbers of connections, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "1,16,64", value_name = "NUMBERS")]
    connections: Vec<usize>,

    /// Length of the echoed text
    #[arg(long, default_value_t = 16, value_name = "BYTES")]
    size: usize,

    /// Rounds; the figures are medians over them
    #[arg(long, default_value_t = 7)]
    rounds: usize,

    /// Length of each timed part of a round
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,

    /// Where servers and load generator run
    #[arg(long, value_enum, default_value_t = Where::Apart)]
    cores: Where,
}

#[derive(ValueEnum, serde::Serialize, Clone, Copy, Debug)]
#[serde(rename_all = "lowercase")]
enum Where {
    /// The generator on the last core, the server on the others
    Apart,
    /// Where the kernel puts them
    Free,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Output {
    /// Markdown, for people
    Table,
    /// One object with every round, for scripts
    Json,
}

fn main() -> Result<()> {
    let Args { only, papertape, no_sdks, settings, output } = Args::parse();
    if cfg!(debug_assertions) {
        bail!("a debug build measures nothing: cargo run --profile dist -p http-race");
    }
    ensure!(settings.rounds > 0 && !settings.connections.is_empty(), "there is nothing to do");
    ensure!(!settings.connections.contains(&0), "--connections must be at least 1");
    let cores = match settings.cores {
        Where::Apart => Cores::apart()?,
        Where::Free => Cores::free()?,
    };

    let mut contenders = if only.is_empty() { Contender::value_variants().to_vec() } else { only };
    contenders.retain(|contender| !(no_sdks && contender.is_foreign()));
    let programs = Programs::find(papertape, &contenders)?;
    let hello = measure_answer(&programs, &cores, &settings).context("papertape")?;

    let mut results: Vec<_> = contenders.iter().map(|contender| (*contender, Vec::new())).collect();
    for round in 1..=settings.rounds {
        for turn in 0..results.len() {
            let place = (turn + round) % results.len(); // the first place rotates
            let Some((contender, rounds)) = results.get_mut(place) else { continue };
            progress(&format!("round {round}/{}: {}", settings.rounds, contender.name()));
            let parts = race(*contender, &programs, hello, &cores, &settings)
                .with_context(|| format!("{} in round {round}", contender.name()))?;
            rounds.push(parts);
        }
    }
    progress("");

    match output {
        Output::Table => print!("{}", report::table(&settings, hello, &results)),
        Output::Json => println!("{:#}", report::json(&settings, &results)),
    }
    Ok(())
}

/// The length of papertape's answer: bare hyper gives one as long.
fn measure_answer(programs: &Programs, cores: &Cores, settings: &Settings) -> Result<usize> {
    let (server, mut connections) = start(Contender::Papertape, programs, 0, cores, settings, 1)?;
    let length = connections.answer_length()?;
    drop(server);
    Ok(length)
}

/// One round of one server.
fn race(
    contender: Contender,
    programs: &Programs,
    hello: usize,
    cores: &Cores,
    settings: &Settings,
) -> Result<Vec<Part>> {
    let time = Duration::try_from_secs_f64(settings.seconds).context("--seconds")?;
    let most = settings.connections.iter().copied().max().unwrap_or(1);
    let (server, mut connections) = start(contender, programs, hello, cores, settings, most)?;
    connections.run(most, time / 4, &server)?; // warm-up
    settings.connections.iter().map(|&some| connections.run(some, time, &server)).collect()
}

fn start(
    contender: Contender,
    programs: &Programs,
    hello: usize,
    cores: &Cores,
    settings: &Settings,
    connections: usize,
) -> Result<(Process, Connections)> {
    cores.as_server()?;
    let server = Process::start(&mut programs.command(contender, hello))?;
    cores.as_generator()?;
    let connections = Connections::open(server.address, contender.dialect(), settings.size, connections)?;
    Ok((server, connections))
}

/// Shows on a terminal what is going on, in one line that is written over.
fn progress(text: &str) {
    if io::stderr().is_terminal() {
        eprint!("\r{text:<40}\r");
    }
}
