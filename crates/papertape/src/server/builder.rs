//! [`Server`]: a server under construction.

use std::fmt;
use std::future::{Future, ready};
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::protocol::capabilities::{Implementation, ServerCapabilities};
use crate::protocol::content::Icon;
use crate::protocol::project::{CacheHint, CacheScope};
use crate::server::catalog::handles::{Prompts, Resources, Tools};
use crate::server::catalog::registry::{Listed, Registry};
use crate::server::catalog::visibility::{MountedNames, Visibility};
use crate::server::elicitation::seal::Sealer;
use crate::server::extend::Custom;
use crate::server::features::app::App;
use crate::server::features::prompt::{Prompt, PromptOutput, RegisteredPrompt};
use crate::server::features::resource::{
    ReadOutput, RegisteredResource, RegisteredTemplate, Resource, ResourceTemplate,
};
use crate::server::features::skills::SkillCatalog;
#[cfg(feature = "skills")]
use crate::server::features::skills::Skills;
use crate::server::features::tool::{RegisteredTool, Tool, ToolOutput};
use crate::server::features::warning::{self, Warning};
use crate::server::handler::context::{Cx, reader_with_state, with_state};
use crate::server::handler::error::{SetupError, ToolError};
use crate::server::handler::middleware::{Middleware, Next, Outcome, Request, prefixed};
use crate::server::limits::Limits;
use crate::server::service::{Changing, Service};
use crate::server::session::subscribers::Subscribers;
use crate::server::tasks::TaskStore;

/// A server under construction.
///
/// Everything it announces follows from what is registered here; every schema is checked when it starts.
/// `S` is the type of the state that its handlers share: `()` unless [`Server::with_state`] sets one.
///
/// ```
/// use papertape::server::Tool;
/// use papertape::{Cx, Server, ToolError};
///
/// async fn version(_: (), _: Cx) -> Result<String, ToolError> {
///     Ok("1.0.0".to_owned())
/// }
///
/// let server = Server::new("about", "1.0.0")
///     .instructions("Ask for the version first.")
///     .tool(Tool::new("version").description("The version.").read_only(), version)
///     .resource("about:///license", async |_| Ok("MIT"));
/// assert_eq!(server.check().unwrap(), []);
/// ```
pub struct Server<S = ()> {
    /// What handlers that are registered from now on share.
    pub(super) state: Arc<S>,
    pub(crate) identity: Implementation,
    pub(crate) instructions: Option<String>,
    pub(crate) tools: Arc<Registry<RegisteredTool>>,
    pub(crate) resources: Arc<Registry<RegisteredResource>>,
    pub(crate) templates: Arc<Registry<RegisteredTemplate>>,
    pub(crate) prompts: Arc<Registry<RegisteredPrompt>>,
    pub(crate) skills: SkillCatalog,
    /// The lists that a handle can change.
    pub(crate) changing: Changing,
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) tasks: Option<Arc<dyn TaskStore>>,
    pub(crate) middleware: Vec<Middleware>,
    pub(crate) visibility: Visibility,
    /// What it has beside the features of MCP.
    pub(crate) custom: Custom,
    pub(crate) logs: bool,
    pub(crate) sealer: Option<Sealer>,
    pub(crate) cache: CacheHint,
    pub(crate) limits: Limits,
    /// The first problem, reported when the server is built.
    pub(crate) problem: Option<SetupError>,
}

impl Server {
    /// A server with a name and a version, without features yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            state: Arc::default(),
            identity: Implementation {
                name: name.into(),
                version: version.into(),
                ..Implementation::default()
            },
            instructions: None,
            tools: Arc::default(),
            resources: Arc::default(),
            templates: Arc::default(),
            prompts: Arc::default(),
            skills: SkillCatalog::default(),
            changing: Changing::default(),
            subscribers: Arc::default(),
            tasks: None,
            middleware: Vec::new(),
            visibility: Visibility::default(),
            custom: Custom::default(),
            logs: false,
            sealer: None,
            cache: CacheHint { ttl_ms: 0, cache_scope: CacheScope::Private },
            limits: Limits::default(),
            problem: None,
        }
    }
}

