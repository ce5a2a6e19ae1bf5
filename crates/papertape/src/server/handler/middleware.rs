//! Middleware around handlers: to log them, to limit them, to change what they get and return.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde_json::Value;

use crate::protocol::{CallToolResult, Completion, PromptResult, RawJson, ResourceContents};
use crate::server::Principal;
use crate::server::handler::context::Cx;
use crate::server::handler::error::{Failure, ToolError};
use crate::server::pipeline::prepare::Arguments;
use crate::server::pipeline::run::{Call, Output, Run};

/// A request that is about to run: what middleware is given, and hands on to [`Next::run`].
///
/// Its arguments are as the client sent them. They are validated after all middleware, so that middleware can change them.
#[derive(Clone)]
pub struct Request {
    cx: Cx,
    arguments: Arguments,
    /// Middleware may have changed the arguments.
    changed: bool,
}

impl Request {
    /// `tool`, `resource`, `resource template`, `prompt`, `completion`, `method` or `notification`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.cx.call.feature.kind()
    }

    /// The method, such as `tools/call`.
    #[must_use]
    pub fn method(&self) -> &str {
        self.cx.call.feature.method()
    }

    /// The name of the tool or prompt, the URI of the resource, or its template; for a completion, of what is completed; the
    /// name of a method.
    #[must_use]
    pub fn name(&self) -> &str {
        self.cx.call.feature.name()
    }

    /// The URI of the resource that is read.
    #[must_use]
    pub fn uri(&self) -> Option<&str> {
        self.cx.call.feature.uri()
    }

    /// The arguments of the tool or prompt, and the values of a resource template: an object. For a completion, an object with
    /// the `argument` and `context` of the request; for a method, its `params`.
    ///
    /// Numbers that a [`Value`] cannot hold (integers over 64 bits, for example) are rounded here; the handler gets them as
    /// they were sent.
    #[must_use]
    pub fn arguments(&self) -> &Value {
        self.arguments.rounded()
    }

    /// The arguments, to be changed.
    #[must_use]
    pub fn arguments_mut(&mut self) -> &mut Value {
        self.changed = true;
        self.arguments.rounded_mut()
    }

    /// Replaces the arguments.
    pub fn set_arguments(&mut self, arguments: impl Into<RawJson>) {
        self.changed = false;
        self.arguments = Arguments::from(arguments.into());
    }

    /// The principal of the request, if the transport has authenticated one.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.cx.principal()
    }

    /// The context of the handler.
    #[must_use]
    pub fn cx(&self) -> &Cx {
        &self.cx
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("kind", &self.kind())
            .field("name", &self.name())
            .field("arguments", self.arguments())
            .finish_non_exhaustive()
    }
}

/// Runs a handler with arguments, if they are valid.
type Handler = dyn Fn(Arguments) -> Run + Send + Sync;

/// The rest of the middleware, and the handler. Middleware that keeps a clone can run them again.
#[derive(Clone)]
pub struct Next {
    call: Arc<Call>,
    /// How many of the middleware come before.
    index: usize,
    handler: Arc<Handler>,
}

impl Next {
    /// Runs them.
    ///
    /// # Errors
    /// The error of the handler, or why its arguments are invalid, to be passed on. In newer revisions invalid arguments of a
    /// tool are an [`Outcome`] instead, one that [is an error](Outcome::is_error), so that a model can correct itself.
    pub async fn run(self, request: Request) -> Result<Outcome, ToolError> {
        let Next { call, index, handler } = self;
        let middleware = call.service.middleware.iter().chain(call.feature.middleware()).nth(index).cloned();
        let run = match middleware {
            Some(middleware) => (middleware.0)(request, Next { call, index: index + 1, handler }),
            None if request.changed => handler(request.arguments.changed()),
            None => handler(request.arguments),
        };
        match run.await {
            // Elicitation is not a failure: the client gets the request, and then all of this runs again.
            Err(ToolError(Failure::InputRequired(requests))) => Ok(Outcome(Output::InputRequired(requests))),
            outcome => outcome.map(Outcome),
        }
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").finish_non_exhaustive()
    }
}

