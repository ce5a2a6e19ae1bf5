//! [`Service`]: a server that is ready to serve, and the capabilities it declares.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use papertape_oauth::Principal;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::protocol::apps::APPS;
use crate::protocol::capabilities::{
    Implementation, ListCapability, ResourcesCapability, SKILLS, ServerCapabilities, TASKS,
};
use crate::protocol::method;
use crate::protocol::project::{CacheHint, CacheScope};
use crate::protocol::{Revision, project};
use crate::server::Server;
use crate::server::background::Background;
use crate::server::catalog::registry::{Listed, Registry};
use crate::server::catalog::visibility::{Visibility, VisibleResources};
use crate::server::elicitation::seal::Sealer;
use crate::server::extend::Custom;
use crate::server::features::prompt::RegisteredPrompt;
use crate::server::features::resource::{RegisteredResource, RegisteredTemplate};
use crate::server::features::skills::SkillCatalog;
use crate::server::features::tool::RegisteredTool;
use crate::server::handler::error::SetupError;
use crate::server::handler::middleware::Middleware;
use crate::server::limits::Limits;
use crate::server::session::Session;
use crate::server::session::subscribers::Subscribers;
#[cfg(feature = "http-server")]
use crate::server::session::subscriptions::ChangingList;
use crate::server::tasks::{MemoryTasks, Tasks};
use crate::telemetry::{OTHER, Operation, Subject};
use crate::wire::RpcError;

/// Lifetime of sealed elicitation state, unless the server sets one.
const STATE_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// A server that is ready to serve: [`Server::build`] makes it. Clones are the same server.
///
/// Everything that serves takes a [`Server`] or a `Service`, so that one server can be served in several ways at once, and
/// what is added to its lists while it runs is seen by the clients of all of them.
///
/// ```no_run
/// use papertape::{Server, stdio, unix};
///
/// #[tokio::main]
/// async fn main() -> std::io::Result<()> {
///     let service = Server::new("notes", "1.0.0").build()?;
///     let socket = unix::Listener::bind("/tmp/notes.sock")?;
///     tokio::try_join!(stdio::serve(service.clone()), unix::serve(socket, service))?;
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct Service(Arc<ServiceCore>);

impl Service {
    pub(crate) fn new(server: Server) -> Self {
        Self(Arc::new(ServiceCore::new(server)))
    }

    pub(crate) fn core(&self) -> &Arc<ServiceCore> {
        &self.0
    }

    /// The same server, which serves only stateless revisions.
    #[cfg(feature = "http-server")]
    pub(crate) fn stateless_only(&self) -> Self {
        Self(Arc::new(ServiceCore { revisions: &Revision::STATELESS, ..ServiceCore::clone(&self.0) }))
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("identity", &self.0.identity).finish_non_exhaustive()
    }
}

/// What can be served: a [`Server`], which is built first, or a [`Service`].
pub trait IntoService: sealed::Sealed {
    /// The server ready to serve.
    ///
    /// # Errors
    /// If something that was registered is invalid: see [`Server::build`].
    fn into_service(self) -> Result<Service, SetupError>;
}

mod sealed {
    pub trait Sealed {}
}

impl<S> sealed::Sealed for Server<S> {}
impl sealed::Sealed for Service {}

impl<S: Send + Sync + 'static> IntoService for Server<S> {
    fn into_service(self) -> Result<Service, SetupError> {
        self.build()
    }
}

impl IntoService for Service {
    fn into_service(self) -> Result<Service, SetupError> {
        Ok(self)
    }
}

/// What a [`Service`] is made of. All that changes while it runs is shared by its clones.
#[derive(Debug, Clone)]
pub(crate) struct ServiceCore {
    pub(crate) identity: Implementation,
    /// The identity as every stateless result contains it.
    pub(crate) identity_json: Box<RawValue>,
    pub(crate) instructions: Option<String>,
    pub(crate) tools: Arc<Registry<RegisteredTool>>,
    pub(crate) resources: Arc<Registry<RegisteredResource>>,
    pub(crate) templates: Arc<Registry<RegisteredTemplate>>,
    pub(crate) prompts: Arc<Registry<RegisteredPrompt>>,
    pub(crate) skills: Arc<SkillCatalog>,
    /// The lists that a handle can change.
    pub(crate) changing: Changing,
    /// The sessions that are notified of changes.
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) tasks: Arc<Tasks>,
    /// Whether tasks are declared. It does not change while the server runs, whatever tools come and go.
    has_tasks: bool,
    /// Whether MCP Apps is declared: a tool or a resource is for it.
    has_apps: bool,
    pub(crate) middleware: Vec<Middleware>,
    /// Who sees which items of the lists.
    pub(crate) visibility: Visibility,
    /// The same for the subscribers, who have it as long as this exists.
    _visible_resources: Arc<VisibleResources>,
    /// What it has beside the features of MCP.
    pub(crate) custom: Arc<Custom>,
    pub(crate) background: Arc<Background>,
    /// Log messages may be sent to clients.
    pub(crate) logs: bool,
    /// Seals the state that clients carry; `None` if the system provides no randomness.
    pub(crate) sealer: Option<Sealer>,
    pub(crate) cache: CacheHint,
    pub(crate) limits: Limits,
    /// The revisions that are served, newest first.
    pub(crate) revisions: &'static [Revision],
}

