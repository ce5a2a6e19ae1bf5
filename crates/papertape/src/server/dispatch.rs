//! A message to the function it asks for, and the answer back: the one entry for every transport.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tracing::field::Empty;

use super::Server;
use super::around::Hook;
use super::begin::Asking;
use super::call::Begun;
use super::limits::Limits;
use super::opening::Speaking;
use super::prompt::RegisteredPrompt;
use super::registry::{Offer, Registry};
use super::resource::{RegisteredResource, RegisteredTemplate};
use super::seal::Sealer;
use super::skills::Shelf;
use super::task::{MemoryTasks, Tasks};
use super::tool::Registered;
use super::watch::Filter;
use crate::link::{BatchPlace, Link, ReplyTo};
use crate::outbox::Reply;
use crate::protocol::capabilities::{
    Implementation, ListCapability, ResourcesCapability, SKILLS, ServerCapabilities, TASKS,
};
use crate::protocol::meta::{LOG_LEVELS, RequestMeta, object, present};
use crate::protocol::project::CacheHint;
use crate::protocol::{Revision, method, project};
use crate::wire::error::{PARSE_ERROR, excerpt, shortened};
use crate::wire::message::{self, Message, Notification, Payload, Request, Response};
use crate::wire::{Id, RpcError};

/// What a transport has to say to a request before it is served: its method and its parameters.
pub(crate) type Gate<'a> = &'a dyn Fn(&str, &Params<'_>) -> Result<(), RpcError>;

/// A transport that has nothing to say.
pub(crate) const OPEN: Gate<'_> = &|_, _| Ok(());

/// Calls that are ready to run, in the order in which they came.
pub(crate) type Calls = VecDeque<Begun>;

/// The longest URI that is looked for: every template may have to be held against it.
pub(super) const LONGEST_URI: usize = 8 * 1024;

/// How long a client may take to answer, if the server does not say otherwise.
pub(super) const STATE_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// A server that serves.
#[derive(Debug)]
pub(crate) struct Service {
    pub(super) identity: Implementation,
    /// The identity as it stands in every modern result.
    pub(super) identity_json: Box<RawValue>,
    pub(super) instructions: Option<String>,
    pub(super) tools: Arc<Registry<Registered>>,
    pub(super) resources: Arc<Registry<RegisteredResource>>,
    pub(super) templates: Arc<Registry<RegisteredTemplate>>,
    pub(super) prompts: Arc<Registry<RegisteredPrompt>>,
    pub(super) skills: Shelf,
    /// What somebody holds a handle to change.
    pub(super) changing: Changing,
    pub(super) tasks: Tasks,
    /// There may be some: this does not change while the server runs, whatever tools come and go.
    has_tasks: bool,
    pub(super) hooks: Vec<Hook>,
    /// Lines of log may be sent to clients.
    pub(super) logs: bool,
    /// Seals what a client must carry; None if the system has no randomness to give.
    pub(super) sealer: Option<Sealer>,
    pub(super) cache: CacheHint,
    pub(super) limits: Limits,
    /// Those that are served, newest first.
    pub(super) revisions: &'static [Revision],
}

/// The members of `params` that any method reads, raw. `None` is absent; a `null` is there.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Params<'a> {
    #[serde(borrow, default, deserialize_with = "object", rename = "_meta")]
    pub(crate) meta: Option<RequestMeta<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) name: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) cursor: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) protocol_version: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "object")]
    pub(super) notifications: Option<Filter>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) request_id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) uri: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) level: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present", rename = "ref")]
    pub(super) reference: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) argument: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) context: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) input_responses: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) request_state: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) task_id: Option<&'a RawValue>,
}

/// The lists that can change while the server runs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Changing {
    pub(super) tools: bool,
    pub(super) resources: bool,
    pub(super) prompts: bool,
}

impl<'a> Params<'a> {
    /// The `uri` that a method is about.
    pub(super) fn uri(&self, method: &str) -> Result<String, RpcError> {
        let uri = self.uri.and_then(message::string);
        let uri =
            uri.ok_or_else(|| RpcError::invalid_params(format!("`{method}` needs `params.uri`, a string")))?;
        if uri.len() > LONGEST_URI {
            return Err(RpcError::invalid_params(format!("`params.uri` is longer than {LONGEST_URI} bytes")));
        }
        Ok(uri.into_owned())
    }

    pub(crate) fn read(raw: Option<&'a RawValue>) -> Result<Self, RpcError> {
        let Some(raw) = raw else { return Ok(Self::default()) };
        serde_json::from_str(raw.get()).map_err(|error| {
            let text = error.to_string();
            // A name given twice could be read either way, so the request as a whole is refused.
            if text.starts_with("duplicate field") {
                RpcError::invalid_request(format!("in `params`: {text}"))
            } else {
                RpcError::invalid_params(format!("in `params`: {text}"))
            }
        })
    }
}

