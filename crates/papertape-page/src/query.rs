//! Questions of the page about a tape.

use std::io;

use http::StatusCode;
use papertape::wire::tape::{Content, Record};
use serde_json::{Value, json};

use crate::filter::Filter;
use crate::index::Index;
use crate::overview::overview;
use crate::reply::Refusal;
use crate::row::{Kind, Lane, Row};
use crate::sync::read;
use crate::tape::Tape;

/// The most rows of one response.
const MOST_ROWS: usize = 1_000;
/// The most bytes of one response.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// The most notifications of a request that are named.
const MOST_BETWEEN: usize = 200;
/// The longest text that is searched for.
const LONGEST_TEXT: usize = 1_000;

/// The parameters of a request's URL.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Self {
        let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Self(pairs.into_owned().collect())
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(given, _)| given == name).map_or("", |(_, value)| value)
    }

    /// A number, if there is one.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Refusal> {
        match self.text(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| Refusal::bad(format!("`{name}` is not a number"))),
        }
    }

    fn needed<T: std::str::FromStr>(&self, name: &str) -> Result<T, Refusal> {
        self.number(name)?.ok_or_else(|| Refusal::bad(format!("`{name}` is missing")))
    }

    fn filter(&self) -> Result<Filter, Refusal> {
        let text = self.text("q");
        if text.len() > LONGEST_TEXT {
            return Err(Refusal::bad("the text to search for is too long"));
        }
        let time = |name| self.number::<f64>(name).map(|time| time.filter(|time| time.is_finite()));
        Ok(Filter {
            text: text.to_owned(),
            only: self.text("only").to_owned(),
            method: self.text("method").to_owned(),
            from: time("t0")?,
            to: time("t1")?,
        })
    }
}

/// Some rows of the list.
pub(crate) fn frames(tape: &Tape, query: &Query) -> Result<Value, Refusal> {
    let rows = tape.rows(&query.filter()?)?;
    let from: usize = query.number("from")?.unwrap_or_default();
    let count = query.number("count")?.unwrap_or(MOST_ROWS).min(MOST_ROWS);
    let index = read(&tape.index);
    let some = rows.iter().skip(from).take(count).filter_map(|at| index.rows.get(*at as usize));
    let some: Vec<Value> = some.map(|row| index.row_json(row)).collect();
    Ok(json!({"total": rows.len(), "from": from, "rows": some}))
}

/// Where a number, or a time, is in the list.
pub(crate) fn find(tape: &Tape, query: &Query) -> Result<Value, Refusal> {
    let rows = tape.rows(&query.filter()?)?;
    let index = read(&tape.index);
    let position = if let Some(time) = query.number::<f64>("time")? {
        let at = |row: &u32| {
            index
                .rows
                .get(*row as usize)
                .and_then(|row| row.place.time)
                .is_some_and(|at| at.as_secs_f64() >= time)
        };
        rows.iter().position(at).or_else(|| rows.len().checked_sub(1))
    } else {
        let row = index.row_of(query.needed("number")?).and_then(|row| u32::try_from(row).ok());
        row.and_then(|row| rows.binary_search(&row).ok())
    };
    Ok(json!({"position": position, "total": rows.len()}))
}

/// The next or previous row with an error or a finding.
pub(crate) fn next(tape: &Tape, query: &Query) -> Result<Value, Refusal> {
    let rows = tape.rows(&query.filter()?)?;
    let index = read(&tape.index);
    let from: i64 = query.number("from")?.unwrap_or(-1);
    let wanted = |at: &usize| {
        let row = rows.get(*at).and_then(|row| index.rows.get(*row as usize));
        row.is_some_and(
            |row| if query.text("of") == "findings" { row.findings > 0 } else { index.is_error(row) },
        )
    };
    let position = if query.number::<i64>("step")?.unwrap_or(1) < 0 {
        (0..usize::try_from(from).unwrap_or_default()).rev().find(wanted)
    } else {
        (usize::try_from(from.saturating_add(1)).unwrap_or_default()..rows.len()).find(wanted)
    };
    Ok(json!({"position": position, "total": rows.len()}))
}

/// What the overview draws.
pub(crate) fn for_overview(tape: &Tape, query: &Query) -> Result<Value, Refusal> {
    let filter = query.filter()?;
    let rows = tape.rows(&filter)?;
    Ok(overview(&read(&tape.index), &filter, &rows, query.needed("width")?))
}

/// A message, with what belongs to it.
pub(crate) fn frame(tape: &Tape, query: &Query) -> Result<Value, Refusal> {
    let index = read(&tape.index);
    let (at, row) = row(&index, query)?;
    let pair = index.pair(row).and_then(|pair| index.rows.get(pair));
    let findings = index.findings.iter().filter(|finding| finding.row == at);
    let findings: Vec<Value> = findings.map(|finding| finding.to_json(row.place.first)).collect();
    Ok(json!({
        "row": index.row_json(row),
        "pair": pair.map(|pair| index.row_json(pair)),
        "between": between(&index, row),
        "findings": findings,
    }))
}

/// The notifications of a request.
fn between(index: &Index, row: &Row) -> Vec<Value> {
    let (Kind::Request(call) | Kind::Response(call)) = row.kind else { return Vec::new() };
    let notifications = index.recording.notifications().iter();
    let of_call = notifications.filter(|notification| notification.call == Some(call)).take(MOST_BETWEEN);
    let rows = of_call.filter_map(|notification| index.rows.get(index.row_of(notification.place.first)?));
    rows.map(|row| index.row_json(row)).collect()
}

/// All findings.
pub(crate) fn findings(tape: &Tape) -> Value {
    let index = read(&tape.index);
    let all = index
        .findings
        .iter()
        .filter_map(|finding| index.rows.get(finding.row).map(|row| finding.to_json(row.place.first)));
    json!({"findings": all.collect::<Vec<_>>()})
}

/// Some bytes of a message, and how many it has.
pub(crate) fn body(tape: &Tape, query: &Query) -> Result<(Vec<u8>, u64), Refusal> {
    let from: usize = query.number("from")?.unwrap_or_default();
    let length = query.number("length")?.unwrap_or(MOST_BYTES).min(MOST_BYTES);
    let row = row(&read(&tape.index), query)?.1.clone();
    let mut bytes = message(tape, &row)?;
    let size = bytes.len() as u64;
    bytes.truncate(from.saturating_add(length));
    bytes.drain(..from.min(bytes.len()));
    Ok((bytes, size))
}

fn row<'a>(index: &'a Index, query: &Query) -> Result<(usize, &'a Row), Refusal> {
    let number = query.needed("number")?;
    let at = index.row_of(number).and_then(|at| Some((at, index.rows.get(at)?)));
    at.ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, format!("there is no frame {number}")))
}

/// All bytes of a message.
fn message(tape: &Tape, row: &Row) -> io::Result<Vec<u8>> {
    let is_part = |record: &Record<'_>| {
        record.exchange == row.exchange
            && match (&row.kind, &record.content) {
                (Kind::Head(_), Content::Head(..))
                | (Kind::Stderr(_), Content::Stderr(_))
                | (Kind::Event(_), Content::Event { .. }) => true,
                (Kind::Head(_) | Kind::Stderr(_) | Kind::Event(_), _) => false,
                (_, Content::Frame(direction, _)) => Lane::from(*direction) == row.lane,
                _ => false,
            }
    };
    tape.segments.bytes(&row.place, is_part)
}
