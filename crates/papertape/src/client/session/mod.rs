//! A session from the client's side: pending requests, queued messages, and how it ended.
//!
//! Whatever must happen together (a response and the end of its request, a timeout and the cancellation) happens under one
//! lock.

mod failure;
#[cfg(feature = "http-client")]
mod http;
mod params;
mod receive;
mod request;
#[cfg(unix)]
mod restart;
pub(super) mod result_type;
mod server_requests;

use std::collections::HashMap;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::error::{ClientError, ErrorKind};
use super::evidence::{Evidence, ProcessRecord, StrayOutput};
use super::handlers::Handlers;
use super::log_message::RequestedLevel;
use super::subscriptions::{Change, ChangeQueue};
pub(crate) use failure::Failure;
pub(super) use params::{OWN_ID, Params};
pub(super) use request::{OutgoingRequest, Pending, RequestOutcome};

use crate::protocol::Revision;
use crate::sync::lock;
use crate::telemetry::{Network, Outcome, SessionTimer, Side};
use crate::wire::frame::{OUTBOX, Outbox, Outgoing};
use crate::wire::message::write_notification;
use crate::wire::{Framing, Id};

/// A session.
pub(crate) struct Session {
    state: Mutex<State>,
    /// Notified when there is something to write.
    pub(crate) wake: Notify,
    /// Notified when there is room in the outbox again.
    room: Notify,
    /// Notified when the session has ended.
    over: Notify,
    pub(super) handlers: Handlers,
    pub(super) log_level: RequestedLevel,
    /// The timeout of each handler.
    pub(super) handler_timeout: Duration,
    /// The record of the server process; empty on other transports.
    record: Arc<ProcessRecord>,
    /// How the server is reached, and its address if that is one of a network.
    peer: OnceLock<(Network, Option<(String, u16)>)>,
    timer: SessionTimer,
    /// Set when the session is to close: the timeout of each step of ending the server.
    close: watch::Sender<Option<Duration>>,
}

#[derive(Default)]
pub(super) struct State {
    out: Outbox,
    last_id: i64,
    pending: HashMap<i64, Pending>,
    /// The negotiated revision.
    revision: Option<Revision>,
    /// The server's own requests that are being handled.
    handling: HashMap<Id, AbortHandle>,
    /// Since when timeouts are paused, because a handler runs or credentials are being obtained.
    paused_since: Option<Instant>,
    /// How long they were paused before that.
    paused_for: Duration,
    /// Subscriptions to the notifications that belong to no request (session-based revisions).
    pub(super) subscribers: Vec<Arc<ChangeQueue>>,
    /// The stream of those notifications is lost; notified when there is a subscriber again.
    pub(super) stream_wanted: Option<Arc<Notify>>,
    stray: StrayOutput,
    /// The beginning of a line that the server has not ended yet.
    unfinished: Vec<u8>,
    /// The list of tools has changed since it was last read.
    tools_changed: bool,
    /// How many changes of the lists of tools, prompts and resources have been announced.
    list_changes: [u64; 3],
    /// How many frames have been written in full.
    frames_written: u64,
    /// The protocol violation after which nothing more could be read, and the bytes.
    fatal: Option<(String, Vec<u8>)>,
    /// `server/discover` got no response, and `initialize` did: an error without an id is not about `server/discover`.
    probe_abandoned: bool,
    /// A response to no pending request has been logged.
    logged_unexpected: bool,
    ended: bool,
    /// The session outlives its server process.
    can_restart: bool,
    /// How many times the server process was started again.
    restarts: u64,
    /// The server process has exited and is being started again: only the negotiation is sent.
    pub(super) suspended: bool,
    /// When it is started, if requests do not wait for that.
    restart_at: Option<Instant>,
    /// The subscriptions of a stateless revision that wait for that.
    pub(super) suspended_listens: Vec<Arc<ChangeQueue>>,
    /// Each request is an HTTP exchange of its own, and dropping it cancels it.
    is_http: bool,
    /// The HTTP exchanges of pending requests.
    exchanges: HashMap<i64, HttpExchange>,
    /// How many requests are waiting for credentials.
    obtaining_credentials: usize,
    /// The arguments of tools that are repeated in HTTP headers.
    header_params: HashMap<String, HeaderParams>,
}

/// Names of headers, each with the path to its value in the arguments.
pub(crate) type HeaderParams = Arc<[(String, Vec<String>)]>;

/// The HTTP exchange of a pending request.
struct HttpExchange {
    /// The task that runs it, once it has been spawned.
    task: Option<AbortHandle>,
    /// Notified when the request has its response, on this exchange or elsewhere.
    responded: Arc<Notify>,
    /// How far it got.
    stage: &'static str,
}

