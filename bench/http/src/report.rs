//! Rounds to medians, medians to tables.

use std::{fmt::Write, fs};

use serde_json::{Value, json};

use crate::{Settings, Where, contender::Contender, load::Part};

/// Each server with its rounds, and in each round a part for each number of connections.
pub(crate) type Results = [(Contender, Vec<Vec<Part>>)];

/// The goals: times this server in calls per second, at least.
const GOALS: [(Contender, Contender, f64); 3] = [
    (Contender::Papertape, Contender::RmcpStateless, 2.0),
    (Contender::PapertapeSession, Contender::RmcpSession, 2.0),
    (Contender::Papertape, Contender::HyperHello, 0.8),
];

fn median(rounds: &[Vec<Part>], part: usize) -> Part {
    let of = |figure: fn(&Part) -> f64| {
        let mut figures: Vec<f64> = rounds.iter().filter_map(|parts| parts.get(part)).map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
    };
    Part {
        per_second: of(|p| p.per_second),
        cpu_us: of(|p| p.cpu_us),
        p50_us: of(|p| p.p50_us),
        p99_us: of(|p| p.p99_us),
        generator_us: of(|p| p.generator_us),
        generator_share: of(|p| p.generator_share),
    }
}

/// A Markdown table for each number of connections, and how the goals are met.
pub(crate) fn table(settings: &Settings, answer: usize, results: &Results) -> String {
    let Settings { connections, size, rounds, seconds, cores } = settings;
    let cores = match cores {
        Where::Apart => "the load generator on a core of its own",
        Where::Free => "cores as the kernel likes",
    };
    let load = load_average();
    let mut out = format!(
        "HTTP echo of {size} bytes (papertape's answer has {answer}), {cores}; medians of {rounds} rounds of {seconds} s each; \
         load average at the end: {load}\n"
    );
    for (part, number) in connections.iter().enumerate() {
        let of = |wanted: Contender| {
            results.iter().find(|(contender, _)| *contender == wanted).map(|(_, rounds)| median(rounds, part))
        };
        let _ = write!(
            out,
            "\n| {number} connection(s) | calls/s | CPU/call | p50 | p99 | times rmcp-stateless | of hyper-hello | \
             generator CPU/call | of its core |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        );
        for (contender, rounds) in results {
            let m = median(rounds, part);
            let times = |base: Option<Part>| base.map_or(f64::NAN, |base| m.per_second / base.per_second);
            let _ = writeln!(
                out,
                "| {} | {:.0} | {:.1} us | {:.0} us | {:.0} us | {:.2} | {:.2} | {:.1} us | {:.0} % |",
                contender.name(),
                m.per_second,
                m.cpu_us,
                m.p50_us,
                m.p99_us,
                times(of(Contender::RmcpStateless)),
                times(of(Contender::HyperHello)),
                m.generator_us,
                m.generator_share * 100.0,
            );
        }
        out.push('\n');
        for (ours, theirs, goal) in GOALS {
            let (Some(a), Some(b)) = (of(ours), of(theirs)) else { continue };
            let times = a.per_second / b.per_second;
            let met = if times >= goal { "met" } else { "missed" };
            let _ = writeln!(
                out,
                "- {} makes {times:.2} times the calls of {} (goal {goal}: {met}) at {:.2} times the CPU",
                ours.name(),
                theirs.name(),
                a.cpu_us / b.cpu_us,
            );
        }
    }
    out
}

/// Everything, every round included.
pub(crate) fn json(settings: &Settings, results: &Results) -> Value {
    let servers: Vec<Value> = results
        .iter()
        .map(|(contender, rounds)| json!({"name": contender.name(), "rounds": rounds}))
        .collect();
    json!({"settings": settings, "load_average": load_average(), "servers": servers})
}

/// How busy the machine is: one minute's average, as the kernel tells it.
fn load_average() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}
