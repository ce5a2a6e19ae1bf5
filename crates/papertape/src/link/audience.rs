//! Who wants to hear of changes, and what they are still to be told.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::Serialize;

use super::Ticket;
use crate::outbox::{OUTBOX, Outbox, write_json, write_notification};
use crate::protocol::meta::SubscriptionMeta;
use crate::protocol::method;
use crate::wire::{Id, RpcError};

/// Who wants to hear of changes on one connection.
#[derive(Default)]
pub(super) struct Audience {
    listeners: Vec<Listener>,
    /// The resources whose changes a legacy client has asked to hear of.
    subscribed: BTreeSet<String>,
    /// What has changed since the client was last told.
    changes: Changes,
    /// What of that waits for room, and for which subscription.
    news: VecDeque<(News, Option<Ticket>)>,
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

struct Listener {
    id: Id,
    /// Tells it from another one with the same id.
    ticket: Ticket,
    wanted: Wanted,
}

/// Whether somebody wants to hear of something.
type Wants = fn(&Wanted) -> bool;

impl Audience {
    pub(super) fn is_empty(&self) -> bool {
        self.listeners.is_empty()
    }

    /// Whether a subscription with that id is open.
    pub(super) fn has(&self, id: &Id) -> bool {
        self.listeners.iter().any(|listener| listener.id == *id)
    }

    /// Opens a subscription, acknowledged first.
    pub(super) fn listen(
        &mut self,
        id: Id,
        ticket: Ticket,
        wanted: Wanted,
        limit: usize,
        out: &mut Outbox,
    ) -> Result<(), RpcError> {
        if self.listeners.len() >= limit {
            let message = format!("too many subscriptions: {limit} are open, the limit; cancel one");
            return Err(RpcError::invalid_request(message));
        }
        let params = SubscriptionParams {
            notifications: Some(Honoured::new(&wanted)),
            ..SubscriptionParams::new(&id)
        };
        out.push(|out| write_notification(out, method::ACKNOWLEDGED, Some(&params)));
        self.listeners.push(Listener { id, ticket, wanted });
        Ok(())
    }

    /// Closes the subscription with that id, if there is one.
    pub(super) fn leave(&mut self, id: &Id) {
        self.listeners.retain(|listener| listener.id != *id);
    }

    /// Closes all subscriptions; their ids.
    pub(super) fn end(&mut self) -> Vec<Id> {
        std::mem::take(&mut self.listeners).into_iter().map(|listener| listener.id).collect()
    }

    pub(super) fn subscribe(&mut self, uri: String, limit: usize) -> Result<(), RpcError> {
        if self.subscribed.len() >= limit && !self.subscribed.contains(&uri) {
            let message = format!(
                "too many subscriptions: {limit} resources are watched, the limit; unsubscribe from one"
            );
            return Err(RpcError::invalid_request(message));
        }
        self.subscribed.insert(uri);
        Ok(())
    }

    pub(super) fn unsubscribe(&mut self, uri: &str) {
        self.subscribed.remove(uri);
    }

    pub(super) fn list_changed(&mut self, kind: Kind) {
        match kind {
            Kind::Tools => self.changes.tools = true,
            Kind::Resources => self.changes.resources = true,
            Kind::Prompts => self.changes.prompts = true,
        }
    }

    /// False if nobody wants to hear of it.
    pub(super) fn resource_updated(&mut self, uri: &str) -> bool {
        let asked_for = self.listeners.iter().flat_map(|listener| &listener.wanted.uris);
        let watched = self.subscribed.iter().chain(asked_for);
        let mut watched = watched.filter(|watched| concerns(watched, uri)).peekable();
        if watched.peek().is_none() {
            return false;
        }
        if self.changes.uris.len() < MOST_CHANGED {
            self.changes.uris.insert(uri.to_owned());
        } else {
            // There are only so many of those, so that nothing need be forgotten.
            self.changes.uris.extend(watched.cloned());
        }
        true
    }

    /// False if nobody wants to hear of it.
    pub(super) fn task_changed(&mut self, id: &str, task: &str) -> bool {
        let mut wanted = self.listeners.iter().flat_map(|listener| &listener.wanted.tasks);
        let is_wanted = wanted.any(|wanted| wanted == id);
        if is_wanted {
            self.changes.tasks.insert(id.to_owned(), task.into());
        }
        is_wanted
    }

    /// Changes are told once per write, however many there were, and as long as there is room.
    pub(super) fn tell(&mut self, out: &mut Outbox, initialized: bool) {
        if self.news.is_empty() {
            self.collect_news(initialized);
        }
        while out.pending() < OUTBOX
            && let Some((news, to)) = self.news.pop_front()
        {
            let listener = to.map(|ticket| self.listeners.iter().find(|listener| listener.ticket == ticket));
            match listener {
                None => out.push(|out| write_news(out, &news, None)),
                Some(Some(listener)) => out.push(|out| write_news(out, &news, Some(&listener.id))),
                // Nothing more is told to a subscription that has ended.
                Some(None) => {}
            }
        }
    }

    /// Who is to be told what.
    fn collect_news(&mut self, initialized: bool) {
        let changes = std::mem::take(&mut self.changes);
        let lists: [(bool, &str, Wants); 3] = [
            (changes.tools, method::TOOLS_CHANGED, |wanted| wanted.tools),
            (changes.resources, method::RESOURCES_CHANGED, |wanted| wanted.resources),
            (changes.prompts, method::PROMPTS_CHANGED, |wanted| wanted.prompts),
        ];
        for (_, name, wants) in lists.into_iter().filter(|(changed, _, _)| *changed) {
            if initialized {
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
            if initialized && self.subscribed.iter().any(|watched| concerns(watched, &uri)) {
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
