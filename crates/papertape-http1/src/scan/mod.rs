//! A scanner that finds where requests begin and end, and rejects invalid ones.
//!
//! hyper's parser accepts what two parties could read in two ways (request smuggling). This one reads every byte before hyper
//! does and is strict: what it accepts is unambiguous. It buffers nothing, has no clock and does no I/O.

mod chunks;
mod fault;
mod head;

use chunks::Chunks;
pub(super) use fault::Fault;
use fault::{BARE_CR, Stop};
use head::{Fields, Framing, RequestLine};

/// Bytes of the trailers of a chunked body.
const TRAILERS: usize = 8 * 1024;

/// Limits on a head.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) block: usize,
    pub(super) headers: usize,
    pub(super) url: usize,
}

/// How many bytes a step has taken, and why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) taken: usize,
    pub(super) event: Event,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// All bytes were taken.
    More,
    /// The bytes are part of an empty line before a request, which is ignored.
    Blank,
    /// A head has ended.
    Head,
    /// A body has ended.
    Body,
    /// The byte after those taken is invalid.
    Fault(Fault),
}

/// Where in a request the next byte belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Between requests.
    Start,
    Head,
    Body,
}

#[derive(Debug)]
pub(super) struct Scanner {
    bounds: Bounds,
    place: ScanState,
    /// Whether there was an empty line before the request; one is ignored.
    blank: bool,
    /// Bytes of the head, or of the trailers, so far.
    length: usize,
    line: RequestLine,
    fields: Fields,
}

#[derive(Debug)]
enum ScanState {
    Start,
    BlankLf,
    Line,
    Fields,
    Length(u64),
    Chunks(Chunks),
    Trailers,
}

impl Scanner {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            place: ScanState::Start,
            blank: false,
            length: 0,
            line: RequestLine::new(),
            fields: Fields::new(),
        }
    }

    pub(super) fn part(&self) -> Part {
        match self.place {
            ScanState::Start | ScanState::BlankLf => Part::Start,
            ScanState::Line | ScanState::Fields => Part::Head,
            ScanState::Length(_) | ScanState::Chunks(_) | ScanState::Trailers => Part::Body,
        }
    }

    /// Scans up to the next event.
    pub(super) fn step(&mut self, bytes: &[u8]) -> Step {
        let mut taken = 0;
        while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
            match self.advance(rest) {
                Ok((some, None)) => taken += some,
                Ok((some, Some(event))) => return Step { taken: taken + some, event },
                Err(Stop { at, fault }) => return Step { taken: taken + at, event: Event::Fault(fault) },
            }
        }
        Step { taken, event: Event::More }
    }

    fn advance(&mut self, rest: &[u8]) -> Result<(usize, Option<Event>), Stop> {
        match &mut self.place {
            ScanState::Start => self.start(rest),
            ScanState::BlankLf if rest.first() == Some(&b'\n') => {
                self.place = ScanState::Start;
                Ok((1, Some(Event::Blank)))
            }
            ScanState::BlankLf => Err(BARE_CR.at(0)),
            ScanState::Line => {
                let (some, ended) = self.line.step(self.bounded(rest, self.bounds.block), self.bounds.url)?;
                if ended {
                    self.place = ScanState::Fields;
                    self.fields.reset(false);
                }
                self.grow(some, rest, ended, self.bounds.block)
            }
            ScanState::Fields => {
                let (some, ended) =
                    self.fields.step(self.bounded(rest, self.bounds.block), self.bounds.headers)?;
                if !ended {
                    return self.grow(some, rest, false, self.bounds.block);
                }
                self.blank = false;
                self.place = match self.fields.framing() {
                    Framing::None => ScanState::Start,
                    Framing::Length(length) => ScanState::Length(length),
                    Framing::Chunked => ScanState::Chunks(Chunks::new()),
                };
                Ok((some, Some(Event::Head)))
            }
            ScanState::Length(left) => {
                let some = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                *left -= u64::try_from(some).unwrap_or(0);
                if *left > 0 {
                    return Ok((some, None));
                }
                self.place = ScanState::Start;
                Ok((some, Some(Event::Body)))
            }
            ScanState::Chunks(chunks) => {
                let (some, ended) = chunks.step(rest)?;
                if ended {
                    self.place = ScanState::Trailers;
                    self.fields.reset(true);
                    self.length = 0;
                }
                Ok((some, None))
            }
            ScanState::Trailers => {
                let most = TRAILERS.min(self.bounds.block);
                let (some, ended) = self.fields.step(self.bounded(rest, most), self.bounds.headers)?;
                if !ended {
                    return self.grow(some, rest, false, most);
                }
                self.place = ScanState::Start;
                Ok((some, Some(Event::Body)))
            }
        }
    }

    fn start(&mut self, rest: &[u8]) -> Result<(usize, Option<Event>), Stop> {
        if rest.first() != Some(&b'\r') {
            self.place = ScanState::Line;
            self.line.reset();
            self.length = 0;
            return Ok((0, None));
        }
        if self.blank {
            return Err(Fault::bad("more than one empty line before a request").at(0));
        }
        self.blank = true;
        self.place = ScanState::BlankLf;
        Ok((1, Some(Event::Blank)))
    }

    /// As many of the bytes as the head may still have.
    fn bounded<'bytes>(&self, rest: &'bytes [u8], most: usize) -> &'bytes [u8] {
        rest.get(..most.saturating_sub(self.length).min(rest.len())).unwrap_or_default()
    }

    /// Counts bytes of a head; an error if it is too long.
    fn grow(
        &mut self,
        some: usize,
        rest: &[u8],
        ended: bool,
        most: usize,
    ) -> Result<(usize, Option<Event>), Stop> {
        self.length += some;
        if !ended && some < rest.len() && self.length >= most {
            return Err(Fault::headers("the headers are too long").at(some));
        }
        Ok((some, None))
    }
}
