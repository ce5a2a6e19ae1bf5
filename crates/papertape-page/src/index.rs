//! Records to rows: what the list shows, in the order in which it was complete, and what was found wrong.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use papertape::wire::tape::{Content, Direction, Record, escaped};
use papertape_check::Code;
use papertape_tape::{Change, Outcome, Place, Recording};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::finding::{Finding, of_stray};
use crate::row::{Kind, Lane, Row};
use crate::segments::content;

/// How much of an event, a head or stderr the list shows, in bytes.
const LONGEST: usize = 200;
/// How many findings are kept.
const MOST_FINDINGS: usize = 1_000;
/// Requests that stay open by design.
const SUBSCRIPTION: &str = "subscriptions/listen";

/// A client that leaves earlier may not have waited for a response, as `papertape tape check` has it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A tape, without its bodies.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) recording: Recording,
    pub(crate) rows: Vec<Row>,
    pub(crate) findings: Vec<Finding>,
    /// The first row of each number.
    by_number: HashMap<u64, usize>,
    /// The rows of each request and its response.
    calls: Vec<(usize, Option<usize>)>,
    pub(crate) methods: HashMap<Arc<str>, u64>,
    pub(crate) errors: u64,
    pub(crate) lost: u64,
    pub(crate) last_record: u64,
    /// The longest time between a request and its response, in seconds.
    pub(crate) slowest: f64,
    /// When the tape began, in seconds of Unix time.
    pub(crate) started: Option<u64>,
    /// What was recorded: a command line or a URL.
    pub(crate) subject: Option<String>,
    /// Nothing more is added: requests without a response have none.
    pub(crate) ended: bool,
    /// When the client closed its side, or a signal was sent: the server may exit.
    left: Option<Duration>,
}

#[derive(Deserialize)]
struct EventDetail {
    command: Option<Vec<String>>,
    url: Option<String>,
    #[serde(rename = "of")]
    stream: Option<String>,
    frames: Option<u64>,
    status: Option<i64>,
    signal: Option<Value>,
}

impl Index {
    pub(crate) fn push(&mut self, offset: u64, record: &Record<'_>) {
        self.last_record = record.number;
        let changes = self.recording.push(offset, record);
        match &record.content {
            Content::Head(direction, bytes) => {
                let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
                self.add_record(offset, record, (*direction).into(), Kind::Head(excerpt(first)));
            }
            Content::Stderr(bytes) => {
                self.add_record(offset, record, Lane::Stderr, Kind::Stderr(excerpt(bytes)));
            }
            Content::Event { name, detail } => self.add_event(offset, record, name, detail),
            Content::Frame(..) => {}
        }
        self.apply(changes, content(record).unwrap_or_default());
    }

    /// The unix time in the comment at the beginning.
    pub(crate) fn comment(&mut self, text: &str) {
        if self.started.is_none()
            && let Some((_, time)) = text.split_once("unix time ")
        {
            self.started =
                time.split(|c: char| !c.is_ascii_digit()).next().and_then(|time| time.parse().ok());
        }
    }

    /// Nothing more is read: what is incomplete is shown. Of a `complete` recording it is known which requests were not answered;
    /// one that was cut may have lost their responses.
    pub(crate) fn finish(&mut self, complete: bool) {
        if self.ended {
            return;
        }
        let changes = self.recording.finish();
        self.apply(changes, &[]);
        if !complete {
            return;
        }
        self.ended = true;
        let unanswered: Vec<_> = self
            .recording
            .calls()
            .iter()
            .zip(&self.calls)
            .filter(|(call, _)| call.outcome == Outcome::None && &*call.method != SUBSCRIPTION)
            .filter(|(call, _)| {
                call.direction != Direction::ToServer || self.was_waited_for(call.request.time)
            })
            .map(|(call, (row, _))| (*row, call.direction))
            .collect();
        for (row, direction) in unanswered {
            self.errors += 1;
            if direction == Direction::ToServer {
                self.find(row, Code::find("PT0209"), "no response to this request is on the tape");
            }
        }
    }

