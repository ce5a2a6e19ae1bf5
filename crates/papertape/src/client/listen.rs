//! Subscriptions: changes that a server tells of its own accord.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
#[cfg(feature = "http")]
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
#[cfg(feature = "http")]
use tokio::time::Instant;
use tokio::time::timeout;

use super::Client;
use super::error::{ClientError, ErrorKind};
#[cfg(feature = "http")]
use super::options::Timing;
use super::outcome;
#[cfg(feature = "http")]
use super::session::Asking;
use super::session::{Answer, Params, Session, Trouble, Waiting};
use crate::protocol::method;
use crate::wire::RpcError;

/// Changes that may wait to be read; more are lost, the oldest first.
const MOST_WAITING: usize = 1_000;

/// How long a server may take to take a subscription again.
#[cfg(feature = "http")]
const SUBSCRIBING: Duration = Duration::from_secs(60);

/// What to hear of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[must_use]
pub struct Interests {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    resource_subscriptions: Vec<String>,
}

/// Something is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// A resource: its URI.
    Resource(String),
}

/// Changes as they come. Dropping it ends it.
pub struct Subscription {
    session: Arc<Session>,
    mailbox: Arc<Mailbox>,
    honoured: Interests,
    /// The request that keeps it open, in revisions that have one.
    id: Option<i64>,
}

/// Where changes wait to be read.
pub(super) struct Mailbox {
    contents: Mutex<Contents>,
    news: Notify,
}

#[derive(Default)]
struct Contents {
    changes: VecDeque<Change>,
    /// What the server says it will tell.
    honoured: Option<Interests>,
    /// What a legacy server has been asked to tell, of what it offers: lists, and resources one by one.
    agreed: Interests,
    ended: bool,
    /// Why it has ended, or never began, if that is a failure.
    refused: Option<Refusal>,
}

enum Refusal {
    Rpc(RpcError),
    Failed(Trouble),
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Rpc(error) => Trouble::new(ErrorKind::Rpc(error), "the server answered"),
            Refusal::Failed(trouble) => trouble,
        }
    }
}

impl Interests {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The list of tools.
    pub fn tools(mut self) -> Self {
        self.tools_list_changed = true;
        self
    }

    /// The list of prompts.
    pub fn prompts(mut self) -> Self {
        self.prompts_list_changed = true;
        self
    }

    /// The list of resources.
    pub fn resources(mut self) -> Self {
        self.resources_list_changed = true;
        self
    }

    /// One resource.
    pub fn resource(mut self, uri: impl Into<String>) -> Self {
        self.resource_subscriptions.push(uri.into());
        self
    }

    fn to_json(&self) -> Value {
        let mut filter = serde_json::Map::new();
        for (name, wanted) in [
            ("toolsListChanged", self.tools_list_changed),
            ("promptsListChanged", self.prompts_list_changed),
            ("resourcesListChanged", self.resources_list_changed),
        ] {
            if wanted {
                filter.insert(name.to_owned(), true.into());
            }
        }
        if !self.resource_subscriptions.is_empty() {
            filter.insert("resourceSubscriptions".to_owned(), json!(self.resource_subscriptions));
        }
        Value::Object(filter)
    }

    /// All that they include, as changes.
    #[cfg(feature = "http")]
    fn everything(&self) -> impl Iterator<Item = Change> {
        let lists = [
            (self.tools_list_changed, Change::Tools),
            (self.prompts_list_changed, Change::Prompts),
            (self.resources_list_changed, Change::Resources),
        ];
        let lists = lists.into_iter().filter_map(|(wanted, change)| wanted.then_some(change));
        lists.chain(self.resource_subscriptions.iter().cloned().map(Change::Resource))
    }

    fn include(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools_list_changed,
            Change::Prompts => self.prompts_list_changed,
            Change::Resources => self.resources_list_changed,
            // What is told may be a part of what is watched.
            Change::Resource(_) => !self.resource_subscriptions.is_empty(),
        }
    }
}