/// The outcome of a handler, which middleware can inspect, change, keep or replace.
///
/// It must be of the request's kind: a [`CallToolResult`] for a tool, and so on.
///
/// ```
/// use papertape::protocol::CallToolResult;
/// use papertape::server::Outcome;
///
/// let mut outcome = Outcome::from(CallToolResult::new("hello"));
/// outcome.as_tool_mut().unwrap().is_error = true;
/// assert!(outcome.is_error());
/// ```
#[derive(Debug, Clone)]
pub struct Outcome(Output);

impl Outcome {
    /// Whether it is the result of a tool that ran and failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.as_tool().is_some_and(|result| result.is_error)
    }

    /// Whether the handler has not ended yet, because it needs input from the client first.
    #[must_use]
    pub fn is_input_required(&self) -> bool {
        matches!(&self.0, Output::InputRequired(_))
    }
}

macro_rules! outcome_of {
    ($($variant:ident($kind:ty): $what:literal, $get:ident, $get_mut:ident, $into:ident;)*) => {
        impl Outcome {$(
            #[doc = concat!("The result of ", $what, ", if it is one.")]
            #[must_use]
            pub fn $get(&self) -> Option<&$kind> {
                if let Output::$variant(result) = &self.0 { Some(result) } else { None }
            }

            #[doc = concat!("The result of ", $what, ", to be changed.")]
            #[must_use]
            pub fn $get_mut(&mut self) -> Option<&mut $kind> {
                if let Output::$variant(result) = &mut self.0 { Some(result) } else { None }
            }

            #[doc = concat!("The result of ", $what, ", by value.")]
            #[must_use]
            pub fn $into(self) -> Option<$kind> {
                if let Output::$variant(result) = self.0 { Some(result) } else { None }
            }
        )*}

        $(impl From<$kind> for Outcome {
            fn from(result: $kind) -> Self {
                Self(Output::$variant(result))
            }
        })*
    };
}

outcome_of! {
    Tool(CallToolResult): "a tool", as_tool, as_tool_mut, into_tool;
    Read(Vec<ResourceContents>): "reading a resource", as_resource, as_resource_mut, into_resource;
    Prompt(PromptResult): "a prompt", as_prompt, as_prompt_mut, into_prompt;
    Completion(Completion): "a completion", as_completion, as_completion_mut, into_completion;
    Method(RawJson): "a method of the server's own", as_method, as_method_mut, into_method;
}

/// One middleware.
#[derive(Clone)]
pub(crate) struct Middleware(Arc<dyn Fn(Request, Next) -> Run + Send + Sync>);

impl Middleware {
    pub(crate) fn new<F, Fut>(around: F) -> Self
    where
        F: Fn(Request, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Outcome, ToolError>> + Send + 'static,
    {
        let around = Arc::new(around);
        Self(Arc::new(move |request: Request, next: Next| -> Run {
            let around = Arc::clone(&around);
            Box::pin(async move { output(around(request, next).await?) })
        }))
    }
}

fn output(outcome: Outcome) -> Result<Output, ToolError> {
    match outcome.0 {
        Output::InputRequired(requests) => Err(ToolError(Failure::InputRequired(requests))),
        output => Ok(output),
    }
}

/// A handler with all middleware around it: that of the server, then that of the servers it was mounted with; of each, the
/// first that was added is the outermost.
pub(crate) fn wrap(call: &Arc<Call>, arguments: Arguments, handler: Arc<Handler>) -> Run {
    let next = Next { call: Arc::clone(call), index: 0, handler };
    let request = Request { cx: Cx::new(call), arguments, changed: false };
    Box::pin(async move { output(next.run(request).await?) })
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