    fn apply(&mut self, changes: Vec<Change>, bytes: &[u8]) {
        for change in changes {
            match change {
                Change::Request(index) => self.add_request(index),
                Change::Response(index) => self.add_response(index),
                Change::Notification(index) => {
                    let Some(notification) = self.recording.notifications().get(index) else { continue };
                    let (place, lane, exchange) =
                        (notification.place, notification.direction.into(), notification.exchange);
                    let method = Arc::clone(&notification.method);
                    self.count_method(method);
                    self.add(place, lane, exchange, Kind::Notification(index));
                }
                Change::Stray(index) => {
                    let Some(stray) = self.recording.strays().get(index).cloned() else { continue };
                    let row = self.add(
                        stray.place,
                        stray.direction.into(),
                        stray.exchange,
                        Kind::Stray(index, excerpt(bytes)),
                    );
                    self.errors += 1;
                    if stray.direction == Direction::ToClient && stray.exchange.is_none() {
                        self.find(row, of_stray(&stray.problem, bytes), &stray.problem);
                    }
                }
                // Its row is there already.
                Change::Event(_) => {}
            }
        }
    }

    fn add(&mut self, place: Place, lane: Lane, exchange: Option<u64>, kind: Kind) -> usize {
        let row = self.rows.len();
        self.by_number.entry(place.first).or_insert(row);
        self.rows.push(Row { place, lane, exchange, kind, findings: 0 });
        row
    }

    fn add_record(&mut self, offset: u64, record: &Record<'_>, lane: Lane, kind: Kind) -> usize {
        let size = content(record).unwrap_or_default().len() as u64;
        let place =
            Place { first: record.number, last: record.number, offset, within: 0, size, time: record.time };
        self.add(place, lane, record.exchange, kind)
    }

    fn add_event(&mut self, offset: u64, record: &Record<'_>, name: &str, detail: &str) {
        let text = if detail == "{}" { name.to_owned() } else { format!("{name} {detail}") };
        let row = self.add_record(offset, record, Lane::Event, Kind::Event(excerpt(text.as_bytes())));
        let Ok(detail) = serde_json::from_str::<EventDetail>(detail) else { return };
        match name {
            "start" => {
                let command = detail.command.map(|words| words.join(" "));
                self.subject = command.or(detail.url).or(self.subject.take());
                self.left = None;
            }
            "eof" if detail.stream.as_deref() == Some("client") => self.leave(record.time),
            "signal" => self.leave(record.time),
            "lost" => self.lost += detail.frames.unwrap_or_default(),
            "failed" => self.errors += 1,
            "exit" if self.left.is_none() => {
                self.errors += 1;
                self.find(row, Code::find("PT0208"), "the server has exited while its client was connected");
            }
            "exit" if detail.status.is_some_and(|status| status != 0) || detail.signal.is_some() => {
                self.find(row, Code::find("PT0705"), "the server has not exited with status 0");
            }
            _ => {}
        }
    }

    fn leave(&mut self, time: Option<Duration>) {
        self.left.get_or_insert(time.unwrap_or_default());
    }

    /// Whether the client stayed long enough for a response to a request of that time.
    fn was_waited_for(&self, time: Option<Duration>) -> bool {
        let waited = |left: Duration| left.saturating_sub(time.unwrap_or_default());
        self.left.is_none_or(|left| waited(left) >= PATIENCE)
    }

    fn add_request(&mut self, index: usize) {
        let Some(call) = self.recording.calls().get(index) else { return };
        let (place, lane, exchange) = (call.request, call.direction.into(), call.exchange);
        let method = Arc::clone(&call.method);
        self.count_method(method);
        let row = self.add(place, lane, exchange, Kind::Request(index));
        self.calls.push((row, None));
    }

    fn add_response(&mut self, index: usize) {
        let Some(call) = self.recording.calls().get(index) else { return };
        let Some(place) = call.response else { return };
        let (is_error, latency) = (call.outcome.is_error(), call.latency());
        let (lane, exchange) = (opposite(call.direction).into(), call.exchange);
        self.slowest = self.slowest.max(latency.unwrap_or_default().as_secs_f64());
        self.errors += u64::from(is_error);
        let row = self.add(place, lane, exchange, Kind::Response(index));
        if let Some(rows) = self.calls.get_mut(index) {
            rows.1 = Some(row);
        }
    }

    fn count_method(&mut self, method: Arc<str>) {
        *self.methods.entry(method).or_default() += 1;
    }

    fn find(&mut self, row: usize, code: Option<Code>, message: &str) {
        let Some(code) = code.filter(|_| self.findings.len() < MOST_FINDINGS) else { return };
        if let Some(row) = self.rows.get_mut(row) {
            row.findings += 1;
        }
        self.findings.push(Finding { row, code, message: message.to_owned() });
    }

    /// The row with a number.
    pub(crate) fn row_of(&self, number: u64) -> Option<usize> {
        self.by_number.get(&number).copied()
    }