impl Client {
    /// Asks to hear of changes.
    ///
    /// # Errors
    /// If the server does not agree, or not in time.
    pub async fn listen(&self, interests: Interests) -> Result<Subscription, ClientError> {
        let trouble = |trouble| self.session().error("asking to hear of changes", trouble);
        if self.revision().opens_with_handshake() {
            return self.listen_to_all(interests).await;
        }
        let mailbox = Arc::new(Mailbox::new(None));
        let mut params = Params::new([("notifications", interests.to_json())]);
        params.push("_meta", self.meta(false));
        let patience = self.timing().longest;
        let waiting = Waiting::Listen(Arc::clone(&mailbox));
        let late = |reached| trouble(Trouble::new(ErrorKind::TimedOut(patience), reached));
        let id = match timeout(patience, self.session().send(method::LISTEN, params, waiting)).await {
            Ok(sent) => sent.map_err(trouble)?,
            Err(_) => return Err(late("the request could not be sent")),
        };
        // From here on, whoever stops waiting ends the subscription.
        let mut subscription = Subscription {
            session: Arc::clone(self.session()),
            mailbox,
            honoured: Interests::default(),
            id: Some(id),
        };
        match timeout(patience, subscription.mailbox.opened()).await {
            Ok(opened) => subscription.honoured = opened.map_err(trouble)?,
            Err(_) => return Err(late("the request was sent; no acknowledgement came")),
        }
        Ok(subscription)
    }

    /// Legacy servers tell every change of a list unasked, and those of resources when asked for each.
    async fn listen_to_all(&self, interests: Interests) -> Result<Subscription, ClientError> {
        let mailbox = Arc::new(Mailbox::new(Some(interests.clone())));
        let offered = self.capabilities();
        let lists = |list: &Option<crate::protocol::capabilities::ListCapability>| {
            list.as_ref().is_some_and(|list| list.list_changed)
        };
        let resources = offered.resources.clone().unwrap_or_default();
        let mut honoured = Interests {
            tools_list_changed: interests.tools_list_changed && lists(&offered.tools),
            prompts_list_changed: interests.prompts_list_changed && lists(&offered.prompts),
            resources_list_changed: interests.resources_list_changed && resources.list_changed,
            resource_subscriptions: Vec::new(),
        };
        let session = Arc::clone(self.session());
        session.add_listener(&mailbox);
        let mut subscription = Subscription { session, mailbox, honoured: Interests::default(), id: None };
        if resources.subscribe {
            for uri in interests.resource_subscriptions {
                self.request(method::SUBSCRIBE, json!({"uri": uri})).await?;
                honoured.resource_subscriptions.push(uri.clone());
                subscription.mailbox.contents().agreed.resource_subscriptions.push(uri.clone());
                subscription.honoured.resource_subscriptions.push(uri);
            }
        }
        subscription.mailbox.contents().agreed = honoured.clone();
        subscription.honoured = honoured;
        Ok(subscription)
    }
}

impl Session {
    /// From now on a mailbox is told what belongs to no request.
    fn add_listener(&self, mailbox: &Arc<Mailbox>) {
        let mut state = self.state();
        state.listeners.push(Arc::clone(mailbox));
        if let Some(wanted) = state.unheard.take() {
            wanted.notify_one();
        }
    }

    /// What belongs to no request cannot be heard any more: subscriptions that rely on it end with the reason. Told when
    /// there is another one.
    #[cfg(feature = "http")]
    pub(crate) fn lose_listeners(&self, why: &Trouble) -> Arc<Notify> {
        let wanted = Arc::new(Notify::new());
        let mut state = self.state();
        state.unheard = Some(Arc::clone(&wanted));
        let lost = std::mem::take(&mut state.listeners);
        drop(state);
        for mailbox in lost {
            mailbox.answered(Answer::Failed(Trouble::new(copy(&why.kind), &*why.reached)));
        }
        wanted
    }

    /// Subscribes again to the resources that are watched, because the server may have forgotten that they are. If it may have
    /// told changes in vain, everything counts as changed.
    #[cfg(feature = "http")]
    pub(crate) async fn subscribe_again(self: &Arc<Self>, missed: bool) {
        let listeners = self.state().listeners.clone();
        for mailbox in listeners {
            let agreed = mailbox.contents().agreed.clone();
            for uri in &agreed.resource_subscriptions {
                let asking = Asking {
                    method: method::SUBSCRIBE,
                    params: Params::new([("uri", uri.clone().into())]),
                    timing: Timing { silence: SUBSCRIBING, longest: SUBSCRIBING },
                    last: Instant::now() + SUBSCRIBING,
                    on_progress: None,
                };
                if let Err(trouble) = self.request(asking).await {
                    self.state().listeners.retain(|other| !Arc::ptr_eq(other, &mailbox));
                    mailbox.answered(Answer::Failed(trouble));
                    break;
                }
            }
            if missed {
                agreed.everything().for_each(|change| mailbox.deliver(change));
            }
        }
    }
}