impl<S: Send + Sync + 'static> Server<S> {
    /// Gives state to the handlers that are registered from here on: they take a [`Cx<S>`](Cx) and read it with [`Cx::state`].
    ///
    /// Handlers that are registered before keep what they have. The state is shared by all calls at once, so what changes in it
    /// is behind a lock, an atomic, or a connection pool.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use papertape::{Cx, Server, ToolError};
    ///
    /// #[derive(Default)]
    /// struct App {
    ///     calls: AtomicU64,
    /// }
    ///
    /// async fn count(_: (), cx: Cx<App>) -> Result<String, ToolError> {
    ///     Ok(cx.state().calls.fetch_add(1, Ordering::Relaxed).to_string())
    /// }
    ///
    /// let server = Server::new("counter", "1.0.0").with_state(App::default()).tool("count", count);
    /// ```
    #[must_use]
    pub fn with_state<T: Send + Sync + 'static>(self, state: T) -> Server<T> {
        self.with_shared_state(Arc::new(state))
    }

    /// The same with state that the program already shares.
    #[must_use]
    pub fn with_shared_state<T: Send + Sync + 'static>(self, state: Arc<T>) -> Server<T> {
        Server {
            state,
            identity: self.identity,
            instructions: self.instructions,
            tools: self.tools,
            resources: self.resources,
            templates: self.templates,
            prompts: self.prompts,
            skills: self.skills,
            changing: self.changing,
            subscribers: self.subscribers,
            tasks: self.tasks,
            middleware: self.middleware,
            visibility: self.visibility,
            custom: self.custom,
            logs: self.logs,
            sealer: self.sealer,
            cache: self.cache,
            limits: self.limits,
            problem: self.problem,
        }
    }

    /// The same without the type of its state, whose handlers have theirs: so that what serves it is compiled once.
    pub(crate) fn erased(self) -> Server {
        self.with_state(())
    }

    /// Its display name.
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

    /// Its website.
    #[must_use]
    pub fn website(mut self, url: impl Into<String>) -> Self {
        self.identity.website_url = Some(url.into());
        self
    }

    /// An icon.
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

    /// Adds a tool: a name (or a [`Tool`] with more options) and its handler, an async function.
    ///
    /// The handler takes its arguments as a type of its own and a [`Cx`].
    /// The type's schema is what clients see and what every call is validated against before the handler runs.
    ///
    /// The handler is first polled on the connection's own thread; when it first awaits something that is not ready,
    /// it moves to the runtime. Blocking work belongs in `tokio::task::spawn_blocking`.
    #[must_use]
    pub fn tool<A, F, Fut, O>(self, tool: impl Into<Tool>, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ToolOutput,
    {
        let tool = RegisteredTool::typed(tool.into(), with_state(&self.state, handler))
            .and_then(|tool| self.tools.add(tool));
        self.note(tool)
    }

    /// Adds a tool whose schema is given as JSON ([`Tool::input_schema`]) and whose handler takes any JSON that the
    /// schema allows: for bridges and tools that are not known when the program is written.
    #[must_use]
    pub fn raw_tool<F, Fut, O>(self, tool: impl Into<Tool>, handler: F) -> Self
    where
        F: Fn(Value, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ToolOutput,
    {
        let tool = RegisteredTool::raw(tool.into(), with_state(&self.state, handler))
            .and_then(|tool| self.tools.add(tool));
        self.note(tool)
    }

    /// Adds a resource: a URI (or a [`Resource`] with more options) and the handler that reads it.
    ///
    /// The handler gives text (`String`), bytes (`Vec<u8>`), or contents made by hand.
    #[must_use]
    pub fn resource<F, Fut, O>(self, resource: impl Into<Resource>, read: F) -> Self
    where
        F: Fn(Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ReadOutput,
    {
        let resource = RegisteredResource::new(resource.into(), reader_with_state(&self.state, read));
        let resource = resource.and_then(|resource| self.resources.add(resource));
        self.note(resource)
    }

    /// Adds a resource template (RFC 6570) and the handler that reads the resources it matches.
    ///
    /// The handler takes the values of the variables as a type of its own. For the client, a URI whose values that type cannot
    /// hold does not exist; neither does one for which the handler fails with [`ToolError::refused`].
    #[must_use]
    pub fn resource_template<A, F, Fut, O>(self, template: impl Into<ResourceTemplate>, read: F) -> Self
    where
        A: DeserializeOwned + Send + 'static,
        F: Fn(A, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ReadOutput,
    {
        let template = RegisteredTemplate::new(template.into(), with_state(&self.state, read));
        let template = template.and_then(|template| self.templates.add(template));
        self.note(template)
    }

    /// Adds a prompt: a name (or a [`Prompt`] with more options) and the handler that fills it in.
    ///
    /// The handler takes its arguments as a type of its own, whose fields are plain values.
    #[must_use]
    pub fn prompt<A, F, Fut, O>(self, prompt: impl Into<Prompt>, fill: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: PromptOutput,
    {
        let prompt = RegisteredPrompt::new(prompt.into(), with_state(&self.state, fill))
            .and_then(|prompt| self.prompts.add(prompt));
        self.note(prompt)
    }

    /// Adds skills: instructions for a model that a host loads when it needs them.
    ///
    /// Their files are resources; `SKILL.md` files are also listed as such, for clients that do not know skills.
    #[cfg(feature = "skills")]
    #[must_use]
    pub fn skills(mut self, skills: Skills) -> Self {
        let added = self
            .skills
            .add(skills)
            .and_then(|mut files| files.drain(..).try_for_each(|file| self.resources.add(file)));
        self.note(added)
    }

    /// Adds a page that hosts with MCP Apps show for the results of tools: those that name it with [`Tool::ui`].
    ///
    /// It is a resource, which is listed for clients with MCP Apps only.
    #[must_use]
    pub fn app(self, app: App) -> Self {
        match app.into_resource() {
            Ok((page, contents)) => self.resource(page, move |_| ready(Ok(contents.clone()))),
            Err(problem) => self.note(Err(problem)),
        }
    }

    /// Declares logging, so that handlers can send log messages with [`Cx::log`], which is deprecated in 2026-07-28.
    #[must_use]
    pub fn logging(mut self) -> Self {
        self.logs = true;
        self
    }

    /// The key that seals elicitation state, which clients of stateless revisions carry, and its lifetime. Replicas of a server
    /// need the same key.
    ///
    /// The default is a random key and 10 minutes.
    #[must_use]
    pub fn state_key(mut self, key: [u8; 32], lifetime: Duration) -> Self {
        self.sealer = Some(Sealer::new(key, lifetime));
        self
    }

    /// Where the tasks of long-running tools are stored: by default in memory.
    #[must_use]
    pub fn task_store(mut self, store: impl TaskStore) -> Self {
        self.tasks = Some(Arc::new(store));
        self
    }

    /// Adds middleware, which runs around every handler: it sees the request and the outcome, and can change, replace or refuse
    /// them.
    ///
    /// The first middleware that is added is the outermost. See docs/middleware.md for a rate limit and a cache.
    ///
    /// ```
    /// use papertape::server::{Next, Request};
    /// use papertape::{Server, ToolError};
    ///
    /// let server = Server::new("timed", "1.0.0").middleware(|request: Request, next: Next| async move {
    ///     if request.name() == "secret" {
    ///         return Err(ToolError::refused("not for you"));
    ///     }
    ///     let (called, began) = (format!("{request:?}"), std::time::Instant::now());
    ///     let outcome = next.run(request).await;
    ///     eprintln!("{called}: {:?}", began.elapsed());
    ///     outcome
    /// });
    /// ```
    #[must_use]
    pub fn middleware<F, Fut>(mut self, middleware: F) -> Self
    where
        F: Fn(Request, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Outcome, ToolError>> + Send + 'static,
    {
        self.middleware.push(Middleware::new(middleware));
        self
    }

    /// Adds all that another server offers. Its tools and prompts get a prefix: `PREFIX_NAME`; resources keep their URIs.
    ///
    /// Its instructions are added to those of this server; its title, its limits, its keys and stores, and how long its
    /// lists may be kept, and its fallbacks are not taken over.
    /// Its handlers keep the state that they were registered with.
    /// It is taken as it is now: handles to change it change nothing here. Its middleware stays around its own handlers.
    #[must_use]
    pub fn mount<T: Send + Sync + 'static>(self, prefix: &str, other: Server<T>) -> Self {
        self.mount_erased(prefix, other.erased())
    }

    fn mount_erased(mut self, prefix: &str, other: Server) -> Self {
        let mut mounted = other.problem.clone().map_or(Ok(()), Err);
        let middleware = &other.middleware;
        for tool in &other.tools.snapshot().items {
            let name = prefixed(prefix, tool.key());
            mounted = mounted.and_then(|()| self.tools.add(tool.mounted(name, middleware)));
        }
        for prompt in &other.prompts.snapshot().items {
            let name = prefixed(prefix, prompt.key());
            mounted = mounted.and_then(|()| self.prompts.add(prompt.mounted(name, middleware)));
        }
        for resource in &other.resources.snapshot().items {
            mounted = mounted.and_then(|()| self.resources.add(resource.mounted(middleware)));
        }
        for template in &other.templates.snapshot().items {
            mounted = mounted.and_then(|()| self.templates.add(template.mounted(middleware)));
        }
        mounted = mounted.and_then(|()| self.skills.mount(&other.skills, middleware));
        mounted = mounted.and_then(|()| self.custom.mount(other.custom.clone(), middleware));
        let mut names = MountedNames::default();
        names.add(&other.tools, |name| prefixed(prefix, name));
        names.add(&other.prompts, |name| prefixed(prefix, name));
        names.add(&other.resources, str::to_owned);
        names.add(&other.templates, str::to_owned);
        names.add(&other.skills.list, str::to_owned);
        names.add_listed(&other.templates);
        names.add_files(other.skills.file_uris());
        self.visibility.mount(other.visibility, names);
        self.logs |= other.logs;
        let said = [self.instructions.take(), other.instructions];
        let said: Vec<String> = said.into_iter().flatten().collect();
        self.instructions = (!said.is_empty()).then(|| said.join("\n\n"));
        self.note(mounted)
    }

    /// A handle to add and remove tools while the server runs.
    /// Taking one makes the server announce that its list of tools can change.
    #[must_use]
    pub fn tools(&mut self) -> Tools<S> {
        self.changing.tools = true;
        Tools {
            registry: Arc::clone(&self.tools),
            subscribers: Arc::clone(&self.subscribers),
            state: Arc::clone(&self.state),
        }
    }

    /// A handle to add and remove resources while the server runs, and to announce that some have changed.
    /// Taking one makes the server announce that they can.
    #[must_use]
    pub fn resources(&mut self) -> Resources<S> {
        (self.changing.resources, self.changing.watched) = (true, true);
        Resources {
            registry: Arc::clone(&self.resources),
            templates: Arc::clone(&self.templates),
            subscribers: Arc::clone(&self.subscribers),
            state: Arc::clone(&self.state),
        }
    }

    /// A handle to add and remove prompts while the server runs.
    /// Taking one makes the server announce that its list of prompts can change.
    #[must_use]
    pub fn prompts(&mut self) -> Prompts<S> {
        self.changing.prompts = true;
        Prompts {
            registry: Arc::clone(&self.prompts),
            subscribers: Arc::clone(&self.subscribers),
            state: Arc::clone(&self.state),
        }
    }

    /// Announces no more changes than these capabilities (`listChanged` and `subscribe`): for a proxy, which has taken handles of
    /// lists that change only if those behind it do.
    ///
    /// ```
    /// use papertape::Server;
    /// use papertape::protocol::capabilities::ServerCapabilities;
    ///
    /// let mut server = Server::new("proxy", "1.0.0");
    /// let tools = server.tools();
    /// // The list is filled once, and does not change after that.
    /// let server = server.announce_at_most(&ServerCapabilities::default());
    /// ```
    #[must_use]
    pub fn announce_at_most(mut self, capabilities: &ServerCapabilities) -> Self {
        let ServerCapabilities { tools, resources, prompts, .. } = capabilities;
        self.changing.tools &= tools.as_ref().is_some_and(|list| list.list_changed);
        self.changing.prompts &= prompts.as_ref().is_some_and(|list| list.list_changed);
        self.changing.resources &= resources.as_ref().is_some_and(|list| list.list_changed);
        self.changing.watched &= resources.as_ref().is_some_and(|list| list.subscribe);
        self
    }

    /// How long clients may cache lists, and whether caches may be shared. By default they are not cached.
    #[must_use]
    pub fn cache(mut self, time: Duration, scope: CacheScope) -> Self {
        self.cache = CacheHint::new(time, scope);
        self
    }

    /// The limits of one client.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Builds the server, to be served on any number of transports at once: see [`Service`].
    ///
    /// All functions that serve also take a [`Server`], and build it.
    ///
    /// # Errors
    /// If a tool has an invalid schema, no name, or another's name, and the like: the first problem of what was registered.
    pub fn build(self) -> Result<Service, SetupError> {
        self.problems()?;
        Ok(Service::new(self.erased()))
    }

    /// Whether the server can start, and what known hosts reject of what it offers: for tests.
    ///
    /// An error is what serving would give: it names the tool at fault. A warning is about something that the protocol allows,
    /// but that a known host rejects. Prompts are checked once they are filled in, by
    /// [`Warning::of_prompt`].
    ///
    /// ```
    /// use papertape::Server;
    /// use papertape::server::{Tool, WarningKind};
    /// use serde_json::{Value, json};
    ///
    /// let schema = json!({"type": "object", "properties": {"text": {"type": ["string", "null"]}}});
    /// let shout = Tool::new("shout").description("Say it louder.").input_schema(schema);
    /// let server = Server::new("loud", "1.0.0").raw_tool(shout, async |_: Value, _| Ok("HELLO"));
    /// let warnings = server.check().unwrap();
    /// assert_eq!(warnings[0].pointer, "/properties/text/type");
    /// assert_eq!(warnings[0].kind, WarningKind::TypeList);
    /// ```
    ///
    /// # Errors
    /// If a tool has a bad schema, no name, or another's name.
    pub fn check(&self) -> Result<Vec<Warning>, SetupError> {
        self.problems()?;
        Ok(self.tools.snapshot().items.iter().flat_map(|tool| warning::tool(&tool.definition)).collect())
    }

    /// The first problem of what was registered, or of what it lacks.
    fn problems(&self) -> Result<(), SetupError> {
        self.problem.clone().map_or(Ok(()), Err)?;
        // Resources that come later, or that the fallback reads, may be pages.
        if self.changing.resources || self.custom.fallbacks.resource.is_some() {
            return Ok(());
        }
        let is_page = |uri: &str| {
            self.resources.find(uri).is_some_and(|resource| resource.is_page())
                || self.templates.snapshot().items.iter().any(|template| template.match_uri(uri).is_some())
        };
        let tools = self.tools.snapshot();
        let mut pages = tools.items.iter().filter_map(|tool| Some((tool, tool.page()?)));
        match pages.find(|(_, uri)| !is_page(uri)) {
            None => Ok(()),
            Some((tool, uri)) => {
                let problem =
                    format!("tool \"{}\" names it as its page: add it with Server::app", tool.key());
                Err(SetupError::App { uri: uri.to_owned(), problem })
            }
        }
    }

    /// The first problem is reported when the server is built.
    pub(super) fn note(mut self, added: Result<(), SetupError>) -> Self {
        if let Err(problem) = added {
            self.problem.get_or_insert(problem);
        }
        self
    }
}

impl<S> fmt::Debug for Server<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("identity", &self.identity)
            .field("tools", &self.tools)
            .field("resources", &self.resources)
            .field("templates", &self.templates)
            .field("prompts", &self.prompts)
            .finish_non_exhaustive()
    }
}
