//! A server: what it is called and what it offers.
//!
//! [`Server`] collects; `dispatch` takes a message to what it asks for; `call` runs tools; `opening` does the
//! handshakes of both eras; `watch` the subscriptions.

mod call;
mod context;
mod dispatch;
mod error;
mod limits;
mod opening;
mod output;
mod registry;
mod tool;
mod watch;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use call::Begun;
pub(crate) use context::Call;
pub use context::Cx;
pub(crate) use dispatch::{Calls, Service};
pub use error::{SetupError, ToolError};
pub use limits::Limits;
pub use output::{Json, ToolOutput};
pub use registry::Tools;
pub use tool::Tool;

use crate::protocol::capabilities::Implementation;
use crate::protocol::content::Icon;
use crate::protocol::project::{CacheHint, CacheScope};
use registry::Registry;
use tool::Registered;

/// A server under construction.
///
/// Everything it announces follows from what is registered here; every schema is checked when it starts.
#[derive(Debug)]
pub struct Server {
    identity: Implementation,
    instructions: Option<String>,
    registry: Arc<Registry>,
    /// Somebody holds a handle to change the tools.
    dynamic: bool,
    cache: CacheHint,
    limits: Limits,
    /// The first thing that went wrong, told when the server is built.
    problem: Option<SetupError>,
}

impl Server {
    /// A server with a name and a version of its own, and nothing to offer yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            identity: Implementation {
                name: name.into(),
                version: version.into(),
                ..Implementation::default()
            },
            instructions: None,
            registry: Arc::default(),
            dynamic: false,
            cache: CacheHint { ttl_ms: 0, cache_scope: CacheScope::Private },
            limits: Limits::default(),
            problem: None,
        }
    }

    /// Its name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.identity.title = Some(title.into());
        self
    }

    /// What it is for.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.identity.description = Some(description.into());
        self
    }

    /// Where to read more about it.
    #[must_use]
    pub fn website(mut self, url: impl Into<String>) -> Self {
        self.identity.website_url = Some(url.into());
        self
    }

    /// A picture of it.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.identity.icons.push(icon);
        self
    }

    /// What a model should know about the server as a whole.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Adds a tool: a name (or a [`Tool`] with more to say) and an async function.
    ///
    /// The function takes its arguments as a type of its own and a [`Cx`].
    /// The type's schema is what clients see and what every call is checked against before the function runs.
    ///
    /// The function's first steps run on the connection's own thread; when it first awaits something that is not ready,
    /// it moves to the runtime. Blocking work belongs into `tokio::task::spawn_blocking`.
    #[must_use]
    pub fn tool<A, F, Fut, O>(mut self, tool: impl Into<Tool>, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ToolOutput,
    {
        self.add(Registered::typed(tool.into(), handler));
        self
    }

    /// Adds a tool whose schema is given as JSON ([`Tool::input_schema`]) and whose function takes any JSON that the
    /// schema allows: for bridges and tools that are not known when the program is written.
    #[must_use]
    pub fn raw_tool<F, Fut, O>(mut self, tool: impl Into<Tool>, handler: F) -> Self
    where
        F: Fn(Value, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ToolOutput,
    {
        self.add(Registered::raw(tool.into(), handler));
        self
    }

    /// A handle to add and remove tools while the server runs.
    /// Taking one makes the server announce that its list of tools can change.
    #[must_use]
    pub fn tools(&mut self) -> Tools {
        self.dynamic = true;
        Tools { registry: Arc::clone(&self.registry) }
    }

    /// For how long clients may keep lists, and whether they may share them with others. Not at all, by default.
    #[must_use]
    pub fn cache(mut self, time: Duration, scope: CacheScope) -> Self {
        self.cache =
            CacheHint { ttl_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX), cache_scope: scope };
        self
    }

    /// How much one peer may ask for.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The server ready to serve, or why it cannot.
    pub(crate) fn build(self) -> Result<Arc<Service>, SetupError> {
        match self.problem {
            Some(problem) => Err(problem),
            None => Ok(Arc::new(Service::new(self))),
        }
    }

    /// Whether the server can start; the error names the tool at fault.
    ///
    /// Serving checks this too; here it is for tests.
    ///
    /// # Errors
    /// If a tool has a bad schema, no name, or another's name.
    pub fn check(&self) -> Result<(), SetupError> {
        self.problem.clone().map_or(Ok(()), Err)
    }

    fn add(&mut self, tool: Result<Registered, SetupError>) {
        if let Err(problem) = tool.and_then(|tool| self.registry.add(tool)) {
            self.problem.get_or_insert(problem);
        }
    }
}
