//! Rows to what the overview draws: counts for as many moments as there are pixels, and requests as bars.

use serde_json::{Value, json};

use crate::filter::Filter;
use crate::index::Index;
use crate::row::Kind;

/// The most requests that are drawn as bars.
const MOST_BARS: usize = 2_000;

/// The most moments.
const MOST_BUCKETS: usize = 2_000;

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    count: u64,
    errors: u64,
    findings: u64,
}

/// The rows on one clock, in three lanes.
pub(crate) fn overview(index: &Index, filter: &Filter, rows: &[u32], width: usize) -> Value {
    let width = width.clamp(1, MOST_BUCKETS);
    let (from, to) = (filter.from.unwrap_or(0.0), filter.to.unwrap_or_else(|| index.duration()));
    let span = (to - from).max(1e-6);
    let mut lanes = [(); 3].map(|()| vec![Bucket::default(); width]);
    let mut bars = Vec::new();
    let rows = rows.iter().filter_map(|row| index.rows.get(*row as usize));
    for row in rows {
        let Some(time) = row.place.time.map(|time| time.as_secs_f64()) else { continue };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the buckets")]
        let at = (((time - from) / span * width as f64) as usize).min(width - 1);
        let Some(bucket) = lanes.get_mut(row.lane.number()).and_then(|lane| lane.get_mut(at)) else {
            continue;
        };
        let is_error = index.is_error(row);
        bucket.count += 1;
        bucket.errors += u64::from(is_error);
        bucket.findings += u64::from(row.findings > 0);
        if let Kind::Request(call) = row.kind
            && bars.len() <= MOST_BARS
            && let Some(call) = index.recording.calls().get(call)
        {
            let end = call.response.and_then(|response| response.time).map(|time| time.as_secs_f64());
            let kind = if is_error {
                "error"
            } else if end.is_none() {
                "pending"
            } else {
                "ok"
            };
            bars.push(json!([time, end.unwrap_or(to), row.lane.number(), kind]));
        }
    }
    if bars.len() > MOST_BARS {
        bars.clear();
    }
    let lanes = lanes.map(|lane| {
        let filled = lane.iter().enumerate().filter(|(_, bucket)| bucket.count > 0);
        Value::from_iter(filled.map(|(at, bucket)| json!([at, bucket.count, bucket.errors, bucket.findings])))
    });
    json!({"from": from, "to": to, "width": width, "lanes": lanes, "bars": bars})
}
