//! One conversation: what has been agreed, what is running, and what waits to be written.
//!
//! The connection's loop and the handlers that outlive their first poll share a link; everything that must happen
//! together (a reply and the end of its request, a cancellation and the end of its progress) happens under its one lock.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;

use crate::outbox::{
    OUTBOX, Outbox, Outgoing, Reply, write_anonymous_error, write_json, write_notification, write_reply,
    write_request,
};
use crate::protocol::capabilities::Abilities;
use crate::protocol::logging::LogLevel;
use crate::protocol::meta::SubscriptionMeta;
use crate::protocol::{Revision, method};
use crate::server::{Call, Limits};
use crate::wire::{Framing, Id, RpcError};

/// Where an answer goes.
#[derive(Debug, Clone)]
pub(crate) struct ReplyTo {
    pub(crate) id: Id,
    /// Its place in the batch it is part of.
    pub(crate) batch: Option<BatchPlace>,
}

/// A place in a batch whose answers are being collected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchPlace {
    pub(crate) batch: u64,
    pub(crate) index: usize,
}

/// Names a running request beyond its id, which a client may use again.
pub(crate) type Ticket = u64;

pub(crate) struct Link {
    state: Mutex<State>,
    /// Told when a handler has put something into the outbox.
    pub(crate) wake: Notify,
}

#[derive(Default)]
struct State {
    out: Outbox,
    running: HashMap<Id, Running>,
    bytes_in_flight: usize,
    batches: HashMap<u64, Batch>,
    listeners: Vec<Listener>,
    /// What `initialize` led to.
    legacy: Option<Revision>,
    /// The client has said `notifications/initialized`.
    initialized: bool,
    /// It has not, and that has been logged.
    noted_haste: bool,
    /// A revision is in use whose errors go without an id if there is none.
    omits_unreadable_id: bool,
    /// What has changed since the client was last told.
    changes: Changes,
    /// What of that waits for room, and for which subscription.
    news: VecDeque<(News, Option<Ticket>)>,
    /// The resources whose changes a legacy client has asked to hear of.
    subscribed: BTreeSet<String>,
    /// What a legacy client can be asked.
    abilities: Abilities,
    /// What a legacy client wants to see of the log.
    log_level: Option<LogLevel>,
    /// Questions of ours that have no answer yet.
    asked: BTreeMap<i64, oneshot::Sender<Answered>>,
    /// No answer can come any more.
    deaf: bool,
    last_ask: i64,
    last_key: u64,
}

/// A list that can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tools,
    Resources,
    Prompts,
}

/// What a client wants to hear of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) tools: bool,
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
    pub(crate) uris: Vec<String>,
    pub(crate) tasks: Vec<String>,
}

#[derive(Debug, Default)]
struct Changes {
    tools: bool,
    resources: bool,
    prompts: bool,
    uris: BTreeSet<String>,
    /// Tasks, as they are now.
    tasks: BTreeMap<String, Arc<str>>,
}

/// Something that is still to be told.
enum News {
    /// A list has changed.
    List(&'static str),
    Resource(Arc<str>),
    Task(Arc<str>),
}

/// Resources that may have changed since a client was last told; of more, it is told what they are a part of.
const MOST_CHANGED: usize = 1_000;

/// How a question was answered.
pub(crate) type Answered = Result<Box<RawValue>, RpcError>;

struct Running {
    ticket: Ticket,
    call: Arc<Call>,
    abort: Option<AbortHandle>,
}

struct Batch {
    waiting: usize,
    /// The answers in the order of what they answer; what was cancelled has none.
    parts: Vec<Option<Vec<u8>>>,
}

struct Listener {
    id: Id,
    /// Tells it from another one with the same id.
    ticket: Ticket,
    wanted: Wanted,
}

impl Link {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), wake: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // What has been agreed.

    pub(crate) fn set_framing(&self, framing: Framing) {
        self.state().out.set_framing(framing);
    }

    pub(crate) fn legacy(&self) -> Option<Revision> {
        self.state().legacy
    }

    /// The revision of a legacy request. One that comes too early is served, but noted.
    pub(crate) fn legacy_request(&self) -> Option<Revision> {
        let mut state = self.state();
        let revision = state.legacy?;
        if !state.initialized && !std::mem::replace(&mut state.noted_haste, true) {
            tracing::info!("the client has not said `notifications/initialized`; it is served all the same");
        }
        Some(revision)
    }

    pub(crate) fn set_legacy(&self, revision: Revision) {
        let mut state = self.state();
        state.legacy = Some(revision);
        state.omits_unreadable_id |= revision.omits_unreadable_id();
    }

