//! The race of those who do nothing: thousands of `subscriptions/listen` streams, and what they cost.

mod streams;

use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail, ensure};
use clap::Parser;
use http_race::process::Process;
use rustix::process::Signal;

use crate::streams::Streams;

/// What a stream may cost, in bytes.
const GOAL: f64 = 16.0 * 1024.0;
/// How long a server may take to notice that streams were closed.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Opens many `subscriptions/listen` streams to servers of papertape and rmcp, one after the other.
///
/// Measures the server's memory per stream; how long it takes until a change of its tools has reached all of them; and its
/// memory and descriptors after they have closed, and after as many have been opened and closed again.
#[derive(Parser, Debug)]
#[command(name = "idle-race")]
struct Args {
    /// How many streams
    #[arg(long, default_value_t = 5000)]
    streams: usize,
}

/// What was found of one server.
struct Found {
    name: &'static str,
    start: u64,
    open: u64,
    notified: Duration,
    after_notified: u64,
    closed: u64,
    descriptors: (usize, usize),
    again: u64,
    closed_again: u64,
}

fn main() -> Result<()> {
    let Args { streams } = Args::parse();
    if cfg!(debug_assertions) {
        bail!("a debug build measures nothing: cargo run --profile dist -p idle-race");
    }
    let beside = std::env::current_exe()?;
    let mut all = Vec::new();
    for (name, program) in [("papertape", "changing"), ("rmcp", "rmcp-changing")] {
        let path = beside.with_file_name(program);
        ensure!(
            path.is_file(),
            "no {}; `cargo build --profile dist -p changing -p peers` builds it",
            path.display()
        );
        all.push(measure(name, &mut Command::new(path), streams)?);
    }
    report(streams, &all);
    Ok(())
}

fn measure(name: &'static str, command: &mut Command, number: usize) -> Result<Found> {
    let server = Process::start(command)?;
    // The first stream makes what is made once.
    Streams::open(server.address, 1)?.close();
    settle(&server)?;
    let (start, before) = (server.rss()?, server.descriptors()?);

    let mut streams = Streams::open(server.address, number)?;
    let open = server.rss()?;
    let told = Instant::now();
    server.signal(Signal::USR1)?;
    streams.wait_for("notifications/tools/list_changed")?;
    let notified = told.elapsed();
    let after_notified = server.rss()?;
    streams.close();
    let after = settle(&server)?;
    let closed = server.rss()?;

    let streams = Streams::open(server.address, number)?;
    let again = server.rss()?;
    streams.close();
    settle(&server)?;
    let closed_again = server.rss()?;
    let descriptors = (before, after);
    Ok(Found { name, start, open, notified, after_notified, closed, descriptors, again, closed_again })
}

/// Waits until the server has as few descriptors as it will have, and says how many.
fn settle(server: &Process) -> Result<usize> {
    let (mut fewest, mut since) = (server.descriptors()?, Instant::now());
    let end = since + TIMEOUT;
    while since.elapsed() < Duration::from_millis(500) && Instant::now() < end {
        thread::sleep(Duration::from_millis(20)); // a server does not announce that it has closed its descriptors
        let now = server.descriptors()?;
        if now < fewest {
            (fewest, since) = (now, Instant::now());
        }
    }
    Ok(fewest)
}

fn report(streams: usize, all: &[Found]) {
    println!("{streams} idle `subscriptions/listen` streams\n");
    println!(
        "| server | RSS before | with streams | per stream | all told in | per stream after it | RSS after | descriptors before, \
         after | again: per stream | RSS after |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / 1_048_576.0);
    let each = |now: u64, before: u64| now.saturating_sub(before) as f64 / streams as f64;
    for it in all {
        println!(
            "| {} | {} | {} | {:.1} KiB | {:.0} ms | {:.1} KiB | {} | {}, {} | {:.1} KiB | {} |",
            it.name,
            mib(it.start),
            mib(it.open),
            each(it.open, it.start) / 1024.0,
            it.notified.as_secs_f64() * 1e3,
            each(it.after_notified, it.start) / 1024.0,
            mib(it.closed),
            it.descriptors.0,
            it.descriptors.1,
            each(it.again, it.start) / 1024.0,
            mib(it.closed_again),
        );
    }
    if let Some(ours) = all.first() {
        let each = each(ours.open.max(ours.after_notified), ours.start);
        let met = if each <= GOAL { "met" } else { "missed" };
        println!("\n- {:.1} KiB per stream at most (goal of {:.0} KiB: {met})", each / 1024.0, GOAL / 1024.0);
    }
}