/// The lists that can change while the server runs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Changing {
    pub(crate) tools: bool,
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
    /// Resources, whose changes clients can subscribe to.
    pub(crate) watched: bool,
}

impl ServiceCore {
    /// Whether there is a tool or prompt of that name, for a method that addresses one.
    pub(crate) fn has_target(&self, method: &str, name: &str) -> bool {
        match method {
            method::TOOLS_CALL => self.custom.fallbacks.tool.is_some() || self.tools.find(name).is_some(),
            method::PROMPTS_GET => {
                self.custom.fallbacks.prompt.is_some() || self.prompts.find(name).is_some()
            }
            _ => false,
        }
    }

    /// A request that was responded to with an error, as it is measured: without a name that only a fallback has taken. A
    /// client can make up any number of these, and metrics would keep them all.
    pub(crate) fn failed<'a>(&self, operation: Operation<'a>) -> Operation<'a> {
        let fallbacks = &self.custom.fallbacks;
        match operation.subject {
            Subject::Tool(name) if fallbacks.tool.is_some() && self.tools.find(name).is_none() => {
                Operation { subject: Subject::None, ..operation }
            }
            Subject::Prompt(name) if fallbacks.prompt.is_some() && self.prompts.find(name).is_none() => {
                Operation { subject: Subject::None, ..operation }
            }
            _ if fallbacks.method.is_some() && !self.knows_method(operation.method) => {
                Operation { method: OTHER, ..operation }
            }
            _ => operation,
        }
    }

    fn knows_method(&self, name: &str) -> bool {
        let Custom { methods, notifications, .. } = &*self.custom;
        method::is_standard(name) || methods.find(name).is_some() || notifications.find(name).is_some()
    }

    fn new(server: Server) -> Self {
        let identity = project::implementation(server.identity.clone(), Revision::MODERN);
        let visible_resources = Arc::new(VisibleResources {
            resources: Arc::clone(&server.resources),
            templates: Arc::clone(&server.templates),
            fallback: server.custom.fallbacks.resource.clone(),
            visibility: server.visibility.clone(),
        });
        server.subscribers.restrict(&visible_resources);
        let has_tasks = server.tasks.is_some()
            || server.changing.tools
            || server
                .tools
                .snapshot()
                .items
                .iter()
                .any(|tool| tool.is_long_running() || tool.may_become_task());
        let has_apps = server.resources.snapshot().without_apps().is_some()
            || server.tools.snapshot().without_apps().is_some();
        Self {
            identity_json: serde_json::value::to_raw_value(&identity)
                .unwrap_or_else(|_| RawValue::NULL.to_owned()),
            identity: server.identity,
            instructions: server.instructions,
            tools: server.tools,
            resources: server.resources,
            templates: server.templates,
            prompts: server.prompts,
            skills: Arc::new(server.skills),
            changing: server.changing,
            has_tasks,
            has_apps,
            tasks: Arc::new(Tasks::new(
                server.tasks.unwrap_or_else(|| Arc::new(MemoryTasks::default())),
                server.limits.clone(),
                Arc::clone(&server.subscribers),
            )),
            subscribers: server.subscribers,
            visibility: server.visibility,
            _visible_resources: visible_resources,
            middleware: server.middleware,
            background: Background::new(server.custom.background.clone()),
            custom: Arc::new(server.custom),
            logs: server.logs,
            sealer: server.sealer.or_else(|| Sealer::random(STATE_LIFETIME)),
            cache: server.cache,
            limits: server.limits,
            revisions: &Revision::ALL,
        }
    }

    /// The error of a request that has not ended when the grace period has.
    pub(crate) fn shutting_down() -> RpcError {
        RpcError::internal("the server is shutting down and the request took too long")
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What is declared follows from what is registered.
    pub(crate) fn capabilities(&self) -> ServerCapabilities {
        let Changing { tools, resources, prompts, watched } = self.changing;
        let offered = |there: bool| there.then(serde_json::Map::new);
        ServerCapabilities {
            tools: self.offers_tools().then_some(ListCapability { list_changed: tools }),
            resources: self
                .offers_resources()
                .then_some(ResourcesCapability { subscribe: watched, list_changed: resources }),
            prompts: self.offers_prompts().then_some(ListCapability { list_changed: prompts }),
            completions: offered(self.offers_completions()),
            logging: offered(self.logs),
            extensions: self.extensions(),
            ..ServerCapabilities::default()
        }
    }

    fn extensions(&self) -> Option<Map<String, Value>> {
        let tasks = self.offers_tasks().then(|| (TASKS.to_owned(), json!({})));
        let skills = self.offers_skills().then(|| (SKILLS.to_owned(), json!({"directoryRead": true})));
        let apps = self.has_apps.then(|| (APPS.to_owned(), json!({})));
        let own = self.custom.extensions.clone();
        let all: Map<String, Value> = tasks.into_iter().chain(skills).chain(apps).chain(own).collect();
        (!all.is_empty()).then_some(all)
    }

    pub(crate) fn offers_tools(&self) -> bool {
        self.changing.tools || !self.tools.is_empty() || self.custom.fallbacks.tool.is_some()
    }

    pub(crate) fn offers_resources(&self) -> bool {
        self.changing.resources
            || self.changing.watched
            || !self.resources.is_empty()
            || !self.templates.is_empty()
            || self.offers_skills()
            || self.custom.fallbacks.resource.is_some()
    }

    pub(crate) fn offers_skills(&self) -> bool {
        !self.skills.is_empty()
    }

    pub(crate) fn offers_prompts(&self) -> bool {
        self.changing.prompts || !self.prompts.is_empty() || self.custom.fallbacks.prompt.is_some()
    }

    pub(crate) fn offers_tasks(&self) -> bool {
        self.has_tasks
    }

    pub(crate) fn offers_completions(&self) -> bool {
        self.prompts.snapshot().items.iter().any(|prompt| !prompt.completers.is_empty())
            || self.templates.snapshot().items.iter().any(|template| !template.completers.is_empty())
    }

    /// Whether a principal sees an item of a list. For one that does not, it does not exist.
    pub(crate) fn shows<T: Listed>(&self, item: &T, principal: Option<&Principal>) -> bool {
        !self.visibility.is_restricted()
            || (self.visibility.allows(item, principal) && self.shows_skills_of(item.key(), principal))
    }

    /// Whether a principal sees the skills that a URI is a file or a directory of.
    pub(crate) fn shows_skills_of(&self, uri: &str, principal: Option<&Principal>) -> bool {
        if !self.visibility.is_restricted() || !self.offers_skills() || !uri.starts_with("skill://") {
            return true;
        }
        let folders = uri.match_indices('/').filter_map(|(at, _)| uri.get(..at)).chain([uri]);
        let mut skills = folders.filter_map(|folder| self.skills.list.find(&format!("{folder}/SKILL.md")));
        skills.all(|skill| self.visibility.allows(&*skill, principal))
    }

    /// Whether a principal sees a file of a skill, or a directory.
    pub(crate) fn shows_file(&self, uri: &str, principal: Option<&Principal>) -> bool {
        match self.skills.file(uri) {
            Some(file) => self.shows(&*file, principal),
            None => self.shows_skills_of(uri, principal),
        }
    }

    /// How long lists may be cached; not in shared caches if principals see different ones.
    pub(crate) fn list_cache(&self) -> CacheHint {
        if self.visibility.is_restricted() {
            return CacheHint { cache_scope: CacheScope::Private, ..self.cache };
        }
        self.cache
    }

    /// Notifies a session of changes from now on.
    pub(crate) fn add_subscriber(&self, session: &Arc<Session>) {
        if session.becomes_subscriber() {
            self.subscribers.add(session);
        }
    }

    /// Changes of lists may have been missed in a session: each list that can change is announced as changed.
    #[cfg(feature = "http-server")]
    pub(crate) fn announce_all_lists(&self, session: &Session) {
        let Changing { tools, resources, prompts, .. } = self.changing;
        let lists = [
            (tools, ChangingList::Tools),
            (resources, ChangingList::Resources),
            (prompts, ChangingList::Prompts),
        ];
        for (_, list) in lists.into_iter().filter(|(changes, _)| *changes) {
            session.list_changed(list);
        }
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn name(&self) -> &str {
        &self.identity.name
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn sealer(&self) -> Option<&Sealer> {
        self.sealer.as_ref()
    }
}
