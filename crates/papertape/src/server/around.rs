//! Hooks around functions: to time them, to refuse them, to limit them.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use super::call::{Output, Run};
use super::context::Call;
use super::error::{Failure, ToolError};

/// What is about to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct About {
    /// `tool`, `resource`, `resource template`, `prompt` or `completion`.
    pub what: &'static str,
    /// The name of the tool or prompt, the URI of the resource, or its template; for a completion, of what is completed.
    pub name: String,
}

/// What is left to do.
pub struct Next(Run);

/// What came of it.
#[derive(Debug)]
pub struct Done(Output);

impl Next {
    /// Does it.
    ///
    /// # Errors
    /// As the function that does it says; pass it on.
    pub async fn run(self) -> Result<Done, ToolError> {
        match self.0.await {
            // A question is no failure: it is put to the client, and then all of this happens again.
            Err(ToolError(Failure::Ask(questions))) => Ok(Done(Output::Asks(questions))),
            outcome => outcome.map(Done),
        }
    }
}

impl Done {
    /// Whether it is the result of a tool that ran and failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        matches!(&self.0, Output::Tool(result) if result.is_error)
    }

    /// Whether it is not done yet, because the client has to be asked something first.
    #[must_use]
    pub fn asks(&self) -> bool {
        matches!(&self.0, Output::Asks(_))
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").finish_non_exhaustive()
    }
}

/// A hook.
#[derive(Clone)]
pub(crate) struct Hook(Arc<dyn Fn(About, Next) -> Run + Send + Sync>);

impl Hook {
    pub(super) fn new<F, Fut>(around: F) -> Self
    where
        F: Fn(About, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Done, ToolError>> + Send + 'static,
    {
        let around = Arc::new(around);
        Self(Arc::new(move |about: About, next: Next| -> Run {
            let around = Arc::clone(&around);
            Box::pin(async move {
                match around(about, next).await?.0 {
                    Output::Asks(questions) => Err(ToolError(Failure::Ask(questions))),
                    output => Ok(output),
                }
            })
        }))
    }
}

/// A function with all hooks around it: those of the server, then those of the servers within which it was mounted; of
/// each, the first that was added is the outermost.
pub(super) fn wrapped(call: &Call, run: Run) -> Run {
    let hooks = call.service.hooks.iter().chain(call.target.hooks());
    hooks.rev().fold(run, |run, hook| {
        let about = About { what: call.target.what(), name: call.target.name().to_owned() };
        (hook.0)(about, Next(run))
    })
}

/// The hooks of what is mounted in a server with hooks of its own.
pub(super) fn mounted(outer: &[Hook], inner: &[Hook]) -> Vec<Hook> {
    outer.iter().chain(inner).cloned().collect()
}

/// The name of a tool that belongs to a server within another.
pub(super) fn prefixed(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}_{name}") }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook").finish_non_exhaustive()
    }
}