    pub(crate) fn set_initialized(&self) {
        let mut state = self.state();
        state.initialized = state.legacy.is_some();
    }

    /// A modern request has been seen.
    pub(crate) fn note_modern(&self, revision: Revision) {
        self.state().omits_unreadable_id |= revision.omits_unreadable_id();
    }

    // What is running.

    /// Whether a request may begin.
    pub(crate) fn admit(&self, id: &Id, limits: &Limits) -> Result<(), RpcError> {
        let state = self.state();
        if state.running.is_empty() && state.listeners.is_empty() {
            return Ok(());
        }
        if state.running.contains_key(id) || state.listeners.iter().any(|listener| listener.id == *id) {
            return Err(RpcError::invalid_request(format!(
                "the id {id} is in use by a request that is still running"
            )));
        }
        if state.running.len() >= limits.in_flight {
            let message = format!(
                "too many requests at once: {} are running, the limit; wait for one",
                limits.in_flight
            );
            return Err(RpcError::invalid_request(message));
        }
        if state.bytes_in_flight > limits.bytes_in_flight {
            let message =
                format!("the running requests hold over {} bytes; wait for one", limits.bytes_in_flight);
            return Err(RpcError::invalid_request(message));
        }
        Ok(())
    }

    pub(crate) fn has_progress_token(&self, token: &Id) -> bool {
        self.state().running.values().any(|running| running.call.progress_token.as_ref() == Some(token))
    }

    /// Notes a request that outlives its first poll.
    pub(crate) fn track(&self, call: &Arc<Call>) -> Ticket {
        let mut state = self.state();
        state.last_key += 1;
        let ticket = state.last_key;
        state.bytes_in_flight += call.bytes;
        state.running.insert(call.to.id.clone(), Running { ticket, call: Arc::clone(call), abort: None });
        ticket
    }

    /// How to stop it. If it has been cancelled in the meantime, it is stopped at once.
    pub(crate) fn set_abort(&self, id: &Id, ticket: Ticket, abort: AbortHandle) {
        match self.state().running.get_mut(id).filter(|running| running.ticket == ticket) {
            Some(running) => running.abort = Some(abort),
            // One that has ended by itself does not mind.
            None => abort.abort(),
        }
    }

    /// Answers a tracked request, unless it was cancelled.
    pub(crate) fn finish(&self, to: &ReplyTo, ticket: Ticket, reply: &Reply<'_>) {
        let mut state = self.state();
        if state.running.get(&to.id).is_none_or(|running| running.ticket != ticket) {
            return;
        }
        if let Some(running) = state.forget(&to.id) {
            running.call.set_answered();
        }
        state.reply(to, reply);
        drop(state);
        self.wake.notify_one();
    }

    /// Stops a request at its client's wish: nothing more is sent for it.
    pub(crate) fn cancel(&self, id: &Id) {
        let mut state = self.state();
        if let Some(at) = state.listeners.iter().position(|listener| listener.id == *id) {
            state.listeners.swap_remove(at);
        }
        let Some(running) = state.forget(id) else { return };
        running.call.set_cancelled();
        if let Some(batch) = running.call.to.batch {
            state.collect(batch, None);
        }
        drop(state);
        if let Some(abort) = running.abort {
            abort.abort();
        }
    }

    /// Nothing is running; open subscriptions do not count.
    pub(crate) fn is_idle(&self) -> bool {
        self.state().running.is_empty()
    }

    /// Answers what is still running with an error and stops it. False if nothing was.
    pub(crate) fn abort_all(&self, error: &RpcError) -> bool {
        let mut state = self.state();
        let ids: Vec<Id> = state.running.keys().cloned().collect();
        for id in &ids {
            let Some(running) = state.forget(id) else { continue };
            running.call.set_cancelled();
            state.reply(&running.call.to, &Reply::Error(error));
            if let Some(abort) = running.abort {
                abort.abort();
            }
        }
        !ids.is_empty()
    }

    // What waits to be written.

    /// Answers a request that is not tracked.
    pub(crate) fn reply(&self, to: &ReplyTo, reply: &Reply<'_>) {
        self.state().reply(to, reply);
    }

    /// Answers a call within its first poll.
    pub(crate) fn reply_to_call(&self, to: &ReplyTo, call: &Call, reply: &Reply<'_>) {
        let mut state = self.state();
        call.set_answered();
        state.reply(to, reply);
    }

