//! Words to values: names of servers, revisions, times, headers, variables.

use std::time::SystemTime;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use papertape::protocol::Revision;

/// A wrong name is answered with the right ones.
pub(super) fn server_names() -> impl TypedValueParser<Value = String> {
    let names = papertape_servers::ALL.map(|server| PossibleValue::new(server.name).help(server.about));
    PossibleValuesParser::new(names)
}

/// A wrong revision is answered with the right ones.
pub(super) fn revision() -> impl TypedValueParser<Value = Revision> {
    let names = Revision::ALL.map(|revision| PossibleValue::new(revision.as_str()));
    PossibleValuesParser::new(names).try_map(|name| Revision::parse(&name).ok_or("there is no such revision"))
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("give a number of seconds from 0 to 86400".to_owned()),
    }
}

/// A moment that is still to come.
pub(super) fn moment(text: &str) -> Result<SystemTime, String> {
    let now = SystemTime::now();
    let day = || humantime::parse_rfc3339(&format!("{text}T00:00:00Z")).ok();
    let from_now = || humantime::parse_duration(text).ok().and_then(|time| now.checked_add(time));
    let moment = humantime::parse_rfc3339(text).ok().or_else(day).or_else(from_now);
    let moment =
        moment.ok_or("write a time from now (90d), a day (2027-01-31) or a moment (2027-01-31T12:00:00Z)")?;
    if moment <= now {
        return Err("this is over already".to_owned());
    }
    Ok(moment)
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
