//! One conversation from the client's side: what is awaited, what waits to be written, and how it ended.
//!
//! Everything that must happen together (an answer and the end of its request, a time-out and the cancellation) happens
//! under one lock.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::answer::Handlers;
use super::error::{ClientError, ErrorKind, Evidence, MOST_BYTES, Stray};
use super::listen::Mailbox;
use super::options::{OnProgress, Timing};
pub(crate) use super::params::Params;
use crate::outbox::{OUTBOX, Outbox, Outgoing, write_notification, write_request};
use crate::protocol::{Revision, method};
use crate::wire::{Framing, Id, RpcError};

/// One conversation.
pub(crate) struct Session {
    state: Mutex<State>,
    /// Told when there is something to write.
    pub(crate) wake: Notify,
    /// Told when there is room to write more.
    pub(super) room: Notify,
    pub(super) handlers: Handlers,
    /// How long they may take.
    pub(super) answering: Duration,
    /// What the server's process, if it is one of ours, leaves behind.
    remains: Arc<Remains>,
    /// How long the server may take to end, once it is to.
    close: watch::Sender<Option<Duration>>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) out: Outbox,
    last_id: i64,
    pub(super) waiting: HashMap<i64, Waiting>,
    /// What is spoken, once that is known.
    pub(super) revision: Option<Revision>,
    /// The server's own requests that are being answered.
    pub(super) answering: HashMap<Id, AbortHandle>,
    /// Since when there is at least one of them.
    answering_since: Option<Instant>,
    /// For how long there were any before that.
    answered_for: Duration,
    /// Who wants to hear of changes that belong to no request.
    pub(super) listeners: Vec<Arc<Mailbox>>,
    /// Those changes cannot be heard; told when there is a listener again.
    pub(super) unheard: Option<Arc<Notify>>,
    pub(super) stray: Stray,
    /// The beginning of what the server has said without an end.
    unfinished: Vec<u8>,
    /// The list of tools is not what it was.
    pub(super) tools_changed: bool,
    /// Frames that have crossed, of those that went out.
    crossed: u64,
    /// What the server broke so badly that nothing more could be understood.
    pub(super) fault: Option<(String, Vec<u8>)>,
    /// `server/discover` was left unanswered, and something else was agreed: what says nothing of a request is not about it.
    pub(super) probe_is_over: bool,
    /// An answer that nobody waits for has been noted.
    pub(super) noted_unasked: bool,
    pub(super) ended: bool,
    /// Each request goes its own way, as on HTTP: to stop waiting for it is to leave it.
    pub(super) own_ways: bool,
    /// Those that are under way.
    pub(super) ways: HashMap<i64, Way>,
    /// How many of them wait for somebody to say who they are.
    pub(super) excused: usize,
    /// The arguments of tools that are mirrored in headers.
    pub(super) mirrored: HashMap<String, Mirrored>,
}

/// Names of headers, each with the members that lead to its value.
pub(crate) type Mirrored = Arc<[(String, Vec<String>)]>;

/// A request that goes its own way.
pub(super) struct Way {
    /// What carries it, once that is known.
    pub(super) task: Option<AbortHandle>,
    /// Told when it has been answered, here or elsewhere.
    pub(super) left: Arc<Notify>,
    /// How far it has got.
    pub(super) reached: &'static str,
}

impl State {
    /// Begins to answer a request of the server.
    pub(super) fn begin_answering(&mut self, id: Id, task: AbortHandle) {
        self.answering.insert(id, task);
        self.count_answering();
    }

    /// No longer answers it; how to stop it, if it was being answered.
    pub(super) fn end_answering(&mut self, id: &Id) -> Option<AbortHandle> {
        let task = self.answering.remove(id)?;
        self.count_answering();
        Some(task)
    }

    /// Counts the time in which the server waits for our side and not the other way round.
    pub(super) fn count_answering(&mut self) {
        if !self.answering.is_empty() || self.excused > 0 {
            self.answering_since.get_or_insert_with(Instant::now);
        } else if let Some(since) = self.answering_since.take() {
            self.answered_for += since.elapsed();
        }
    }
}

/// A request that has no answer yet.
pub(super) enum Waiting {
    Call(Call),
    Listen(Arc<Mailbox>),
}

