//! A server: what it is called and what it offers.
//!
//! [`Server`] collects; `dispatch` takes a message to what it asks for; `call` runs tools; `opening` does the
//! handshakes of both eras; `watch` the subscriptions.

mod arguments;
mod around;
mod ask;
mod begin;
mod call;
mod check;
mod completion;
mod context;
mod cursor;
mod dialogue;
mod dispatch;
mod error;
mod exact;
mod handles;
mod limits;
#[cfg(feature = "http")]
mod lookup;
mod opening;
mod output;
mod pace;
mod principal;
mod prompt;
mod registry;
mod resource;
pub(crate) mod scope;
mod seal;
mod skills;
mod task;
mod tool;
mod uri_template;
mod watch;
mod whole;
mod words;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use around::{About, Done, Next};
pub use ask::{Elicited, Form, Question, Roots, Visit};
pub(crate) use call::Begun;
pub use check::{Warning, WarningKind};
pub use completion::Completing;
pub(crate) use context::Call;
pub use context::Cx;
#[cfg(feature = "http")]
pub(crate) use dispatch::Params;
pub(crate) use dispatch::{Calls, Service};
pub use error::{SetupError, ToolError};
pub use handles::{Prompts, Resources, Tools};
pub use limits::Limits;
#[cfg(feature = "http")]
pub(crate) use opening::UNSUPPORTED_PROTOCOL_VERSION;
pub use output::{Json, ToolOutput};
pub use principal::Principal;
pub use prompt::{Prompt, PromptOutput};
pub use resource::{ReadOutput, Resource, ResourceTemplate};
pub use skills::{Skill, Skills};
pub use task::{MemoryTasks, Stored, Task, TaskStatus, TaskStore};
pub use tool::Tool;

use crate::protocol::Revision;
use crate::protocol::capabilities::Implementation;
use crate::protocol::content::Icon;
use crate::protocol::project::{CacheHint, CacheScope};
use around::{Hook, prefixed};
use dispatch::Changing;
use prompt::RegisteredPrompt;
use registry::{Offer, Registry};
use resource::{RegisteredResource, RegisteredTemplate};
pub(crate) use seal::Sealer;
use skills::Shelf;
use tool::Registered;

