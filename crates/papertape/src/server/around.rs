//! Hooks around functions: to time them, to refuse them, to limit them.

use std::collections::HashSet;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use super::call::{Output, Run};
use super::context::Call;
use super::error::ToolError;

/// What is about to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct About {
    /// `tool`, `resource`, `resource template`, `prompt` or `completion`.
    pub what: &'static str,
    /// The name of the tool or prompt, the URI of the resource, or its template.
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
        self.0.await.map(Done)
    }
}

impl Done {
    /// Whether it is the result of a tool that ran and failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        matches!(&self.0, Output::Tool(result) if result.is_error)
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").finish_non_exhaustive()
    }
}

/// A hook, and what it is around.
#[derive(Clone)]
pub(crate) struct Hook {
    wrap: Arc<dyn Fn(About, Next) -> Run + Send + Sync>,
    /// The names it is for; none is all of them.
    only: Option<Arc<HashSet<String>>>,
}

impl Hook {
    pub(super) fn new<F, Fut>(around: F) -> Self
    where
        F: Fn(About, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Done, ToolError>> + Send + 'static,
    {
        let around = Arc::new(around);
        let wrap = Arc::new(move |about: About, next: Next| -> Run {
            let around = Arc::clone(&around);
            Box::pin(async move { around(about, next).await.map(|done| done.0) })
        });
        Self { wrap, only: None }
    }

    /// The same hook for some names only.
    pub(super) fn only_for(mut self, names: &Arc<HashSet<String>>) -> Self {
        self.only = Some(Arc::clone(names));
        self
    }

    fn is_for(&self, call: &Call) -> bool {
        self.only.as_ref().is_none_or(|names| names.contains(call.target.name()))
    }
}

/// A function with all hooks around it: the first that was added is the outermost.
pub(super) fn wrapped(call: &Call, run: Run) -> Run {
    let hooks = call.service.hooks.iter().rev().filter(|hook| hook.is_for(call));
    hooks.fold(run, |run, hook| {
        let about = About { what: call.target.what(), name: call.target.name().to_owned() };
        (hook.wrap)(about, Next(run))
    })
}

/// The name of a tool that belongs to a server within another.
pub(super) fn prefixed(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}_{name}") }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook").field("only", &self.only).finish_non_exhaustive()
    }
}
