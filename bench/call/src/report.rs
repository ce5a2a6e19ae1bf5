//! Rounds to a table.

use std::{fmt::Write, fs};

use serde_json::{Value, json};

use crate::{
    client::{Cost, Round},
    server::Server,
};

/// What `papertape call` may add to the server's own time.
const GOAL_MS: f64 = 20.0;

pub(crate) struct Report {
    pub(crate) version: String,
    pub(crate) rounds: usize,
    pub(crate) load_at_start: String,
    /// Starting and ending a process that does nothing.
    pub(crate) idle_ms: Vec<f64>,
    pub(crate) results: Vec<(Server, Vec<Round>)>,
}

impl Report {
    /// Markdown.
    pub(crate) fn table(&self) -> String {
        let Self { version, rounds, load_at_start, idle_ms, results } = self;
        let mut out = format!(
            "one tool call from the command line; {version}; {rounds} rounds; \
             load average {load_at_start} at the start, {} at the end; \
             a process that does nothing: {:.1} ms\n\n\
             | server | client | best | median | p90 | CPU | beyond its start | beyond the pipe |\n\
             |---|---|--:|--:|--:|--:|--:|--:|\n",
            load_average(),
            median(idle_ms),
        );
        for (server, rounds) in results {
            let start: Vec<f64> = rounds.iter().map(|r| r.start_ms).collect();
            let (best, half, most) = (at(&start, 0.0), median(&start), at(&start, 0.9));
            let _ = writeln!(
                out,
                "| {} | (its start) | {best:.1} ms | {half:.1} ms | {most:.1} ms | | | |",
                server.name()
            );
            out += &row("a bare pipe", rounds, |r| Some(r.pipe), "");
            for (client, cost) in CLIENTS {
                let beyond = beyond_pipe(rounds, cost);
                if !beyond.is_empty() {
                    let (low, high) = bounds(&beyond);
                    let beyond = format!("{:.1} ({low:.1} to {high:.1}) ms", median(&beyond));
                    out += &row(client, rounds, cost, &beyond);
                }
            }
        }

        out.push('\n');
        for (server, rounds) in results {
            out += &verdict(*server, rounds);
        }
        out
    }

    /// Everything, every round included.
    pub(crate) fn json(&self) -> Value {
        let Self { version, load_at_start, idle_ms, results, .. } = self;
        let servers: Vec<Value> =
            results.iter().map(|(server, rounds)| json!({"name": server.name(), "rounds": rounds})).collect();
        let load = json!({"start": load_at_start, "end": load_average()});
        json!({"version": version, "load_average": load, "idle_ms": idle_ms, "servers": servers})
    }
}

const CLIENTS: [(&str, CostOf); 2] =
    [("`papertape call`", |r| Some(r.papertape)), ("MCP Inspector", |r| r.inspector)];

/// What a client's call took in a round, if it made one.
type CostOf = fn(&Round) -> Option<Cost>;

/// One client's calls of one server.
fn row(client: &str, rounds: &[Round], cost: CostOf, beyond_pipe: &str) -> String {
    let of = |figure: fn(&Round, Cost) -> f64| -> Vec<f64> {
        rounds.iter().filter_map(|round| Some(figure(round, cost(round)?))).collect()
    };
    let wall = of(|_, cost| cost.wall_ms);
    let figures = [
        at(&wall, 0.0),
        median(&wall),
        at(&wall, 0.9),
        median(&of(|_, cost| cost.cpu_ms)),
        median(&of(|round, cost| cost.wall_ms - round.start_ms)),
    ];
    let figures = figures.map(|figure| format!("{figure:.1} ms")).join(" | ");
    format!("| | {client} | {figures} | {beyond_pipe} |\n")
}

/// What a client added to the server's own time, round by round.
fn beyond_pipe(rounds: &[Round], cost: CostOf) -> Vec<f64> {
    rounds.iter().filter_map(|round| Some(cost(round)?.wall_ms - round.pipe.wall_ms)).collect()
}

/// Is the goal met, and what of the Inspector?
fn verdict(server: Server, rounds: &[Round]) -> String {
    let added = beyond_pipe(rounds, |r| Some(r.papertape));
    let met = match bounds(&added) {
        (_, high) if high < GOAL_MS => "met",
        (low, _) if low >= GOAL_MS => "NOT MET",
        _ => "cannot be told, so much do the rounds differ",
    };
    let (name, added) = (server.name(), median(&added));
    let mut out = format!("- {name}: `papertape call` adds {added:.1} ms (goal of {GOAL_MS} ms: {met})");
    let ratios: Vec<f64> =
        rounds.iter().filter_map(|r| Some(r.inspector?.wall_ms / r.papertape.wall_ms)).collect();
    if !ratios.is_empty() {
        let _ = write!(out, "; the Inspector takes {:.1} times as long", median(&ratios));
    }
    out + "\n"
}

fn median(figures: &[f64]) -> f64 {
    at(figures, 0.5)
}

/// The figure that a `share` of them stays at or under; the least of them for none.
fn at(figures: &[f64], share: f64) -> f64 {
    nth(figures, (figures.len() as f64 * share).ceil() as usize)
}

/// What the true median lies between, 19 times of 20. Needs six figures or more.
fn bounds(figures: &[f64]) -> (f64, f64) {
    let count = figures.len() as f64;
    let rank = ((count - 1.96 * count.sqrt()) / 2.0) as usize;
    (nth(figures, rank), nth(figures, figures.len() + 1 - rank.max(1)))
}

/// The smallest figure but `rank - 1`.
fn nth(figures: &[f64], rank: usize) -> f64 {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    figures.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// How busy the machine is: one minute's average, as the kernel tells it.
pub(crate) fn load_average() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}
