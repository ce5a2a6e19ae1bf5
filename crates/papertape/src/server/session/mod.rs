//! One session with a client: what has been agreed, what is running, and what waits to be written.
//!
//! The connection's loop and the handlers that outlive their first poll share a session; everything that must happen
//! together (a response and the end of its request, a cancellation and the end of its progress) happens under its one lock.

mod batch;
#[cfg(feature = "http-server")]
mod child;
mod client_requests;
mod negotiated;
mod notifications;
mod running_calls;
pub(crate) mod subscribers;
pub(crate) mod subscriptions;
mod wakeup;

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use serde::Serialize;
use tokio::task::AbortHandle;

use crate::protocol::RawJson;
use crate::server::limits::Limits;
use crate::server::pipeline::run::Call;
use crate::sync::lock;
use crate::telemetry::Network;
use crate::wire::frame::{OUTBOX, Outbox, Outgoing};
use crate::wire::message::{Reply, write_anonymous_error, write_notification, write_reply};
use crate::wire::{Framing, Id, RpcError};
use papertape_oauth::Principal;

pub(crate) use batch::BatchPlace;
use batch::Batches;
use client_requests::ClientRequests;
pub(crate) use client_requests::{ClientResponse, SentRequest};
use negotiated::Negotiated;
use notifications::NotificationQueue;
#[cfg(feature = "http-server")]
pub(crate) use running_calls::Held;
use running_calls::RunningCalls;
pub(crate) use running_calls::Ticket;
use subscriptions::Subscriptions;
use wakeup::Wakeup;

/// Where a response goes.
#[derive(Debug, Clone)]
pub(crate) struct ReplyTo {
    pub(crate) id: Id,
    /// Its place in the batch it is part of.
    pub(crate) batch: Option<BatchPlace>,
}

/// Bytes of notifications that wait for a client of which no connection reads them, but which may come back: there may be
/// many of those.
const UNREAD: usize = 16 * 1024;

/// One session with a client.
pub(crate) struct Session {
    state: Mutex<State>,
    /// The session that this one is a child of, if it is one HTTP exchange of several: what was agreed is agreed there.
    parent: Option<Arc<Session>>,
    /// The authenticated principal at the other end.
    principal: Option<Arc<Principal>>,
    /// How its peers are connected.
    network: Network,
    /// An id that handlers see.
    id: Option<Box<str>>,
}

#[derive(Default)]
struct State {
    out: Outbox,
    running: RunningCalls,
    batches: Batches,
    /// None before the client can be notified of anything.
    subscriptions: Option<Box<Subscriptions>>,
    client_requests: ClientRequests,
    notifications: NotificationQueue,
    negotiated: Negotiated,
    /// The last ticket, or number of a batch.
    last_key: u64,
    /// Wakes the writer when a handler has put something into the outbox.
    wakeup: Wakeup,
    /// The exchanges of this session.
    children: Vec<Weak<Session>>,
    /// The code of the last error response.
    last_error: Option<i64>,
    /// It is among the subscribers of the service.
    is_subscriber: bool,
    /// The principal of the latest request, where not all principals are notified alike: its scopes may have changed.
    latest_principal: Option<Arc<Principal>>,
    /// When the client is to reconnect, if its stream is to be closed now.
    close_stream: Option<Duration>,
    /// How many connections read what belongs to no request, where there may be none (sessions on HTTP).
    readers: Option<usize>,
    /// What handlers keep for the session, one value of each type.
    values: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    /// Streams that would go on for ever are to end.
    #[cfg(feature = "http-server")]
    closing: bool,
}

impl Session {
    /// One on HTTP.
    #[cfg(feature = "http-server")]
    pub(crate) fn new(principal: Option<Arc<Principal>>) -> Arc<Self> {
        let network = Network::Http;
        Arc::new(Self { state: Mutex::default(), parent: None, principal, network, id: None })
    }