pub(super) struct Call {
    pub(super) answer: oneshot::Sender<Answer>,
    pub(super) on_progress: Option<OnProgress>,
    /// Told when there is progress.
    pub(super) beat: Arc<Notify>,
    /// It asks what the server speaks.
    probe: bool,
    /// The number of its frame among those of this conversation.
    frame: u64,
    /// When its time is over, if nothing happens.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only HTTP has servers that ask to wait"))]
    pub(super) until: Instant,
}

/// How a request was answered.
#[derive(Debug)]
pub(super) enum Answer {
    Result(Box<RawValue>),
    Error(RpcError),
    /// In a way that is none, or not at all.
    Failed(Trouble),
}

/// A request to be made.
pub(crate) struct Asking<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Params,
    pub(crate) timing: Timing,
    /// When its time is over, whatever the timing says: it may be a part of something larger.
    pub(crate) last: Instant,
    pub(crate) on_progress: Option<OnProgress>,
}

/// Why a request came to nothing, before it is known what it was for.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) kind: ErrorKind,
    pub(crate) reached: String,
    pub(crate) bytes: Option<Vec<u8>>,
}

/// What a process leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Remains {
    exit: Mutex<Option<ExitStatus>>,
    stderr: Mutex<VecDeque<u8>>,
}

/// The end of stderr that is kept.
const STDERR: usize = 64 * 1024;

