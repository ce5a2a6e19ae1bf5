//! A tape to the messages that are replayed, in their order.

use std::collections::HashMap;
use std::io::BufRead;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use papertape::wire::message::{Message as Parsed, parse_member};
use papertape::wire::tape::{Content, Direction};
use papertape::wire::{Framing, Id, Payload};
use papertape_tape::{Form, Joiner, Message, ReadError, Reader};

use crate::call::Call;

/// What the messages of a tape may take together.
const MOST_BYTES: usize = 512 * 1024 * 1024;

/// How many messages a tape may have.
const MOST_MESSAGES: usize = 2_000_000;

/// Why a tape cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It is not a tape, or cannot be read.
    #[error("{0}")]
    Tape(#[from] ReadError),
    /// It has no first line.
    #[error("the tape {0}")]
    NotBegun(&'static str),
    /// It has too much on it.
    #[error("the tape has more than {0}: cut it, for example with `papertape tape grep`")]
    TooLarge(String),
    /// There is nothing to replay.
    #[error("the tape has no request of a client: there is nothing to replay")]
    NoRequests,
}

/// The messages of a tape.
#[derive(Debug)]
pub struct Script {
    pub(crate) frames: Vec<Frame>,
    pub(crate) messages: Vec<Recorded>,
    has_losses: bool,
    is_cut: bool,
}

/// A frame of a tape.
#[derive(Debug)]
pub(crate) struct Frame {
    /// The number of its first record.
    pub(crate) number: u64,
    /// The number of its last record.
    pub(crate) last: u64,
    /// Where the line of its first record begins.
    pub(crate) offset: u64,
    pub(crate) direction: Direction,
    /// The exact bytes.
    pub(crate) bytes: Vec<u8>,
    /// Where the body is in them.
    pub(crate) body: Range<usize>,
    /// The framing in which it is sent.
    pub(crate) framing: Framing,
    /// It can be sent to a server as it is: it was framed as on a byte stream.
    pub(crate) is_framed: bool,
    pub(crate) is_batch: bool,
    /// Its records have nothing else, and its body is in one piece.
    pub(crate) is_alone: bool,
}

/// A message: a frame, or a member of a batch.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// The index of its frame.
    pub(crate) frame: usize,
    pub(crate) direction: Direction,
    /// The HTTP exchange that it crossed in.
    pub(crate) exchange: Option<u64>,
    pub(crate) time: Option<Duration>,
    pub(crate) kind: Kind,
    /// Its JSON; empty if it has none.
    pub(crate) text: Arc<str>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Request(Id, Call),
    Notification(Call),
    /// A response, with its id if that can be read.
    Response(Option<Id>),
    /// Not a message.
    Other,
}

impl Script {
    /// Reads a tape.
    ///
    /// # Errors
    /// If it cannot be replayed.
    pub fn read(tape: impl BufRead) -> Result<Self, ScriptError> {
        let mut script = Self { frames: Vec::new(), messages: Vec::new(), has_losses: false, is_cut: false };
        let mut joiner = Joiner::new();
        let mut bytes = 0;
        let mut reader = Reader::new(tape);
        for line in &mut reader {
            let line = line?;
            if let Some(record) = line.record() {
                let is_loss = matches!(&record.content, Content::Event { name, .. } if name == "lost");
                script.has_losses |= is_loss;
                joiner.push(line.offset, record);
                script.take(&mut joiner, &mut bytes)?;
            }
        }
        if let Some(problem) = reader.not_begun() {
            return Err(ScriptError::NotBegun(problem));
        }
        script.is_cut = reader.cut().is_some();
        joiner.finish();
        script.take(&mut joiner, &mut bytes)?;
        let is_request = |message: &Recorded| {
            message.direction == Direction::ToServer && matches!(message.kind, Kind::Request(..))
        };
        if !script.messages.iter().any(is_request) {
            return Err(ScriptError::NoRequests);
        }
        Ok(script)
    }

