//! The subscriptions of one session, and the notifications that wait to be written for them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::Serialize;

use super::{ReplyTo, Session, State, Ticket};
use crate::protocol::meta::SubscriptionMeta;
use crate::protocol::method;
use crate::wire::frame::{OUTBOX, Outbox};
use crate::wire::message::{Reply, write_json, write_notification};
use crate::wire::{Id, RpcError};

/// The subscriptions of one session.
#[derive(Default)]
pub(crate) struct Subscriptions {
    /// Those of `subscriptions/listen`.
    open: Vec<Subscription>,
    /// The resources of `resources/subscribe`.
    uris: BTreeSet<String>,
    /// What has changed since notifications were last collected.
    changes: Changes,
    /// The notifications that wait for room, and for which subscription.
    pending: VecDeque<(Notification, Option<Ticket>)>,
}

/// A list that can change while a server serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangingList {
    Tools,
    Resources,
    Prompts,
}

/// The notifications of a subscription.
#[derive(Debug, Clone, Default)]
pub(crate) struct SubscriptionFilter {
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
    /// Tasks, as JSON.
    tasks: BTreeMap<String, Arc<str>>,
}

/// A notification that waits.
enum Notification {
    /// A list has changed.
    List(&'static str),
    Resource(Arc<str>),
    Task(Arc<str>),
}

/// Changed resources that are remembered one by one; of more, only what was subscribed to is remembered.
const MOST_CHANGED: usize = 1_000;

/// A subscription of `subscriptions/listen`.
struct Subscription {
    id: Id,
    /// Distinguishes it from another one with the same id.
    ticket: Ticket,
    filter: SubscriptionFilter,
}

/// Whether a filter includes a list.
type Includes = fn(&SubscriptionFilter) -> bool;

/// What the client is notified of.
impl Session {
    /// A list has changed: the client is notified with the next write.
    pub(crate) fn list_changed(&self, list: ChangingList) {
        let mut state = self.state();
        state.subscriptions().list_changed(list);
        state.wakeup.wake();
    }

    /// A resource has changed: likewise.
    pub(crate) fn resource_updated(&self, uri: &str) {
        let mut state = self.state();
        if state.subscriptions.as_mut().is_some_and(|open| open.resource_updated(uri)) {
            state.wakeup.wake();
        }
    }

    /// Whether the client has subscribed to a resource.
    pub(crate) fn watches(&self, uri: &str) -> bool {
        self.state().subscriptions.as_ref().is_some_and(|open| open.watches(uri))
    }

    /// Adds the resources that the client has subscribed to.
    pub(crate) fn add_watched(&self, watched: &mut BTreeSet<String>) {
        if let Some(open) = &self.state().subscriptions {
            let listened = open.open.iter().flat_map(|subscription| &subscription.filter.uris);
            watched.extend(open.uris.iter().chain(listened).cloned());
        }
    }

    /// A task has changed, and is this JSON now: likewise.
    pub(crate) fn task_changed(&self, id: &str, task: &str) {
        let mut state = self.state();
        if state.subscriptions.as_mut().is_some_and(|open| open.task_changed(id, task)) {
            state.wakeup.wake();
        }
    }

    /// `resources/subscribe`
    pub(crate) fn subscribe(&self, uri: String, limit: usize) -> Result<(), RpcError> {
        self.parent().state().subscriptions().subscribe(uri, limit)
    }

    /// `resources/unsubscribe`
    pub(crate) fn unsubscribe(&self, uri: &str) {
        if let Some(subscriptions) = &mut self.parent().state().subscriptions {
            subscriptions.unsubscribe(uri);
        }
    }

    /// Opens a subscription: acknowledged first, then kept until it is cancelled or the connection ends.
    pub(crate) fn listen(&self, id: Id, filter: SubscriptionFilter, limit: usize) -> Result<(), RpcError> {
        let mut state = self.state();
        let ticket = state.next_key();
        let State { subscriptions, out, .. } = &mut *state;
        subscriptions.get_or_insert_default().listen(id, ticket, filter, limit, out)
    }

    /// Whether this session has to be notified of changes from now on, and was not before.
    pub(crate) fn becomes_subscriber(&self) -> bool {
        !std::mem::replace(&mut self.state().is_subscriber, true)
    }

