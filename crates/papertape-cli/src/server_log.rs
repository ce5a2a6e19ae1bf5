//! The log messages of a server (`notifications/message`), on stderr.
//!
//! `--log-level` requests them from the server. What a server sends without a request is dropped, but shown in the shell.

use std::sync::{Arc, Mutex, OnceLock};

use papertape::client::LogMessage;
use papertape::protocol::LogLevel;
use papertape::wire::shown;
use serde_json::{Value, json};
use tracing_subscriber::filter::LevelFilter;

use crate::args::{Format, Log};
use crate::print::text::{one_line, safe};
use crate::print::{self, Look, style};
use crate::sync::lock;

/// What the options of the program say about log messages.
static OPTIONS: OnceLock<(Option<LogLevel>, Format)> = OnceLock::new();

/// Takes `--log-level` and `--log-format` for log messages of servers too.
pub(crate) fn configure(log: &Log) {
    let level = log.log_level.and_then(|level| match level {
        LevelFilter::OFF => None,
        LevelFilter::ERROR => Some(LogLevel::Error),
        LevelFilter::WARN => Some(LogLevel::Warning),
        LevelFilter::INFO => Some(LogLevel::Info),
        _ => Some(LogLevel::Debug),
    });
    // It is the same for the whole process.
    OPTIONS.get_or_init(|| (level, log.log_format));
}

/// Which messages are shown.
#[derive(Debug, Clone)]
pub(crate) struct ServerLog {
    wanted: Arc<Mutex<Wanted>>,
    format: Format,
}

#[derive(Debug, Clone, Copy)]
struct Wanted {
    /// The least level that is requested from the server.
    requested: Option<LogLevel>,
    /// The least level that is shown.
    shown: Option<LogLevel>,
}

impl ServerLog {
    /// As `--log-level` says; without it, messages of at least the level `unrequested` are shown, if the server sends any.
    pub(crate) fn new(unrequested: Option<LogLevel>) -> Self {
        let (requested, format) = OPTIONS.get().copied().unwrap_or((None, Format::Text));
        let wanted = Wanted { requested, shown: requested.or(unrequested) };
        Self { wanted: Arc::new(Mutex::new(wanted)), format }
    }

    pub(crate) fn requested(&self) -> Option<LogLevel> {
        lock(&self.wanted).requested
    }

    /// Shows messages of this level and above, also those of later sessions.
    pub(crate) fn request(&self, level: LogLevel) {
        *lock(&self.wanted) = Wanted { requested: Some(level), shown: Some(level) };
    }

    /// Prints a message, if it is wanted.
    pub(crate) fn print(&self, message: &LogMessage) {
        if lock(&self.wanted).shown.is_some_and(|least| message.level >= least) {
            print::err(&line(message, self.format, Look::of_stderr()));
        }
    }
}

/// A message with its level and its logger.
fn line(message: &LogMessage, format: Format, look: Look) -> String {
    if format == Format::Json {
        let data = message.data.to_value().unwrap_or_else(|_| message.data.get().into());
        let object = json!({"serverLog": {"level": message.level, "logger": message.logger, "data": data}});
        return format!("{}\n", shown::json(&object.to_string()));
    }
    let name = level_name(message.level);
    let level = match message.level {
        LogLevel::Debug | LogLevel::Info | LogLevel::Notice => look.paint(style::DIM, &name),
        _ => look.paint(style::WRONG, &name),
    };
    let logger = message.logger.as_deref().map(one_line).filter(|logger| !logger.is_empty());
    let logger = logger.map(|logger| format!(" {logger}")).unwrap_or_default();
    // Further lines are indented, so that they cannot be taken for other messages.
    let text = safe(message.text().trim_end()).replace('\n', "\n  ");
    format!("server {level}{logger}: {text}\n")
}

fn level_name(level: LogLevel) -> String {
    match serde_json::to_value(level) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

/// The level of a name.
pub(crate) fn parse(name: &str) -> Option<LogLevel> {
    serde_json::from_value(name.into()).ok()
}

/// The names of the levels, least severe first.
pub(crate) fn names() -> Vec<String> {
    LogLevel::ALL.into_iter().map(level_name).collect()
}

#[cfg(test)]
mod tests {
    use papertape::client::LogMessage;
    use papertape::protocol::LogLevel;
    use serde_json::{Value, json};

    use super::{line, names, parse};
    use crate::args::Format;
    use crate::print::Look;

    fn shown(message: Value, format: Format) -> String {
        let message: LogMessage = serde_json::from_value(message).unwrap();
        line(&message, format, Look { colour: false, width: 80, terminal: false })
    }

    #[test]
    fn a_message_has_its_level_and_logger_and_is_escaped() {
        let message = json!({"level": "notice", "logger": "d\u{7}b", "data": "a\u{1b}[2J\nb\n"});
        assert_eq!(shown(message.clone(), Format::Text), "server notice d⟦07⟧b: a⟦1b⟧[2J\n  b\n");
        let text = shown(message, Format::Json);
        assert!(!text.trim_end().contains(['\u{1b}', '\u{7}', '\n']), "{text}");
        let object: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(object["serverLog"]["data"], "a\u{1b}[2J\nb\n");
        assert_eq!(
            shown(json!({"level": "error", "data": {"x": 1}}), Format::Text),
            "server error: {\"x\":1}\n"
        );
    }

    #[test]
    fn levels_have_the_names_of_the_protocol() {
        assert_eq!(parse("warning"), Some(LogLevel::Warning));
        assert_eq!(parse("warn"), None);
        assert_eq!(names().first().map(String::as_str), Some("debug"));
        assert_eq!(names().len(), 8);
    }
}
