//! An index of a tape: requests with their responses, notifications, events, identities.

mod call;
mod members;
mod pairing;
mod peer;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use papertape::wire;
use papertape::wire::message::{Notification as WireNotification, Payload, Request, Response, parse_member};
use papertape::wire::tape::{Content, Direction, Record};

pub use call::{Call, Outcome};
pub use peer::Peer;

use crate::joiner::Joiner;
use crate::message::{Message, Place};
use members::Params;
use pairing::Pairing;

/// What is on a tape, built record by record, so that it can follow a tape that is being written.
///
/// It keeps no bodies: a [`Place`] says where they are.
#[derive(Debug, Default)]
pub struct Recording {
    joiner: Joiner,
    pairing: Pairing,
    names: std::collections::HashSet<Arc<str>>,
    calls: Vec<Call>,
    notifications: Vec<Notification>,
    strays: Vec<Stray>,
    events: Vec<Event>,
    client: Option<Peer>,
    server: Option<Peer>,
    revision: Option<Arc<str>>,
    totals: Totals,
}

/// A notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// Its method.
    pub method: Arc<str>,
    /// Its direction.
    pub direction: Direction,
    /// The HTTP exchange in which it was sent.
    pub exchange: Option<u64>,
    /// Where it is.
    pub place: Place,
    /// The request that it is about, as an index of [`Recording::calls`]: progress, a cancellation, or whatever is sent in the
    /// HTTP response to a request.
    pub call: Option<usize>,
}

/// A frame that is not a message, or a response to no request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// Its direction.
    pub direction: Direction,
    /// The HTTP exchange in which it was sent.
    pub exchange: Option<u64>,
    /// Where it is.
    pub place: Place,
    /// What is wrong with it.
    pub problem: Box<str>,
}

/// Something that happened to the process, the connection or the tape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its name, such as `start`.
    pub name: Arc<str>,
    /// The HTTP exchange that it belongs to.
    pub exchange: Option<u64>,
    /// Where it is.
    pub place: Place,
}

/// How much is on a tape.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Records of all kinds.
    pub records: u64,
    /// Messages to the server; a batch is one.
    pub frames_to_server: u64,
    /// Messages to the client.
    pub frames_to_client: u64,
    /// Bytes to the server, HTTP heads included.
    pub bytes_to_server: u64,
    /// Bytes to the client, HTTP heads included.
    pub bytes_to_client: u64,
    /// Frames that are not messages, and responses to no request.
    pub strays: u64,
    /// Heads of HTTP requests and responses.
    pub heads: u64,
    /// Complete lines of the server's stderr.
    pub stderr_lines: u64,
    /// Bytes of the server's stderr.
    pub stderr_bytes: u64,
    /// The time of the first record that has one.
    pub first_time: Option<Duration>,
    /// The time of the last record that has one.
    pub last_time: Option<Duration>,
}

/// What a record has added or completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A request, as an index of [`Recording::calls`].
    Request(usize),
    /// The response to that request.
    Response(usize),
    /// A notification, as an index of [`Recording::notifications`]. If it is a cancellation, the request has changed, too.
    Notification(usize),
    /// What is not a message, as an index of [`Recording::strays`].
    Stray(usize),
    /// An event, as an index of [`Recording::events`].
    Event(usize),
}

/// Where a message is, and which way it went.
#[derive(Debug, Clone, Copy)]
struct Source {
    direction: Direction,
    exchange: Option<u64>,
    place: Place,
}

/// The longest name of a request that is kept, in bytes.
const LONGEST_NAME: usize = 512;

/// How many strays are kept: a stray may be as short as a byte.
const MOST_STRAYS: usize = 10_000;

/// How many different names are shared.
const MOST_NAMES: usize = 10_000;

