//! Completion of the arguments of prompts and resource templates.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use crate::protocol::Completion;
use crate::server::Principal;
use crate::server::handler::context::Cx;
use crate::server::handler::error::ToolError;
use crate::server::handler::middleware::Middleware;
use crate::server::pipeline::run::{Output, Pace, Run};

/// The most values in one result.
const MOST_VALUES: usize = 100;

/// A request to complete the value of an argument of a prompt, or of a variable of a resource template.
///
/// ```
/// use papertape::ToolError;
/// use papertape::server::{CompletionRequest, Prompt};
///
/// async fn files(request: CompletionRequest) -> Result<Vec<String>, ToolError> {
///     let files = ["main.rs", "lib.rs"].into_iter().filter(|file| file.starts_with(&request.value));
///     Ok(files.map(str::to_owned).collect())
/// }
///
/// #[tokio::main]
/// async fn main() {
///     let review = Prompt::new("review").complete("file", files);
///     assert_eq!(files(CompletionRequest::new("ma")).await.unwrap(), ["main.rs"]);
/// }
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// The value of the argument so far.
    pub value: String,
    /// The values of the other arguments, as far as they are known.
    pub known: BTreeMap<String, String>,
    cx: Option<Cx>,
}

impl CompletionRequest {
    /// A request to complete a value, with no other arguments known: for tests.
    pub fn new(value: impl Into<String>) -> Self {
        Self { value: value.into(), ..Self::default() }
    }

    pub(crate) fn of_call(value: String, known: BTreeMap<String, String>, cx: Cx) -> Self {
        Self { value, known, cx: Some(cx) }
    }

    /// The context of the request; `None` if a test has made it. State is cloned into the handler.
    ///
    /// ```
    /// use papertape::server::{CompletionRequest, Prompt};
    ///
    /// let summary = Prompt::new("summary").complete("file", |so_far: CompletionRequest| async move {
    ///     let owner = so_far.principal().map_or("public", |principal| &*principal.name);
    ///     Ok(vec![format!("{owner}/{}", so_far.value)])
    /// });
    /// ```
    #[must_use]
    pub fn cx(&self) -> Option<&Cx> {
        self.cx.as_ref()
    }

    /// The principal of the request, if the transport has authenticated one.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.cx().and_then(Cx::principal)
    }
}

/// Requests are equal if the same is to be completed, in whatever context.
impl PartialEq for CompletionRequest {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value && self.known == other.known
    }
}

impl Eq for CompletionRequest {}

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
            Box::pin(async move { Ok(Output::Completion(all(complete(so_far).await?))) })
        });
        self.0.insert(argument, Completer { complete, pace: Arc::default() });
    }

    /// The same with a handler that gives the whole result.
    pub(crate) fn add_raw<F, Fut>(&mut self, argument: String, complete: F)
    where
        F: Fn(CompletionRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Completion, ToolError>> + Send + 'static,
    {
        let complete = Arc::new(complete);
        let complete = Arc::new(move |so_far: CompletionRequest| -> Run {
            let complete = Arc::clone(&complete);
            Box::pin(async move {
                let mut completion = complete(so_far).await?;
                completion.has_more |= completion.values.len() > MOST_VALUES;
                completion.values.truncate(MOST_VALUES);
                Ok(Output::Completion(completion))
            })
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
            complete: Arc::new(|_| Box::pin(async { Ok(Output::Completion(all(Vec::new()))) })),
            pace: Arc::default(),
        }
    }

    pub(crate) fn complete(&self, so_far: CompletionRequest) -> Run {
        (self.complete)(so_far)
    }
}

/// All values; as many as a result may have are left when it is written.
fn all(values: Vec<String>) -> Completion {
    Completion { has_more: false, total: u64::try_from(values.len()).ok(), values }
}

/// As many values as a result may have: also of a completion that middleware has made.
pub(crate) fn shortened(mut completion: Completion) -> Completion {
    if completion.values.len() > MOST_VALUES {
        completion.values.truncate(MOST_VALUES);
        completion.has_more = true;
    }
    completion
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