impl Session {
    pub(crate) fn new(
        framing: Framing,
        handlers: Handlers,
        answering: Duration,
        remains: Arc<Remains>,
    ) -> Arc<Self> {
        let mut state = State::default();
        state.out.set_framing(framing);
        Arc::new(Self {
            state: Mutex::new(state),
            wake: Notify::new(),
            room: Notify::new(),
            handlers,
            answering,
            remains,
            close: watch::Sender::new(None),
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_revision(&self, revision: Revision) {
        self.state().revision = Some(revision);
    }

    // Asking.

    /// Makes a request and waits for its answer, as long as the timing allows.
    ///
    /// Whoever stops waiting, by dropping this, takes the request back.
    pub(crate) async fn request(self: &Arc<Self>, asking: Asking<'_>) -> Result<Box<RawValue>, Trouble> {
        let mut last = asking.last;
        let mut excused = self.time_answering();
        let (answer, mut answered) = oneshot::channel();
        let beat = Arc::new(Notify::new());
        let call = Call {
            answer,
            on_progress: asking.on_progress,
            beat: Arc::clone(&beat),
            probe: asking.method == method::DISCOVER,
            frame: 0,
            until: last.min(Instant::now() + asking.timing.silence),
        };
        let send = self.send(asking.method, asking.params, Waiting::Call(call));
        let Ok(sent) = timeout_at(last, send).await else {
            let reached = "the request could not be sent: the server does not read its input";
            return Err(Trouble::new(ErrorKind::TimedOut(asking.timing.longest), reached));
        };
        // The first must not be taken back, and the servers that do not answer the second do not know what it was.
        let cancel = ![method::INITIALIZE, method::DISCOVER].contains(&asking.method);
        let awaited = Awaited { session: self, id: sent?, cancel };
        loop {
            let silence = Instant::now() + asking.timing.silence;
            tokio::select! {
                biased;
                answer = &mut answered => {
                    return match answer {
                        Ok(Answer::Result(result)) => Ok(result),
                        Ok(Answer::Error(error)) => Err(Trouble::new(ErrorKind::Rpc(error), "the server answered")),
                        Ok(Answer::Failed(trouble)) => Err(trouble),
                        Err(_) => Err(Trouble::new(ErrorKind::Closed, "the request was sent; no answer came")),
                    };
                }
                () = beat.notified() => {}
                () = sleep_until(silence.min(last)) => {
                    // The time that our own side takes to answer the server is not the server's.
                    let answering = self.time_answering();
                    if answering > excused {
                        last += answering.saturating_sub(excused);
                        excused = answering;
                        continue;
                    }
                    let given = if silence < last { asking.timing.silence } else { asking.timing.longest };
                    return Err(Trouble::new(ErrorKind::TimedOut(given), awaited.reached()));
                }
            }
        }
    }

    /// Sends a request once there is room for it. Its id.
    pub(super) async fn send(
        self: &Arc<Self>,
        method: &str,
        mut params: Params,
        mut waiting: Waiting,
    ) -> Result<i64, Trouble> {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            // From here on no room that is made goes unnoticed.
            room.as_mut().enable();
            {
                let mut state = self.state();
                if state.ended {
                    return Err(Trouble::new(ErrorKind::Closed, "the request was not sent"));
                }
                if state.out.pending() < OUTBOX {
                    state.last_id += 1;
                    let id = state.last_id;
                    params.set_id(id);
                    let params = (!params.0.is_empty()).then_some(&params);
                    state.out.push(|out| write_request(out, &Id::Integer(id), method, params));
                    if let Waiting::Call(call) = &mut waiting {
                        call.frame = state.out.pushed();
                    }
                    state.waiting.insert(id, waiting);
                    drop(state);
                    self.wake.notify_one();
                    return Ok(id);
                }
            }
            room.await;
        }
    }

    /// Sends a request whose answer does not matter.
    pub(super) fn send_and_forget(&self, method: &str, params: &Params) {
        let mut state = self.state();
        if state.ended {
            return;
        }
        state.last_id += 1;
        let id = Id::Integer(state.last_id);
        state.out.push(|out| write_request(out, &id, method, Some(params)));
        drop(state);
        self.wake.notify_one();
    }

    pub(crate) fn notify(&self, method: &str, params: Option<&Value>) {
        let mut state = self.state();
        if !state.ended {
            state.out.push(|out| write_notification(out, method, params));
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Whether each request goes its own way, as on HTTP.
    pub(super) fn goes_own_ways(&self) -> bool {
        self.state().own_ways
    }

    /// What is mirrored in headers from now on, by tool.
    pub(super) fn set_mirrored(&self, mirrored: HashMap<String, Mirrored>) {
        self.state().mirrored = mirrored;
    }

    /// Stops waiting for an answer and takes the request back.
    pub(super) fn give_up(&self, id: i64, cancel: bool) {
        let mut state = self.state();
        if state.waiting.remove(&id).is_none() {
            return;
        }
        if let Some(task) = state.ways.remove(&id).and_then(|way| way.task) {
            task.abort();
        }
        // Where each request has its own way and stands alone, to leave it is to take it back.
        let legacy = state.revision.is_some_and(Revision::opens_with_handshake);
        if cancel && !state.ended && (legacy || !state.own_ways) {
            let params = json!({"requestId": id, "reason": "no longer wanted"});
            state.out.push(|out| write_notification(out, method::CANCELLED, Some(&params)));
        }
        drop(state);
        self.wake.notify_one();
    }

    /// What the server speaks is agreed without its answer to `server/discover`, which may still come.
    pub(super) fn probe_is_over(&self) {
        self.state().probe_is_over = true;
    }

    /// How long the server has waited for answers of ours, in all.
    fn time_answering(&self) -> Duration {
        let state = self.state();
        let now = state.answering_since.map_or(Duration::ZERO, |since| since.elapsed());
        state.answered_for + now
    }

    /// The only request that has no answer yet, if it is one.
    pub(super) fn only_waiting(state: &State) -> Option<i64> {
        let counts = |call: &Call| !(call.probe && state.probe_is_over);
        let mut calls = state
            .waiting
            .iter()
            .filter(|(_, waiting)| matches!(waiting, Waiting::Call(call) if counts(call)));
        let only = calls.next().map(|(id, _)| *id);
        if calls.next().is_some() { None } else { only }
    }

    /// Whether the list of tools has changed since this was last asked.
    pub(super) fn take_tools_changed(&self) -> bool {
        std::mem::take(&mut self.state().tools_changed)
    }

    // Writing.

    /// Bytes waiting to be written.
    pub(crate) fn pending(&self) -> usize {
        self.state().out.pending()
    }

    /// Takes what waits to be written.
    pub(crate) fn take(&self, outgoing: &mut Outgoing) {
        let mut state = self.state();
        state.out.swap(outgoing);
        drop(state);
        self.room.notify_waiters();
    }

    /// So many more frames have crossed.
    pub(crate) fn crossed(&self, frames: u64) {
        self.state().crossed += frames;
    }

    /// Whether all that was to be sent has crossed.
    pub(crate) fn all_sent(&self) -> bool {
        let state = self.state();
        state.crossed >= state.out.pushed()
    }

    /// Notes what the server has said without an end, for errors.
    pub(crate) fn note_unfinished(&self, bytes: &[u8]) {
        let bytes = bytes.get(..Stray::KEPT).unwrap_or(bytes);
        let mut state = self.state();
        if state.unfinished != bytes {
            state.unfinished = bytes.to_vec();
        }
    }

    // Ending.

    /// The conversation is to end, and the server gets so long for each step of it. The first wish counts.
    pub(crate) fn want_close(&self, patience: Duration) {
        self.close.send_if_modified(|wanted| wanted.is_none() && wanted.replace(patience).is_none());
    }

    /// Whether it is.
    pub(super) fn is_closing(&self) -> bool {
        self.close.borrow().is_some()
    }

    /// Waits until the conversation is to end.
    pub(crate) async fn close_wanted(&self) -> Duration {
        let mut close = self.close.subscribe();
        // The sender is ours, so it is there.
        match close.wait_for(Option::is_some).await {
            Ok(patience) => patience.unwrap_or_default(),
            Err(_) => Duration::ZERO,
        }
    }

    /// Nothing more will come: whoever waits is told.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        let (waiting, listeners) = (std::mem::take(&mut state.waiting), std::mem::take(&mut state.listeners));
        for (_, abort) in std::mem::take(&mut state.answering) {
            abort.abort();
        }
        for way in std::mem::take(&mut state.ways).into_values() {
            way.left.notify_one();
        }
        drop(state);
        for mailbox in listeners {
            mailbox.end();
        }
        for waiting in waiting.into_values() {
            if let Waiting::Listen(mailbox) = waiting {
                mailbox.end();
            }
        }
        self.room.notify_waiters();
    }

    // Telling.

    /// The error for something that came to nothing.
    pub(crate) fn error(&self, doing: impl Into<String>, mut trouble: Trouble) -> ClientError {
        // Of two reasons, the first one.
        if matches!(trouble.kind, ErrorKind::Closed)
            && let Some((problem, bytes)) = self.state().fault.clone()
        {
            trouble = Trouble { kind: ErrorKind::Protocol(problem), bytes: Some(bytes), ..trouble };
        }
        let mut stray = self.state().stray.clone();
        if stray.count == 0 {
            stray.first = self.state().unfinished.clone();
        }
        let evidence = Evidence { exit: self.remains.exit(), stderr: self.remains.stderr(), stray };
        ClientError::new(doing, trouble.kind, trouble.reached, evidence).with_bytes(trouble.bytes)
    }
}

/// A request that is taken back unless it was answered.
struct Awaited<'a> {
    session: &'a Arc<Session>,
    id: i64,
    cancel: bool,
}

impl Awaited<'_> {
    fn reached(&self) -> &'static str {
        let state = self.session.state();
        if let Some(way) = state.ways.get(&self.id) {
            return way.reached;
        }
        if state.own_ways {
            return "the request was not sent: too many others are under way";
        }
        match state.waiting.get(&self.id) {
            Some(Waiting::Call(call)) if call.frame > state.crossed => {
                "the request could not be sent: the server does not read its input"
            }
            _ => "the request was sent; no answer came",
        }
    }
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.session.give_up(self.id, self.cancel);
    }
}

