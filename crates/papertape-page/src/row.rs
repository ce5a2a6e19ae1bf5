//! A row of the list: a message, an HTTP head, a piece of stderr, or an event.

use papertape::wire::tape::Direction;
use papertape_tape::Place;

/// What is listed; names and outcomes are looked up in the recording.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) place: Place,
    pub(crate) lane: Lane,
    pub(crate) exchange: Option<u64>,
    pub(crate) kind: Kind,
    /// How many findings are about it.
    pub(crate) findings: u32,
}

/// Where it was seen, as on a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    ToServer,
    ToClient,
    Stderr,
    Event,
}

/// What it is, with its index in the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Request(usize),
    Response(usize),
    Notification(usize),
    /// What is not a message: also what it looks like.
    Stray(usize, Box<str>),
    /// The first line of an HTTP head, a piece of stderr, or an event with its details, shortened.
    Head(Box<str>),
    Stderr(Box<str>),
    Event(Box<str>),
}

impl Lane {
    pub(crate) fn sign(self) -> char {
        match self {
            Lane::ToServer => '>',
            Lane::ToClient => '<',
            Lane::Stderr => '!',
            Lane::Event => '*',
        }
    }

    /// Its lane of the overview.
    pub(crate) fn number(self) -> usize {
        match self {
            Lane::ToServer => 0,
            Lane::ToClient => 1,
            Lane::Stderr | Lane::Event => 2,
        }
    }
}

impl From<Direction> for Lane {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::ToServer => Lane::ToServer,
            Direction::ToClient => Lane::ToClient,
        }
    }
}

impl Kind {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Kind::Request(_) => "request",
            Kind::Response(_) => "response",
            Kind::Notification(_) => "notification",
            Kind::Stray(..) => "invalid",
            Kind::Head(_) => "head",
            Kind::Stderr(_) => "stderr",
            Kind::Event(_) => "event",
        }
    }
}