    /// Ends every subscription with its result.
    pub(crate) fn end_subscriptions(&self, write: impl Fn(&mut Vec<u8>, &Id)) {
        let mut state = self.state();
        state.wakeup.wake();
        let open = state.subscriptions.as_mut().map(|open| open.close_all());
        for id in open.unwrap_or_default() {
            let to = ReplyTo { id: id.clone(), batch: None };
            state.reply(&to, &Reply::Result(&|out| write(out, &id)));
        }
    }
}

impl State {
    fn subscriptions(&mut self) -> &mut Subscriptions {
        self.subscriptions.get_or_insert_default()
    }
}

impl Subscriptions {
    /// Whether none of `subscriptions/listen` is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether a subscription with that id is open.
    pub(crate) fn has(&self, id: &Id) -> bool {
        self.open.iter().any(|subscription| subscription.id == *id)
    }

    /// Opens a subscription, acknowledged first.
    pub(crate) fn listen(
        &mut self,
        id: Id,
        ticket: Ticket,
        filter: SubscriptionFilter,
        limit: usize,
        out: &mut Outbox,
    ) -> Result<(), RpcError> {
        if self.open.len() >= limit {
            let message = format!("too many subscriptions: {limit} are open, the limit; cancel one");
            return Err(RpcError::invalid_request(message));
        }
        let params = SubscriptionParams {
            notifications: Some(Acknowledged::new(&filter)),
            ..SubscriptionParams::new(&id)
        };
        out.push(|out| write_notification(out, method::ACKNOWLEDGED, Some(&params)));
        self.open.push(Subscription { id, ticket, filter });
        Ok(())
    }

    /// Closes the subscription with that id, if there is one.
    pub(crate) fn close(&mut self, id: &Id) {
        self.open.retain(|subscription| subscription.id != *id);
    }

    /// Closes all subscriptions; their ids.
    pub(crate) fn close_all(&mut self) -> Vec<Id> {
        std::mem::take(&mut self.open).into_iter().map(|subscription| subscription.id).collect()
    }

    pub(crate) fn subscribe(&mut self, uri: String, limit: usize) -> Result<(), RpcError> {
        if self.uris.len() >= limit && !self.uris.contains(&uri) {
            let message = format!(
                "too many subscriptions: {limit} resources are watched, the limit; unsubscribe from one"
            );
            return Err(RpcError::invalid_request(message));
        }
        self.uris.insert(uri);
        Ok(())
    }

    pub(crate) fn unsubscribe(&mut self, uri: &str) {
        self.uris.remove(uri);
    }

    pub(crate) fn list_changed(&mut self, list: ChangingList) {
        match list {
            ChangingList::Tools => self.changes.tools = true,
            ChangingList::Resources => self.changes.resources = true,
            ChangingList::Prompts => self.changes.prompts = true,
        }
    }

    pub(crate) fn watches(&self, uri: &str) -> bool {
        let subscribed = self.open.iter().flat_map(|subscription| &subscription.filter.uris);
        self.uris.iter().chain(subscribed).any(|watched| includes(watched, uri))
    }

    /// False if no subscription includes it.
    pub(crate) fn resource_updated(&mut self, uri: &str) -> bool {
        let subscribed = self.open.iter().flat_map(|subscription| &subscription.filter.uris);
        let watched = self.uris.iter().chain(subscribed);
        let mut watched = watched.filter(|watched| includes(watched, uri)).peekable();
        if watched.peek().is_none() {
            return false;
        }
        if self.changes.uris.len() < MOST_CHANGED {
            self.changes.uris.insert(uri.to_owned());
        } else {
            // There are only so many of those, so that no change is lost.
            self.changes.uris.extend(watched.cloned());
        }
        true
    }

    /// False if no subscription includes it.
    pub(crate) fn task_changed(&mut self, id: &str, task: &str) -> bool {
        let mut tasks = self.open.iter().flat_map(|subscription| &subscription.filter.tasks);
        let is_included = tasks.any(|task| task == id);
        if is_included {
            self.changes.tasks.insert(id.to_owned(), task.into());
        }
        is_included
    }

