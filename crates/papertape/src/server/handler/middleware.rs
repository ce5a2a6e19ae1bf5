//! Middleware around handlers: to time them, to refuse them, to limit them.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use crate::server::handler::error::{Failure, ToolError};
use crate::server::pipeline::run::{Call, Output, Run};

/// What is about to run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation {
    /// `tool`, `resource`, `resource template`, `prompt` or `completion`.
    pub kind: &'static str,
    /// The name of the tool or prompt, the URI of the resource, or its template; for a completion, of what is completed.
    pub name: String,
}

/// The rest of the middleware, and the handler.
pub struct Next(Run);

/// The outcome of a handler.
#[derive(Debug)]
pub struct Outcome(Output);

impl Next {
    /// Runs it.
    ///
    /// # Errors
    /// The error of the handler, to be passed on.
    pub async fn run(self) -> Result<Outcome, ToolError> {
        match self.0.await {
            // Elicitation is not a failure: the client gets the request, and then all of this runs again.
            Err(ToolError(Failure::InputRequired(requests))) => Ok(Outcome(Output::InputRequired(requests))),
            outcome => outcome.map(Outcome),
        }
    }
}

impl Outcome {
    /// Whether it is the result of a tool that ran and failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        matches!(&self.0, Output::Tool(result) if result.is_error)
    }

    /// Whether the handler has not ended yet, because it needs input from the client first.
    #[must_use]
    pub fn is_input_required(&self) -> bool {
        matches!(&self.0, Output::InputRequired(_))
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").finish_non_exhaustive()
    }
}

/// One middleware.
#[derive(Clone)]
pub(crate) struct Middleware(Arc<dyn Fn(Operation, Next) -> Run + Send + Sync>);

impl Middleware {
    pub(crate) fn new<F, Fut>(around: F) -> Self
    where
        F: Fn(Operation, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Outcome, ToolError>> + Send + 'static,
    {
        let around = Arc::new(around);
        Self(Arc::new(move |operation: Operation, next: Next| -> Run {
            let around = Arc::clone(&around);
            Box::pin(async move {
                match around(operation, next).await?.0 {
                    Output::InputRequired(requests) => Err(ToolError(Failure::InputRequired(requests))),
                    output => Ok(output),
                }
            })
        }))
    }
}

/// A handler with all middleware around it: that of the server, then that of the servers it was mounted with; of each, the
/// first that was added is the outermost.
pub(crate) fn wrap(call: &Call, run: Run) -> Run {
    let middleware = call.service.middleware.iter().chain(call.feature.middleware());
    middleware.rev().fold(run, |run, middleware| {
        let operation = Operation { kind: call.feature.kind(), name: call.feature.name().to_owned() };
        (middleware.0)(operation, Next(run))
    })
}

/// The middleware of a feature that is mounted in a server with middleware of its own.
pub(crate) fn mounted(outer: &[Middleware], inner: &[Middleware]) -> Vec<Middleware> {
    outer.iter().chain(inner).cloned().collect()
}

/// The name of a tool that belongs to a server within another.
pub(crate) fn prefixed(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}_{name}") }
}

impl fmt::Debug for Middleware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Middleware").finish_non_exhaustive()
    }
}