    /// The response to a request; the request of a response, or that a notification is about.
    pub(crate) fn pair(&self, row: &Row) -> Option<usize> {
        match row.kind {
            Kind::Request(index) => self.calls.get(index)?.1,
            Kind::Response(index) => self.calls.get(index).map(|rows| rows.0),
            Kind::Notification(index) => {
                let call = self.recording.notifications().get(index)?.call?;
                self.calls.get(call).map(|rows| rows.0)
            }
            _ => None,
        }
    }

    /// The method of a message, and what it addresses.
    pub(crate) fn names<'a>(&'a self, row: &'a Row) -> (Option<&'a str>, Option<&'a str>) {
        match row.kind {
            Kind::Request(index) | Kind::Response(index) => match self.recording.calls().get(index) {
                Some(call) => (Some(&call.method), call.name.as_deref()),
                None => (None, None),
            },
            Kind::Notification(index) => {
                (self.recording.notifications().get(index).map(|one| &*one.method), None)
            }
            Kind::Stray(_, ref text)
            | Kind::Head(ref text)
            | Kind::Stderr(ref text)
            | Kind::Event(ref text) => (None, Some(text)),
        }
    }

    /// Whether it went wrong: an error, or no answer at all.
    pub(crate) fn is_error(&self, row: &Row) -> bool {
        match row.kind {
            Kind::Request(_) | Kind::Response(_) => {
                matches!(self.outcome(row), Some(("tool-error" | "error" | "none" | "invalid", _)))
            }
            Kind::Stray(..) => true,
            Kind::Event(ref text) => {
                text.starts_with("failed")
                    || text.starts_with("lost")
                    || (text.starts_with("exit") && row.findings > 0)
            }
            _ => false,
        }
    }

    /// What came of a request, with the code of an error.
    pub(crate) fn outcome(&self, row: &Row) -> Option<(&'static str, Option<i64>)> {
        let (Kind::Request(index) | Kind::Response(index)) = row.kind else {
            return matches!(row.kind, Kind::Stray(..)).then_some(("invalid", None));
        };
        let call = self.recording.calls().get(index)?;
        Some(match call.outcome {
            Outcome::Ok => ("ok", None),
            Outcome::ToolError => ("tool-error", None),
            Outcome::Error(code) => ("error", Some(code)),
            Outcome::Invalid => ("invalid", None),
            Outcome::Cancelled => ("cancelled", None),
            Outcome::None if self.ended && &*call.method != SUBSCRIPTION => ("none", None),
            Outcome::None => ("pending", None),
        })
    }

    /// A row as the page reads it; what is not there is left out.
    pub(crate) fn row_json(&self, row: &Row) -> Value {
        let (method, name) = self.names(row);
        let call = match row.kind {
            Kind::Request(index) | Kind::Response(index) => self.recording.calls().get(index),
            _ => None,
        };
        let pair = self.pair(row).and_then(|pair| self.rows.get(pair));
        let outcome = self.outcome(row);
        let all = json!({
            "n": row.place.first,
            "t": row.place.time.map(|time| time.as_secs_f64()),
            "d": row.lane.sign(),
            "x": row.exchange,
            "k": row.kind.name(),
            "m": method.map(|method| escaped(method.as_bytes())),
            "w": name.map(|name| escaped(name.as_bytes())),
            "i": call.map(|call| escaped(call.id.to_string().as_bytes())),
            "o": outcome.map(|(name, _)| name),
            "c": outcome.and_then(|(_, code)| code),
            "s": row.place.size,
            "l": call.and_then(|call| call.latency()).map(|latency| latency.as_secs_f64()),
            "p": pair.map(|pair| pair.place.first),
            "f": (row.findings > 0).then_some(row.findings),
        });
        let Value::Object(mut members) = all else { return all };
        members.retain(|_, value| !value.is_null());
        Value::Object(members)
    }

    /// How long it took, in seconds.
    pub(crate) fn duration(&self) -> f64 {
        self.recording.totals().last_time.unwrap_or_default().as_secs_f64()
    }
}

fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::ToServer => Direction::ToClient,
        Direction::ToClient => Direction::ToServer,
    }
}

/// The beginning, as it stands on a tape.
fn excerpt(bytes: &[u8]) -> Box<str> {
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    let line = bytes.get(..end.min(LONGEST)).unwrap_or_default();
    let mut text = String::from_utf8_lossy(line).into_owned();
    if end > LONGEST {
        // The last character may have been cut.
        text.pop();
        text.push('…');
    }
    text.into()
}