    /// Answers something whose id may be unreadable.
    pub(crate) fn reject(&self, id: Option<Id>, batch: Option<BatchPlace>, error: &RpcError) {
        let mut state = self.state();
        match id {
            Some(id) => state.reply(&ReplyTo { id, batch }, &Reply::Error(error)),
            None => {
                let omit = state.omits_unreadable_id;
                state.send(batch, |out| write_anonymous_error(out, omit, error));
            }
        }
    }

    /// Sends a notification that belongs to a call, unless the call is over or the peer does not read.
    pub(crate) fn notify_unless<P: Serialize>(&self, over: &AtomicBool, method: &str, params: &P) {
        let mut state = self.state();
        if over.load(Ordering::Relaxed) || state.out.pending() > OUTBOX {
            return;
        }
        state.send(None, |out| write_notification(out, method, Some(params)));
        drop(state);
        self.wake.notify_one();
    }

    /// Begins to collect the answers of a batch.
    pub(crate) fn open_batch(&self, waiting: usize) -> u64 {
        let mut state = self.state();
        state.last_key += 1;
        let key = state.last_key;
        state.batches.insert(key, Batch { waiting, parts: vec![None; waiting] });
        key
    }

    /// Bytes waiting to be written.
    pub(crate) fn pending(&self) -> usize {
        self.state().out.pending()
    }

    /// Takes what waits to be written into `outgoing`, which must be empty and whose room is used again.
    pub(crate) fn take(&self, outgoing: &mut Outgoing) {
        let mut state = self.state();
        state.tell_changes();
        state.out.swap(outgoing);
    }

    // What is asked of the client.

    pub(crate) fn set_abilities(&self, abilities: Abilities) {
        self.state().abilities = abilities;
    }

    pub(crate) fn abilities(&self) -> Abilities {
        self.state().abilities
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.state().log_level = Some(level);
    }

    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.state().log_level
    }

    /// Asks a legacy client something. The answer never comes if the connection ends before it does.
    ///
    /// Whoever stops waiting takes the question back.
    pub(crate) fn ask(self: &Arc<Self>, method: &str, params: &Value) -> Question {
        let (tell, answer) = oneshot::channel();
        let mut state = self.state();
        state.last_ask += 1;
        let id = state.last_ask;
        if !state.deaf {
            state.asked.insert(id, tell);
            state.out.push(|out| write_request(out, &Id::Integer(id), method, Some(params)));
        }
        drop(state);
        self.wake.notify_one();
        Question { link: Arc::clone(self), id, answer }
    }

    /// The client has answered something; whether that was a question of ours.
    pub(crate) fn answered(&self, id: &Id, answer: Answered) -> bool {
        let Id::Integer(id) = id else { return false };
        match self.state().asked.remove(id) {
            // Whoever no longer waits does not mind.
            Some(tell) => {
                drop(tell.send(answer));
                true
            }
            None => false,
        }
    }

    /// No answer can come any more.
    pub(crate) fn stop_asking(&self) {
        let mut state = self.state();
        state.deaf = true;
        state.asked.clear();
    }

    // Who wants to hear of changes.

    /// A list has changed: whoever wants to know is told with the next write.
    pub(crate) fn list_changed(&self, kind: Kind) {
        let mut state = self.state();
        match kind {
            Kind::Tools => state.changes.tools = true,
            Kind::Resources => state.changes.resources = true,
            Kind::Prompts => state.changes.prompts = true,
        }
        drop(state);
        self.wake.notify_one();
    }

    /// A resource has changed: likewise.
    pub(crate) fn resource_updated(&self, uri: &str) {
        let mut guard = self.state();
        let State { subscribed, listeners, changes, .. } = &mut *guard;
        let asked_for = listeners.iter().flat_map(|listener| &listener.wanted.uris);
        let mut watched =
            subscribed.iter().chain(asked_for).filter(|watched| concerns(watched, uri)).peekable();
        if watched.peek().is_none() {
            return;
        }
        if changes.uris.len() < MOST_CHANGED {
            changes.uris.insert(uri.to_owned());
        } else {
            // There are only so many of those, so that nothing need be forgotten.
            changes.uris.extend(watched.cloned());
        }
        drop(guard);
        self.wake.notify_one();
    }

    /// A task has changed, and is this now: likewise.
    pub(crate) fn task_changed(&self, id: &str, task: &str) {
        let mut state = self.state();
        if !state.listeners.iter().any(|listener| listener.wanted.tasks.iter().any(|wanted| wanted == id)) {
            return;
        }
        state.changes.tasks.insert(id.to_owned(), task.into());
        drop(state);
        self.wake.notify_one();
    }

    /// A legacy client wants to hear of changes of a resource, or no longer does.
    pub(crate) fn subscribe(&self, uri: String, limit: usize) -> Result<(), RpcError> {
        let mut state = self.state();
        if state.subscribed.len() >= limit && !state.subscribed.contains(&uri) {
            let message = format!(
                "too many subscriptions: {limit} resources are watched, the limit; unsubscribe from one"
            );
            return Err(RpcError::invalid_request(message));
        }
        state.subscribed.insert(uri);
        Ok(())
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.state().subscribed.remove(uri);
    }

    /// Opens a subscription: acknowledged first, then kept until it is cancelled or the connection ends.
    pub(crate) fn listen(&self, id: Id, wanted: Wanted, limit: usize) -> Result<(), RpcError> {
        let mut state = self.state();
        if state.listeners.len() >= limit {
            let message = format!("too many subscriptions: {limit} are open, the limit; cancel one");
            return Err(RpcError::invalid_request(message));
        }
        let params = SubscriptionParams {
            notifications: Some(Honoured::new(&wanted)),
            ..SubscriptionParams::new(&id)
        };
        state.send(None, |out| write_notification(out, method::ACKNOWLEDGED, Some(&params)));
        state.last_key += 1;
        let ticket = state.last_key;
        state.listeners.push(Listener { id, ticket, wanted });
        Ok(())
    }

    /// Ends every subscription with its result.
    pub(crate) fn end_subscriptions(&self, write: impl Fn(&mut Vec<u8>, &Id)) {
        let mut state = self.state();
        for listener in std::mem::take(&mut state.listeners) {
            let to = ReplyTo { id: listener.id.clone(), batch: None };
            state.reply(&to, &Reply::Result(&|out| write(out, &listener.id)));
        }
    }
}

