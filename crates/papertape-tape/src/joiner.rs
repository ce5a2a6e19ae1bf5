//! Records to messages: what crossed in parts is joined, what crossed together is separated.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

use papertape::wire::tape::{Content, Direction, Record};

use crate::LONGEST;
use crate::body::Body;
use crate::message::{Form, Message, Place};
use crate::stream::Stream;

/// How many incomplete HTTP bodies are kept; of more than that, the one of the oldest exchange counts as unterminated.
const MOST_INCOMPLETE: usize = 10_000;

/// Joins records to messages, in memory that is bounded by [`LONGEST`] for each direction of a byte stream, and for all HTTP
/// bodies together.
#[derive(Debug)]
pub struct Joiner {
    to_server: Stream,
    to_client: Stream,
    /// The incomplete bodies of HTTP exchanges.
    bodies: BTreeMap<Key, Body>,
    /// How many bytes they have.
    waiting: usize,
    /// Where the messages of the last record come from.
    source: Source,
    /// Messages before those.
    ready: VecDeque<Message>,
}

/// An exchange, and whether it is the response.
type Key = (u64, bool);

#[derive(Debug)]
enum Source {
    None,
    Stream(Direction),
    Body(Key, Box<Body>),
}

/// Where a record is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    number: u64,
    offset: u64,
    time: Option<Duration>,
}

/// The records of the bytes that are not complete.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// The first record, and where in its bytes the message begins.
    first: Option<(Part, u64)>,
    /// The last record, and how many bytes it has.
    last: Option<(Part, u64)>,
    /// How many bytes there are.
    size: u64,
}

/// A message without its source.
#[derive(Debug)]
pub(crate) struct Whole {
    place: Place,
    form: Form,
    bytes: Vec<u8>,
    body: Range<usize>,
    pub(crate) joined: Option<Vec<u8>>,
}

impl Pending {
    /// Adds the bytes of a record.
    pub(crate) fn add(&mut self, part: Part, size: usize) {
        if size == 0 {
            return;
        }
        self.first.get_or_insert((part, 0));
        self.last = Some((part, size as u64));
        self.size += size as u64;
    }

    /// Takes the bytes of one message. What is left is at the end of the last record.
    pub(crate) fn take(&mut self, bytes: &[u8], body: Range<usize>, form: Form) -> Whole {
        let none = (Part { number: 0, offset: 0, time: None }, 0);
        let ((first, within), (last, last_size)) = (self.first.unwrap_or(none), self.last.unwrap_or(none));
        let size = bytes.len() as u64;
        self.size = self.size.saturating_sub(size);
        self.first = (self.size > 0).then_some((last, last_size.saturating_sub(self.size)));
        let place = Place {
            first: first.number,
            last: last.number,
            offset: first.offset,
            within,
            size,
            time: last.time,
        };
        Whole { place, form, bytes: bytes.to_vec(), body, joined: None }
    }
}

impl Whole {
    fn message(self, direction: Direction, exchange: Option<u64>) -> Message {
        let Self { place, form, bytes, body, joined } = self;
        Message { place, direction, exchange, form, bytes, body, joined }
    }

    fn message_of(self, (exchange, to_client): Key) -> Message {
        self.message(if to_client { Direction::ToClient } else { Direction::ToServer }, Some(exchange))
    }
}

impl Default for Joiner {
    fn default() -> Self {
        Self::new()
    }
}

impl Joiner {
    /// A joiner for the records of one tape, from the first.
    #[must_use]
    pub fn new() -> Self {
        Self {
            to_server: Stream::new(),
            to_client: Stream::new(),
            bodies: BTreeMap::new(),
            waiting: 0,
            source: Source::None,
            ready: VecDeque::new(),
        }
    }