impl Recording {
    /// An empty recording.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a record whose line begins at `offset`, and returns what it has changed.
    pub fn push(&mut self, offset: u64, record: &Record<'_>) -> Vec<Change> {
        self.count(record);
        let mut changes = Vec::new();
        if let Content::Event { name, .. } = &record.content {
            let place = Place {
                first: record.number,
                last: record.number,
                offset,
                within: 0,
                size: 0,
                time: record.time,
            };
            let name = self.share(name);
            changes.push(Change::Event(self.events.len()));
            self.events.push(Event { name, exchange: record.exchange, place });
        }
        self.joiner.push(offset, record);
        while let Some(message) = self.joiner.next_message() {
            self.add(&message, &mut changes);
        }
        // What the process before was asked is not answered by this one.
        if matches!(&record.content, Content::Event { name, .. } if name == "start") {
            self.pairing.forget_streams();
        }
        changes
    }

    /// Adds what is incomplete, when the tape has ended.
    pub fn finish(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        self.joiner.finish();
        while let Some(message) = self.joiner.next_message() {
            self.add(&message, &mut changes);
        }
        changes
    }

    /// All requests, in both directions, in their order.
    #[must_use]
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// All notifications.
    #[must_use]
    pub fn notifications(&self) -> &[Notification] {
        &self.notifications
    }

    /// Frames that are not messages, and responses to no request: the first 10,000.
    #[must_use]
    pub fn strays(&self) -> &[Stray] {
        &self.strays
    }

    /// All events.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The client, as it has called itself last.
    #[must_use]
    pub fn client(&self) -> Option<&Peer> {
        self.client.as_ref()
    }

    /// The server, as it has called itself last.
    #[must_use]
    pub fn server(&self) -> Option<&Peer> {
        self.server.as_ref()
    }

