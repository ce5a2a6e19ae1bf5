//! Parsers of values: revisions, times, headers, variables.

use std::time::SystemTime;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use papertape::protocol::Revision;
use tracing_subscriber::filter::LevelFilter;

/// A protocol revision; the error lists the known ones.
pub(super) fn revision() -> impl TypedValueParser<Value = Revision> {
    let names = Revision::ALL.map(|revision| PossibleValue::new(revision.as_str()));
    PossibleValuesParser::new(names).try_map(|name| Revision::parse(&name).ok_or("unknown revision"))
}

/// A log level.
pub(super) fn log_level() -> impl TypedValueParser<Value = LevelFilter> {
    let names = ["off", "error", "warn", "info", "debug", "trace"];
    PossibleValuesParser::new(names).try_map(|name| name.parse::<LevelFilter>())
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    seconds_within(text, 0.0, 86_400.0)
}

pub(super) fn seconds_within(text: &str, least: f64, most: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (least..=most).contains(&seconds) => Ok(seconds),
        _ => Err(format!("give a number of seconds from {least} to {most}")),
    }
}

/// A time in the future.
pub(super) fn future_time(text: &str) -> Result<SystemTime, String> {
    let now = SystemTime::now();
    let date = || humantime::parse_rfc3339(&format!("{text}T00:00:00Z")).ok();
    let from_now = || humantime::parse_duration(text).ok().and_then(|time| now.checked_add(time));
    let time = humantime::parse_rfc3339(text).ok().or_else(date).or_else(from_now);
    let time =
        time.ok_or("write a duration (90d), a date (2027-01-31) or a timestamp (2027-01-31T12:00:00Z)")?;
    if time <= now {
        return Err("the time is in the past".to_owned());
    }
    Ok(time)
}

pub(super) fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write NAME: VALUE".to_owned()),
    }
}

pub(super) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}