    /// A session over two streams.
    pub(crate) fn over(network: Network, principal: Option<Arc<Principal>>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), parent: None, principal, network, id: None })
    }

    pub(crate) fn network(&self) -> Network {
        self.network
    }

    /// One with an id that handlers see.
    #[cfg(feature = "http-server")]
    pub(crate) fn with_id(principal: Option<Arc<Principal>>, id: String) -> Arc<Self> {
        let (network, id) = (Network::Http, Some(id.into()));
        Arc::new(Self { state: Mutex::default(), parent: None, principal, network, id })
    }

    /// The id that handlers see.
    pub(crate) fn id(&self) -> Option<&str> {
        self.parent().id.as_deref()
    }

    /// Where things are agreed: here, or in the session that this is a child of.
    fn parent(&self) -> &Self {
        self.parent.as_deref().unwrap_or(self)
    }

    /// The principal that handlers see: not one that is anonymous.
    pub(crate) fn named_principal(&self) -> Option<&Principal> {
        self.principal.as_deref().filter(|principal| !principal.is_anonymous())
    }

    pub(crate) fn principal(&self) -> Option<&Arc<Principal>> {
        self.principal.as_ref()
    }

    /// The principal whose scopes count for notifications: that of the latest request.
    pub(crate) fn latest_principal(&self) -> Option<Arc<Principal>> {
        self.state().latest_principal.clone().or_else(|| self.principal.clone())
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn set_latest_principal(&self, principal: Option<&Arc<Principal>>) {
        self.state().latest_principal = principal.cloned();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Waits until there may be something to write.
    pub(crate) async fn woken(&self) {
        poll_fn(|cx| self.poll_woken(cx)).await;
    }

    pub(crate) fn poll_woken(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.state().wakeup.poll(cx)
    }

    pub(crate) fn set_framing(&self, framing: Framing) {
        self.state().out.set_framing(framing);
    }

    /// The value of this type that is kept for the session, made if there is none.
    pub(crate) fn value<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Option<Arc<T>> {
        let mut state = self.parent().state();
        let value = state.values.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(make()));
        Arc::clone(value).downcast().ok()
    }

    // What is running.

    /// Whether a request may begin.
    pub(crate) fn admit(&self, id: &Id, limits: &Limits) -> Result<(), RpcError> {
        let state = self.state();
        if state.running.is_empty() && state.subscriptions.as_ref().is_none_or(|open| open.is_empty()) {
            return Ok(());
        }
        if state.running.has(id) || state.subscriptions.as_ref().is_some_and(|open| open.has(id)) {
            return Err(RpcError::invalid_request(format!(
                "the id {id} is in use by a request that is still running"
            )));
        }
        state.running.check(limits)
    }

    pub(crate) fn has_progress_token(&self, token: &Id) -> bool {
        self.state().running.has_progress_token(token)
    }

    /// Tracks a call that outlives its first poll.
    pub(crate) fn track(&self, call: &Arc<Call>) -> Ticket {
        let mut state = self.state();
        let ticket = state.next_key();
        state.running.add(call, ticket);
        ticket
    }

    /// How to stop a call. If it has been cancelled in the meantime, it is stopped at once.
    pub(crate) fn set_abort(&self, id: &Id, ticket: Ticket, abort: AbortHandle) {
        self.state().running.set_abort(id, ticket, abort);
    }

    /// Responds to a tracked call, unless it was cancelled.
    pub(crate) fn finish(&self, to: &ReplyTo, ticket: Ticket, reply: &Reply<'_>) {
        let mut state = self.state();
        let Some(running) = state.running.remove_ticket(&to.id, ticket) else { return };
        running.call.set_answered();
        state.reply(to, reply);
        state.wakeup.wake();
    }

    /// Cancels a request of the client's: nothing more is sent for it.
    ///
    /// It may run in any exchange of the session.
    pub(crate) fn cancel(&self, id: &Id) {
        if self.cancel_here(id) || self.parent().cancel_here(id) {
            return;
        }
        let children = self.parent().state().children.clone();
        for child in children.iter().filter_map(Weak::upgrade) {
            child.cancel_here(id);
        }
    }

    /// Whether it was running here.
    fn cancel_here(&self, id: &Id) -> bool {
        let mut state = self.state();
        if let Some(subscriptions) = &mut state.subscriptions {
            subscriptions.close(id);
        }
        let Some(running) = state.running.remove(id) else { return false };
        // The writer may wait for the response, which will not come.
        state.wakeup.wake();
        running.call.set_cancelled();
        if let Some(place) = running.call.to.batch {
            state.collect(place, None);
        }
        drop(state);
        running.abort(None);
        true
    }

    /// Closes the stream of a request early; the client is to reconnect after a while.
    pub(crate) fn close_stream(&self, retry: Duration) {
        let mut state = self.state();
        state.close_stream = Some(retry);
        state.wakeup.wake();
    }

    /// Nothing is running; open subscriptions do not count.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.state();
        state.running.is_empty() && state.notifications.is_empty()
    }

    /// Responds with an error to what is still running and stops it. False if nothing was.
    pub(crate) fn abort_all(&self, error: &RpcError) -> bool {
        let notified = self.stop_notifications();
        let mut state = self.state();
        let all = state.running.take_all();
        let any = notified || !all.is_empty();
        for running in &all {
            running.call.set_cancelled();
            state.reply(&running.call.to, &Reply::Error(error));
        }
        drop(state);
        all.into_iter().for_each(|running| running.abort(Some(error)));
        any
    }

    // What waits to be written.

    /// Responds to a request that is not tracked.
    pub(crate) fn reply(&self, to: &ReplyTo, reply: &Reply<'_>) {
        self.state().reply(to, reply);
    }

    /// Responds to a call within its first poll.
    pub(crate) fn reply_to_call(&self, to: &ReplyTo, call: &Call, reply: &Reply<'_>) {
        let mut state = self.state();
        call.set_answered();
        state.reply(to, reply);
    }

    /// Responds to a message whose id may be unreadable.
    pub(crate) fn reject(&self, id: Option<Id>, batch: Option<BatchPlace>, error: &RpcError) {
        let mut state = self.state();
        match id {
            Some(id) => state.reply(&ReplyTo { id, batch }, &Reply::Error(error)),
            None => {
                state.last_error = Some(error.code);
                let omit = state.negotiated.omits_unreadable_id;
                state.send(batch, |out| write_anonymous_error(out, omit, error));
            }
        }
    }

    /// Sends a notification that belongs to a call, unless the call is over or the client does not read.
    pub(crate) fn notify_unless<P: Serialize>(&self, over: &AtomicBool, method: &str, params: &P) {
        let mut state = self.state();
        if over.load(Ordering::Relaxed) || state.out.pending() > OUTBOX {
            return;
        }
        state.send(None, |out| write_notification(out, method, Some(params)));
        state.wakeup.wake();
    }

    /// Sends a notification that belongs to no call to a session-based client, unless it does not read.
    pub(crate) fn notify_opened(&self, method: &str, params: &RawJson) {
        let mut state = self.state();
        let pending = state.out.pending();
        let fits = match state.readers {
            Some(0) => pending + params.get().len() <= UNREAD,
            _ => pending <= OUTBOX,
        };
        if state.negotiated.initialized && fits {
            state.send(None, |out| write_notification(out, method, Some(params)));
            state.wakeup.wake();
        }
    }

    /// Begins to collect the responses of a batch.
    pub(crate) fn open_batch(&self, waiting: usize) -> u64 {
        let mut state = self.state();
        let key = state.next_key();
        state.batches.open(key, waiting);
        key
    }

    /// Bytes waiting to be written.
    pub(crate) fn pending(&self) -> usize {
        self.state().out.pending()
    }

    /// Takes what waits to be written into `outgoing`, which must be empty and whose room is used again.
    pub(crate) fn take(&self, outgoing: &mut Outgoing) {
        let mut state = self.state();
        let State { subscriptions, out, negotiated, .. } = &mut *state;
        if let Some(subscriptions) = subscriptions {
            subscriptions.write_pending(out, negotiated.initialized);
        }
        state.out.swap(outgoing);
    }
}

impl State {
    fn next_key(&mut self) -> u64 {
        self.last_key += 1;
        self.last_key
    }

    fn reply(&mut self, to: &ReplyTo, reply: &Reply<'_>) {
        if let Reply::Error(error) = reply {
            self.last_error = Some(error.code);
        }
        self.send(to.batch, |out| write_reply(out, &to.id, reply));
    }

    /// Puts one message into the outbox, or into its batch.
    fn send(&mut self, batch: Option<BatchPlace>, write: impl FnOnce(&mut Vec<u8>)) {
        if let Some(place) = batch {
            let mut response = Vec::new();
            write(&mut response);
            self.collect(place, Some(response));
        } else {
            self.out.push(write);
        }
    }

    /// One member of a batch is done; the last one sends them all.
    fn collect(&mut self, place: BatchPlace, response: Option<Vec<u8>>) {
        if let Some(batch) = self.batches.collect(place, response) {
            self.out.push(|out| out.extend_from_slice(&batch));
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Session")
            .field("legacy", &state.negotiated.legacy)
            .field("running", &state.running.len())
            .field("pending", &state.out.pending())
            .finish_non_exhaustive()
    }
}