    /// The revision of the protocol: the one that was negotiated, or that the last request has declared.
    #[must_use]
    pub fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// How much there is.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Whether the recording has ended: the event `end` is on the tape.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.events.iter().rev().any(|event| &*event.name == "end")
    }

    fn count(&mut self, record: &Record<'_>) {
        let totals = &mut self.totals;
        totals.records += 1;
        if record.time.is_some() {
            totals.first_time = totals.first_time.or(record.time);
            totals.last_time = record.time;
        }
        let (direction, bytes) = match &record.content {
            Content::Frame(direction, bytes) => (*direction, bytes),
            Content::Head(direction, bytes) => {
                totals.heads += 1;
                (*direction, bytes)
            }
            Content::Stderr(bytes) => {
                totals.stderr_bytes += bytes.len() as u64;
                totals.stderr_lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
                return;
            }
            Content::Event { .. } => return,
        };
        match direction {
            Direction::ToServer => totals.bytes_to_server += bytes.len() as u64,
            Direction::ToClient => totals.bytes_to_client += bytes.len() as u64,
        }
    }

    fn add(&mut self, message: &Message, changes: &mut Vec<Change>) {
        if !message.is_content() {
            return;
        }
        match message.direction {
            Direction::ToServer => self.totals.frames_to_server += 1,
            Direction::ToClient => self.totals.frames_to_client += 1,
        }
        let source =
            Source { direction: message.direction, exchange: message.exchange, place: message.place };
        match message.payload() {
            Ok(Payload::Single(message)) => self.add_message(source, &message, changes),
            Ok(Payload::Batch(members)) => {
                for member in members {
                    match parse_member(member) {
                        Ok(message) => self.add_message(source, &message, changes),
                        Err(rejected) => self.add_stray(source, rejected.error.message, changes),
                    }
                }
            }
            Err(rejected) => self.add_stray(source, rejected.error.message, changes),
        }
    }

    fn add_message(&mut self, source: Source, message: &wire::Message<'_>, changes: &mut Vec<Change>) {
        match message {
            wire::Message::Request(request) => self.add_request(source, request, changes),
            wire::Message::Notification(notification) => {
                self.add_notification(source, notification, changes);
            }
            wire::Message::Response(response) => self.add_response(source, response, changes),
        }
    }

    fn add_request(&mut self, source: Source, request: &Request<'_>, changes: &mut Vec<Change>) {
        let params = Params::read(request.params);
        let index = self.calls.len();
        let Source { direction, exchange, place } = source;
        self.pairing.request(direction, exchange, &request.id, params.requested_token(), index);
        if let Some(peer) = params.client() {
            self.client = Some(peer);
        }
        if let Some(revision) = params.declared_revision() {
            self.revision = Some(self.share(&revision));
        }
        let name = params.name(&request.method).map(|name| self.share(shortened(&name)));
        let method = self.share(shortened(&request.method));
        self.calls.push(Call {
            id: request.id.clone(),
            method,
            name,
            direction,
            exchange,
            request: place,
            response: None,
            response_exchange: None,
            outcome: Outcome::None,
            result_type: None,
            progress: 0,
        });
        changes.push(Change::Request(index));
    }

    fn add_notification(
        &mut self,
        source: Source,
        notification: &WireNotification<'_>,
        changes: &mut Vec<Change>,
    ) {
        use papertape::protocol::method;
        let Source { direction, exchange, place } = source;
        let params = Params::read(notification.params);
        let call = match &*notification.method {
            method::PROGRESS => {
                let call = params
                    .progress_token()
                    .and_then(|token| self.pairing.of_progress(opposite(direction), exchange, &token));
                if let Some(call) = call.and_then(|index| self.calls.get_mut(index)) {
                    call.progress += 1;
                }
                call
            }
            method::CANCELLED => {
                let call = params.request_id().and_then(|id| self.pairing.pending(direction, exchange, &id));
                if let Some(call) = call.and_then(|index| self.calls.get_mut(index)) {
                    call.outcome = Outcome::Cancelled;
                }
                call
            }
            _ => params
                .subscription_id()
                .and_then(|id| self.pairing.pending(opposite(direction), exchange, &id))
                .or_else(|| {
                    exchange.and_then(|exchange| self.pairing.of_exchange(opposite(direction), exchange))
                }),
        };
        let method = self.share(shortened(&notification.method));
        changes.push(Change::Notification(self.notifications.len()));
        self.notifications.push(Notification { method, direction, exchange, place, call });
    }

    fn add_response(&mut self, source: Source, response: &Response<'_>, changes: &mut Vec<Change>) {
        let Source { direction, exchange, place } = source;
        let requests = opposite(direction);
        let Some(id) = &response.id else {
            return self.add_stray(source, "a response without an id", changes);
        };
        let index = self.pairing.pending(requests, exchange, id);
        let Some((index, call)) = index.and_then(|index| Some((index, self.calls.get_mut(index)?))) else {
            return self.add_stray(source, format!("a response to no request: id {id}"), changes);
        };
        self.pairing.responded(requests, call.exchange, id, index);
        call.response = Some(place);
        call.response_exchange = exchange;
        call.outcome = call::outcome(&call.method, response);
        let result = members::ResultMembers::read(response.result);
        call.result_type = result.result_type().map(|kind| Arc::from(shortened(&kind)));
        let opens = &*call.method == papertape::protocol::method::INITIALIZE;
        if let Some(peer) = result.server() {
            self.server = Some(peer);
        }
        if opens && let Some(revision) = result.negotiated_revision() {
            self.revision = Some(self.share(&revision));
        }
        changes.push(Change::Response(index));
    }

    fn add_stray(&mut self, source: Source, problem: impl Into<Box<str>>, changes: &mut Vec<Change>) {
        let Source { direction, exchange, place } = source;
        self.totals.strays += 1;
        if self.strays.len() >= MOST_STRAYS {
            return;
        }
        changes.push(Change::Stray(self.strays.len()));
        self.strays.push(Stray { direction, exchange, place, problem: problem.into() });
    }

    /// The same text in memory that is shared: methods and names repeat.
    fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(shared) = self.names.get(text) {
            return Arc::clone(shared);
        }
        let shared: Arc<str> = text.into();
        if self.names.len() < MOST_NAMES {
            self.names.insert(Arc::clone(&shared));
        }
        shared
    }
}

fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::ToServer => Direction::ToClient,
        Direction::ToClient => Direction::ToServer,
    }
}

fn shortened(text: &str) -> &str {
    if text.len() <= LONGEST_NAME {
        return text;
    }
    (0..=LONGEST_NAME).rev().find_map(|end| text.get(..end)).unwrap_or_default()
}
