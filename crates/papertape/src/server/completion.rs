//! Completion: what was typed so far to what it may go on with.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use super::call::{Output, Run};
use super::error::ToolError;
use super::pace::Pace;
use crate::protocol::Completion;

/// The most values one answer may have.
const MOST_VALUES: usize = 100;

/// What was typed so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completing {
    /// The beginning of the argument.
    pub value: String,
    /// The other arguments, as far as they are known.
    pub known: BTreeMap<String, String>,
}

/// The functions that complete the arguments of something.
#[derive(Clone, Default)]
pub(crate) struct Completers(BTreeMap<String, Completer>);

#[derive(Clone)]
pub(crate) struct Completer {
    complete: Arc<dyn Fn(Completing) -> Run + Send + Sync>,
    pub(crate) pace: Arc<Pace>,
}

impl Completers {
    pub(crate) fn add<F, Fut>(&mut self, argument: String, complete: F)
    where
        F: Fn(Completing) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<String>, ToolError>> + Send + 'static,
    {
        let complete = Arc::new(complete);
        let complete = Arc::new(move |so_far: Completing| -> Run {
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
    /// Stands for one that there is not, and knows nothing that an argument may go on with.
    pub(crate) fn nobody() -> Self {
        Self {
            complete: Arc::new(|_| Box::pin(async { Ok(Output::Completion(shortened(Vec::new()))) })),
            pace: Arc::default(),
        }
    }

    pub(crate) fn complete(&self, so_far: Completing) -> Run {
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