    /// Writes notifications: one per write for each change, however often it happened, as long as there is room.
    pub(crate) fn write_pending(&mut self, out: &mut Outbox, initialized: bool) {
        if self.pending.is_empty() {
            self.collect(initialized);
        }
        while out.pending() < OUTBOX
            && let Some((notification, to)) = self.pending.pop_front()
        {
            let subscription =
                to.map(|ticket| self.open.iter().find(|subscription| subscription.ticket == ticket));
            match subscription {
                None => out.push(|out| write(out, &notification, None)),
                Some(Some(subscription)) => out.push(|out| write(out, &notification, Some(&subscription.id))),
                // A subscription that has ended gets no more notifications.
                Some(None) => {}
            }
        }
    }

    /// The notifications of all changes, for each subscription that includes them.
    fn collect(&mut self, initialized: bool) {
        let changes = std::mem::take(&mut self.changes);
        let lists: [(bool, &str, Includes); 3] = [
            (changes.tools, method::TOOLS_CHANGED, |filter| filter.tools),
            (changes.resources, method::RESOURCES_CHANGED, |filter| filter.resources),
            (changes.prompts, method::PROMPTS_CHANGED, |filter| filter.prompts),
        ];
        for (_, name, includes) in lists.into_iter().filter(|(changed, _, _)| *changed) {
            if initialized {
                self.pending.push_back((Notification::List(name), None));
            }
            for subscription in self.open.iter().filter(|subscription| includes(&subscription.filter)) {
                self.pending.push_back((Notification::List(name), Some(subscription.ticket)));
            }
        }
        for (id, task) in changes.tasks {
            for subscription in
                self.open.iter().filter(|subscription| subscription.filter.tasks.contains(&id))
            {
                self.pending.push_back((Notification::Task(Arc::clone(&task)), Some(subscription.ticket)));
            }
        }
        for uri in changes.uris {
            let uri: Arc<str> = uri.into();
            if initialized && self.uris.iter().any(|watched| includes(watched, &uri)) {
                self.pending.push_back((Notification::Resource(Arc::clone(&uri)), None));
            }
            for subscription in &self.open {
                if subscription.filter.uris.iter().any(|watched| includes(watched, &uri)) {
                    self.pending
                        .push_back((Notification::Resource(Arc::clone(&uri)), Some(subscription.ticket)));
                }
            }
        }
    }
}

/// The parameters of a notification that belongs to a subscription.
#[derive(Serialize)]
struct SubscriptionParams<'a> {
    #[serde(rename = "_meta")]
    meta: SubscriptionMeta<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notifications: Option<Acknowledged<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
}

/// The parameters of a notification about a resource that belongs to no subscription.
#[derive(Serialize)]
struct Updated<'a> {
    uri: &'a str,
}

/// The kinds of notification that a subscription delivers; the others are left out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Acknowledged<'a> {
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

impl<'a> Acknowledged<'a> {
    fn new(filter: &'a SubscriptionFilter) -> Self {
        Self {
            tools_list_changed: filter.tools,
            prompts_list_changed: filter.prompts,
            resources_list_changed: filter.resources,
            resource_subscriptions: &filter.uris,
            task_ids: &filter.tasks,
        }
    }
}

impl<'a> SubscriptionParams<'a> {
    fn new(subscription: &'a Id) -> Self {
        Self { meta: SubscriptionMeta { subscription, server: None }, notifications: None, uri: None }
    }
}

fn write(out: &mut Vec<u8>, notification: &Notification, subscription: Option<&Id>) {
    let params = subscription.map(SubscriptionParams::new);
    match (notification, params) {
        (Notification::List(name), None) => write_notification(out, name, None::<&()>),
        (Notification::List(name), Some(params)) => write_notification(out, name, Some(&params)),
        (Notification::Resource(uri), None) => {
            write_notification(out, method::RESOURCE_UPDATED, Some(&Updated { uri }));
        }
        (Notification::Resource(uri), Some(params)) => {
            let params = SubscriptionParams { uri: Some(uri), ..params };
            write_notification(out, method::RESOURCE_UPDATED, Some(&params));
        }
        (Notification::Task(task), Some(params)) => write_task(out, &params, task),
        // There are no notifications of tasks without a subscription.
        (Notification::Task(_), None) => {}
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

/// Whether a subscription to `watched` includes changes of `uri`: the same resource, or one below it.
fn includes(watched: &str, uri: &str) -> bool {
    uri.strip_prefix(watched)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || watched.ends_with('/'))
}
