//! How tools fail, and how servers fail to start.

use std::error::Error;
use std::fmt;

use crate::server::elicitation::ask::ClientRequest;
use crate::wire::RpcError;

/// Why a tool gives no result.
///
/// `?` works on any error and means *failed*: the model reads the message and can try something else.
pub struct ToolError(pub(crate) Failure);

pub(crate) enum Failure {
    Failed(String),
    Refused(RpcError),
    Internal(Box<dyn Error + Send + Sync>),
    /// Input of the client is needed first.
    InputRequired(Vec<(String, ClientRequest)>),
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

    /// The server is at fault: the error is logged, the client receives only "internal error" (-32603).
    pub fn internal(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Failure::Internal(error.into()))
    }
}

/// Any error can be thrown with `?`.
/// (For this to work `ToolError` itself must not implement [`std::error::Error`].)
impl<E: Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            message = format!("{message}: {cause}");
            source = cause.source();
        }
        Self::failed(message)
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Failure::Failed(message) => write!(f, "failed: {message}"),
            Failure::Refused(error) => write!(f, "refused: {error}"),
            Failure::Internal(error) => write!(f, "internal: {error}"),
            Failure::InputRequired(requests) => {
                let names: Vec<&str> = requests.iter().map(|(name, _)| name.as_str()).collect();
                write!(f, "needs input: {}", names.join(", "))
            }
        }
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
