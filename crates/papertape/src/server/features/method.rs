//! Methods and notifications that are not part of MCP: those of an extension, or of the author's own.

use std::any::TypeId;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::protocol::{RawJson, method};
use crate::server::features::tool::{Json, read_arguments};
use crate::server::handler::context::Cx;
use crate::server::handler::error::{SetupError, ToolError};
use crate::server::handler::middleware::{self, Middleware};
use crate::server::pipeline::prepare::Arguments;
use crate::server::pipeline::run::{Output, Pace, Run};
use papertape_oauth::is_scope;

/// A custom method or notification: its name and scopes. A plain name is often enough. See [`Server::method`](crate::Server::method).
///
/// ```
/// use papertape::server::Method;
/// let method = Method::new("com.example/reindex").scopes(["admin"]);
/// ```
#[derive(Debug, Clone)]
pub struct Method {
    name: String,
    scopes: Vec<String>,
}

impl Method {
    /// A method of that name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), scopes: Vec::new() }
    }

    /// The scopes that a principal needs, where the transport authenticates principals (HTTP with authorization).
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }
}

impl From<&str> for Method {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for Method {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

/// What the handler of a method can return: an object, because results are objects.
pub trait MethodOutput: Send + 'static {
    /// The result as JSON.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    fn into_object(self) -> Result<RawJson, ToolError>;
}

impl<T: Serialize + Send + 'static> MethodOutput for Json<T> {
    fn into_object(self) -> Result<RawJson, ToolError> {
        RawJson::write(&self.0).map_err(ToolError::internal)
    }
}

/// As it is, with every member and every digit.
impl MethodOutput for RawJson {
    fn into_object(self) -> Result<RawJson, ToolError> {
        Ok(self)
    }
}

impl MethodOutput for Value {
    fn into_object(self) -> Result<RawJson, ToolError> {
        Ok(self.into())
    }
}

impl MethodOutput for Map<String, Value> {
    fn into_object(self) -> Result<RawJson, ToolError> {
        Ok(Value::Object(self).into())
    }
}

/// An empty object.
impl MethodOutput for () {
    fn into_object(self) -> Result<RawJson, ToolError> {
        Ok(Value::Object(Map::new()).into())
    }
}

type Start = dyn Fn(Arguments, Cx) -> Result<Run, String> + Send + Sync;

/// A method or notification ready to be called.
#[derive(Clone)]
pub(crate) struct RegisteredMethod {
    name: String,
    /// `method` or `notification`.
    pub(crate) kind: &'static str,
    pub(crate) scopes: Vec<String>,
    /// The middleware of the servers that it was mounted with.
    pub(crate) middleware: Vec<Middleware>,
    start: Arc<Start>,
    pace: Arc<Pace>,
}

impl RegisteredMethod {
    pub(crate) const METHOD: &'static str = "method";
    pub(crate) const NOTIFICATION: &'static str = "notification";

    pub(crate) fn new<A, F, Fut, O>(
        kind: &'static str,
        method: Method,
        handler: F,
    ) -> Result<Self, SetupError>
    where
        A: DeserializeOwned + Send + 'static,
        F: Fn(A, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: MethodOutput,
    {
        let Method { name, scopes } = method;
        check_name(kind, &name)?;
        if let Some(scope) = scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(SetupError::Scope { what: kind, name, scope: scope.clone() });
        }
        let handler = Arc::new(handler);
        let takes_nothing = TypeId::of::<A>() == TypeId::of::<()>();
        let start = Arc::new(move |arguments: Arguments, cx: Cx| {
            // `()` takes any params: a newer client may send more to an older server.
            let arguments = if takes_nothing { Arguments::from(RawJson::from(json!({}))) } else { arguments };
            let arguments: A = arguments.read(read_arguments)?;
            let handler = Arc::clone(&handler);
            let run: Run = Box::pin(async move {
                let result = handler(arguments, cx).await?.into_object()?;
                if result.is_object() {
                    Ok(Output::Method(result))
                } else {
                    Err(ToolError::internal("the result of a method must be an object"))
                }
            });
            Ok(run)
        });
        Ok(Self { name, kind, scopes, middleware: Vec::new(), start, pace: Arc::default() })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    /// The same under another name.
    pub(crate) fn named(&self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self.clone() }
    }

    /// The same within a server with middleware of its own.
    pub(crate) fn mounted(&self, middleware: &[Middleware]) -> Self {
        Self { middleware: middleware::mounted(middleware, &self.middleware), ..self.clone() }
    }

    /// Starts the handler; the error says why it cannot read its parameters.
    pub(crate) fn start(&self, arguments: Arguments, cx: Cx) -> Result<Run, String> {
        (self.start)(arguments, cx).map_err(|problem| format!("invalid params for {}: {problem}", self.name))
    }
}

/// Whether a name is not MCP's own.
fn check_name(kind: &'static str, name: &str) -> Result<(), SetupError> {
    let problem = if name.is_empty() {
        return Err(SetupError::EmptyName { what: kind });
    } else if method::is_standard(name) {
        "is a method of MCP, which the server handles itself"
    } else if name.starts_with("rpc.") {
        "begins with `rpc.`, which is reserved by JSON-RPC"
    } else {
        return Ok(());
    };
    Err(SetupError::Method { kind, name: name.to_owned(), problem })
}

impl fmt::Debug for RegisteredMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RegisteredMethod").field(&self.name).finish_non_exhaustive()
    }
}
