//! A player that is driven by a task, and the streams on which it sends.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use papertape::wire::message::{Bounds, Message, parse};
use papertape::wire::{Id, Payload, RpcError};
use serde_json::json;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};

use super::Note;
use crate::server::player::{Player, Sent};
use crate::server::sequence::LONGEST_DELAY;

const BOUNDS: Bounds = Bounds { depth: 512, batch: 1 };

/// How many messages wait for a host to listen, and how many requests for their responses.
const MOST_WAITING: usize = 1_000;

/// Messages for one stream. What a player sends for a request is bounded by the tape.
pub(super) type Messages = mpsc::UnboundedReceiver<Sent>;

/// What becomes of a message of the host.
pub(super) enum Reply {
    /// It gets no response.
    None,
    /// It is not a message: the error.
    Refused(String),
    /// It is a request: what is sent for it.
    Messages(Messages),
}

/// A session of a host.
#[derive(Clone)]
pub(super) struct Session(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    received: Notify,
    started: Instant,
    note: Note,
}

struct State {
    player: Player,
    /// The streams of requests.
    streams: HashMap<Id, mpsc::UnboundedSender<Sent>>,
    /// The stream that the host listens on.
    general: Option<mpsc::UnboundedSender<Sent>>,
    /// What is sent when it listens.
    waiting: VecDeque<Sent>,
}

/// Whether a message opens a session.
pub(super) fn opens(body: &[u8]) -> bool {
    let message = parse(body, BOUNDS);
    matches!(message, Ok(Payload::Single(Message::Request(request))) if request.method == "initialize")
}

impl Session {
    /// Starts a session, whose task ends when it is dropped.
    pub(super) fn start(player: Player, note: Note) -> Self {
        let state = State { player, streams: HashMap::new(), general: None, waiting: VecDeque::new() };
        let (received, started) = (Notify::new(), Instant::now());
        let shared = Arc::new(Shared { state: Mutex::new(state), received, started, note });
        let weak = Arc::downgrade(&shared);
        tokio::spawn(async move {
            while let Some(shared) = weak.upgrade() {
                let due = shared.send();
                // It is not kept alive by waiting for what will never come.
                let longest = Instant::now() + LONGEST_DELAY;
                tokio::select! {
                    () = shared.received.notified() => {}
                    () = sleep_until(due.unwrap_or(longest).min(longest)) => {}
                }
            }
        });
        Self(shared)
    }

    /// Takes a message of the host.
    pub(super) fn receive(&self, body: &[u8]) -> Reply {
        let now = self.0.started.elapsed();
        let mut state = self.0.lock();
        let reply = match parse(body, BOUNDS) {
            Ok(Payload::Single(Message::Request(request))) => {
                state.forget();
                if state.streams.len() >= MOST_WAITING {
                    return Reply::Refused(refused(
                        Some(&request.id),
                        "too many requests wait for their responses",
                    ));
                }
                let (sender, messages) = mpsc::unbounded_channel();
                state.streams.insert(request.id, sender);
                Reply::Messages(messages)
            }
            Ok(Payload::Single(_)) => Reply::None,
            Ok(Payload::Batch(_)) => {
                return Reply::Refused(refused(None, "a tape is replayed over HTTP without batches"));
            }
            Err(rejected) => return Reply::Refused(refused(rejected.id.as_ref(), &rejected.error.message)),
        };
        state.player.receive(body, now);
        if let Some(cancelled) = cancelled(body) {
            // What it still gets is sent before its stream ends.
            state.send(now);
            state.streams.remove(&cancelled);
        }
        drop(state);
        self.0.received.notify_one();
        reply
    }

    /// The stream of what is not about a request.
    pub(super) fn listen(&self) -> Messages {
        let (sender, messages) = mpsc::unbounded_channel();
        let mut state = self.0.lock();
        for sent in std::mem::take(&mut state.waiting) {
            drop(sender.send(sent));
        }
        state.general = Some(sender);
        messages
    }
}

impl Shared {
    /// Sends what is due; when something is due next.
    fn send(&self) -> Option<Instant> {
        let mut state = self.lock();
        state.send(self.started.elapsed());
        state.player.take_notes().iter().for_each(|note| (self.note)(note));
        state.player.next_due().map(|due| self.started + due)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Cancels requests for which no host waits any more, when there are many.
    fn forget(&mut self) {
        if self.streams.len() < MOST_WAITING {
            return;
        }
        let Self { player, streams, .. } = self;
        streams.retain(|id, stream| {
            if stream.is_closed() {
                player.cancel(Some(id));
            }
            !stream.is_closed()
        });
    }

    fn send(&mut self, now: std::time::Duration) {
        while let Some(sent) = self.player.poll_sent(now) {
            if let Some(id) = &sent.request {
                let stream =
                    if sent.is_response { self.streams.remove(id) } else { self.streams.get(id).cloned() };
                // A host that does not wait for it any more does not get it.
                stream.into_iter().for_each(|stream| drop(stream.send(sent.clone())));
                continue;
            }
            let sent = match &self.general {
                Some(general) => general.send(sent).err().map(|unsent| unsent.0),
                None => Some(sent),
            };
            if let Some(sent) = sent.filter(|_| self.waiting.len() < MOST_WAITING) {
                self.general = None;
                self.waiting.push_back(sent);
            }
        }
    }
}

/// The request that a message cancels.
fn cancelled(body: &[u8]) -> Option<Id> {
    let text = std::str::from_utf8(body).ok().filter(|text| text.contains("notifications/cancelled"))?;
    Id::parse(crate::splice::value(text, &["params", "requestId"])?).ok()
}

fn refused(id: Option<&Id>, why: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": RpcError::invalid_request(why)}).to_string()
}