impl State {
    /// Counts the time in which the server waits for this client.
    fn update_pause(&mut self) {
        if !self.handling.is_empty() || self.obtaining_credentials > 0 {
            self.paused_since.get_or_insert_with(Instant::now);
        } else if let Some(since) = self.paused_since.take() {
            self.paused_for += since.elapsed();
        }
    }
}

impl Session {
    pub(crate) fn new(
        framing: Framing,
        handlers: Handlers,
        handler_timeout: Duration,
        record: Arc<ProcessRecord>,
    ) -> Arc<Self> {
        let mut state = State::default();
        state.out.set_framing(framing);
        Arc::new(Self {
            state: Mutex::new(state),
            wake: Notify::new(),
            room: Notify::new(),
            over: Notify::new(),
            handlers,
            log_level: RequestedLevel::default(),
            handler_timeout,
            record,
            peer: OnceLock::new(),
            timer: SessionTimer::begin(),
            close: watch::Sender::new(None),
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(crate) fn set_revision(&self, revision: Revision) {
        self.state().revision = Some(revision);
    }

    /// Sets how the server is reached, once.
    pub(crate) fn set_peer(&self, network: Network, address: Option<(String, u16)>) {
        drop(self.peer.set((network, address)));
    }

    fn network(&self) -> Network {
        self.peer.get().map_or(Network::Unknown, |(network, _)| *network)
    }

    fn server_address(&self) -> Option<&(String, u16)> {
        self.peer.get()?.1.as_ref()
    }

    pub(crate) fn notify(&self, method: &str, params: Option<&Value>) {
        let mut state = self.state();
        if !state.ended {
            state.out.push(|out| write_notification(out, method, params));
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Sends a notification; false if there is no room, because the server does not read.
    pub(crate) fn notify_if_room(&self, method: &str, params: &Params) -> bool {
        let mut state = self.state();
        if state.ended || state.suspended || state.out.pending() >= OUTBOX {
            return false;
        }
        state.out.push(|out| write_notification(out, method, Some(params)));
        drop(state);
        self.wake.notify_one();
        true
    }

    /// Whether each request is an HTTP exchange of its own.
    pub(super) fn is_http(&self) -> bool {
        self.state().is_http
    }

    /// Sets the arguments that are repeated in HTTP headers, by tool.
    pub(super) fn set_header_params(&self, header_params: HashMap<String, HeaderParams>) {
        self.state().header_params = header_params;
    }

    /// `initialize` was successful while `server/discover` has no response yet.
    pub(super) fn abandon_probe(&self) {
        self.state().probe_abandoned = true;
    }

    /// Whether the list of tools has changed since this was last called.
    pub(super) fn take_tools_changed(&self) -> bool {
        std::mem::take(&mut self.state().tools_changed)
    }

    /// How many changes of a list have been announced.
    pub(super) fn changes_of(&self, list: &Change) -> u64 {
        list.list_index().and_then(|at| self.state().list_changes.get(at).copied()).unwrap_or_default()
    }

    /// How many bytes are queued to be written.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.state().out.pending()
    }

    /// Takes the frames that are queued to be written.
    pub(crate) fn take(&self, outgoing: &mut Outgoing) {
        let mut state = self.state();
        state.out.swap(outgoing);
        drop(state);
        self.room.notify_waiters();
    }

    /// Counts frames that have been written in full.
    pub(crate) fn frames_written(&self, frames: u64) {
        self.state().frames_written += frames;
    }

    /// Whether every queued frame has been written.
    #[cfg(unix)]
    pub(crate) fn all_sent(&self) -> bool {
        let state = self.state();
        state.frames_written >= state.out.pushed()
    }

    /// Keeps the beginning of a line that the server has not ended yet, for errors.
    pub(crate) fn set_unfinished(&self, bytes: &[u8]) {
        let bytes = bytes.get(..StrayOutput::KEPT).unwrap_or(bytes);
        let mut state = self.state();
        if state.unfinished != bytes {
            state.unfinished = bytes.to_vec();
        }
    }

    /// Requests that the session be closed, with the timeout of each step of ending the server. The first call counts.
    pub(crate) fn request_close(&self, timeout: Duration) {
        self.close.send_if_modified(|requested| requested.is_none() && requested.replace(timeout).is_none());
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.close.borrow().is_some()
    }

    /// Waits until the session is to close.
    pub(crate) async fn close_requested(&self) -> Duration {
        let mut close = self.close.subscribe();
        // The sender is a field of this session, so it is not dropped.
        match close.wait_for(Option::is_some).await {
            Ok(timeout) => timeout.unwrap_or_default(),
            Err(_) => Duration::ZERO,
        }
    }

    /// Ends the session: every pending request fails, every subscription ends.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        let has_ended = std::mem::replace(&mut state.ended, true);
        let (revision, violation) = (state.revision, state.fatal.is_some());
        // A stateless revision has no session on HTTP; elsewhere a session is its connection.
        let session = revision.filter(|revision| revision.opens_with_handshake() || !state.is_http);
        let (pending, mut subscribers) =
            (std::mem::take(&mut state.pending), std::mem::take(&mut state.subscribers));
        subscribers.append(&mut state.suspended_listens);
        for (_, handler) in std::mem::take(&mut state.handling) {
            handler.abort();
        }
        for exchange in std::mem::take(&mut state.exchanges).into_values() {
            exchange.responded.notify_one();
        }
        drop(state);
        if !has_ended && session.is_some() {
            let outcome = match (violation, self.is_closing()) {
                (true, _) => Outcome::Failed("protocol_violation".into()),
                (false, true) => Outcome::Success,
                (false, false) => Outcome::Failed("closed".into()),
            };
            self.timer.end(Side::Client, self.network(), session, &outcome);
        }
        for queue in subscribers {
            queue.end();
        }
        for pending in pending.into_values() {
            if let Pending::Listen(queue) = pending {
                queue.end();
            }
        }
        self.room.notify_waiters();
        self.over.notify_waiters();
    }

    pub(crate) fn can_restart(&self) -> bool {
        self.state().can_restart
    }

    /// The server process has exited. If it is to be started again, every pending request fails, because the server may have
    /// acted on it, and further ones wait for [`Session::resume`].
    pub(crate) fn suspend(&self) {
        if self.is_closing() {
            return;
        }
        let mut state = self.state();
        if !state.can_restart || state.ended {
            return;
        }
        state.suspended = true;
        // Failed below the lock: their receivers take it.
        let pending = std::mem::take(&mut state.pending);
        for (_, handler) in std::mem::take(&mut state.handling) {
            handler.abort();
        }
        state.update_pause();
        state.out.swap(&mut Outgoing::default());
        state.frames_written = state.out.pushed();
        let mut calls = Vec::new();
        for pending in pending.into_values() {
            match pending {
                Pending::Listen(queue) => state.suspended_listens.push(queue),
                call @ Pending::Call(_) => calls.push(call),
            }
        }
        drop(state);
        drop(calls);
        self.room.notify_waiters();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.state().ended
    }

    /// Waits until the session has ended.
    pub(in crate::client) async fn ended(&self) {
        let mut notified = pin!(self.over.notified());
        // From here on a notification is not missed.
        notified.as_mut().enable();
        if !self.has_ended() {
            notified.await;
        }
    }

    /// How many times the server process was started again.
    pub(in crate::client) fn restarts(&self) -> u64 {
        self.state().restarts
    }

    /// Whether what has failed because its process exited is done again for the next one.
    #[cfg(any(unix, feature = "http-client"))]
    pub(in crate::client) fn will_resume(&self) -> bool {
        let state = self.state();
        state.can_restart && !state.ended
    }

    /// The connection has ended, and the session with it unless it waits for another process.
    pub(crate) fn connection_ended(&self) {
        if !self.state().suspended {
            self.end();
        }
    }

    /// What the server has written to stdout that is not a message, in words.
    pub(crate) fn stray_output(&self) -> Option<String> {
        self.state().stray.advice()
    }

    /// The error for an operation that failed.
    pub(crate) fn error(&self, operation: impl Into<String>, mut failure: Failure) -> ClientError {
        // The violation that made reading impossible is the cause of the closed connection.
        if matches!(failure.kind, ErrorKind::Closed)
            && let Some((problem, bytes)) = self.state().fatal.clone()
        {
            failure = Failure { kind: ErrorKind::Protocol(problem), bytes: Some(bytes), ..failure };
        }
        let mut stray = self.state().stray.clone();
        if stray.count == 0 {
            stray.first = self.state().unfinished.clone();
        }
        let (exit, stderr, given_up) = (self.record.exit(), self.record.stderr(), self.record.given_up());
        let evidence = Evidence { exit, stderr, given_up, stray };
        ClientError::new(operation, failure.kind, failure.stage, evidence)
            .with_bytes(failure.bytes)
            .with_note(failure.note)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Session")
            .field("revision", &state.revision)
            .field("pending", &state.pending.len())
            .field("ended", &state.ended)
            .finish_non_exhaustive()
    }
}
