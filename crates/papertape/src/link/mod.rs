//! One conversation: what has been agreed, what is running, and what waits to be written.
//!
//! The connection's loop and the handlers that outlive their first poll share a link; everything that must happen
//! together (a reply and the end of its request, a cancellation and the end of its progress) happens under its one lock.

mod audience;
#[cfg(feature = "http")]
mod exchange;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::outbox::{
    OUTBOX, Outbox, Outgoing, Reply, write_anonymous_error, write_notification, write_reply, write_request,
};
use crate::protocol::capabilities::Abilities;
use crate::protocol::logging::LogLevel;
use crate::protocol::{Revision, method};
use crate::server::{Call, Limits, Principal};
use crate::wire::{Framing, Id, RpcError};

use audience::Audience;
pub(crate) use audience::{Kind, Wanted};

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
    /// The conversation that this is a part of, if it is one exchange of several: what was agreed is agreed there.
    whole: Option<Arc<Link>>,
    /// Who is at the other end, where that is known.
    principal: Option<Arc<Principal>>,
}

#[derive(Default)]
struct State {
    out: Outbox,
    running: HashMap<Id, Running>,
    bytes_in_flight: usize,
    batches: HashMap<u64, Batch>,
    audience: Audience,
    /// What `initialize` led to.
    legacy: Option<Revision>,
    /// The client has said `notifications/initialized`.
    initialized: bool,
    /// It has not, and that has been logged.
    noted_haste: bool,
    /// A revision is in use whose errors go without an id if there is none.
    omits_unreadable_id: bool,
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
    /// Rings when a handler has put something into the outbox.
    bell: Bell,
    /// The exchanges that are parts of this conversation.
    parts: Vec<Weak<Link>>,
    /// The code of the last answer that was an error.
    refused: Option<i64>,
    /// Who changes lists tells this link.
    watching: bool,
    /// When the client is to come back for the rest, if its connection is to end now.
    let_go: Option<Duration>,
    /// Nobody is to wait for news any longer.
    #[cfg(feature = "http")]
    closing: bool,
}

/// Tells the one who writes that there is something to write.
#[derive(Default)]
struct Bell {
    rung: bool,
    waker: Option<Waker>,
}

