//! Log messages and other notifications of a server.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use serde::Deserialize;
use serde_json::json;

use super::Client;
use super::error::{ClientError, ErrorKind};
use super::options::CallOptions;
use super::session::Failure;
use crate::protocol::{LogLevel, RawJson, method};

/// A log message of a server. It displays as its text.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct LogMessage {
    /// The severity.
    pub level: LogLevel,
    /// The name of the part of the server that logs.
    #[serde(default)]
    pub logger: Option<String>,
    /// What is logged: text, or any other JSON.
    pub data: RawJson,
}

impl LogMessage {
    /// The text: `data` if that is a string, its member `message` if it is an object that has one, and its JSON otherwise.
    #[must_use]
    pub fn text(&self) -> String {
        #[derive(Deserialize)]
        struct WithMessage {
            message: String,
        }
        let text = self.data.parse().or_else(|_| self.data.parse().map(|data: WithMessage| data.message));
        text.unwrap_or_else(|_| self.data.get().to_owned())
    }
}

impl fmt::Display for LogMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// The minimum level of log messages that requests of stateless revisions carry, if one is set.
#[derive(Default)]
pub(super) struct RequestedLevel(AtomicU8);

impl RequestedLevel {
    fn set(&self, level: LogLevel) {
        let at = LogLevel::ALL.iter().position(|other| *other == level);
        let number = at.and_then(|at| u8::try_from(at + 1).ok()).unwrap_or_default();
        self.0.store(number, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> Option<LogLevel> {
        let number = usize::from(self.0.load(Ordering::Relaxed));
        LogLevel::ALL.get(number.checked_sub(1)?).copied()
    }
}

impl Client {
    /// Requests log messages of this level and above, for
    /// [`ClientOptions::on_log`](crate::client::ClientOptions::on_log).
    ///
    /// In session-based revisions that is a request (`logging/setLevel`), and messages also arrive while no call is running.
    /// In stateless ones each later request carries the level, and messages arrive while it is running; nothing is sent now.
    /// Until a level is set, a server of a session-based revision may send any messages, and one of a stateless revision none.
    ///
    /// ```no_run
    /// use papertape::client::ClientOptions;
    /// use papertape::protocol::LogLevel;
    /// use papertape::stdio::{self, ServerCommand};
    ///
    /// #[tokio::main]
    /// async fn main() -> Result<(), papertape::client::ClientError> {
    ///     let options = ClientOptions::new().on_log(|message| eprintln!("{:?}: {message}", message.level));
    ///     let client = stdio::connect_with(ServerCommand::new("my-server"), options).await?;
    ///     client.set_log_level(LogLevel::Info).await?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// If the server does not offer log messages ([`ErrorKind::NotOffered`]), or rejects the level.
    pub async fn set_log_level(&self, level: LogLevel) -> Result<(), ClientError> {
        if self.capabilities().logging.is_none() {
            let failure =
                Failure::new(ErrorKind::NotOffered("log messages".to_owned()), "the request was not sent");
            return Err(self.session().error("setting the log level", failure));
        }
        if self.revision().opens_with_handshake() {
            self.request_with(method::SET_LEVEL, json!({"level": level}), CallOptions::new()).await?;
        }
        self.session().log_level.set(level);
        Ok(())
    }
}
