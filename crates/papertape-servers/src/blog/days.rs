//! The arguments `since` and `until`: days of the calendar.

use papertape::ToolError;
use papertape::client::Violation;

use super::quoted;
use papertape_search::corpus::document::is_day;

/// How a day is written, as a regular expression.
pub(super) const PATTERN: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$";

/// A text that is not written like a day gets the same message as a day that does not exist.
pub(super) fn explain(violation: &Violation<'_>) -> Option<String> {
    let day = violation.value().as_str().filter(|_| violation.keyword() == "pattern")?;
    Some(not_a_day(violation.argument(), day))
}

/// Fails unless both are days, and one is not after the other.
pub(super) fn check(since: Option<&str>, until: Option<&str>) -> Result<(), ToolError> {
    for (name, day) in [("since", since), ("until", until)] {
        if let Some(day) = day.filter(|day| !is_day(day)) {
            return Err(ToolError::failed(not_a_day(name, day)));
        }
    }
    match (since, until) {
        (Some(since), Some(until)) if since > until => Err(ToolError::failed(format!(
            "since ({since}) is after until ({until}): no day is in between; swap them"
        ))),
        _ => Ok(()),
    }
}

fn not_a_day(name: &str, day: &str) -> String {
    let day = quoted(day);
    format!("{name}: \"{day}\" is not a day of the calendar; write one as YYYY-MM-DD, from 1000-01-01 on")
}