impl Bell {
    fn ring(&mut self) {
        self.rung = true;
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// How a question was answered.
pub(crate) type Answered = Result<Box<RawValue>, RpcError>;

struct Running {
    ticket: Ticket,
    call: Arc<Call>,
    abort: Option<AbortHandle>,
    /// Let go when the request is over.
    #[cfg(feature = "http")]
    held: Option<Held>,
}

/// What requests hold while they run, such as a part of a budget.
#[cfg(feature = "http")]
pub(crate) type Held = Arc<dyn std::any::Any + Send + Sync>;

struct Batch {
    waiting: usize,
    /// The answers in the order of what they answer; what was cancelled has none.
    parts: Vec<Option<Vec<u8>>>,
}

impl Link {
    /// A conversation with whoever is at the other end.
    pub(crate) fn new(principal: Option<Arc<Principal>>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), whole: None, principal })
    }

    /// Where things are agreed: here, or in the conversation that this is a part of.
    fn whole(&self) -> &Self {
        self.whole.as_deref().unwrap_or(self)
    }

    pub(crate) fn principal(&self) -> Option<&Arc<Principal>> {
        self.principal.as_ref()
    }

    /// Waits until there may be something to write.
    pub(crate) async fn bell(&self) {
        poll_fn(|cx| self.poll_bell(cx)).await;
    }

    pub(crate) fn poll_bell(&self, cx: &mut Context<'_>) -> Poll<()> {
        let bell = &mut self.state().bell;
        if std::mem::take(&mut bell.rung) {
            bell.waker = None;
            return Poll::Ready(());
        }
        if bell.waker.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
            bell.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // What has been agreed.

    pub(crate) fn set_framing(&self, framing: Framing) {
        self.state().out.set_framing(framing);
    }

    pub(crate) fn legacy(&self) -> Option<Revision> {
        self.whole().state().legacy
    }

    /// The revision of a legacy request. One that comes too early is served, but noted.
    pub(crate) fn legacy_request(&self) -> Option<Revision> {
        let mut state = self.whole().state();
        let revision = state.legacy?;
        if !state.initialized && !std::mem::replace(&mut state.noted_haste, true) {
            tracing::info!("the client has not said `notifications/initialized`; it is served all the same");
        }
        Some(revision)
    }

    pub(crate) fn set_legacy(&self, revision: Revision) {
        let mut state = self.whole().state();
        state.legacy = Some(revision);
        state.omits_unreadable_id |= revision.omits_unreadable_id();
    }

    pub(crate) fn set_initialized(&self) {
        let mut state = self.whole().state();
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
        if state.running.is_empty() && state.audience.is_empty() {
            return Ok(());
        }
        if state.running.contains_key(id) || state.audience.has(id) {
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
        let running = Running {
            ticket,
            call: Arc::clone(call),
            abort: None,
            #[cfg(feature = "http")]
            held: None,
        };
        state.running.insert(call.to.id.clone(), running);
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
        state.bell.ring();
    }

    /// Stops a request at its client's wish: nothing more is sent for it.
    ///
    /// In whichever exchange of the conversation it runs.
    pub(crate) fn cancel(&self, id: &Id) {
        if self.cancel_here(id) || self.whole().cancel_here(id) {
            return;
        }
        let parts = self.whole().state().parts.clone();
        for part in parts.iter().filter_map(Weak::upgrade) {
            part.cancel_here(id);
        }
    }

    /// Whether it was running here.
    fn cancel_here(&self, id: &Id) -> bool {
        let mut state = self.state();
        state.audience.leave(id);
        let Some(running) = state.forget(id) else { return false };
        // Whoever waits for the answer learns that none will come.
        state.bell.ring();
        running.call.set_cancelled();
        if let Some(batch) = running.call.to.batch {
            state.collect(batch, None);
        }
        drop(state);
        if let Some(abort) = running.abort {
            abort.abort();
        }
        true
    }

    /// Ends the connection that waits for an answer; the client is to come back for it after a while.
    pub(crate) fn let_go(&self, come_back: Duration) {
        let mut state = self.state();
        state.let_go = Some(come_back);
        state.bell.ring();
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
                state.refused = Some(error.code);
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
        state.bell.ring();
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
        let State { audience, out, initialized, .. } = &mut *state;
        audience.tell(out, *initialized);
        state.out.swap(outgoing);
    }

    // What is asked of the client.

    pub(crate) fn set_abilities(&self, abilities: Abilities) {
        self.whole().state().abilities = abilities;
    }

    pub(crate) fn abilities(&self) -> Abilities {
        self.whole().state().abilities
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.whole().state().log_level = Some(level);
    }

    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.whole().state().log_level
    }

    /// Asks a legacy client something. The answer never comes if the connection ends before it does.
    ///
    /// Whoever stops waiting takes the question back.
    pub(crate) fn ask(self: &Arc<Self>, method: &str, params: &Value) -> Question {
        let (tell, answer) = oneshot::channel();
        let mut whole = self.whole().state();
        whole.last_ask += 1;
        let (id, deaf) = (whole.last_ask, whole.deaf);
        if !deaf {
            whole.asked.insert(id, tell);
        }
        drop(whole);
        if !deaf {
            let mut state = self.state();
            state.out.push(|out| write_request(out, &Id::Integer(id), method, Some(params)));
            state.bell.ring();
        }
        Question { link: Arc::clone(self), id, answer }
    }

    /// The client has answered something; whether that was a question of ours.
    pub(crate) fn answered(&self, id: &Id, answer: Answered) -> bool {
        let Id::Integer(id) = id else { return false };
        match self.whole().state().asked.remove(id) {
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
        state.audience.list_changed(kind);
        state.bell.ring();
    }

    /// A resource has changed: likewise.
    pub(crate) fn resource_updated(&self, uri: &str) {
        let mut state = self.state();
        if state.audience.resource_updated(uri) {
            state.bell.ring();
        }
    }

    /// A task has changed, and is this now: likewise.
    pub(crate) fn task_changed(&self, id: &str, task: &str) {
        let mut state = self.state();
        if state.audience.task_changed(id, task) {
            state.bell.ring();
        }
    }

    /// A legacy client wants to hear of changes of a resource, or no longer does.
    pub(crate) fn subscribe(&self, uri: String, limit: usize) -> Result<(), RpcError> {
        self.whole().state().audience.subscribe(uri, limit)
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.whole().state().audience.unsubscribe(uri);
    }

    /// Opens a subscription: acknowledged first, then kept until it is cancelled or the connection ends.
    pub(crate) fn listen(&self, id: Id, wanted: Wanted, limit: usize) -> Result<(), RpcError> {
        let mut state = self.state();
        state.last_key += 1;
        let ticket = state.last_key;
        let State { audience, out, .. } = &mut *state;
        audience.listen(id, ticket, wanted, limit, out)
    }

    /// Whether this link has to be told of changes from now on, and was not before.
    pub(crate) fn begins_to_watch(&self) -> bool {
        !std::mem::replace(&mut self.state().watching, true)
    }

    /// Ends every subscription with its result.
    pub(crate) fn end_subscriptions(&self, write: impl Fn(&mut Vec<u8>, &Id)) {
        let mut state = self.state();
        state.bell.ring();
        for id in state.audience.end() {
            let to = ReplyTo { id: id.clone(), batch: None };
            state.reply(&to, &Reply::Result(&|out| write(out, &id)));
        }
    }
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
        if self.link.whole().state().asked.remove(&self.id).is_some() {
            let params = serde_json::json!({"requestId": self.id});
            let mut state = self.link.state();
            state.out.push(|out| write_notification(out, method::CANCELLED, Some(&params)));
            state.bell.ring();
        }
    }
}

impl State {
    fn forget(&mut self, id: &Id) -> Option<Running> {
        let running = self.running.remove(id)?;
        self.bytes_in_flight -= running.call.bytes;
        Some(running)
    }

    fn reply(&mut self, to: &ReplyTo, reply: &Reply<'_>) {
        if let Reply::Error(error) = reply {
            self.refused = Some(error.code);
        }
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