/// The same failure for another subscription.
#[cfg(feature = "http")]
fn copy(kind: &ErrorKind) -> ErrorKind {
    match kind {
        ErrorKind::Unreachable(why) => ErrorKind::Unreachable(why.clone()),
        ErrorKind::Http { status, message } => ErrorKind::Http { status: *status, message: message.clone() },
        ErrorKind::Unauthorized(why) => ErrorKind::Unauthorized(why.clone()),
        ErrorKind::Protocol(problem) => ErrorKind::Protocol(problem.clone()),
        ErrorKind::Closed => ErrorKind::Closed,
        other => ErrorKind::Protocol(other.to_string()),
    }
}

impl Subscription {
    /// What the server will tell, of what was asked for.
    pub fn honoured(&self) -> &Interests {
        &self.honoured
    }

    /// The next change. `None` when the server has ended the subscription, or has gone.
    ///
    /// On HTTP the connection to a server may break. In revisions that open with `initialize` it is opened again, in another
    /// session if need be; a change that may have been missed is then told as if it had happened.
    ///
    /// # Errors
    /// Once, if the subscription was lost: nothing more will come, and the lists and resources may have changed since.
    pub async fn next(&mut self) -> Result<Option<Change>, ClientError> {
        let next = self.mailbox.next().await;
        next.map_err(|trouble| self.session.error("waiting for changes", trouble))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let Some(id) = self.id else {
            self.session.state().listeners.retain(|mailbox| !Arc::ptr_eq(mailbox, &self.mailbox));
            for uri in &self.honoured.resource_subscriptions {
                self.session
                    .send_and_forget(method::UNSUBSCRIBE, &Params::new([("uri", uri.clone().into())]));
            }
            return;
        };
        self.session.give_up(id, true);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("honoured", &self.honoured).finish_non_exhaustive()
    }
}

impl Mailbox {
    /// With what will be told, if that is known already.
    fn new(honoured: Option<Interests>) -> Self {
        Self { contents: Mutex::new(Contents { honoured, ..Contents::default() }), news: Notify::new() }
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn acknowledged(&self, honoured: &str) {
        self.contents().honoured = Some(serde_json::from_str(honoured).unwrap_or_default());
        self.news.notify_one();
    }

    /// A change that waits already is not told twice.
    pub(super) fn deliver(&self, change: Change) {
        let mut contents = self.contents();
        let expected = contents.honoured.as_ref().is_some_and(|honoured| honoured.include(&change));
        if !expected || contents.changes.contains(&change) {
            return;
        }
        if contents.changes.len() >= MOST_WAITING {
            contents.changes.pop_front();
        }
        contents.changes.push_back(change);
        drop(contents);
        self.news.notify_one();
    }

    /// The request that keeps it open was answered, which is its end.
    pub(super) fn answered(&self, answer: Answer) {
        self.contents().refused = match answer {
            Answer::Result(raw) => {
                outcome::check_complete(&raw).err().map(|trouble| Refusal::Failed(*trouble))
            }
            Answer::Error(error) => Some(Refusal::Rpc(error)),
            Answer::Failed(trouble) => Some(Refusal::Failed(trouble)),
        };
        self.end();
    }

    pub(super) fn end(&self) {
        self.contents().ended = true;
        self.news.notify_one();
    }

    async fn opened(&self) -> Result<Interests, Trouble> {
        loop {
            {
                let mut contents = self.contents();
                if let Some(honoured) = contents.honoured.clone() {
                    return Ok(honoured);
                }
                match contents.refused.take() {
                    Some(refusal) => return Err(refusal.into()),
                    None if contents.ended => {
                        return Err(Trouble::new(
                            ErrorKind::Closed,
                            "the request was sent; it was not acknowledged",
                        ));
                    }
                    None => {}
                }
            }
            self.news.notified().await;
        }
    }

    async fn next(&self) -> Result<Option<Change>, Trouble> {
        loop {
            {
                let mut contents = self.contents();
                if let Some(change) = contents.changes.pop_front() {
                    return Ok(Some(change));
                }
                if contents.ended {
                    return match contents.refused.take() {
                        Some(refusal) => Err(refusal.into()),
                        None => Ok(None),
                    };
                }
            }
            self.news.notified().await;
        }
    }
}
