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
pub(super) mod result_type;
mod server_requests;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::error::{ClientError, ErrorKind};
use super::evidence::{Evidence, ProcessRecord, StrayOutput};
use super::handlers::Handlers;
use super::subscriptions::ChangeQueue;
pub(crate) use failure::Failure;
pub(super) use params::{OWN_ID, Param, Params};
pub(super) use request::{OutgoingRequest, Pending, RequestOutcome};

use crate::protocol::Revision;
use crate::sync::lock;
use crate::wire::frame::{Outbox, Outgoing};
use crate::wire::message::write_notification;
use crate::wire::{Framing, Id};

/// A session.
pub(crate) struct Session {
    state: Mutex<State>,
    /// Notified when there is something to write.
    pub(crate) wake: Notify,
    /// Notified when there is room in the outbox again.
    room: Notify,
    pub(super) handlers: Handlers,
    /// The timeout of each handler.
    pub(super) handler_timeout: Duration,
    /// The record of the server process; empty on other transports.
    record: Arc<ProcessRecord>,
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
    /// How many frames have been written in full.
    frames_written: u64,
    /// The protocol violation after which nothing more could be read, and the bytes.
    fatal: Option<(String, Vec<u8>)>,
    /// `server/discover` got no response, and `initialize` did: an error without an id is not about `server/discover`.
    probe_abandoned: bool,
    /// A response to no pending request has been logged.
    logged_unexpected: bool,
    ended: bool,
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
            handlers,
            handler_timeout,
            record,
            close: watch::Sender::new(None),
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(crate) fn set_revision(&self, revision: Revision) {
        self.state().revision = Some(revision);
    }

    pub(crate) fn notify(&self, method: &str, params: Option<&Value>) {
        let mut state = self.state();
        if !state.ended {
            state.out.push(|out| write_notification(out, method, params));
        }
        drop(state);
        self.wake.notify_one();
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

    fn is_closing(&self) -> bool {
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
        state.ended = true;
        let (pending, subscribers) =
            (std::mem::take(&mut state.pending), std::mem::take(&mut state.subscribers));
        for (_, handler) in std::mem::take(&mut state.handling) {
            handler.abort();
        }
        for exchange in std::mem::take(&mut state.exchanges).into_values() {
            exchange.responded.notify_one();
        }
        drop(state);
        for queue in subscribers {
            queue.end();
        }
        for pending in pending.into_values() {
            if let Pending::Listen(queue) = pending {
                queue.end();
            }
        }
        self.room.notify_waiters();
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
        let evidence = Evidence { exit: self.record.exit(), stderr: self.record.stderr(), stray };
        ClientError::new(operation, failure.kind, failure.stage, evidence).with_bytes(failure.bytes)
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
