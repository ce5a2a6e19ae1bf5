//! `papertape tape stats`: numbers about a tape.

use std::collections::BTreeMap;
use std::time::Duration;

use papertape::wire::tape::Direction;
use papertape_tape::{Call, Latency, MethodStats, Outcome, Peer, Recording, Sizes};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::source::Source;
use crate::args::{Output, Stats};
use crate::exit::Failure;
use crate::print::text::{counted, grouped, safe};
use crate::print::{self, Look, style};

/// How many requests without a response, and frames that are not messages, are named.
const MOST_NAMED: usize = 10;

pub(crate) fn run(args: &Stats) -> Result<(), Failure> {
    let mut source = Source::open(&args.tape)?;
    let mut recording = Recording::new();
    while let Some(line) = source.next_line()? {
        if let Some(record) = line.record() {
            recording.push(line.offset, record);
        }
    }
    recording.finish();
    let finished = source.finish();
    if let Err(Failure::Tape(_)) = finished {
        return finished;
    }
    match args.output {
        Output::Text => print::out(text(&recording, Look::of_stdout()))?,
        Output::Json => print::document(&document(&recording))?,
    }
    finished
}

/// The requests that have no response, and were not cancelled.
fn unanswered(recording: &Recording) -> impl Iterator<Item = &Call> {
    recording.calls().iter().filter(|call| call.outcome == Outcome::None)
}

fn events(recording: &Recording) -> BTreeMap<&str, u64> {
    let mut events = BTreeMap::new();
    for event in recording.events() {
        *events.entry(&*event.name).or_default() += 1;
    }
    events
}

fn duration(recording: &Recording) -> Option<Duration> {
    let totals = recording.totals();
    totals.last_time?.checked_sub(totals.first_time?)
}

fn text(recording: &Recording, look: Look) -> String {
    let totals = recording.totals();
    let mut lines = Vec::new();
    let mut line = |name: &str, value: String| {
        lines.push(format!("{}  {value}\n", look.paint(style::DIM, &format!("{name:<10}"))));
    };
    line("duration", duration(recording).map_or_else(|| "not recorded".to_owned(), time));
    if let Some(revision) = recording.revision() {
        line("revision", safe(revision));
    }
    for (name, peer) in [("client", recording.client()), ("server", recording.server())] {
        if let Some(Peer { name: own, version, .. }) = peer {
            line(name, safe(&format!("{own} {version}")).trim_end().to_owned());
        }
    }
    let frames =
        |frames: u64, bytes: u64| format!("{}, {}", counted(frames, "frame"), counted(bytes, "byte"));
    line("to server", frames(totals.frames_to_server, totals.bytes_to_server));
    line("to client", frames(totals.frames_to_client, totals.bytes_to_client));
    if totals.heads > 0 {
        line("HTTP", counted(totals.heads, "head"));
    }
    if totals.stderr_bytes > 0 {
        let (lines, bytes) = (counted(totals.stderr_lines, "line"), counted(totals.stderr_bytes, "byte"));
        line("stderr", format!("{lines}, {bytes}"));
    }
    if !recording.events().is_empty() {
        let names: Vec<String> = events(recording)
            .into_iter()
            .map(|(name, count)| if count == 1 { name.to_owned() } else { format!("{name} ({count})") })
            .collect();
        line("events", names.join(", "));
        if !recording.has_ended() {
            line("ended", "no: the tape was cut, or is still being written".to_owned());
        }
    }
    let mut text: String = lines.concat();
    let rows = recording.by_method();
    if !rows.is_empty() {
        text += "\n";
        text += &table(&rows, look);
    }
    text += &problems(recording, look);
    text
}

/// What has no response, and what is not a message.
fn problems(recording: &Recording, look: Look) -> String {
    let mut text = String::new();
    let waiting: Vec<&Call> = unanswered(recording).collect();
    if !waiting.is_empty() {
        let title = format!("{} without a response", counted(waiting.len(), "request"));
        text += &format!("\n{}\n", look.paint(style::HEADING, &title));
        for call in waiting.iter().take(MOST_NAMED) {
            let name = call.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
            let arrow = arrow(call.direction);
            text += &format!(
                "  {arrow} {} {}\n",
                call.request.first,
                safe(&format!("{}{name}, id {}", call.method, call.id))
            );
        }
        text += &more(waiting.len());
    }
    let strays = recording.totals().strays;
    if strays > 0 {
        let title = match strays {
            1 => "1 frame that is not a message, or is a response to no request".to_owned(),
            _ => format!("{} that are not messages, or responses to no request", counted(strays, "frame")),
        };
        text += &format!("\n{}\n", look.paint(style::HEADING, &title));
        for stray in recording.strays().iter().take(MOST_NAMED) {
            let arrow = arrow(stray.direction);
            text += &format!("  {arrow} {} {}\n", stray.place.first, safe(&stray.problem));
        }
        text += &more(usize::try_from(strays).unwrap_or(usize::MAX));
    }
    text
}

