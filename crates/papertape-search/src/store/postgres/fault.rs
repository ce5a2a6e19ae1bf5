//! Classifies errors of the database and of connections: whether to retry, and the message.

use std::time::Duration;

use tokio_postgres::error::SqlState;

use super::StoreError;

/// Why an operation failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The connection is gone or was never there: another one may work.
    Lost(String),
    /// The database could not do it now, because of others: it may work the next time.
    Crossed(String),
    /// A table is not there, for example the one of vectors that has just been replaced.
    NoTable,
    /// Nothing was ever indexed.
    Missing,
    /// The tables are not ours to read: what was found and what to do.
    Foreign(String),
    /// The tables are ours and not as they were made: what was found.
    Corrupt(String),
    /// A retry cannot help.
    Final(StoreError),
}

impl Fault {
    /// Whether to try again.
    pub(super) fn may_pass(&self) -> bool {
        !matches!(self, Self::Missing | Self::Foreign(_) | Self::Corrupt(_) | Self::Final(_))
    }

    /// The error for the caller.
    pub(super) fn into_error(self, place: &str) -> StoreError {
        match self {
            Self::Lost(what) => StoreError::Unreachable(what),
            Self::Crossed(what) => StoreError::Crossed(what),
            Self::NoTable | Self::Missing => StoreError::Missing { place: place.to_owned() },
            Self::Foreign(what) => StoreError::Foreign { place: place.to_owned(), what },
            Self::Corrupt(what) => StoreError::Corrupt { place: place.to_owned(), what },
            Self::Final(error) => error,
        }
    }

    /// What took too long.
    pub(super) fn late(what: &str, time: Duration) -> Self {
        Self::Lost(format!("{what} took more than {} s", time.as_secs_f32()))
    }

    pub(super) fn other(what: impl Into<String>) -> Self {
        Self::Final(StoreError::Other(what.into()))
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(said) = error.as_db_error() {
            // The message may quote the query; so it goes to the log alone.
            tracing::debug!(code = said.code().code(), message = said.message(), "the database refuses");
            return match said.code().code() {
                POOLER => refused_on_the_way(said.message()),
                _ => refused(said.code()),
            };
        }
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        if error.is_closed() {
            return Self::Lost("the connection was closed".to_owned());
        }
        Self::Lost(cause.unwrap_or_else(|| error.to_string()))
    }
}

/// The one SQLSTATE that PgBouncer uses for all of its errors; from a database it means a protocol violation.
const POOLER: &str = "08P01";

/// Classifies a message of a pooler.
fn refused_on_the_way(message: &str) -> Fault {
    if message.starts_with("no such database") {
        return refused(&SqlState::UNDEFINED_DATABASE);
    }
    if message.contains("authentication failed") || message.starts_with("no such user") {
        return refused(&SqlState::INVALID_PASSWORD);
    }
    if message.starts_with("unsupported startup parameter") {
        return Fault::other(
            "a pooler in front of the database refuses a setting in the store's address: take out options=..., or have \
             the pooler ignore it (ignore_startup_parameters)",
        );
    }
    Fault::Lost("it, or a pooler in front of it, ended the connection: the log there says why".to_owned())
}

/// Classifies a SQLSTATE.
fn refused(code: &SqlState) -> Fault {
    let lost = |what: &str| Fault::Lost(what.to_owned());
    let fatal = |what: &str| Fault::Final(StoreError::Unreachable(what.to_owned()));
    match code.code() {
        "28P01" | "28000" => fatal("it refuses the user or the password: look at the store's address"),
        "3D000" => fatal("it has no database of this name: create it, or look at the store's address"),
        "53300" => lost("it has too many connections: raise its max_connections, or end some"),
        "57P03" => lost("it is starting up or shutting down"),
        "57P01" | "57P02" | "57P04" | "57P05" | "25P03" | "25P04" => lost("it ended the connection"),
        "40001" | "40P01" => Fault::Crossed(
            "others were changing the same at the same time, and nothing was changed: try again".to_owned(),
        ),
        "55P03" => Fault::Crossed("another process holds a lock for too long".to_owned()),
        "57014" => {
            Fault::Final(StoreError::Unreachable("the query took too long, and was cancelled".to_owned()))
        }
        "42P01" | "3F000" => Fault::NoTable,
        "42703" | "42P07" => Fault::Corrupt("its tables are not as they were made".to_owned()),
        "42501" => Fault::other(
            "the database's user may not do this: grant it CREATE on the database, or the tables of the schema papertape",
        ),
        "25006" => {
            Fault::other("the database is read-only now: index again when it is not, or at its primary")
        }
        "53100" => Fault::other("the database's disk is full: make room there and index again"),
        "53200" => Fault::Crossed("it has no memory left".to_owned()),
        "XX001" | "XX002" => {
            Fault::other(format!("the database says that its own files are damaged (code {})", code.code()))
        }
        code if code.starts_with("08") => lost("the connection broke"),
        code => Fault::other(format!("the database refused with code {code}; its own log says more")),
    }
}

#[cfg(test)]
mod tests {
    use tokio_postgres::error::SqlState;

    use super::{Fault, refused, refused_on_the_way};

    #[test]
    fn codes_are_tried_again_or_not() {
        for (code, again) in [
            ("40001", true),
            ("40P01", true),
            ("57P01", true),
            ("53300", true),
            ("08006", true),
            ("42P01", true),
            ("28P01", false),
            ("57014", false),
            ("53100", false),
            ("42601", false),
            ("42703", false),
        ] {
            assert_eq!(refused(&SqlState::from_code(code)).may_pass(), again, "{code}");
        }
    }

    #[test]
    fn errors_of_a_pooler_are_classified() {
        for (message, again, part) in [
            ("no such database: notes", false, "no database of this name"),
            ("\"trust\" authentication failed", false, "the user or the password"),
            ("unsupported startup parameter: options", false, "ignore_startup_parameters"),
            ("query_wait_timeout", true, "the log there says why"),
        ] {
            let fault = refused_on_the_way(message);
            assert_eq!(fault.may_pass(), again, "{message}");
            let error = fault.into_error("postgres://host:1/db").to_string();
            assert!(error.contains(part), "{message}: {error}");
        }
    }

    #[test]
    fn a_missing_table_is_a_missing_index() {
        let error = Fault::Missing.into_error("postgres://host:1/db").to_string();
        assert_eq!(error, "there is no index yet at postgres://host:1/db: run `papertape index DIR`");
    }
}