impl Service {
    pub(super) fn new(server: Server) -> Self {
        let identity = project::implementation(server.identity.clone(), Revision::MODERN);
        let has_tasks = server.tasks.is_some()
            || server.changing.tools
            || server.tools.snapshot().offers.iter().any(|tool| tool.is_long_running());
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
            tasks: Tasks::new(server.tasks.unwrap_or_else(|| Arc::new(MemoryTasks::default()))),
            hooks: server.hooks,
            logs: server.logs,
            sealer: server.sealer.or_else(|| Sealer::random(STATE_LIFETIME)),
            cache: server.cache,
            limits: server.limits,
            revisions: server.revisions,
        }
    }

    /// The answer to a request that has not ended when the grace period has.
    pub(crate) fn shutting_down() -> RpcError {
        RpcError::internal("the server is shutting down and the request took too long")
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What is offered follows from what is registered.
    pub(super) fn capabilities(&self) -> ServerCapabilities {
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

    fn offers_tools(&self) -> bool {
        self.changing.tools || !self.tools.is_empty()
    }

    fn offers_resources(&self) -> bool {
        self.changing.resources
            || !self.resources.is_empty()
            || !self.templates.is_empty()
            || self.offers_skills()
    }

    fn offers_skills(&self) -> bool {
        !self.skills.is_empty()
    }

    fn offers_prompts(&self) -> bool {
        self.changing.prompts || !self.prompts.is_empty()
    }

    pub(super) fn offers_tasks(&self) -> bool {
        self.has_tasks
    }

    fn offers_completions(&self) -> bool {
        self.prompts.snapshot().offers.iter().any(|prompt| !prompt.completers.is_empty())
            || self.templates.snapshot().offers.iter().any(|template| !template.completers.is_empty())
    }

    /// Tells a conversation of changes from now on.
    pub(crate) fn keep_told(&self, link: &Arc<Link>) {
        if link.begins_to_watch() {
            self.tools.watch(link);
            self.resources.watch(link);
            self.prompts.watch(link);
        }
    }

    /// Takes one frame's body. False if it was not even JSON.
    pub(crate) fn receive(self: &Arc<Self>, body: &[u8], link: &Arc<Link>, calls: &mut Calls) -> bool {
        match message::parse(body, self.limits.bounds()) {
            Ok(Payload::Single(message)) => self.handle(message, link, None, OPEN, calls),
            Ok(Payload::Batch(members)) => self.handle_batch(&members, link, OPEN),
            Err(rejected) => {
                tracing::info!(code = rejected.error.code, "refused a frame: {}", rejected.error.message);
                let is_json = rejected.error.code != PARSE_ERROR;
                link.reject(rejected.id, None, &rejected.error);
                return is_json;
            }
        }
        true
    }

    /// Takes what stood after the last line end when the input ended: a message, or half of one, which is let go.
    pub(crate) fn receive_unfinished(self: &Arc<Self>, body: &[u8], link: &Arc<Link>, calls: &mut Calls) {
        match message::parse(body, self.limits.bounds()) {
            Err(rejected) if rejected.error.code == PARSE_ERROR => {
                tracing::info!(bytes = body.len(), "the input ended inside a message");
            }
            _ => _ = self.receive(body, link, calls),
        }
    }

    /// Takes one message: the entry for every transport.
    pub(crate) fn handle(
        self: &Arc<Self>,
        message: Message<'_>,
        link: &Arc<Link>,
        batch: Option<BatchPlace>,
        gate: Gate<'_>,
        calls: &mut Calls,
    ) {
        match message {
            Message::Request(request) => calls.extend(self.request(request, link, batch, gate)),
            Message::Notification(notification) => Self::notification(&notification, link),
            // An answer is never answered.
            Message::Response(response) => Self::response(&response, link),
        }
    }

    pub(crate) fn handle_batch(self: &Arc<Self>, members: &[&RawValue], link: &Arc<Link>, gate: Gate<'_>) {
        if !link.legacy().is_some_and(Revision::allows_batches) {
            let known = Revision::ALL.into_iter().find(|revision| revision.allows_batches());
            let known =
                known.map_or_else(String::new, |revision| format!(": only revision {revision} has batches"));
            let error =
                RpcError::invalid_request(format!("a message must be one JSON object, got an array{known}"));
            return link.reject(None, None, &error);
        }
        let messages: Vec<_> = members.iter().map(|member| message::parse_member(member)).collect();
        let mut ids = HashSet::new();
        for message in &messages {
            let Ok(Message::Request(request)) = message else { continue };
            if request.method == method::INITIALIZE {
                return link.reject(
                    None,
                    None,
                    &RpcError::invalid_request("`initialize` must not be in a batch"),
                );
            }
            if !ids.insert(&request.id) {
                let message = format!("the id {} occurs twice in the batch", request.id);
                return link.reject(None, None, &RpcError::invalid_request(message));
            }
        }
        let waits = |message: &Result<Message<'_>, _>| matches!(message, Ok(Message::Request(_)) | Err(_));
        let waiting = messages.iter().filter(|message| waits(message)).count();
        let batch = if waiting > 0 { link.open_batch(waiting) } else { 0 };
        let mut places = (0..waiting).map(|index| BatchPlace { batch, index });
        for message in messages {
            let place = if waits(&message) { places.next() } else { None };
            match message {
                Ok(message) => {
                    let mut calls = Calls::new();
                    self.handle(message, link, place, gate, &mut calls);
                    // The rest of the batch may take a call back, so that it must have begun by then.
                    calls.into_iter().for_each(Begun::run_elsewhere);
                }
                Err(rejected) => link.reject(rejected.id, place, &rejected.error),
            }
        }
    }

    /// The answer to a question of ours, or to nothing.
    fn response(response: &Response<'_>, link: &Link) {
        let answer = match (response.result, response.error) {
            (Some(result), None) => Ok(result.to_owned()),
            (_, error) => Err(error
                .and_then(|error| serde_json::from_str(error.get()).ok())
                .unwrap_or_else(|| RpcError::internal("an answer that makes no sense"))),
        };
        if !response.id.as_ref().is_some_and(|id| link.answered(id, answer)) {
            tracing::info!(id = ?response.id, "ignored a response to no request");
        }
    }

    fn notification(notification: &Notification<'_>, link: &Arc<Link>) {
        match &*notification.method {
            method::INITIALIZED => link.set_initialized(),
            method::CANCELLED => {
                let params = Params::read(notification.params).unwrap_or_default();
                if let Some(id) = params.request_id.and_then(|raw| Id::parse(raw.get()).ok()) {
                    link.cancel(&id);
                }
            }
            other => tracing::debug!(method = excerpt(other), "ignored a notification"),
        }
    }

    /// Answers a request at once, or gives back the call that will.
    fn request(
        self: &Arc<Self>,
        request: Request<'_>,
        link: &Arc<Link>,
        batch: Option<BatchPlace>,
        gate: Gate<'_>,
    ) -> Option<Begun> {
        let span = tracing::info_span!(
            "request",
            method = shortened(&request.method),
            id = %request.id,
            trace_id = Empty,
            parent_span_id = Empty
        );
        let _entered = span.enter();
        tracing::debug!("received");
        let to = ReplyTo { id: request.id, batch };
        let bytes = request.params.map_or(0, |raw| raw.get().len());
        let answer = link
            .admit(&to.id, &self.limits)
            .and_then(|()| Params::read(request.params))
            .and_then(|params| gate(&request.method, &params).map(|()| params))
            .and_then(|params| self.route(&to, &request.method, &params, bytes, link, &span));
        answer.unwrap_or_else(|error| {
            tracing::info!(code = error.code, "refused: {}", error.message);
            link.reply(&to, &Reply::Error(&error));
            None
        })
    }

    /// Who serves what, by which rules.
    fn route(
        self: &Arc<Self>,
        to: &ReplyTo,
        name: &str,
        params: &Params<'_>,
        bytes: usize,
        link: &Arc<Link>,
        span: &tracing::Span,
    ) -> Result<Option<Begun>, RpcError> {
        let speaking = self.speaking(params, link)?;
        let (Speaking::Modern(revision) | Speaking::Legacy(revision)) = speaking else {
            return self.unopened(to, name, params, link).map(|()| None);
        };
        let asking = Asking { to, params, bytes, revision, link, span };
        note_trace(params, span);
        match (name, speaking) {
            (method::TOOLS_CALL, _) if self.offers_tools() => return self.begin_call(&asking),
            (method::RESOURCES_READ, _) if self.offers_resources() => return self.begin_read(&asking),
            (method::PROMPTS_GET, _) if self.offers_prompts() => return self.begin_prompt(&asking),
            (method::COMPLETE, _) if self.offers_completions() => return self.begin_completion(&asking),
            (method::TOOLS_LIST, _) if self.offers_tools() => self.list(&self.tools, &asking),
            (method::RESOURCES_LIST, _) if self.offers_resources() => self.list(&self.resources, &asking),
            (method::TEMPLATES_LIST, _) if self.offers_resources() => self.list(&self.templates, &asking),
            (method::PROMPTS_LIST, _) if self.offers_prompts() => self.list(&self.prompts, &asking),
            (method::SUBSCRIBE, Speaking::Legacy(_)) if self.changing.resources => {
                self.subscribe(to, params, revision, link)
            }
            (method::UNSUBSCRIBE, Speaking::Legacy(_)) if self.changing.resources => {
                self.unsubscribe(to, params, revision, link)
            }
            (method::SET_LEVEL, Speaking::Legacy(_)) if self.logs => self.set_level(&asking),
            (method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL, Speaking::Modern(_))
                if self.offers_tasks() =>
            {
                return self.begin_task_request(name, &asking);
            }
            (method::SKILLS_LIST, Speaking::Modern(_)) if self.offers_skills() => {
                self.list(&self.skills.list, &asking)
            }
            (method::SKILLS_GET, Speaking::Modern(_)) if self.offers_skills() => self.get_skill(&asking),
            (method::DIRECTORY_READ, Speaking::Modern(_)) if self.offers_skills() => {
                self.read_folder(&asking)
            }
            (method::DISCOVER, Speaking::Modern(_)) => {
                self.discover(to, revision, link);
                Ok(())
            }
            (method::LISTEN, Speaking::Modern(_)) => self.listen(to, params, link),
            (method::PING, Speaking::Legacy(_)) => {
                self.reply(to, &Map::new(), None, revision, link);
                Ok(())
            }
            (method::INITIALIZE, Speaking::Legacy(_)) => Err(RpcError::invalid_request(format!(
                "this conversation has been opened with `initialize` already and speaks {revision}"
            ))),
            _ => Err(RpcError::method_not_found(name)),
        }
        .map(|()| None)
    }

    /// Answers with a result that is known at once.
    pub(super) fn reply<T: Serialize + ?Sized>(
        &self,
        to: &ReplyTo,
        body: &T,
        hint: Option<CacheHint>,
        revision: Revision,
        link: &Link,
    ) {
        link.reply(to, &Reply::Result(&|out| write(out, revision, body, hint, Some(&self.identity_json))));
    }

    fn set_level(&self, asking: &Asking<'_>) -> Result<(), RpcError> {
        let level = asking.params.level.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let Some(level) = level else {
            let message = format!("`logging/setLevel` needs `params.level`: {LOG_LEVELS}");
            return Err(RpcError::invalid_params(message));
        };
        asking.link.set_log_level(level);
        self.reply(asking.to, &Map::new(), None, asking.revision, asking.link);
        Ok(())
    }

    fn list<T: Offer>(&self, registry: &Registry<T>, asking: &Asking<'_>) -> Result<(), RpcError> {
        let cursor = Self::cursor(asking)?;
        let offers = registry.snapshot();
        let size = self.limits.page.min(T::MOST_PER_PAGE);
        let page = offers.page(cursor.as_deref(), asking.revision, size).ok_or_else(Self::bad_cursor)?;
        self.reply(asking.to, &*page, Some(self.cache), asking.revision, asking.link);
        Ok(())
    }

    /// Where a list is to go on; `None` is its beginning.
    pub(super) fn cursor(asking: &Asking<'_>) -> Result<Option<String>, RpcError> {
        match asking.params.cursor.map(RawValue::get) {
            None | Some("null") => Ok(None),
            Some(raw) => serde_json::from_str(raw).map(Some).map_err(|_| Self::bad_cursor()),
        }
    }

    /// A cursor that was not made here.
    pub(super) fn bad_cursor() -> RpcError {
        RpcError::invalid_params("invalid or stale cursor: list again from the start")
    }
}

/// A request that is part of a trace says so in its span.
fn note_trace(params: &Params<'_>, span: &tracing::Span) {
    if let Some(trace) = params.meta.as_ref().and_then(RequestMeta::trace)
        && let Some((trace_id, parent)) = trace.ids()
    {
        span.record("trace_id", trace_id).record("parent_span_id", parent);
    }
}

pub(super) fn write<T: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    revision: Revision,
    body: &T,
    hint: Option<CacheHint>,
    identity: Option<&RawValue>,
) {
    let start = out.len();
    if let Err(error) = project::write_result(out, revision, body, hint, identity) {
        // Everything written here has string keys, so that this is our own bug; the client still gets its answer.
        tracing::error!(%error, "a result could not be written");
        out.truncate(start);
        out.extend_from_slice(b"{}");
    }
}
