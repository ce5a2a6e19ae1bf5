//! What a recorded server has sent, ordered by what made it do so.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use papertape::wire::Id;
use papertape::wire::tape::Direction;

use crate::script::{ById, Kind, Recorded, Script};
use crate::splice;

/// The longest delay that is replayed.
pub(super) const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// The member of `_meta` that names the subscription of a notification.
pub(super) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A message of a client, and what the server has sent for it, in order.
#[derive(Debug)]
pub(super) struct Sequence {
    /// The message; nothing for what the server has sent before any.
    pub(super) trigger: Option<usize>,
    pub(super) items: Vec<Item>,
    pub(super) is_request: bool,
    /// The client has cancelled it.
    pub(super) is_cancelled: bool,
    pub(super) has_response: bool,
    /// How often the client has responded to a request of the server.
    responses: usize,
    /// When the last thing in it happened.
    time: Option<Duration>,
}

/// A message of the server.
#[derive(Debug)]
pub(super) struct Item {
    /// Its index in the script.
    pub(super) message: usize,
    pub(super) kind: ItemKind,
    /// The time since what was before it.
    pub(super) delay: Duration,
    /// Before it is sent, the client must have responded to so many requests of the sequence.
    pub(super) awaits: usize,
    /// It is sent when the client cancels the request.
    pub(super) is_after_cancel: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    Response,
    /// A report of progress on the request.
    Progress,
    Notification,
    Request,
}

impl Sequence {
    fn new(trigger: Option<usize>, is_request: bool, time: Option<Duration>) -> Self {
        let items = Vec::new();
        Self { trigger, items, is_request, is_cancelled: false, has_response: false, responses: 0, time }
    }

    /// Whether a client that sends the trigger gets a response, or knows that it will not.
    pub(super) fn is_answered(&self, script: &Script) -> bool {
        self.has_response || self.is_cancelled || self.stays_open(script)
    }

    /// A subscription has no response until it ends.
    fn stays_open(&self, script: &Script) -> bool {
        script.call(self.trigger).is_some_and(|call| call.method == "subscriptions/listen")
    }
}

/// The sequences of a script.
pub(super) fn sequences(script: &Script) -> Vec<Sequence> {
    let mut made = Sequences::default();
    made.all.push(Sequence::new(None, false, None));
    for (index, message) in script.messages.iter().enumerate() {
        match message.direction {
            Direction::ToServer => made.of_client(index, message),
            Direction::ToClient => made.of_server(index, message, script),
        }
    }
    made.all
}

#[derive(Default)]
struct Sequences {
    all: Vec<Sequence>,
    /// Requests without a response, in order.
    open: BTreeSet<usize>,
    by_id: ById,
    by_token: HashMap<String, usize>,
    /// The server's requests without a response.
    asked: HashMap<Id, usize>,
    /// What was the last reason for the server to send something.
    last: usize,
}

impl Sequences {
    fn of_client(&mut self, index: usize, message: &Recorded) {
        let new = self.all.len();
        match &message.kind {
            Kind::Request(id, _) => {
                self.all.push(Sequence::new(Some(index), true, message.time));
                self.open.insert(new);
                self.by_id.insert(id, message.exchange, new);
                if let Some(token) = splice::value(&message.text, &["params", "_meta", "progressToken"]) {
                    self.by_token.insert(token.to_owned(), new);
                }
                self.last = new;
            }
            Kind::Notification(call) if call.method == "notifications/cancelled" => {
                let id = splice::value(&message.text, &["params", "requestId"]);
                let cancelled = id.and_then(|id| self.by_id.get(&Id::parse(id).ok()?));
                if let Some(sequence) = cancelled.and_then(|cancelled| self.all.get_mut(cancelled)) {
                    sequence.is_cancelled = true;
                }
                if let Some(cancelled) = cancelled {
                    self.open.remove(&cancelled);
                }
            }
            Kind::Notification(_) => {
                self.all.push(Sequence::new(Some(index), false, message.time));
                self.last = new;
            }
            Kind::Response(id) => {
                let Some(asked) = id.as_ref().and_then(|id| self.asked.remove(id)) else { return };
                if let Some(sequence) = self.all.get_mut(asked) {
                    sequence.time = message.time;
                    sequence.responses += 1;
                }
                self.last = asked;
            }
            Kind::Other => {}
        }
    }

    fn of_server(&mut self, index: usize, message: &Recorded, script: &Script) {
        let (kind, sequence) = match &message.kind {
            Kind::Response(id) => {
                let Some(of) = id.as_ref().and_then(|id| self.by_id.remove(id, message.exchange)) else {
                    return;
                };
                self.open.remove(&of);
                if let Some(sequence) = self.all.get_mut(of) {
                    sequence.has_response = true;
                }
                (ItemKind::Response, of)
            }
            Kind::Request(id, _) => {
                let of = self.current();
                self.asked.insert(id.clone(), of);
                (ItemKind::Request, of)
            }
            Kind::Notification(_) => {
                let token = splice::value(&message.text, &["params", "progressToken"]);
                let subscription = splice::value(&message.text, &["params", "_meta", SUBSCRIPTION]);
                let subscription = subscription.and_then(|id| self.by_id.get(&Id::parse(id).ok()?));
                if let Some(of) = token.and_then(|token| self.by_token.get(token)) {
                    (ItemKind::Progress, *of)
                } else {
                    (ItemKind::Notification, subscription.unwrap_or_else(|| self.current()))
                }
            }
            Kind::Other => return,
        };
        let Some(of) = self.all.get_mut(sequence) else { return };
        let delay = message.time.zip(of.time).map(|(time, before)| time.saturating_sub(before));
        let delay = delay.unwrap_or_default().min(LONGEST_DELAY);
        // A subscription ends when the client ends it, or with the session.
        let is_after_cancel = of.is_cancelled || (kind == ItemKind::Response && of.stays_open(script));
        of.items.push(Item { message: index, kind, delay, awaits: of.responses, is_after_cancel });
        of.time = message.time.or(of.time);
    }

    /// Where a message belongs that does not say so: to the last request that is open, or to what was last.
    fn current(&self) -> usize {
        self.open.last().copied().unwrap_or(self.last)
    }
}
