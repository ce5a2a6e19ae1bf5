//! How tools fail, and how servers fail to start.

use std::error::Error;
use std::fmt;
use std::io::Write;
use std::sync::Mutex;

use serde_json::Value;

use crate::server::elicitation::ask::ClientRequest;
use crate::server::pipeline::run::Run;
use crate::wire::{RpcError, shown};

/// Why a tool gives no result.
///
/// `?` means *failed*: the model reads the message and can try something else. It works on standard errors, `anyhow::Error`,
/// `Box<dyn Error + Send + Sync>`, `String` and `&str`, that is, on everything that converts into the box.
///
/// ```
/// use papertape::{Cx, ToolError};
///
/// fn parse(line: &str) -> Result<u32, String> {
///     line.parse().map_err(|_| format!("not a number: {line}"))
/// }
///
/// async fn add(_: (), _: Cx) -> Result<String, ToolError> {
///     let text = std::fs::read_to_string("numbers.txt")?;
///     let first = text.lines().next().ok_or("the file is empty")?;
///     Ok(parse(first)?.to_string())
/// }
/// ```
pub struct ToolError(pub(crate) Failure);

pub(crate) enum Failure {
    Failed(String),
    Refused(RpcError),
    Rpc(RpcError),
    Internal(Box<dyn Error + Send + Sync>),
    /// Input of the client is needed first.
    InputRequired(Vec<(String, ClientRequest)>),
    /// The call becomes a task, which this runs to its end.
    Task(Mutex<Run>),
}

impl ToolError {
    /// The tool ran and failed: the model reads the message (`isError: true`).
    pub fn failed(message: impl Into<String>) -> Self {
        Self(Failure::Failed(message.into()))
    }

    /// The call itself is refused: the client gets a JSON-RPC error (-32602).
    pub fn refused(message: impl Into<String>) -> Self {
        Self(Failure::Refused(RpcError::invalid_params(message)))
    }

    /// The client gets this JSON-RPC error as it is. Choose a code outside -32768 to -32000: those belong to JSON-RPC and MCP.
    ///
    /// ```
    /// use papertape::ToolError;
    ///
    /// let error = ToolError::rpc(1001, "the quota is used up", serde_json::json!({"retryAfterSeconds": 60}));
    /// assert_eq!(error.to_string(), "the quota is used up");
    /// let error = ToolError::rpc(1002, "the index is being built", None);
    /// ```
    pub fn rpc(code: i64, message: impl Into<String>, data: impl Into<Option<Value>>) -> Self {
        Self(Failure::Rpc(RpcError { code, message: message.into(), data: data.into() }))
    }

    /// The server is at fault: the error is logged (to stderr if there is no `tracing` subscriber), the client receives only "internal error" (-32603).
    pub fn internal(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Failure::Internal(error.into()))
    }

    /// What the client gets for it.
    #[must_use]
    pub fn kind(&self) -> ToolErrorKind {
        match &self.0 {
            Failure::Failed(_) => ToolErrorKind::Failed,
            Failure::Refused(_) => ToolErrorKind::Refused,
            Failure::Rpc(_) => ToolErrorKind::Rpc,
            Failure::Internal(_) => ToolErrorKind::Internal,
            Failure::InputRequired(_) => ToolErrorKind::InputRequired,
            Failure::Task(_) => ToolErrorKind::Task,
        }
    }
}

/// The kinds of [`ToolError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// A result with `isError: true`.
    Failed,
    /// Error -32602; a resource does not exist.
    Refused,
    /// The JSON-RPC error of [`ToolError::rpc`].
    Rpc,
    /// "internal error", -32603.
    Internal,
    /// No error: the client is asked for input first, and the handler runs again.
    InputRequired,
    /// No error: the call becomes a task. See [`Cx::become_task`](crate::Cx::become_task).
    Task,
}

/// For this `ToolError` itself must not implement [`std::error::Error`].
impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::failed(with_sources(&*error.into()))
    }
}

/// The message of an error, and those of its sources.
fn with_sources(error: &(dyn Error + 'static)) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    message
}

/// Logs an internal error; without a subscriber of `tracing` it would be lost, so it goes to stderr.
pub(crate) fn log_internal(name: &str, error: &(dyn Error + 'static)) {
    if tracing::dispatcher::has_been_set() {
        tracing::error!(name, error, "internal error");
    } else {
        let line = format!("{name}: internal error: {}", with_sources(error));
        // If stderr is closed, there is no place left for it.
        let escaped = shown::characters(&line)
            .map(|(c, shown)| if shown { c.to_string() } else { c.escape_default().to_string() });
        drop(writeln!(std::io::stderr(), "{}", escaped.collect::<String>()));
    }
}

/// The message alone; of an internal error the details, which the client does not get.
impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Failure::Failed(message) => f.write_str(message),
            Failure::Refused(error) | Failure::Rpc(error) => f.write_str(&error.message),
            Failure::Internal(error) => f.write_str(&with_sources(&**error)),
            Failure::InputRequired(requests) => {
                let names: Vec<&str> = requests.iter().map(|(name, _)| name.as_str()).collect();
                write!(f, "needs input: {}", names.join(", "))
            }
            Failure::Task(_) => f.write_str("becomes a task"),
        }
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind() {
            ToolErrorKind::Failed => "failed: ",
            ToolErrorKind::Refused => "refused: ",
            ToolErrorKind::Rpc => "rpc: ",
            ToolErrorKind::Internal => "internal: ",
            ToolErrorKind::InputRequired | ToolErrorKind::Task => "",
        };
        write!(f, "{kind}{self}")
    }
}

/// Why a server cannot start.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// Something has no name.
    #[error("a {what} has an empty name")]
    EmptyName {
        /// A tool, a resource, a prompt ...
        what: &'static str,
    },
    /// Two of a kind have one name.
    #[error("{what} \"{name}\": registered twice")]
    Duplicate {
        /// A tool, a resource, a prompt ...
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A URI template cannot be used.
    #[error("resource template \"{template}\": {problem}")]
    Template {
        /// The template.
        template: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The arguments of a prompt cannot be filled in.
    #[error("prompt \"{prompt}\": {problem}")]
    Prompt {
        /// The prompt's name.
        prompt: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Something needs a scope that no token can have.
    #[error(
        "{what} \"{name}\": {scope:?} is not a scope: scopes are visible ASCII without spaces, quotes and backslashes"
    )]
    Scope {
        /// A tool, a resource, a prompt ...
        what: &'static str,
        /// The name.
        name: String,
        /// The scope.
        scope: String,
    },
    /// A skill cannot be served.
    #[error("skill {skill}: {problem}")]
    Skill {
        /// Its name, or where it stands.
        skill: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A page cannot be shown.
    #[error("app \"{uri}\": {problem}")]
    App {
        /// Its URI.
        uri: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A method or notification cannot have that name.
    #[error("{kind} \"{name}\": the name {problem}")]
    Method {
        /// `method` or `notification`.
        kind: &'static str,
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The settings of an extension are not an object.
    #[error("extension \"{name}\": its settings must be a JSON object")]
    Extension {
        /// Its name.
        name: String,
    },
    /// A schema cannot be used.
    #[error("tool \"{tool}\": bad {which} schema: {problem}")]
    Schema {
        /// The tool's name.
        tool: String,
        /// Input or output.
        which: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

/// As a person reads it: `fn main() -> io::Result<()>` shows errors this way.
impl fmt::Debug for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<SetupError> for std::io::Error {
    fn from(error: SetupError) -> Self {
        std::io::Error::new(std::io::ErrorKind::InvalidInput, error)
    }
}
