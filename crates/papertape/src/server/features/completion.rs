//! Completion of the arguments of prompts and resource templates.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use crate::protocol::Completion;
use crate::server::handler::error::ToolError;
use crate::server::handler::middleware::Middleware;
use crate::server::pipeline::run::{Output, Pace, Run};

/// The most values in one result.
const MOST_VALUES: usize = 100;

/// What is to be completed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// The value of the argument so far.
    pub value: String,
    /// The values of the other arguments, as far as they are known.
    pub known: BTreeMap<String, String>,
}

impl CompletionRequest {
    /// A request to complete a value, with no other arguments known: for tests.
    pub fn new(value: impl Into<String>) -> Self {
        Self { value: value.into(), known: BTreeMap::new() }
    }
}

/// The completion handlers of a prompt or resource template, by argument.
#[derive(Clone, Default)]
pub(crate) struct Completers(BTreeMap<String, Completer>);

/// The argument that a call completes.
#[derive(Debug)]
pub(crate) struct CompletedArgument {
    pub(crate) completer: Completer,
    /// The prompt or template that it belongs to.
    pub(crate) name: String,
    pub(crate) middleware: Vec<Middleware>,
}

#[derive(Clone)]
pub(crate) struct Completer {
    complete: Arc<dyn Fn(CompletionRequest) -> Run + Send + Sync>,
    pub(crate) pace: Arc<Pace>,
}

impl Completers {
    pub(crate) fn add<F, Fut>(&mut self, argument: String, complete: F)
    where
        F: Fn(CompletionRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<String>, ToolError>> + Send + 'static,
    {
        let complete = Arc::new(complete);
        let complete = Arc::new(move |so_far: CompletionRequest| -> Run {
            let complete = Arc::clone(&complete);
            Box::pin(async move { Ok(Output::Completion(shortened(complete(so_far).await?))) })
        });
        self.0.insert(argument, Completer { complete, pace: Arc::default() });
    }

    pub(crate) fn find(&self, argument: &str) -> Option<&Completer> {
        self.0.get(argument)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl Completer {
    /// The completer of an argument that has none: it gives no values.
    pub(crate) fn empty() -> Self {
        Self {
            complete: Arc::new(|_| Box::pin(async { Ok(Output::Completion(shortened(Vec::new()))) })),
            pace: Arc::default(),
        }
    }

    pub(crate) fn complete(&self, so_far: CompletionRequest) -> Run {
        (self.complete)(so_far)
    }
}

fn shortened(mut values: Vec<String>) -> Completion {
    let total = values.len();
    values.truncate(MOST_VALUES);
    Completion { has_more: total > values.len(), total: u64::try_from(total).ok(), values }
}

impl fmt::Debug for Completers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl fmt::Debug for Completer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completer").finish_non_exhaustive()
    }
}
