//! [`Service`]: a server that is ready to serve, and the capabilities it declares.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::protocol::capabilities::{
    Implementation, ListCapability, ResourcesCapability, SKILLS, ServerCapabilities, TASKS,
};
use crate::protocol::project::CacheHint;
use crate::protocol::{Revision, project};
use crate::server::Server;
use crate::server::catalog::registry::Registry;
use crate::server::elicitation::seal::Sealer;
use crate::server::features::prompt::RegisteredPrompt;
use crate::server::features::resource::{RegisteredResource, RegisteredTemplate};
use crate::server::features::skills::SkillCatalog;
use crate::server::features::tool::RegisteredTool;
use crate::server::handler::middleware::Middleware;
use crate::server::limits::Limits;
use crate::server::session::Session;
use crate::server::session::subscribers::Subscribers;
#[cfg(feature = "http-server")]
use crate::server::session::subscriptions::ChangingList;
use crate::server::tasks::{MemoryTasks, Tasks};
use crate::wire::RpcError;

/// Lifetime of sealed elicitation state, unless the server sets one.
const STATE_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// A server that is ready to serve.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) identity: Implementation,
    /// The identity as every stateless result contains it.
    pub(crate) identity_json: Box<RawValue>,
    pub(crate) instructions: Option<String>,
    pub(crate) tools: Arc<Registry<RegisteredTool>>,
    pub(crate) resources: Arc<Registry<RegisteredResource>>,
    pub(crate) templates: Arc<Registry<RegisteredTemplate>>,
    pub(crate) prompts: Arc<Registry<RegisteredPrompt>>,
    pub(crate) skills: SkillCatalog,
    /// The lists that a handle can change.
    pub(crate) changing: Changing,
    /// The sessions that are notified of changes.
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) tasks: Arc<Tasks>,
    /// Whether tasks are declared. It does not change while the server runs, whatever tools come and go.
    has_tasks: bool,
    pub(crate) middleware: Vec<Middleware>,
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
}

impl Service {
    pub(crate) fn new(server: Server) -> Self {
        let identity = project::implementation(server.identity.clone(), Revision::MODERN);
        let has_tasks = server.tasks.is_some()
            || server.changing.tools
            || server.tools.snapshot().items.iter().any(|tool| tool.is_long_running());
        Self {
            identity_json: serde_json::value::to_raw_value(&identity)
                .unwrap_or_else(|_| RawValue::NULL.to_owned()),
            identity: server.identity,
            instructions: server.instructions,
            tools: server.tools,
            resources: server.resources,
            templates: server.templates,
            prompts: server.prompts,
            skills: server.skills,
            changing: server.changing,
            has_tasks,
            tasks: Arc::new(Tasks::new(
                server.tasks.unwrap_or_else(|| Arc::new(MemoryTasks::default())),
                server.limits.clone(),
                Arc::clone(&server.subscribers),
            )),
            subscribers: server.subscribers,
            middleware: server.middleware,
            logs: server.logs,
            sealer: server.sealer.or_else(|| Sealer::random(STATE_LIFETIME)),
            cache: server.cache,
            limits: server.limits,
            revisions: server.revisions,
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
        let Changing { tools, resources, prompts } = self.changing;
        let offered = |there: bool| there.then(serde_json::Map::new);
        ServerCapabilities {
            tools: self.offers_tools().then_some(ListCapability { list_changed: tools }),
            resources: self
                .offers_resources()
                .then_some(ResourcesCapability { subscribe: resources, list_changed: resources }),
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
        let all: Map<String, Value> = tasks.into_iter().chain(skills).collect();
        (!all.is_empty()).then_some(all)
    }

    pub(crate) fn offers_tools(&self) -> bool {
        self.changing.tools || !self.tools.is_empty()
    }

    pub(crate) fn offers_resources(&self) -> bool {
        self.changing.resources
            || !self.resources.is_empty()
            || !self.templates.is_empty()
            || self.offers_skills()
    }

    pub(crate) fn offers_skills(&self) -> bool {
        !self.skills.is_empty()
    }

    pub(crate) fn offers_prompts(&self) -> bool {
        self.changing.prompts || !self.prompts.is_empty()
    }

    pub(crate) fn offers_tasks(&self) -> bool {
        self.has_tasks
    }

    pub(crate) fn offers_completions(&self) -> bool {
        self.prompts.snapshot().items.iter().any(|prompt| !prompt.completers.is_empty())
            || self.templates.snapshot().items.iter().any(|template| !template.completers.is_empty())
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
        let Changing { tools, resources, prompts } = self.changing;
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