    /// What is missing on the tape, if that is known.
    #[must_use]
    pub fn missing(&self) -> Option<&'static str> {
        match self {
            Self { has_losses: true, .. } => Some("a part was lost while it was recorded (`lost`)"),
            Self { is_cut: true, .. } => Some("its last line is incomplete"),
            _ => None,
        }
    }

    fn take(&mut self, joiner: &mut Joiner, bytes: &mut usize) -> Result<(), ScriptError> {
        while let Some(message) = joiner.next_message() {
            self.add(&message, bytes)?;
        }
        Ok(())
    }

    fn add(&mut self, message: &Message, bytes: &mut usize) -> Result<(), ScriptError> {
        if !message.is_content() {
            return Ok(());
        }
        *bytes += message.bytes.len();
        if *bytes > MOST_BYTES {
            return Err(ScriptError::TooLarge(format!("{} MiB of messages", MOST_BYTES / 1024 / 1024)));
        }
        if self.messages.len() > MOST_MESSAGES {
            return Err(ScriptError::TooLarge(format!("{MOST_MESSAGES} messages")));
        }
        let index = self.frames.len();
        let mut is_batch = false;
        let mut add = |kind: Kind, text: &str| {
            self.messages.push(Recorded {
                frame: index,
                direction: message.direction,
                exchange: message.exchange,
                time: message.place.time,
                kind,
                text: text.into(),
            });
        };
        let text = std::str::from_utf8(message.body()).unwrap_or_default();
        let text = text.trim_start_matches('\u{feff}').trim();
        match message.payload() {
            Ok(Payload::Single(parsed)) => add(Kind::of(parsed), text),
            Ok(Payload::Batch(members)) => {
                is_batch = true;
                for member in members {
                    let kind = parse_member(member).map_or(Kind::Other, Kind::of);
                    add(kind, member.get());
                }
            }
            Err(_) => add(Kind::Other, ""),
        }
        let has_header = message.bytes.get(..8).is_some_and(|start| start.eq_ignore_ascii_case(b"content-"));
        let is_frame = message.form == Form::Frame;
        if message.place.within > 0
            && let Some(before) = self.frames.iter_mut().rfind(|before| before.direction == message.direction)
        {
            before.is_alone &= before.last != message.place.first;
        }
        let body = part_of(&message.bytes, message.body());
        self.frames.push(Frame {
            number: message.place.first,
            last: message.place.last,
            offset: message.place.offset,
            direction: message.direction,
            framing: if is_frame && has_header { Framing::ContentLength } else { Framing::Line },
            is_framed: is_frame,
            is_batch,
            is_alone: message.place.within == 0 && body.is_some(),
            body: body.unwrap_or_default(),
            bytes: message.bytes.clone(),
        });
        Ok(())
    }

    /// What a message calls, if it is a request or a notification.
    pub(crate) fn call(&self, message: Option<usize>) -> Option<&Call> {
        match &self.messages.get(message?)?.kind {
            Kind::Request(_, call) | Kind::Notification(call) => Some(call),
            Kind::Response(_) | Kind::Other => None,
        }
    }

    /// The number of a message on the tape.
    pub(crate) fn number(&self, message: Option<usize>) -> u64 {
        let message = message.and_then(|message| self.messages.get(message));
        message.and_then(|message| self.frames.get(message.frame)).map_or(0, |frame| frame.number)
    }
}

/// Requests without a response, by their ids. On HTTP, where several sessions may use the same ids, a response belongs to the
/// request of its own exchange, if there is one.
#[derive(Debug, Default)]
pub(crate) struct ById {
    of_exchange: HashMap<(u64, Id), usize>,
    newest: HashMap<Id, usize>,
}

impl ById {
    pub(crate) fn insert(&mut self, id: &Id, exchange: Option<u64>, request: usize) {
        if let Some(exchange) = exchange {
            self.of_exchange.insert((exchange, id.clone()), request);
        }
        self.newest.insert(id.clone(), request);
    }

    pub(crate) fn get(&self, id: &Id) -> Option<usize> {
        self.newest.get(id).copied()
    }

    /// Takes the request of a response.
    pub(crate) fn remove(&mut self, id: &Id, exchange: Option<u64>) -> Option<usize> {
        if let Some(own) = exchange.and_then(|exchange| self.of_exchange.remove(&(exchange, id.clone()))) {
            if self.newest.get(id) == Some(&own) {
                self.newest.remove(id);
            }
            return Some(own);
        }
        self.newest.remove(id)
    }
}

impl Kind {
    fn of(message: Parsed<'_>) -> Self {
        match message {
            Parsed::Request(request) => Kind::Request(request.id, Call::new(&request.method, request.params)),
            Parsed::Notification(notification) => {
                Kind::Notification(Call::new(&notification.method, notification.params))
            }
            Parsed::Response(response) => Kind::Response(response.id),
        }
    }
}

impl Frame {
    /// The message, or the batch.
    pub(crate) fn body(&self) -> &[u8] {
        self.bytes.get(self.body.clone()).unwrap_or_default()
    }
}

/// Where a part is in the bytes that it was taken from.
fn part_of(bytes: &[u8], part: &[u8]) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(bytes.as_ptr().addr())?;
    let range = start..start.checked_add(part.len())?;
    (bytes.get(range.clone())? == part).then_some(range)
}

/// Appends a JSON text as a frame. In a line, line ends between values become spaces.
pub(crate) fn write_frame(out: &mut Vec<u8>, text: &str, framing: Framing) {
    let start = out.len();
    let space = |byte: u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte };
    match framing {
        Framing::Line => out.extend(text.bytes().map(space)),
        Framing::ContentLength => out.extend_from_slice(text.as_bytes()),
    }
    framing.seal(out, start);
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};

    use super::Script;

    #[test]
    fn what_is_missing_is_known() {
        let missing = |end: &str| {
            let tape = format!(
                "papertape 1\n1 > - line {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}\n{end}"
            );
            Script::read(tape.as_bytes()).unwrap().missing()
        };
        assert_eq!(missing("2 * - end {}\n"), None);
        assert!(missing("2 * - lost {\"frames\":3}\n").is_some_and(|missing| missing.contains("lost")));
        assert_eq!(missing("2 < - line {\"jsonrpc"), Some("its last line is incomplete"));
    }

    proptest! {
        #[test]
        fn any_tape_is_read(text in any::<String>(), bytes in vec(any::<u8>(), 0..200)) {
            drop(Script::read(text.as_bytes()));
            drop(Script::read(&[b"papertape 1\n", &bytes[..]].concat()[..]));
        }
    }
}