fn more(count: usize) -> String {
    match count.saturating_sub(MOST_NAMED) {
        0 => String::new(),
        rest => format!("  and {} more\n", grouped(rest)),
    }
}

fn arrow(direction: Direction) -> &'static str {
    match direction {
        Direction::ToServer => "→",
        Direction::ToClient => "←",
    }
}

const COLUMNS: [&str; 9] = ["", "count", "errors", "no resp.", "p50", "p95", "max", "request", "response"];

fn table(rows: &[MethodStats], look: Look) -> String {
    let mut cells: Vec<Vec<String>> = vec![COLUMNS.map(str::to_owned).to_vec()];
    for row in rows {
        let name = row.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
        let latency = |of: fn(&Latency) -> Duration| {
            row.latency.as_ref().map_or_else(|| "-".to_owned(), |latency| time(of(latency)))
        };
        let count = |number: u64| if number == 0 { "-".to_owned() } else { grouped(number) };
        cells.push(vec![
            safe(&format!("{} {}{name}", arrow(row.direction), row.method)).replace('\n', " "),
            grouped(row.count),
            count(row.errors),
            count(row.unanswered + row.cancelled),
            latency(|latency| latency.p50),
            latency(|latency| latency.p95),
            latency(|latency| latency.max),
            mean(row.request_bytes, row.count),
            mean(row.response_bytes, row.count - row.unanswered - row.cancelled),
        ]);
    }
    let width = |column: usize| cells.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
    let widths: Vec<usize> = (0..COLUMNS.len()).map(|column| width(column).unwrap_or_default()).collect();
    let mut text = String::new();
    for (index, row) in cells.iter().enumerate() {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let space = " ".repeat(width - cell.width());
            let is_bad = index > 0 && column == 2 && cell != "-";
            let cell = match (index, column) {
                (0, _) => look.paint(style::DIM, cell),
                (_, 0) => look.paint(style::NAME, cell),
                _ if is_bad => look.paint(style::WRONG, cell),
                _ => cell.clone(),
            };
            line += &if column == 0 { format!("{cell}{space}") } else { format!("  {space}{cell}") };
        }
        text += line.trim_end();
        text += "\n";
    }
    text + &look.paint(style::DIM, "request and response: bytes on average") + "\n"
}

fn mean(sizes: Sizes, count: u64) -> String {
    sizes.total.checked_div(count).map_or_else(|| "-".to_owned(), |mean| format!("{} B", grouped(mean)))
}

/// "412 µs", "3.1 ms", "12.50 s".
fn time(duration: Duration) -> String {
    match duration.as_micros() {
        micros @ 0..=999 => format!("{micros} µs"),
        1_000..=999_999 => format!("{:.1} ms", duration.as_secs_f64() * 1000.0),
        _ => format!("{:.2} s", duration.as_secs_f64()),
    }
}

fn document(recording: &Recording) -> Value {
    let totals = recording.totals();
    let peer = |peer: Option<&Peer>| peer.map(|peer| json!({"name": peer.name, "version": peer.version}));
    let seconds = |duration: Duration| duration.as_secs_f64();
    let direction = |direction: Direction| match direction {
        Direction::ToServer => "to-server",
        Direction::ToClient => "to-client",
    };
    let methods: Vec<Value> = recording
        .by_method()
        .iter()
        .map(|row| {
            json!({
                "direction": direction(row.direction),
                "method": &*row.method,
                "name": row.name.as_deref(),
                "count": row.count,
                "errors": row.errors,
                "cancelled": row.cancelled,
                "unanswered": row.unanswered,
                "latency": row.latency.map(|latency| json!({
                    "p50": seconds(latency.p50), "p95": seconds(latency.p95), "max": seconds(latency.max),
                })),
                "request_bytes": {"total": row.request_bytes.total, "max": row.request_bytes.max},
                "response_bytes": {"total": row.response_bytes.total, "max": row.response_bytes.max},
            })
        })
        .collect();
    let waiting: Vec<Value> = unanswered(recording)
        .map(|call| {
            json!({
                "number": call.request.first,
                "direction": direction(call.direction),
                "method": &*call.method,
                "name": call.name.as_deref(),
                "id": call.id,
            })
        })
        .collect();
    let strays: Vec<Value> = recording
        .strays()
        .iter()
        .map(|stray| {
            json!({
                "number": stray.place.first,
                "direction": direction(stray.direction),
                "problem": stray.problem,
            })
        })
        .collect();
    json!({
        "duration": duration(recording).map(seconds),
        "revision": recording.revision(),
        "client": peer(recording.client()),
        "server": peer(recording.server()),
        "records": totals.records,
        "frames": {"to_server": totals.frames_to_server, "to_client": totals.frames_to_client},
        "bytes": {"to_server": totals.bytes_to_server, "to_client": totals.bytes_to_client},
        "http_heads": totals.heads,
        "stderr": {"lines": totals.stderr_lines, "bytes": totals.stderr_bytes},
        "events": events(recording),
        "ended": recording.has_ended(),
        "methods": methods,
        "unanswered": waiting,
        "stray_frames": totals.strays,
        "strays": strays,
    })
}