/// The parameters of a notification that belongs to a subscription.
#[derive(Serialize)]
struct SubscriptionParams<'a> {
    #[serde(rename = "_meta")]
    meta: SubscriptionMeta<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notifications: Option<Honoured<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
}

/// The parameters of a notification about a resource that belongs to no subscription.
#[derive(Serialize)]
struct Updated<'a> {
    uri: &'a str,
}

/// The kinds of notification that a subscription will bring; the others are left out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Honoured<'a> {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    resource_subscriptions: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    task_ids: &'a [String],
}

impl<'a> Honoured<'a> {
    fn new(wanted: &'a Wanted) -> Self {
        Self {
            tools_list_changed: wanted.tools,
            prompts_list_changed: wanted.prompts,
            resources_list_changed: wanted.resources,
            resource_subscriptions: &wanted.uris,
            task_ids: &wanted.tasks,
        }
    }
}

impl<'a> SubscriptionParams<'a> {
    fn new(subscription: &'a Id) -> Self {
        Self { meta: SubscriptionMeta { subscription, server: None }, notifications: None, uri: None }
    }
}

fn write_news(out: &mut Vec<u8>, news: &News, subscription: Option<&Id>) {
    let params = subscription.map(SubscriptionParams::new);
    match (news, params) {
        (News::List(name), None) => write_notification(out, name, None::<&()>),
        (News::List(name), Some(params)) => write_notification(out, name, Some(&params)),
        (News::Resource(uri), None) => {
            write_notification(out, method::RESOURCE_UPDATED, Some(&Updated { uri }));
        }
        (News::Resource(uri), Some(params)) => {
            let params = SubscriptionParams { uri: Some(uri), ..params };
            write_notification(out, method::RESOURCE_UPDATED, Some(&params));
        }
        (News::Task(task), Some(params)) => write_task(out, &params, task),
        // Nobody hears of tasks without having asked.
        (News::Task(_), None) => {}
    }
}

/// A notification that is a task, with the `_meta` of its subscription.
fn write_task(out: &mut Vec<u8>, params: &SubscriptionParams<'_>, task: &str) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":\"");
    out.extend_from_slice(method::TASK_CHANGED.as_bytes());
    out.extend_from_slice(b"\",\"params\":{\"_meta\":");
    write_json(out, &params.meta);
    out.push(b',');
    out.extend_from_slice(task.get(1..).unwrap_or("}").as_bytes());
    out.push(b'}');
}

/// Whether a change of `uri` concerns who watches `watched`: the same, or a part of it.
fn concerns(watched: &str, uri: &str) -> bool {
    uri.strip_prefix(watched)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || watched.ends_with('/'))
}

