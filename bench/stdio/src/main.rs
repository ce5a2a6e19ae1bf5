//! The stdio race: starts each echo server as a child, loads it over its pipes, prints how they compare.

mod load;
mod report;
mod server;

use std::{
    io::{self, IsTerminal},
    path::PathBuf,
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, ValueEnum};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::{
    load::Load,
    report::Round,
    server::{Contender, Running},
};

/// Races stdio MCP echo servers against each other, in one run.
///
/// Every round starts every server afresh, one after the other, and measures: the time from spawn to the first
/// reply; latency and CPU with one call at a time; calls per second and CPU with a window of calls in flight; peak
/// memory. Figures are medians over the rounds. Every reply is checked; a wrong one ends the race.
#[derive(Parser, Debug)]
#[command(name = "stdio-race")]
struct Args {
    /// Servers to race, separated by commas [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<Contender>,

    /// The papertape binary [default: the one beside this program, i.e. target/dist/papertape]
    #[arg(long, value_name = "PATH")]
    papertape: Option<PathBuf>,

    #[command(flatten)]
    settings: Settings,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

#[derive(clap::Args, serde::Serialize, Debug)]
struct Settings {
    /// Protocol revision; 2026-07-28 has no handshake but sends `_meta` with every call
    #[arg(long, default_value = "2025-11-25", value_parser = REVISIONS)]
    revision: String,

    /// Length of the echoed text
    #[arg(long, default_value_t = 16, value_name = "BYTES")]
    size: usize,

    /// Calls in flight in the pipelined part
    #[arg(long, default_value_t = 64, value_name = "CALLS")]
    window: usize,

    /// Rounds; the figures are medians over them
    #[arg(long, default_value_t = 7)]
    rounds: usize,

    /// Length of each of the two timed parts of a round
    #[arg(long, default_value_t = 0.5)]
    seconds: f64,

    /// Where server and load generator run
    #[arg(long, value_enum, default_value_t = Cores::One)]
    cores: Cores,
}

#[derive(ValueEnum, serde::Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
enum Cores {
    /// All on one core: what the work itself costs, and steady
    One,
    /// Where the kernel puts them: as in life, with the cost of waking the other core
    Free,
}

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Output {
    /// Markdown, for people
    Table,
    /// One object with every round, for scripts
    Json,
}

fn main() -> Result<()> {
    let Args { only, papertape, settings, output } = Args::parse();
    if cfg!(debug_assertions) {
        bail!("a debug build measures nothing: cargo run --profile dist -p stdio-race");
    }
    ensure!(settings.rounds > 0 && settings.window > 0, "--rounds and --window must be at least 1");

    if settings.cores == Cores::One {
        pin_to_one_core()?;
    }

    let contenders = if only.is_empty() { Contender::value_variants() } else { &only };
    let mut commands = Vec::new();
    let mut results = Vec::new();
    for (place, contender) in contenders.iter().enumerate() {
        commands.push((place, contender.command(papertape.as_deref())?));
        results.push((*contender, Vec::new()));
    }

    for round in 1..=settings.rounds {
        for (place, command) in &mut commands {
            let (contender, rounds) = &mut results[*place];
            progress(&format!("round {round}/{}: {}", settings.rounds, contender.name()));
            rounds.push(
                race(*contender, command, &settings)
                    .with_context(|| format!("{} in round {round}", contender.name()))?,
            );
        }
        commands.rotate_left(1); // the first place rotates
    }
    progress("");

    match output {
        Output::Table => print!("{}", report::table(&settings, &results)),
        Output::Json => println!("{:#}", report::json(&settings, &results)),
    }
    Ok(())
}

/// One round of one server: start, one call at a time, pipelined, stop.
fn race(contender: Contender, command: &mut Command, settings: &Settings) -> Result<Round> {
    let time = Duration::try_from_secs_f64(settings.seconds).context("--seconds")?;
    let load = Load::new(contender.dialect(), &settings.revision, settings.size);
    let mut server = Running::start(command, load)?;
    server.run(settings.window, time / 10)?; // warm-up
    let single = server.run(1, time)?;
    let piped = server.run(settings.window, time)?;
    let round = Round {
        p50_us: single.latency_us(0.50),
        p99_us: single.latency_us(0.99),
        single_cpu_us: single.cpu_us_per_call(),
        piped_per_s: piped.per_second(),
        piped_cpu_us: piped.cpu_us_per_call(),
        cold_start_ms: server.cold_start.as_secs_f64() * 1e3,
        peak_rss_mb: server.peak_rss_mb()?,
    };
    server.stop()?;
    Ok(round)
}

/// Keeps this process, and so its children, on the last core it may use.
fn pin_to_one_core() -> Result<()> {
    let allowed = sched_getaffinity(None)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|&core| allowed.is_set(core)).context("no core")?;
    let mut one = CpuSet::new();
    one.set(last);
    Ok(sched_setaffinity(None, &one)?)
}

/// Shows on a terminal what is going on, in one line that is written over.
fn progress(text: &str) {
    if io::stderr().is_terminal() {
        eprint!("\r{text:<40}\r");
    }
}