    /// Adds a record whose line begins at `offset`; [`Joiner::next_message`] returns the messages that are complete now.
    pub fn push(&mut self, offset: u64, record: &Record<'_>) {
        while let Some(message) = self.pull() {
            self.ready.push_back(message);
        }
        let part = Part { number: record.number, offset, time: record.time };
        match (&record.content, record.exchange) {
            (Content::Frame(direction, bytes), None) => {
                self.stream(*direction).push(part, bytes);
                self.source = Source::Stream(*direction);
            }
            (Content::Frame(direction, bytes), Some(exchange)) => {
                let key = (exchange, is_to_client(*direction));
                let mut body = self.bodies.remove(&key).unwrap_or_default();
                self.waiting -= body.waiting();
                body.push(part, bytes);
                self.source = Source::Body(key, Box::new(body));
            }
            // What comes after a head is another body.
            (Content::Head(direction, _), Some(exchange)) => {
                self.end_body((exchange, is_to_client(*direction)));
            }
            (Content::Event { name, detail }, _) => self.event(name, detail),
            _ => {}
        }
    }

    /// The next complete message.
    pub fn next_message(&mut self) -> Option<Message> {
        self.ready.pop_front().or_else(|| self.pull()).or_else(|| self.ready.pop_front())
    }

    /// Ends the tape: [`Joiner::next_message`] returns what is incomplete, too.
    pub fn finish(&mut self) {
        while let Some(message) = self.pull() {
            self.ready.push_back(message);
        }
        self.end_stream(Direction::ToServer);
        self.end_stream(Direction::ToClient);
        while let Some((&key, _)) = self.bodies.first_key_value() {
            self.end_body(key);
        }
    }

    /// The next message of the last record.
    fn pull(&mut self) -> Option<Message> {
        match &mut self.source {
            Source::None => None,
            Source::Stream(direction) => {
                let direction = *direction;
                let whole = self.stream(direction).next();
                if whole.is_none() {
                    self.source = Source::None;
                }
                whole.map(|whole| whole.message(direction, None))
            }
            Source::Body(key, body) => {
                let key = *key;
                if let Some(whole) = body.next() {
                    return Some(whole.message_of(key));
                }
                let Source::Body(_, body) = std::mem::replace(&mut self.source, Source::None) else {
                    return None;
                };
                self.keep(key, *body)
            }
        }
    }

    /// Keeps an incomplete body; returns its bytes if there are too many.
    fn keep(&mut self, key: Key, mut body: Body) -> Option<Message> {
        if self.waiting + body.waiting() > LONGEST {
            return body.finish().map(|whole| whole.message_of(key));
        }
        if body.waiting() > 0 {
            self.waiting += body.waiting();
            self.bodies.insert(key, body);
        }
        if self.bodies.len() > MOST_INCOMPLETE
            && let Some((&oldest, _)) = self.bodies.first_key_value()
        {
            self.end_body(oldest);
        }
        None
    }

    fn stream(&mut self, direction: Direction) -> &mut Stream {
        match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToClient => &mut self.to_client,
        }
    }

    /// Streams end with `eof`, and begin again with `start`.
    fn event(&mut self, name: &str, detail: &str) {
        let of = || serde_json::from_str::<Eof<'_>>(detail).ok().map(|eof| eof.of);
        match name {
            "eof" => match of().as_deref() {
                Some("client") => self.end_stream(Direction::ToServer),
                Some("server") => self.end_stream(Direction::ToClient),
                _ => {}
            },
            "start" => {
                self.end_stream(Direction::ToServer);
                self.end_stream(Direction::ToClient);
            }
            _ => {}
        }
    }

    fn end_stream(&mut self, direction: Direction) {
        let whole = self.stream(direction).finish();
        self.ready.extend(whole.map(|whole| whole.message(direction, None)));
    }

    fn end_body(&mut self, key: Key) {
        let Some(mut body) = self.bodies.remove(&key) else { return };
        self.waiting -= body.waiting();
        self.ready.extend(body.finish().map(|whole| whole.message_of(key)));
    }
}

/// The members of the event `eof`.
#[derive(serde::Deserialize)]
struct Eof<'a> {
    #[serde(borrow)]
    of: Cow<'a, str>,
}

/// Directions have no order, and a map needs one.
fn is_to_client(direction: Direction) -> bool {
    direction == Direction::ToClient
}

#[cfg(test)]
mod tests;
