//! A message to the function it asks for, and the answer back: the one entry for every transport.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Map;
use serde_json::value::RawValue;

use super::Server;
use super::call::Begun;
use super::limits::Limits;
use super::opening::Speaking;
use super::registry::Registry;
use super::watch::Filter;
use crate::link::{BatchPlace, Link, ReplyTo};
use crate::outbox::Reply;
use crate::protocol::capabilities::{Implementation, ListCapability, ServerCapabilities};
use crate::protocol::meta::{RequestMeta, object, present};
use crate::protocol::project::CacheHint;
use crate::protocol::{Revision, method, project};
use crate::wire::error::{PARSE_ERROR, excerpt, shortened};
use crate::wire::message::{self, Message, Notification, Payload, Request};
use crate::wire::{Id, RpcError};

/// Calls that are ready to run, in the order in which they came.
pub(crate) type Calls = VecDeque<Begun>;

/// A server that serves.
#[derive(Debug)]
pub(crate) struct Service {
    pub(super) identity: Implementation,
    /// The identity as it stands in every modern result.
    pub(super) identity_json: Box<RawValue>,
    pub(super) instructions: Option<String>,
    pub(super) registry: Arc<Registry>,
    pub(super) dynamic: bool,
    pub(super) cache: CacheHint,
    pub(super) limits: Limits,
}

/// The members of `params` that any method reads, raw. `None` is absent; a `null` is there.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params<'a> {
    #[serde(borrow, default, deserialize_with = "object", rename = "_meta")]
    pub(super) meta: Option<RequestMeta<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) cursor: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) protocol_version: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "object")]
    pub(super) notifications: Option<Filter>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) request_id: Option<&'a RawValue>,
}

impl<'a> Params<'a> {
    fn read(raw: Option<&'a RawValue>) -> Result<Self, RpcError> {
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
        Self {
            identity_json: serde_json::value::to_raw_value(&identity)
                .unwrap_or_else(|_| RawValue::NULL.to_owned()),
            identity: server.identity,
            instructions: server.instructions,
            registry: server.registry,
            dynamic: server.dynamic,
            cache: server.cache,
            limits: server.limits,
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What is offered follows from what is registered.
    pub(super) fn capabilities(&self) -> ServerCapabilities {
        let tools = self.offers_tools().then_some(ListCapability { list_changed: self.dynamic });
        ServerCapabilities { tools, ..ServerCapabilities::default() }
    }

    fn offers_tools(&self) -> bool {
        self.dynamic || !self.registry.snapshot().is_empty()
    }

    pub(super) fn tools_can_change(&self) -> bool {
        self.dynamic
    }

    /// A new conversation with this server.
    pub(crate) fn open(&self) -> Arc<Link> {
        let link = Link::new();
        self.registry.watch(&link);
        link
    }

    /// Takes one frame's body. False if it was not even JSON.
    pub(crate) fn receive(self: &Arc<Self>, body: &[u8], link: &Arc<Link>, calls: &mut Calls) -> bool {
        match message::parse(body, self.limits.bounds()) {
            Ok(Payload::Single(message)) => self.handle(message, link, None, calls),
            Ok(Payload::Batch(members)) => self.handle_batch(&members, link),
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
    fn handle(
        self: &Arc<Self>,
        message: Message<'_>,
        link: &Arc<Link>,
        batch: Option<BatchPlace>,
        calls: &mut Calls,
    ) {
        match message {
            Message::Request(request) => calls.extend(self.request(request, link, batch)),
            Message::Notification(notification) => Self::notification(&notification, link),
            // This side asks nothing, so that it awaits no answer; and an answer is never answered.
            Message::Response(response) => {
                tracing::info!(id = ?response.id, "ignored a response to no request")
            }
        }
    }

    fn handle_batch(self: &Arc<Self>, members: &[&RawValue], link: &Arc<Link>) {
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
                    self.handle(message, link, place, &mut calls);
                    // The rest of the batch may take a call back, so that it must have begun by then.
                    calls.into_iter().for_each(Begun::run_elsewhere);
                }
                Err(rejected) => link.reject(rejected.id, place, &rejected.error),
            }
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
    ) -> Option<Begun> {
        let span = tracing::info_span!("request", method = shortened(&request.method), id = %request.id);
        let _entered = span.enter();
        tracing::debug!("received");
        let to = ReplyTo { id: request.id, batch };
        let bytes = request.params.map_or(0, |raw| raw.get().len());
        let answer = link
            .admit(&to.id, &self.limits)
            .and_then(|()| Params::read(request.params))
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
        let speaking = Self::speaking(params, link)?;
        let (Speaking::Modern(revision) | Speaking::Legacy(revision)) = speaking else {
            return self.unopened(to, name, params, link).map(|()| None);
        };
        match (name, speaking) {
            (method::TOOLS_CALL, _) if self.offers_tools() => {
                return self.begin_call(to, params, bytes, revision, link, span);
            }
            (method::TOOLS_LIST, _) if self.offers_tools() => self.list_tools(to, params, revision, link),
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

    fn list_tools(
        &self,
        to: &ReplyTo,
        params: &Params<'_>,
        revision: Revision,
        link: &Link,
    ) -> Result<(), RpcError> {
        let invalid = || {
            RpcError::invalid_params(
                "the cursor leads nowhere (the list may have changed): list again without one",
            )
        };
        let cursor: Option<String> = match params.cursor.map(RawValue::get) {
            None | Some("null") => None,
            Some(raw) => Some(serde_json::from_str(raw).map_err(|_| invalid())?),
        };
        let tools = self.registry.snapshot();
        let page = tools.page(cursor.as_deref(), revision, self.limits.page).ok_or_else(invalid)?;
        self.reply(to, page, Some(self.cache), revision, link);
        Ok(())
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
