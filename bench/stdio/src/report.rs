//! Rounds to medians, medians to tables.

use std::{fmt::Write, fs};

use serde::Serialize;
use serde_json::{Value, json};

use crate::{Cores, Settings, server::Contender};

/// What one round of one server gave; also the medians of many rounds.
#[derive(Serialize, Clone, Debug)]
pub(crate) struct Round {
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) single_cpu_us: f64,
    pub(crate) piped_per_s: f64,
    pub(crate) piped_cpu_us: f64,
    pub(crate) cold_start_ms: f64,
    pub(crate) peak_rss_mb: f64,
}

impl Round {
    fn median(rounds: &[Round]) -> Round {
        let of = |figure: fn(&Round) -> f64| {
            let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
            figures.sort_by(f64::total_cmp);
            figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
        };
        Round {
            p50_us: of(|r| r.p50_us),
            p99_us: of(|r| r.p99_us),
            single_cpu_us: of(|r| r.single_cpu_us),
            piped_per_s: of(|r| r.piped_per_s),
            piped_cpu_us: of(|r| r.piped_cpu_us),
            cold_start_ms: of(|r| r.cold_start_ms),
            peak_rss_mb: of(|r| r.peak_rss_mb),
        }
    }
}

/// Each server with its rounds.
pub(crate) type Results = [(Contender, Vec<Round>)];

fn median_of(results: &Results, wanted: Contender) -> Option<Round> {
    results.iter().find(|(contender, _)| *contender == wanted).map(|(_, rounds)| Round::median(rounds))
}

/// Two Markdown tables: the medians, and the ratios to the two servers that everything is measured against.
pub(crate) fn table(settings: &Settings, results: &Results) -> String {
    let Settings { revision, size, window, rounds, seconds, cores } = settings;
    let cores = match cores {
        Cores::Free => "cores as the kernel likes",
        Cores::One => "all on one core",
    };
    let load = load_average();
    let mut out = format!(
        "stdio echo of {size} bytes, revision {revision}, {window} in flight when pipelined, {cores}; \
         medians of {rounds} rounds of {seconds} s each; load average at the end: {load}\n\n\
         | server | latency p50 | p99 | CPU/call | pipelined/s | CPU/call | MB/s | cold start | peak RSS |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n"
    );
    for (contender, rounds) in results {
        let m = Round::median(rounds);
        let megabytes = m.piped_per_s * *size as f64 / 1e6;
        let _ = writeln!(
            out,
            "| {} | {:.1} us | {:.1} us | {:.2} us | {:.0} | {:.2} us | {megabytes:.1} | {:.1} ms | {:.1} MB |",
            contender.name(),
            m.p50_us,
            m.p99_us,
            m.single_cpu_us,
            m.piped_per_s,
            m.piped_cpu_us,
            m.cold_start_ms,
            m.peak_rss_mb,
        );
    }
    for reference in [Contender::RmcpBest, Contender::FloorSerde] {
        let Some(base) = median_of(results, reference) else { continue };
        let _ = write!(
            out,
            "\n| times {} | latency p50 | CPU/call | pipelined/s | CPU/call pipelined |\n|---|--:|--:|--:|--:|\n",
            reference.name()
        );
        for (contender, rounds) in results.iter().filter(|(contender, _)| *contender != reference) {
            let m = Round::median(rounds);
            let _ = writeln!(
                out,
                "| {} | {:.2} | {:.2} | {:.2} | {:.2} |",
                contender.name(),
                m.p50_us / base.p50_us,
                m.single_cpu_us / base.single_cpu_us,
                m.piped_per_s / base.piped_per_s,
                m.piped_cpu_us / base.piped_cpu_us,
            );
        }
    }
    out
}

/// Everything, every round included.
pub(crate) fn json(settings: &Settings, results: &Results) -> Value {
    let servers: Vec<Value> = results
        .iter()
        .map(|(contender, rounds)| {
            json!({"name": contender.name(), "median": Round::median(rounds), "rounds": rounds})
        })
        .collect();
    json!({"settings": settings, "load_average": load_average(), "servers": servers})
}

/// How busy the machine is: one minute's average, as the kernel tells it.
fn load_average() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}