/// A question of ours, which is taken back when nobody waits for its answer any more.
pub(crate) struct Question {
    link: Arc<Link>,
    id: i64,
    answer: oneshot::Receiver<Answered>,
}

impl Question {
    /// The answer; None if none can come.
    pub(crate) async fn answer(mut self) -> Option<Answered> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let mut state = self.link.state();
        if state.asked.remove(&self.id).is_some() {
            let params = serde_json::json!({"requestId": self.id});
            state.out.push(|out| write_notification(out, method::CANCELLED, Some(&params)));
            drop(state);
            self.link.wake.notify_one();
        }
    }
}

/// Whether somebody wants to hear of something.
type Wants = fn(&Wanted) -> bool;

impl State {
    fn forget(&mut self, id: &Id) -> Option<Running> {
        let running = self.running.remove(id)?;
        self.bytes_in_flight -= running.call.bytes;
        Some(running)
    }

    fn reply(&mut self, to: &ReplyTo, reply: &Reply<'_>) {
        self.send(to.batch, |out| write_reply(out, &to.id, reply));
    }

    /// Puts one message into the outbox, or into its batch.
    fn send(&mut self, batch: Option<BatchPlace>, write: impl FnOnce(&mut Vec<u8>)) {
        if let Some(place) = batch {
            let mut answer = Vec::new();
            write(&mut answer);
            self.collect(place, Some(answer));
        } else {
            self.out.push(write);
        }
    }

    /// One member of a batch is done; the last one sends them all.
    fn collect(&mut self, place: BatchPlace, answer: Option<Vec<u8>>) {
        let Some(batch) = self.batches.get_mut(&place.batch) else { return };
        if let Some(part) = batch.parts.get_mut(place.index) {
            *part = answer;
        }
        batch.waiting -= 1;
        if batch.waiting > 0 {
            return;
        }
        let parts = self.batches.remove(&place.batch).map(|batch| batch.parts).unwrap_or_default();
        let parts: Vec<Vec<u8>> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            self.out.push(|out| {
                out.push(b'[');
                out.extend_from_slice(&parts.join(&b","[..]));
                out.push(b']');
            });
        }
    }

    /// Changes are told once per write, however many there were, and as long as there is room.
    fn tell_changes(&mut self) {
        if self.news.is_empty() {
            self.collect_news();
        }
        while self.out.pending() < OUTBOX
            && let Some((news, to)) = self.news.pop_front()
        {
            let listener = to.map(|ticket| self.listeners.iter().find(|listener| listener.ticket == ticket));
            match listener {
                None => self.out.push(|out| write_news(out, &news, None)),
                Some(Some(listener)) => self.out.push(|out| write_news(out, &news, Some(&listener.id))),
                // Nothing more is told to a subscription that has ended.
                Some(None) => {}
            }
        }
    }

    /// Who is to be told what.
    fn collect_news(&mut self) {
        let changes = std::mem::take(&mut self.changes);
        let lists: [(bool, &str, Wants); 3] = [
            (changes.tools, method::TOOLS_CHANGED, |wanted| wanted.tools),
            (changes.resources, method::RESOURCES_CHANGED, |wanted| wanted.resources),
            (changes.prompts, method::PROMPTS_CHANGED, |wanted| wanted.prompts),
        ];
        for (_, name, wants) in lists.into_iter().filter(|(changed, _, _)| *changed) {
            if self.initialized {
                self.news.push_back((News::List(name), None));
            }
            for listener in self.listeners.iter().filter(|listener| wants(&listener.wanted)) {
                self.news.push_back((News::List(name), Some(listener.ticket)));
            }
        }
        for (id, task) in changes.tasks {
            for listener in self.listeners.iter().filter(|listener| listener.wanted.tasks.contains(&id)) {
                self.news.push_back((News::Task(Arc::clone(&task)), Some(listener.ticket)));
            }
        }
        for uri in changes.uris {
            let uri: Arc<str> = uri.into();
            if self.initialized && self.subscribed.iter().any(|watched| concerns(watched, &uri)) {
                self.news.push_back((News::Resource(Arc::clone(&uri)), None));
            }
            for listener in &self.listeners {
                if listener.wanted.uris.iter().any(|watched| concerns(watched, &uri)) {
                    self.news.push_back((News::Resource(Arc::clone(&uri)), Some(listener.ticket)));
                }
            }
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Link")
            .field("legacy", &state.legacy)
            .field("running", &state.running.len())
            .field("pending", &state.out.pending())
            .finish_non_exhaustive()
    }
}