impl Trouble {
    pub(crate) fn new(kind: ErrorKind, reached: impl Into<String>) -> Self {
        Self { kind, reached: reached.into(), bytes: None }
    }

    /// The server sent what it must not, and these are the bytes.
    pub(crate) fn broken(problem: String, bytes: &[u8]) -> Self {
        let bytes = bytes.get(..MOST_BYTES).unwrap_or(bytes).to_vec();
        Self {
            kind: ErrorKind::Protocol(problem),
            reached: "the server answered".to_owned(),
            bytes: Some(bytes),
        }
    }
}

impl Remains {
    pub(crate) fn set_exit(&self, status: ExitStatus) {
        *self.exit.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
    }

    pub(crate) fn exit(&self) -> Option<ExitStatus> {
        *self.exit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the end of what goes to stderr.
    pub(crate) fn push_stderr(&self, bytes: &[u8]) {
        let mut tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = bytes.get(bytes.len().saturating_sub(STDERR)..).unwrap_or_default();
        let excess = (tail.len() + bytes.len()).saturating_sub(STDERR);
        let excess = excess.min(tail.len());
        tail.drain(..excess);
        tail.extend(bytes);
    }

    fn stderr(&self) -> String {
        let mut tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(tail.make_contiguous());
        // What is no text takes more room as text.
        let mut start = text.len().saturating_sub(STDERR);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        text.get(start..).unwrap_or_default().to_owned()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Session")
            .field("revision", &state.revision)
            .field("waiting", &state.waiting.len())
            .field("ended", &state.ended)
            .finish_non_exhaustive()
    }
}