/// A server under construction.
///
/// Everything it announces follows from what is registered here; every schema is checked when it starts.
pub struct Server {
    identity: Implementation,
    instructions: Option<String>,
    tools: Arc<Registry<Registered>>,
    resources: Arc<Registry<RegisteredResource>>,
    templates: Arc<Registry<RegisteredTemplate>>,
    prompts: Arc<Registry<RegisteredPrompt>>,
    skills: Shelf,
    /// What somebody holds a handle to change.
    changing: Changing,
    tasks: Option<Arc<dyn TaskStore>>,
    hooks: Vec<Hook>,
    logs: bool,
    sealer: Option<Sealer>,
    cache: CacheHint,
    limits: Limits,
    /// Those that are served, newest first.
    revisions: &'static [Revision],
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
            tools: Arc::default(),
            resources: Arc::default(),
            templates: Arc::default(),
            prompts: Arc::default(),
            skills: Shelf::default(),
            changing: Changing::default(),
            tasks: None,
            hooks: Vec::new(),
            logs: false,
            sealer: None,
            cache: CacheHint { ttl_ms: 0, cache_scope: CacheScope::Private },
            limits: Limits::default(),
            revisions: &Revision::ALL,
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
    pub fn tool<A, F, Fut, O>(self, tool: impl Into<Tool>, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ToolOutput,
    {
        let tool = Registered::typed(tool.into(), handler).and_then(|tool| self.tools.add(tool));
        self.note(tool)
    }

    /// Adds a tool whose schema is given as JSON ([`Tool::input_schema`]) and whose function takes any JSON that the
    /// schema allows: for bridges and tools that are not known when the program is written.
    #[must_use]
    pub fn raw_tool<F, Fut, O>(self, tool: impl Into<Tool>, handler: F) -> Self
    where
        F: Fn(Value, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ToolOutput,
    {
        let tool = Registered::raw(tool.into(), handler).and_then(|tool| self.tools.add(tool));
        self.note(tool)
    }

    /// Adds a resource: a URI (or a [`Resource`] with more to say) and an async function that reads it.
    ///
    /// The function gives text (`String`), bytes (`Vec<u8>`), or contents made by hand.
    #[must_use]
    pub fn resource<F, Fut, O>(self, resource: impl Into<Resource>, read: F) -> Self
    where
        F: Fn(Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ReadOutput,
    {
        let resource = RegisteredResource::new(resource.into(), read);
        let resource = resource.and_then(|resource| self.resources.add(resource));
        self.note(resource)
    }

    /// Adds a family of resources whose URIs have blanks, and an async function that reads one of them.
    ///
    /// The function takes what stands in the blanks as a type of its own. A URI that it cannot be read from does not
    /// exist, for the client; neither does one for which the function fails with [`ToolError::refused`].
    #[must_use]
    pub fn resource_template<A, F, Fut, O>(self, template: impl Into<ResourceTemplate>, read: F) -> Self
    where
        A: DeserializeOwned + Send + 'static,
        F: Fn(A, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ReadOutput,
    {
        let template = RegisteredTemplate::new(template.into(), read);
        let template = template.and_then(|template| self.templates.add(template));
        self.note(template)
    }

    /// Adds a prompt: a name (or a [`Prompt`] with more to say) and an async function that fills it in.
    ///
    /// The function takes its arguments as a type of its own, whose fields are plain values.
    #[must_use]
    pub fn prompt<A, F, Fut, O>(self, prompt: impl Into<Prompt>, fill: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: PromptOutput,
    {
        let prompt = RegisteredPrompt::new(prompt.into(), fill).and_then(|prompt| self.prompts.add(prompt));
        self.note(prompt)
    }

    /// Adds skills: instructions for a model that a host loads when it needs them.
    ///
    /// Their files are resources; `SKILL.md` files are also listed as such, for clients that do not know skills.
    #[must_use]
    pub fn skills(mut self, skills: Skills) -> Self {
        let added = self
            .skills
            .add(skills)
            .and_then(|mut files| files.drain(..).try_for_each(|file| self.resources.add(file)));
        self.note(added)
    }

    /// Lets handlers write to the client's log, with [`Cx::log`], which is deprecated in 2026-07-28.
    #[must_use]
    pub fn logging(mut self) -> Self {
        self.logs = true;
        self
    }

    /// The key with which the state of a dialogue is sealed, which the client carries while it is asked something; and
    /// how long it may take. Servers that stand in for each other need the same key.
    ///
    /// Without this there is a random key for each server, and 10 minutes.
    #[must_use]
    pub fn state_key(mut self, key: [u8; 32], lifetime: Duration) -> Self {
        self.sealer = Some(Sealer::new(key, lifetime));
        self
    }

    /// Where the tasks of long-running tools are kept. In memory, without this.
    #[must_use]
    pub fn task_store(mut self, store: impl TaskStore) -> Self {
        self.tasks = Some(Arc::new(store));
        self
    }

    /// Puts a hook around every function: it may do something before and after, or refuse.
    ///
    /// The first hook that is added is the outermost.
    ///
    /// ```
    /// use papertape::{Server, ToolError};
    ///
    /// let server = Server::new("timed", "1.0.0").around(|about, next| async move {
    ///     if about.name == "secret" {
    ///         return Err(ToolError::refused("not for you"));
    ///     }
    ///     let began = std::time::Instant::now();
    ///     let done = next.run().await;
    ///     eprintln!("{} {}: {:?}", about.what, about.name, began.elapsed());
    ///     done
    /// });
    /// ```
    #[must_use]
    pub fn around<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(About, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Done, ToolError>> + Send + 'static,
    {
        self.hooks.push(Hook::new(hook));
        self
    }

    /// Adds all that another server offers. Its tools and prompts get a prefix: `PREFIX_NAME`; resources keep their URIs.
    ///
    /// Its instructions are added to those of this server; its title, its limits, its keys and stores, and how long its
    /// lists may be kept are not taken over.
    /// It is taken as it is now: handles to change it change nothing here. Its hooks go on being around what is its own.
    #[must_use]
    pub fn mount(mut self, prefix: &str, other: Server) -> Self {
        let mut mounted = other.problem.clone().map_or(Ok(()), Err);
        let hooks = &other.hooks;
        for tool in &other.tools.snapshot().offers {
            let name = prefixed(prefix, tool.key());
            mounted = mounted.and_then(|()| self.tools.add(tool.mounted(name, hooks)));
        }
        for prompt in &other.prompts.snapshot().offers {
            let name = prefixed(prefix, prompt.key());
            mounted = mounted.and_then(|()| self.prompts.add(prompt.mounted(name, hooks)));
        }
        for resource in &other.resources.snapshot().offers {
            mounted = mounted.and_then(|()| self.resources.add(resource.mounted(hooks)));
        }
        for template in &other.templates.snapshot().offers {
            mounted = mounted.and_then(|()| self.templates.add(template.mounted(hooks)));
        }
        mounted = mounted.and_then(|()| self.skills.mount(&other.skills, hooks));
        self.logs |= other.logs;
        let said = [self.instructions.take(), other.instructions];
        let said: Vec<String> = said.into_iter().flatten().collect();
        self.instructions = (!said.is_empty()).then(|| said.join("\n\n"));
        self.note(mounted)
    }

    /// A handle to add and remove tools while the server runs.
    /// Taking one makes the server announce that its list of tools can change.
    #[must_use]
    pub fn tools(&mut self) -> Tools {
        self.changing.tools = true;
        Tools { registry: Arc::clone(&self.tools) }
    }

    /// A handle to add and remove resources while the server runs, and to tell that some have changed.
    /// Taking one makes the server announce that they can.
    #[must_use]
    pub fn resources(&mut self) -> Resources {
        self.changing.resources = true;
        Resources { registry: Arc::clone(&self.resources) }
    }

    /// A handle to add and remove prompts while the server runs.
    /// Taking one makes the server announce that its list of prompts can change.
    #[must_use]
    pub fn prompts(&mut self) -> Prompts {
        self.changing.prompts = true;
        Prompts { registry: Arc::clone(&self.prompts) }
    }

    /// For how long clients may keep lists, and whether they may share them with others. Not at all, by default.
    #[must_use]
    pub fn cache(mut self, time: Duration, scope: CacheScope) -> Self {
        self.cache = CacheHint::new(time, scope);
        self
    }

    /// How much one peer may ask for.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The server ready to serve, or why it cannot.
    /// Serves only revisions whose requests stand alone.
    #[cfg(feature = "http")]
    pub(crate) fn stateless_only(mut self) -> Self {
        self.revisions = &Revision::STATELESS;
        self
    }

    pub(crate) fn build(self) -> Result<Arc<Service>, SetupError> {
        match self.problem {
            Some(problem) => Err(problem),
            None => Ok(Arc::new(Service::new(self))),
        }
    }

    /// Whether the server can start, and what known hosts reject of what it offers: for tests.
    ///
    /// An error is what serving would tell: it names the tool at fault. A warning is about something that is right by the
    /// protocol, but loses users of one host or another. Prompts are checked once they are filled in, by
    /// [`Warning::of_prompt`].
    ///
    /// ```
    /// use papertape::{Server, Tool, WarningKind};
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
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        Ok(self.tools.snapshot().offers.iter().flat_map(|offer| check::tool(&offer.definition)).collect())
    }

    /// The first thing that goes wrong is told when the server is built.
    fn note(mut self, added: Result<(), SetupError>) -> Self {
        if let Err(problem) = added {
            self.problem.get_or_insert(problem);
        }
        self
    }
}

impl fmt::Debug for Server {
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
